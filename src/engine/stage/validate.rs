//! Validate walk over resources: each block once, with all values of a deploy unknown. Its errors
//! hide those of the plan walk, as in OpenTofu.

mod depends_on;

use super::cell::Cell;
use super::conditions;
use super::ephemeral::unknown_value;
use super::expand::{self, Meta};
use super::nodes::Node;
use super::scope::ModuleScope;
use super::values::{Extent, PublishedValue};
use super::walk::Walk;
use calls::{CallContext, ProviderDiagnostic};
use cty::Value;
use depends_on::{dependency_faults, depends_on};
use graph::Step;
use lang::addr::{AbsResource, ConfigResource, InstanceKey, Mode};
use lang::config::{IgnoreChanges, Module, Resource};
use lang::diag::{Diagnostic, Diagnostics};
use lang::syntax::ast::{StepKind, Traversal};
use model::short_provider;
use workspace::provider_addr;
use workspace::refs::{self, Ref};

/// Validates one node.
pub async fn run(walk: &Walk, step: Step) -> Cell {
    let node = &walk.nodes.nodes[step];
    if let Some(mut cell) = walk.evaluate_common(node, &Extent::all()).await {
        let good = depends_on(walk, node, &mut cell);
        return cell.failed_unless(good);
    }
    let mut cell = Cell::default();
    let good = match node {
        Node::Resource(address) => resource(walk, address, &mut cell).await,
        _ => true,
    };
    cell.failed_unless(good)
}

async fn resource(walk: &Walk, address: &ConfigResource, cell: &mut Cell) -> bool {
    let Some(module) = walk.module(&address.module) else {
        return true;
    };
    let Some(resource) = module.resources.get(&address.resource) else {
        return true;
    };
    let key = provider_addr::for_resource(&walk.context.root, module, resource);
    let instances = walk.context.values.instances(&address.module);
    for instance in instances.iter() {
        let abs = AbsResource {
            module: instance.clone(),
            resource: address.resource.clone(),
        };
        cell.values.push(PublishedValue::Resource(
            abs,
            anything(walk, &key.address, resource),
        ));
    }
    let Some(instance) = instances.first() else {
        return true;
    };
    let base = ModuleScope::new(&walk.context, module, instance);
    let meta = Meta {
        count: resource.count.as_ref(),
        for_each: resource.for_each.as_ref(),
        enabled: resource.lifecycle.enabled.as_ref(),
    };
    let own = ModuleScope {
        own_resource: Some(&resource.name),
        ..ModuleScope::new(&walk.context, module, instance)
    };
    let (expansion, diags) = expand::expand(&base, meta);
    let mut good = cell.report(diags);
    good &= cell.report(dependency_faults(&base, &resource.depends_on));
    if !walk.context.schemas.contains_key(&key.address) {
        return false;
    }
    if let Some(fault) = super::link_arguments::fault(walk, module, resource) {
        return cell.report(fault);
    }
    let Some(schema) = walk.context.schema(&key.address, &address.resource) else {
        return cell.report(no_such_type(&key.address, resource));
    };
    let repetition = expansion
        .map(|e| e.instances())
        .and_then(|mut all| (!all.is_empty()).then(|| all.remove(0).1))
        .unwrap_or_default();
    let scope = own.with_repetition(repetition.clone());
    let (config, diags) = super::link_arguments::decoded(walk, resource, schema, &scope);
    let decoded = cell.report(super::plan::with_address(
        diags,
        &address_of(address, instance),
    ));
    good &= decoded;
    good &= cell.report(ignored_faults(resource, &schema.block));
    good &= conditions_of(walk, module, resource, &scope, cell);
    good &= provisioners(walk, module, resource, &scope, cell);
    if resource.name.mode != Mode::Ephemeral {
        let faults = ephemeral_faults(&schema.block, &config);
        let about = address_of(address, instance).to_string();
        good &= cell.report_provider(&faults, &about, Some(&resource.body), Some(resource.span));
    }
    // Providers check complete objects only.
    if decoded {
        good &= validate_with_provider(walk, address, resource, &key.address, config, cell).await;
    }
    good
}

/// Returns the unknown value of a resource; untyped if the resource is repeated.
fn anything(walk: &Walk, provider: &str, resource: &Resource) -> Value {
    // With `enabled` the value may also be null.
    if resource.name.mode == Mode::Ephemeral && resource.lifecycle.enabled.is_none() {
        return unknown_value(resource, walk.context.schema(provider, &resource.name));
    }
    let repeated = resource.count.is_some() || resource.for_each.is_some();
    let Some(schema) = walk
        .context
        .schema(provider, &resource.name)
        .filter(|_| !repeated)
    else {
        return Value::dynamic();
    };
    if schema.block.contains_sensitive() && resource.lifecycle.enabled.is_none() {
        return super::managed::mark(schema, super::plan::unknown_object(&schema.block), &[]);
    }
    Value::unknown(schema.implied_type().clone())
}

/// Returns `self` of a resource.
fn self_value(walk: &Walk, module: &Module, resource: &Resource) -> Value {
    anything(
        walk,
        &provider_addr::for_resource(&walk.context.root, module, resource).address,
        resource,
    )
}

/// Reports ephemeral values in arguments that are stored, which means all except write-only ones.
pub fn ephemeral_faults(block: &cty::schema::Block, config: &Value) -> Vec<ProviderDiagnostic> {
    if !config.contains_mark(&cty::Mark::Ephemeral) {
        return Vec::new();
    }
    let (_, marks) = config.clone().unmark_deep_with_paths();
    // An argument is write-only as a whole.
    let argument = |path: &cty::Path| {
        let outer = (1..=path.len()).map(|n| cty::Path::new(path.steps()[..n].to_vec()));
        outer
            .filter_map(|outer| Some((block.attribute_at(&outer)?.write_only, outer)))
            .next_back()
            .unwrap_or_else(|| (false, path.clone()))
    };
    let found = marks
        .iter()
        .filter(|(_, marks)| marks.is_ephemeral())
        .map(|(path, _)| argument(path));
    let mut kept: Vec<cty::Path> = found
        .filter(|(write_only, _)| !write_only)
        .map(|(_, argument)| argument)
        .collect();
    kept.dedup();
    kept.into_iter()
        .map(|path| {
            let detail = "Ephemeral values are not allowed here, because this argument is stored in the state. Only write-only arguments accept them.".to_owned();
            ProviderDiagnostic::error("Invalid use of ephemeral value", detail).at(path)
        })
        .collect()
}

fn address_of(
    address: &ConfigResource,
    module: &lang::addr::ModuleInstance,
) -> lang::addr::AbsInstance {
    AbsResource {
        module: module.clone(),
        resource: address.resource.clone(),
    }
    .instance(InstanceKey::None)
}

/// Checks conditions, `prevent_destroy` and triggers of a resource as far as possible without a
/// plan.
fn conditions_of(
    walk: &Walk,
    module: &Module,
    resource: &Resource,
    scope: &ModuleScope<'_>,
    cell: &mut Cell,
) -> bool {
    let mut good = true;
    for condition in &resource.lifecycle.preconditions {
        good &= cell.report(conditions::check_evaluable(scope, condition));
    }
    let after = ModuleScope {
        self_value: Some(self_value(walk, module, resource)),
        self_of: Some(&resource.name),
        repetition: scope.repetition.clone(),
        ..ModuleScope::new(&walk.context, module, scope.instance)
    };
    for condition in &resource.lifecycle.postconditions {
        good &= cell.report(conditions::check_evaluable(&after, condition));
    }
    // The plan checks an expression with references.
    if let Some(expr) = resource
        .lifecycle
        .prevent_destroy
        .as_ref()
        .filter(|e| e.traversals().is_empty())
    {
        let (value, diags) = scope.evaluate(expr);
        if !diags.has_errors()
            && cty::convert::convert(&value.unmark_deep().0, &cty::Type::Bool).is_err()
        {
            good &= cell.report(super::plan::invalid_prevent_destroy(expr, "is not a bool"));
        }
    }
    for expr in &resource.lifecycle.replace_triggered_by {
        // A reference with a key to an unrepeated resource never triggers; this is not an error.
        let of_nothing = |t: &&Traversal| match refs::parse(t) {
            Ok(Ref::Resource {
                resource,
                key: Some(_),
                ..
            }) => {
                let named = scope.module.resources.get(&resource);
                named.is_some_and(|r| r.count.is_none() && r.for_each.is_none())
            }
            _ => false,
        };
        let mut named = expr.traversals();
        named.retain(|t| !of_nothing(t));
        good &= cell.report(scope.check(&named));
    }
    good
}

/// Checks the provisioners of a resource as far as possible without an object.
fn provisioners(
    walk: &Walk,
    module: &Module,
    resource: &Resource,
    scope: &ModuleScope<'_>,
    cell: &mut Cell,
) -> bool {
    let mut good = true;
    for provisioner in &resource.provisioners {
        let scope = ModuleScope {
            self_value: Some(self_value(walk, module, resource)),
            self_of: Some(&resource.name),
            repetition: scope.repetition.clone(),
            ..ModuleScope::new(&walk.context, module, scope.instance)
        };
        // Errors in a shared connection are reported once.
        good &= cell.report(crate::stage::provision::validate(&scope, provisioner));
        if !good {
            break;
        }
    }
    good
}

/// Lets the provider validate a block.
async fn validate_with_provider(
    walk: &Walk,
    address: &ConfigResource,
    resource: &Resource,
    provider: &str,
    config: Value,
    cell: &mut Cell,
) -> bool {
    let text = address.to_string();
    let plain = config.unmark_deep().0;
    let ctx = CallContext {
        // Instances are unknown here, so the ends are the declared resources.
        linked: super::link_arguments::declared(walk, address, resource),
        ..walk.context(text.clone())
    };
    let answer = match walk.providers.unconfigured(provider, &ctx).await {
        Err(error) => Err(error),
        Ok(plugin) => match address.resource.mode {
            Mode::Data => {
                plugin
                    .validate_data(&address.resource.kind, plain, &ctx)
                    .await
            }
            Mode::Ephemeral => {
                plugin
                    .validate_ephemeral(&address.resource.kind, plain, &ctx)
                    .await
            }
            Mode::Managed => {
                plugin
                    .validate_resource(&address.resource.kind, plain, &ctx)
                    .await
            }
        },
    };
    match answer {
        Err(error) => cell.report_call(&error, &text, Some(resource.span)),
        Ok(answer) => cell.report_provider(
            &answer.diagnostics,
            &text,
            Some(&resource.body),
            Some(resource.span),
        ),
    }
}

fn no_such_type(address: &str, resource: &Resource) -> Diagnostic {
    let (kind, word) = match resource.name.mode {
        Mode::Data => ("data source", "Invalid data source"),
        Mode::Ephemeral => ("ephemeral resource", "Invalid ephemeral resource type"),
        Mode::Managed => ("resource type", "Invalid resource type"),
    };
    let detail = format!(
        "The provider {} does not support {kind} {:?}.",
        short_provider(address),
        &*resource.name.kind
    );
    Diagnostic::error(word, detail)
        .at(resource.kind_span)
        .with_address(resource.name.to_string())
}

/// Reports attributes in `ignore_changes` that the schema lacks.
fn ignored_faults(resource: &Resource, block: &cty::schema::Block) -> Diagnostics {
    let mut diags = Diagnostics::new();
    let IgnoreChanges::Paths(paths) = &resource.lifecycle.ignore_changes else {
        return diags;
    };
    for t in paths {
        let first = lang::syntax::ast::Step {
            kind: StepKind::Attr(t.root.clone()),
            span: t.root_span,
        };
        let steps: Vec<_> = std::iter::once(first)
            .chain(t.steps.iter().cloned())
            .collect();
        diags.extend(lang::decode::traversal_fault(block, &steps));
        // Element keys do not change the position in the schema.
        let names = steps.iter().filter_map(|step| match &step.kind {
            StepKind::Attr(name) => Some(cty::PathStep::Attr(name.clone())),
            StepKind::Index(_) => None,
        });
        let attribute = block.attribute_at(&cty::Path::new(names.collect()));
        if !diags.has_errors() && attribute.is_some_and(|a| a.computed && !a.optional) {
            let detail = format!(
                "{} is set by the provider alone, so there is no configured value whose changes could be ignored. Remove it from ignore_changes.",
                t.root
            );
            diags.push(
                Diagnostic::warning("Redundant ignore_changes element", detail)
                    .at(resource.kind_span),
            );
        }
    }
    diags
}
