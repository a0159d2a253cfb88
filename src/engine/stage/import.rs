//! `import` blocks: evaluates targets and ids, and fetches the objects from providers. Pure except
//! for provider calls: an imported object enters the state when the stage is deployed.
//! [`super::import_object`] uses it for the import command.

mod fetch;
mod names;

use super::cell::Cell;
use super::change::Importing;
use super::plan::PlanOptions;
use super::scope::{ModuleScope, Phase, WalkContext};
use super::values::Repetition;
use super::walk::Walk;
use cty::Value;
pub use fetch::fetch;
use lang::addr::{AbsInstance, ConfigResource, Mode, ModuleInstance, Target};
use lang::config::{Import, Module};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use lang::syntax::ast::{Expr, ExprKind, Traversal};
pub use names::resolve;
use provider::IdentitySchema;
use std::collections::BTreeMap;
use workspace::provider_addr;
use workspace::refs::{self, Ref};

/// Import of one instance, requested by an `import` block or a command.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportTarget {
    /// Empty if the object will be created instead, or if `identity` names it.
    pub id: String,
    /// As evaluated, not yet of the provider's type.
    pub identity: Option<Value>,
    /// Source position of the block, or of the resource for the command.
    pub span: Span,
}

impl ImportTarget {
    /// Returns the key to import by; `None` if the object will be created instead.
    pub fn by(&self) -> Option<Importing> {
        match &self.identity {
            Some(identity) => Some(Importing::Identity {
                identity: super::masks::known_json(identity),
            }),
            None => (!self.id.is_empty()).then(|| Importing::Id(self.id.clone())),
        }
    }

    /// Describes the key for messages.
    fn describe(&self) -> String {
        match self.by() {
            Some(Importing::Identity { identity }) => format!("identity {identity}"),
            _ => format!("id {}", lang::addr::quote(&self.id)),
        }
    }
}

/// Returns the resource that a block imports into, independently of keys in its address.
pub fn resource_of(import: &Import) -> Option<ConfigResource> {
    let target = Target::from_traversal(&names(&import.to)?).ok()?;
    let resource = match &target {
        Target::Module(_) => return None,
        Target::Resource(r) => r.resource.clone(),
        Target::Instance(i) => i.resource.clone(),
    };
    Some(ConfigResource {
        module: target.module().path(),
        resource,
    })
}

/// Returns the address without computed keys.
fn names(expr: &Expr) -> Option<Traversal> {
    match &expr.kind {
        ExprKind::Traversal(t) => Some(t.clone()),
        ExprKind::Index { source, .. } => names(source),
        ExprKind::RelativeTraversal { source, steps } => {
            let mut base = names(source)?;
            base.steps.extend(steps.iter().cloned());
            Some(base)
        }
        _ => None,
    }
}

/// Collects the expressions of computed keys in an address.
fn keys<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Index { source, key, .. } => {
            keys(source, out);
            out.push(key);
        }
        ExprKind::RelativeTraversal { source, .. } => keys(source, out),
        _ => {}
    }
}

/// Returns all expressions that must be evaluated before a block's objects are known.
pub fn expressions(import: &Import) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = [&import.id, &import.identity, &import.for_each]
        .into_iter()
        .flatten()
        .collect();
    keys(&import.to, &mut all);
    all
}

/// Checks the blocks without a plan.
pub fn validate(walk: &Walk) -> Diagnostics {
    let root = &walk.context.root;
    let here = ModuleInstance::root();
    let mut diags = Diagnostics::new();
    for import in &root.imports {
        let Some(target) = resource_of(import) else {
            continue;
        };
        let declared = root
            .descendant(&target.module.0)
            .is_some_and(|m| m.resources.contains_key(&target.resource));
        if target.resource.mode == Mode::Ephemeral {
            let detail = format!(
                "{target} is not a managed resource. Only managed resources can be imported."
            );
            diags.push(Diagnostic::error("Invalid import target", detail).at(import.span));
        } else if !declared || target.resource.mode == Mode::Data {
            // Not an error of validation; the plan reports an undeclared target.
            continue;
        } else if let Some(provider) = &import.provider {
            let detail = format!(
                "{target} is imported with the provider configuration of its resource. Remove \"provider\" from the import block."
            );
            diags.push(
                Diagnostic::error("Invalid import provider argument", detail).at(provider.span),
            );
        }
        let base = ModuleScope::new(&walk.context, root, &here);
        let mut found = Diagnostics::new();
        if let Some(expr) = &import.for_each {
            found.append(base.check(&expr.traversals()));
        }
        // Unknown keys and values, because validation must hold for every element.
        let repetition = match &import.for_each {
            Some(_) => Repetition {
                each_key: Some(Value::dynamic()),
                each_value: Some(Value::dynamic()),
                ..Repetition::default()
            },
            None => Repetition::default(),
        };
        let scope = base.with_repetition(repetition);
        for expr in expressions(import) {
            found.append(scope.check(&expr.traversals()));
            found.extend(self_reference(expr, &target));
        }
        if !found.has_errors() && declared {
            found.append(names::validate(
                &walk.context,
                import,
                identities(walk, &target),
            ));
        }
        diags.append(found);
    }
    diags
}

/// Returns the error of an import that refers to its own target. Instances are planned together
/// with their imports, so neither could be evaluated first.
fn self_reference(expr: &Expr, target: &ConfigResource) -> Option<Diagnostic> {
    let names_target = |t: &&Traversal| {
        let parsed = refs::parse(t);
        matches!(parsed, Ok(Ref::Resource { resource, .. }) if resource == target.resource)
    };
    // The block is in the root module, so its references name resources of the root.
    let own = expr.traversals().into_iter().find(names_target)?;
    target.module.is_root().then(|| {
        let detail = format!(
            "The import block depends on {target}, the resource that it imports into. An import is resolved before its resource is planned. Write the keys or ids as literals, or take them from a variable, a local value or another resource."
        );
        Diagnostic::error("Import block refers to its own target", detail).at(own.span())
    })
}

/// Returns the identity schema of a type, if its provider has one.
fn identities<'w>(walk: &'w Walk, target: &ConfigResource) -> Option<&'w IdentitySchema> {
    let root = &walk.context.root;
    let module = root.descendant(&target.module.0)?;
    let declared = module.resources.get(&target.resource)?;
    let key = provider_addr::for_resource(root, module, declared);
    let schema = walk.context.schemas.get(&key.address)?;
    schema.identities.get(&*target.resource.kind)
}

/// Reports blocks whose target is not declared. Planning ends there, before other checks.
pub fn undeclared(root: &Module) -> Diagnostics {
    let mut diags = Diagnostics::new();
    for import in &root.imports {
        let Some(target) = resource_of(import) else {
            continue;
        };
        if target.resource.mode != Mode::Managed
            || !root
                .descendant(&target.module.0)
                .is_some_and(|m| m.resources.contains_key(&target.resource))
        {
            diags.push(no_configuration(&target.to_string(), import.span));
        }
    }
    diags
}

fn no_configuration(target: &str, span: Span) -> Diagnostic {
    let detail = format!(
        "The configuration for the import target {target} does not exist. Declare it as a managed resource before you import its object."
    );
    Diagnostic::error("Configuration for import target does not exist", detail).at(span)
}

/// Returns the imports into a resource; `None` after errors.
pub(super) fn imports(
    context: &WalkContext,
    address: &ConfigResource,
    cell: &mut Cell,
) -> Option<BTreeMap<AbsInstance, ImportTarget>> {
    debug_assert!(
        context.phase == Phase::Plan,
        "imports are resolved while planning"
    );
    let (all, diags) = resolve(context, address);
    cell.report(diags).then_some(all)
}

/// Reports imports into instances that are not declared. Returns true if there are none.
pub(super) fn report_undeclared(
    options: &PlanOptions,
    all: &BTreeMap<AbsInstance, ImportTarget>,
    cell: &mut Cell,
) -> bool {
    let declared = |i: &AbsInstance| {
        cell.expansions
            .get(&i.abs())
            .is_some_and(|keys| keys.contains(&i.key))
    };
    let mut diags = Diagnostics::new();
    for (address, wanted) in all {
        // An import outside of the targets is not carried out, so it is not checked.
        if options.plans(address) && !declared(address) {
            diags.push(
                no_configuration(&address.to_string(), wanted.span)
                    .with_address(address.to_string()),
            );
        }
    }
    cell.report(diags)
}
