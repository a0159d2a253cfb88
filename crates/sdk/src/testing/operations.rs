//! Operations of a test: validation, plan, apply, read, import, data sources and functions.

use cty::plan::{assert_object_compatible, assert_plan_valid};
use cty::{Type, Value};
use proto::tfplugin6 as pb;
use serde_json::Value as Json;

use super::bluelink;
use super::start::{TestProvider, accepted, ask};
use crate::codec;
use crate::diagnostics::{Diagnostic, Diagnostics, Failure, path_from_wire};
use crate::function::FunctionError;
use crate::provider::Resource;
use crate::schema::{Schema, model};
use crate::service::Entry;

/// Object that a test created or imported, as a host stores it.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Type name.
    pub type_name: String,
    /// Attributes.
    pub value: Value,
    /// Private data of the provider.
    pub private: Vec<u8>,
    /// Identity, if the type has one.
    pub identity: Option<Json>,
    /// The create failed half-way: the next apply replaces the object.
    pub tainted: bool,
}

impl Instance {
    /// Returns an attribute as JSON; null if the object does not have it.
    pub fn attr(&self, name: &str) -> Json {
        let value = self.value.get_attr(name);
        value.map_or(Json::Null, |value| json_of(&value))
    }
}

/// Known value as JSON; unknown parts are null.
pub(super) fn json_of(value: &Value) -> Json {
    let known = value.unknown_as_null();
    codec::to_json(&known, known.ty()).unwrap_or(Json::Null)
}

/// Plan of a change.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Planned object; null for a destroy.
    pub planned: Value,
    /// Paths of the attributes that require replacement, such as `title`.
    pub replace: Vec<String>,
    /// Warnings.
    pub warnings: Diagnostics,
    /// Reason if the provider deferred the change.
    pub deferred: Option<pb::deferred::Reason>,
    prior: Value,
    config: Value,
    private: proto::Bytes,
}

impl Plan {
    /// Returns true if there is nothing to apply.
    pub fn is_no_op(&self) -> bool {
        self.planned == self.prior
    }

    /// Returns true if the attribute is known only after the apply.
    pub fn is_unknown(&self, name: &str) -> bool {
        self.planned
            .get_attr(name)
            .is_some_and(|value| !value.is_known())
    }

    /// Returns a planned attribute as JSON; unknown parts are null.
    pub fn attr(&self, name: &str) -> Json {
        let value = self.planned.get_attr(name);
        value.map_or(Json::Null, |value| json_of(&value))
    }
}

/// Result of an apply.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Object that exists now, whether the apply failed or not.
    pub object: Option<Instance>,
    /// Errors and warnings, with violations of the rules of hosts as errors.
    pub diagnostics: Diagnostics,
}

impl Changed {
    /// Returns the object of an apply without errors.
    ///
    /// # Errors
    /// The apply failed, or left no object.
    pub fn done(self) -> Result<Instance, Failure> {
        if self.diagnostics.has_errors() {
            return Err(self.diagnostics.into());
        }
        let none = || Failure::new("the apply left no object", "");
        self.object.ok_or_else(none)
    }
}

/// Reads a configuration from JSON: missing arguments are null.
pub(super) fn config_value(of: &str, schema: &Schema, json: Json) -> Result<Value, Failure> {
    let ty = schema.implied_type();
    let wrong =
        |detail: String| Failure::new(format!("the configuration of {of} is not valid"), detail);
    let Some(arguments) = json.as_object() else {
        return Err(wrong("it must be a JSON object".to_owned()));
    };
    let unknown = arguments.keys().find(|name| ty.attribute(name).is_none());
    if let Some(name) = unknown {
        return Err(wrong(format!("there is no argument {name}")));
    }
    let value = codec::from_state_json(json, &ty)?;
    let value = schema.block.with_empty_blocks(value);
    for attr in &schema.block.attributes {
        let set = value
            .get_attr(&attr.name)
            .is_some_and(|value| !value.is_null());
        if attr.required && !set {
            return Err(wrong(format!("{} is required", attr.name)));
        }
        if set && attr.computed && !attr.optional {
            return Err(wrong(format!(
                "{} is computed and cannot be set",
                attr.name
            )));
        }
    }
    Ok(value)
}

impl TestProvider {
    /// Validates and applies the configuration of the provider.
    ///
    /// # Errors
    /// The provider refused the configuration.
    pub async fn configure(&self, config: Json) -> Result<Diagnostics, Failure> {
        let schema = &self.service.provider.schema;
        self.configure_value(config_value("the provider", schema, config)?)
            .await
    }

    /// Configures the provider with a value, which can have unknown parts as in a plan.
    ///
    /// # Errors
    /// As [`TestProvider::configure`].
    pub async fn configure_value(&self, value: Value) -> Result<Diagnostics, Failure> {
        if let Some(host) = self.bluelink() {
            return host.configure(&value).map(|()| Diagnostics::new());
        }
        let entry = &self.service.provider;
        let config = Some(codec::encode(&value, &entry.ty)?);
        let request = pb::validate_provider_config::Request {
            config: config.clone(),
        };
        let mut said = accepted(ask!(self, validate_provider_config, request)?.diagnostics)?;
        let request = pb::configure_provider::Request {
            config,
            ..Default::default()
        };
        said.extend(accepted(
            ask!(self, configure_provider, request)?.diagnostics,
        )?);
        Ok(said)
    }

    /// Validates a configuration of a resource type.
    ///
    /// # Errors
    /// The configuration is not valid.
    pub async fn validate(&self, type_name: &str, config: Json) -> Result<Diagnostics, Failure> {
        let entry = self.service.resource(type_name)?;
        let value = config_value(type_name, &entry.schema, config)?;
        self.validate_value(&entry, &value).await
    }

    async fn validate_value(
        &self,
        entry: &Entry<dyn Resource>,
        config: &Value,
    ) -> Result<Diagnostics, Failure> {
        let request = pb::validate_resource_config::Request {
            type_name: entry.item.name().to_owned(),
            config: Some(codec::encode(config, &entry.ty)?),
            ..Default::default()
        };
        accepted(ask!(self, validate_resource_config, request)?.diagnostics)
    }

    /// Plans a configuration: a create without `prior`, otherwise an update or a replacement.
    ///
    /// # Errors
    /// The configuration is not valid, or the plan failed or violates the rules of hosts.
    pub async fn plan(
        &self,
        type_name: &str,
        prior: Option<&Instance>,
        config: Json,
    ) -> Result<Plan, Failure> {
        let entry = self.service.resource(type_name)?;
        let config = config_value(type_name, &entry.schema, config)?;
        self.validate_value(&entry, &config).await?;
        self.plan_value(&entry, prior, config).await
    }

    async fn plan_value(
        &self,
        entry: &Entry<dyn Resource>,
        prior: Option<&Instance>,
        config: Value,
    ) -> Result<Plan, Failure> {
        let model = model::of(&entry.schema);
        let before = prior.map_or_else(
            || Value::null(entry.ty.clone()),
            |prior| prior.value.clone(),
        );
        let proposed = match config.is_null() {
            true => config.clone(),
            false => model.proposed_new(&before, &config),
        };
        let request = pb::plan_resource_change::Request {
            type_name: entry.item.name().to_owned(),
            prior_state: Some(codec::encode(&before, &entry.ty)?),
            proposed_new_state: Some(codec::encode(&proposed, &entry.ty)?),
            config: Some(codec::encode(&config, &entry.ty)?),
            prior_private: prior
                .map(|prior| prior.private.clone())
                .unwrap_or_default()
                .into(),
            client_capabilities: Some(CAPABILITIES),
            ..Default::default()
        };
        let answer = ask!(self, plan_resource_change, request)?;
        let warnings = accepted(answer.diagnostics)?;
        let planned = codec::decode(answer.planned_state, &entry.ty)?;
        if !config.is_null() {
            let found = assert_plan_valid(&model.block, &before, &config, &planned);
            violations("the plan violates the rules of hosts", found)?;
        }
        let path = |path: &pb::AttributePath| {
            let path = path_from_wire(path).to_string();
            path.trim_start_matches('.').to_owned()
        };
        Ok(Plan {
            planned,
            replace: answer.requires_replace.iter().map(path).collect(),
            warnings,
            deferred: answer.deferred.map(|deferred| deferred.reason()),
            prior: before,
            config,
            private: answer.planned_private,
        })
    }

    /// Validates, plans and applies a configuration: a create without `prior`, otherwise an update.
    /// A plan that requires replacement, and a tainted object, are replaced.
    ///
    /// # Errors
    /// There is nothing to apply yet, because validation or plan failed.
    pub async fn apply(
        &self,
        type_name: &str,
        prior: Option<&Instance>,
        config: Json,
    ) -> Result<Changed, Failure> {
        let entry = self.service.resource(type_name)?;
        if let Some(host) = self.bluelink() {
            let config = config_value(type_name, &entry.schema, config)?;
            return bluelink::apply(host, type_name, prior, config).await;
        }
        let replaced = match prior {
            Some(object) if object.tainted => true,
            Some(_) => !self
                .plan(type_name, prior, config.clone())
                .await?
                .replace
                .is_empty(),
            None => false,
        };
        let prior = match (replaced, prior) {
            (true, Some(object)) => {
                let destroyed = self.destroy(object).await?;
                if destroyed.object.is_some() || destroyed.diagnostics.has_errors() {
                    return Ok(destroyed);
                }
                None
            }
            _ => prior,
        };
        let plan = self.plan(type_name, prior, config).await?;
        match (plan.is_no_op(), prior) {
            (true, Some(object)) => Ok(Changed {
                object: Some(object.clone()),
                diagnostics: plan.warnings,
            }),
            _ => self.apply_plan(&entry, plan).await,
        }
    }

    /// Destroys an object.
    ///
    /// # Errors
    /// The plan failed.
    pub async fn destroy(&self, object: &Instance) -> Result<Changed, Failure> {
        if let Some(host) = self.bluelink() {
            return Ok(bluelink::destroy(host, object).await);
        }
        let entry = self.service.resource(&object.type_name)?;
        let nothing = Value::null(entry.ty.clone());
        let plan = self.plan_value(&entry, Some(object), nothing).await?;
        self.apply_plan(&entry, plan).await
    }

    async fn apply_plan(
        &self,
        entry: &Entry<dyn Resource>,
        plan: Plan,
    ) -> Result<Changed, Failure> {
        let request = pb::apply_resource_change::Request {
            type_name: entry.item.name().to_owned(),
            prior_state: Some(codec::encode(&plan.prior, &entry.ty)?),
            planned_state: Some(codec::encode(&plan.planned, &entry.ty)?),
            config: Some(codec::encode(&plan.config, &entry.ty)?),
            planned_private: plan.private,
            ..Default::default()
        };
        let answer = ask!(self, apply_resource_change, request)?;
        let mut diagnostics = Diagnostics::from_wire(answer.diagnostics);
        let value = codec::decode(answer.new_state, &entry.ty)?;
        let failed = diagnostics.has_errors();
        if !failed && !value.is_null() {
            let model = model::of(&entry.schema);
            let found = assert_object_compatible(&model.block, &plan.planned, &value);
            let problem = "the object differs from its plan";
            if let Err(failure) = violations(problem, found) {
                diagnostics.extend(failure.diagnostics);
            }
        }
        let object = Instance {
            type_name: entry.item.name().to_owned(),
            private: answer.private.to_vec(),
            identity: identity_of(entry, answer.new_identity)?,
            tainted: failed && plan.prior.is_null(),
            value,
        };
        Ok(Changed {
            object: (!object.value.is_null()).then_some(object),
            diagnostics,
        })
    }

    /// Reads an object; `None` if it no longer exists.
    ///
    /// # Errors
    /// The read failed.
    pub async fn read(&self, object: &Instance) -> Result<Option<Instance>, Failure> {
        if let Some(host) = self.bluelink() {
            return bluelink::read(host, object).await;
        }
        let entry = self.service.resource(&object.type_name)?;
        let request = pb::read_resource::Request {
            type_name: object.type_name.clone(),
            current_state: Some(codec::encode(&object.value, &entry.ty)?),
            private: object.private.clone().into(),
            client_capabilities: Some(CAPABILITIES),
            ..Default::default()
        };
        let answer = ask!(self, read_resource, request)?;
        accepted(answer.diagnostics)?;
        if let Some(deferred) = &answer.deferred {
            return Err(deferred_failure(deferred));
        }
        let value = codec::decode(answer.new_state, &entry.ty)?;
        let found = Instance {
            value,
            private: answer.private.to_vec(),
            identity: identity_of(&entry, answer.new_identity)?,
            ..object.clone()
        };
        Ok((!found.value.is_null()).then_some(found))
    }

    /// Imports an object by its id, and reads it.
    ///
    /// # Errors
    /// The import or the read failed, or there is no such object.
    pub async fn import(&self, type_name: &str, id: &str) -> Result<Instance, Failure> {
        if let Some(host) = self.bluelink() {
            return bluelink::import(host, type_name, id).await;
        }
        let request = pb::import_resource_state::Request {
            type_name: type_name.to_owned(),
            id: id.to_owned(),
            ..Default::default()
        };
        self.imported(request).await
    }

    /// Imports an object by its identity, and reads it.
    ///
    /// # Errors
    /// As [`TestProvider::import`].
    pub async fn import_by_identity(
        &self,
        type_name: &str,
        identity: Json,
    ) -> Result<Instance, Failure> {
        let entry = self.service.resource(type_name)?;
        let ty = entry
            .identity
            .clone()
            .unwrap_or_else(|| Type::object([("", Type::String); 0]));
        let value = codec::from_state_json(identity, &ty)?;
        let request = pb::import_resource_state::Request {
            type_name: type_name.to_owned(),
            identity: Some(pb::ResourceIdentityData {
                identity_data: Some(codec::encode(&value, &ty)?),
            }),
            ..Default::default()
        };
        self.imported(request).await
    }

    async fn imported(
        &self,
        request: pb::import_resource_state::Request,
    ) -> Result<Instance, Failure> {
        let entry = self.service.resource(&request.type_name)?;
        let answer = ask!(self, import_resource_state, request)?;
        accepted(answer.diagnostics)?;
        if let Some(deferred) = &answer.deferred {
            return Err(deferred_failure(deferred));
        }
        let none = || Failure::new("the import found no object", "");
        let imported = answer
            .imported_resources
            .into_iter()
            .next()
            .ok_or_else(none)?;
        let object = Instance {
            type_name: imported.type_name,
            value: codec::decode(imported.state, &entry.ty)?,
            private: imported.private.to_vec(),
            identity: identity_of(&entry, imported.identity)?,
            tainted: false,
        };
        self.read(&object).await?.ok_or_else(none)
    }

    /// Reads a data source.
    ///
    /// # Errors
    /// The configuration is not valid, or the read failed.
    pub async fn data(&self, type_name: &str, config: Json) -> Result<Json, Failure> {
        let entry = self.service.data_source(type_name)?;
        let value = config_value(type_name, &entry.schema, config)?;
        let config = Some(codec::encode(&value, &entry.ty)?);
        let request = pb::validate_data_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
        };
        accepted(ask!(self, validate_data_resource_config, request)?.diagnostics)?;
        let request = pb::read_data_source::Request {
            type_name: type_name.to_owned(),
            config,
            ..Default::default()
        };
        let answer = ask!(self, read_data_source, request)?;
        accepted(answer.diagnostics)?;
        Ok(json_of(&codec::decode(answer.state, &entry.ty)?))
    }

    /// Calls a function with arguments in JSON.
    ///
    /// # Errors
    /// The function returned an error.
    pub async fn call_function(
        &self,
        name: &str,
        arguments: &[Json],
    ) -> Result<Json, FunctionError> {
        let text = |failure: Failure| crate::function::of_failure(failure);
        let function = self.service.function(name).map_err(text)?;
        let mut encoded = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let ty = function.argument_type(index);
            let value = codec::from_json(argument, ty).and_then(|value| codec::encode(&value, ty));
            encoded.push(value.map_err(|failure| text(failure).at_argument(index))?);
        }
        let request = pb::call_function::Request {
            name: name.to_owned(),
            arguments: encoded,
        };
        let answer = ask!(self, call_function, request).map_err(text)?;
        match answer.error {
            Some(error) => Err(FunctionError {
                text: error.text,
                argument: error
                    .function_argument
                    .and_then(|at| usize::try_from(at).ok()),
            }),
            None => {
                let value = codec::decode(answer.result, &function.signature.returns);
                value.map(|value| json_of(&value)).map_err(text)
            }
        }
    }
}

/// Capabilities of the test as a host.
const CAPABILITIES: pb::ClientCapabilities = pb::ClientCapabilities {
    deferral_allowed: true,
    write_only_attributes_allowed: true,
};

pub(super) fn identity_of(
    entry: &Entry<dyn Resource>,
    data: Option<pb::ResourceIdentityData>,
) -> Result<Option<Json>, Failure> {
    match (data, &entry.identity) {
        (Some(data), Some(ty)) => Ok(Some(json_of(&codec::decode(data.identity_data, ty)?))),
        _ => Ok(None),
    }
}

pub(super) fn deferred_failure(deferred: &pb::Deferred) -> Failure {
    let reason = deferred.reason().as_str_name();
    Failure::new(
        "the provider deferred the call",
        format!("its reason is {reason}"),
    )
}

fn violations(problem: &str, found: Vec<(cty::Path, String)>) -> Result<(), Failure> {
    let mut said = Diagnostics::new();
    for (path, text) in found {
        said.push(Diagnostic::error(problem, text).at(path));
    }
    match said.has_errors() {
        true => Err(said.into()),
        false => Ok(()),
    }
}
