//! Encodes modules: their declarations, with called modules nested in their calls.

use super::provider::{Providers, key};
use super::{Configuration, insert_nonempty, reference};
use crate::stage::masks;
use cty::Type;
use cty::schema::{Attribute, Block};
use lang::addr::Mode;
use lang::config::{Module, ModuleCall, Output, ProvisionerKind, Resource, Variable};
use lang::syntax::ast::Traversal;
use serde_json::{Map, Value as Json};
use workspace::provider_addr::{address_of, provider_name};

impl Configuration<'_> {
    /// Encodes a module and all modules that it calls.
    pub(super) fn module(&self, module: &Module, providers: &Providers) -> Json {
        let mut out = Map::new();
        let outputs = module.outputs.iter();
        let outputs: Map<String, Json> = outputs
            .map(|(name, output)| (name.to_string(), self.output(output)))
            .collect();
        insert_nonempty(&mut out, "outputs", outputs);
        let mut resources: Vec<&Resource> = module.resources.values().collect();
        resources.sort_by_cached_key(|r| (rank(r.name.mode), r.name.to_string()));
        let resources = resources.into_iter();
        let resources: Vec<Json> = resources
            .map(|resource| self.resource(module, resource, providers))
            .collect();
        insert_nonempty(&mut out, "resources", resources);
        let calls = module.calls.iter();
        let calls: Map<String, Json> = calls
            .map(|(name, call)| (name.to_string(), self.call(call, providers)))
            .collect();
        insert_nonempty(&mut out, "module_calls", calls);
        let variables = module.variables.iter();
        let variables: Map<String, Json> = variables
            .map(|(name, declared)| (name.to_string(), variable(declared)))
            .collect();
        insert_nonempty(&mut out, "variables", variables);
        out.into()
    }

    fn output(&self, output: &Output) -> Json {
        let mut out = Map::new();
        insert_nonempty(&mut out, "sensitive", output.sensitive);
        insert_nonempty(&mut out, "ephemeral", output.ephemeral);
        insert_nonempty(
            &mut out,
            "deprecated",
            output.deprecated.clone().unwrap_or_default(),
        );
        // Inserted even if empty, unlike the members around it.
        out.insert("expression".into(), self.expression(&output.value).into());
        insert_nonempty(&mut out, "depends_on", depends_on(&output.depends_on));
        insert_nonempty(&mut out, "description", output.description.as_str());
        out.into()
    }

    fn resource(&self, module: &Module, resource: &Resource, providers: &Providers) -> Json {
        let name = &resource.name;
        let local = provider_name(resource);
        let configured = match resource.provider.as_ref().and_then(|p| p.alias.as_ref()) {
            Some(alias) => key(&module.path, &format!("{local}.{alias}")),
            None => key(&module.path, local),
        };
        let mode = match name.mode {
            Mode::Managed => "managed",
            Mode::Data => "data",
            Mode::Ephemeral => "ephemeral",
        };
        let mut out = Map::new();
        insert_nonempty(&mut out, "address", name.to_string());
        insert_nonempty(&mut out, "mode", mode);
        insert_nonempty(&mut out, "type", name.kind.as_ref());
        insert_nonempty(&mut out, "name", name.name.as_ref());
        insert_nonempty(
            &mut out,
            "provider_config_key",
            providers.source_of(&configured),
        );
        let provisioners = resource.provisioners.iter();
        let provisioners: Vec<Json> = provisioners
            .map(|p| {
                let mut out = Map::new();
                insert_nonempty(&mut out, "type", p.kind.name());
                let said = self.body(&p.body, &provisioner(&p.kind));
                insert_nonempty(&mut out, "expressions", said);
                out.into()
            })
            .collect();
        insert_nonempty(&mut out, "provisioners", provisioners);
        // Only a schema distinguishes arguments from nested blocks.
        if let Some(schema) = self.schema(&address_of(module, local), name) {
            insert_nonempty(
                &mut out,
                "expressions",
                self.body(&resource.body, &schema.block),
            );
            out.insert("schema_version".into(), schema.version.into());
        }
        let repeated = (resource.count.as_ref(), resource.for_each.as_ref());
        self.repetition(repeated, &mut out);
        insert_nonempty(&mut out, "depends_on", depends_on(&resource.depends_on));
        out.into()
    }

    fn call(&self, call: &ModuleCall, providers: &Providers) -> Json {
        let mut out = Map::new();
        insert_nonempty(&mut out, "source", call.source.as_str());
        let arguments = call.arguments.iter();
        let arguments: Map<String, Json> = arguments
            .map(|(name, given)| (name.to_string(), self.expression(&given.expr).into()))
            .collect();
        insert_nonempty(&mut out, "expressions", arguments);
        self.repetition((call.count.as_ref(), call.for_each.as_ref()), &mut out);
        if let Some(module) = &call.module {
            out.insert("module".into(), self.module(module, providers));
        }
        insert_nonempty(&mut out, "version_constraint", call.version.as_str());
        insert_nonempty(&mut out, "depends_on", depends_on(&call.depends_on));
        out.into()
    }
}

/// Managed resources first, then data sources, then ephemeral resources.
fn rank(mode: Mode) -> u8 {
    match mode {
        Mode::Managed => 0,
        Mode::Data => 1,
        Mode::Ephemeral => 2,
    }
}

fn depends_on(all: &[Traversal]) -> Vec<String> {
    all.iter().map(reference::subject_name).collect()
}

fn variable(declared: &Variable) -> Json {
    let mut out = Map::new();
    if declared.ty.ty != Type::Dynamic {
        out.insert("type".into(), declared.ty.ty.to_json_value());
    }
    if let Some(value) = &declared.default {
        out.insert("default".into(), masks::known_json(value));
    }
    insert_nonempty(&mut out, "description", declared.description.as_str());
    insert_nonempty(&mut out, "required", declared.default.is_none());
    insert_nonempty(&mut out, "sensitive", declared.sensitive);
    insert_nonempty(&mut out, "ephemeral", declared.ephemeral);
    insert_nonempty(
        &mut out,
        "deprecated",
        declared.deprecated.clone().unwrap_or_default(),
    );
    out.into()
}

/// Returns the arguments of a provisioner of this kind.
fn provisioner(kind: &ProvisionerKind) -> Block {
    let texts = || Type::list(Type::String);
    let arguments = match kind {
        ProvisionerKind::LocalExec => vec![
            ("command", Type::String),
            ("interpreter", texts()),
            ("working_dir", Type::String),
            ("environment", Type::map(Type::String)),
            ("quiet", Type::Bool),
        ],
        ProvisionerKind::RemoteExec => vec![
            ("inline", texts()),
            ("script", Type::String),
            ("scripts", texts()),
        ],
        // Validation refuses other kinds.
        ProvisionerKind::File | ProvisionerKind::Other(_) => vec![
            ("source", Type::String),
            ("content", Type::String),
            ("destination", Type::String),
        ],
    };
    let arguments = arguments.into_iter();
    Block {
        attributes: arguments
            .map(|(name, ty)| (name.into(), Attribute::optional(ty)))
            .collect(),
        ..Block::default()
    }
}
