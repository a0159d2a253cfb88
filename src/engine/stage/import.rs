//! `import` blocks: which objects are to be taken into the state under which ids, and what their
//! provider says of them. Pure but for the provider's calls; the state gets an imported object when
//! the stage is deployed. What is imported by hand is looked at here too, see [`super::adopt`].

mod fetch;
mod names;

use super::cell::Cell;
use super::change::Importing;
use super::plan::PlanWalk;
use super::scope::{ModuleScope, Phase};
use super::values::Repetition;
use super::walk::Walk;
use crate::engine::provider::IdentitySchema;
use crate::engine::workspace::provider_addr;
use crate::engine::workspace::refs::{self, Ref};
use cty::Value;
pub use fetch::fetch;
use lang::addr::{AbsInstance, ConfigResource, Mode, ModuleInstance, Target};
use lang::config::{Import, Module};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use lang::syntax::ast::{Expr, ExprKind, Traversal};
pub use names::resolve;
use std::collections::BTreeMap;

/// What an `import` block, or an operator, asks for one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Empty where the object is to be created after all, or the identity says which object it is.
    pub id: String,
    /// As it is written, not yet of the type that the provider wants.
    pub identity: Option<Value>,
    /// The block; the resource where an operator asks.
    pub span: Span,
}

impl Wanted {
    /// What the object is imported by; `None` where it is to be created after all.
    pub fn by(&self) -> Option<Importing> {
        match &self.identity {
            Some(identity) => Some(Importing::Identity {
                identity: super::masks::known_json(identity),
            }),
            None => (!self.id.is_empty()).then(|| Importing::Id(self.id.clone())),
        }
    }

    /// What is shown of it.
    fn shown(&self) -> String {
        match self.by() {
            Some(Importing::Identity { identity }) => format!("identity {identity}"),
            _ => format!("id {}", lang::addr::quote(&self.id)),
        }
    }
}

/// The resource that a block imports into, whatever the keys in its address.
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

/// The address without computed keys.
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

/// The expressions of computed keys in an address.
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

/// Everything that has to be worked out before a block's objects are known.
pub fn expressions(import: &Import) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = [&import.id, &import.identity, &import.for_each]
        .into_iter()
        .flatten()
        .collect();
    keys(&import.to, &mut all);
    all
}

/// What can be said against the blocks without a plan.
pub fn validate(walk: &Walk) -> Diagnostics {
    let root = &walk.around.root;
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
            let detail = format!("{target} is no managed resource; only those can be imported.");
            diags.push(Diagnostic::error("Invalid import target", detail).at(import.span));
        } else if !declared || target.resource.mode == Mode::Data {
            // Somebody may be about to declare it: a plan needs it, and asks for it.
            continue;
        } else if let Some(provider) = &import.provider {
            let detail = format!(
                "The object of {target} is imported with the provider configuration that the resource has. Take \"provider\" out of the import block."
            );
            diags.push(
                Diagnostic::error("Invalid import provider argument", detail).at(provider.span),
            );
        }
        let base = ModuleScope::new(&walk.around, root, &here);
        let mut found = Diagnostics::new();
        if let Some(expr) = &import.for_each {
            found.append(base.check(&expr.traversals()));
        }
        let repetition = match &import.for_each {
            Some(_) => Repetition {
                each_key: Some(Value::dynamic()),
                each_value: Some(Value::dynamic()),
                ..Repetition::default()
            },
            None => Repetition::default(),
        };
        let scope = base.repeated(repetition);
        for expr in expressions(import) {
            found.append(scope.check(&expr.traversals()));
            found.extend(self_reference(expr, &target));
        }
        if !found.has_errors() && declared {
            found.append(names::validate(
                &walk.around,
                import,
                identities(walk, &target),
            ));
        }
        diags.append(found);
    }
    diags
}

/// The error of an import that needs the resource it imports into: the instances of a resource are
/// planned with their imports, so that neither could be first.
fn self_reference(expr: &Expr, target: &ConfigResource) -> Option<Diagnostic> {
    let names_target = |t: &&Traversal| {
        let parsed = refs::parse(t);
        matches!(parsed, Ok(Ref::Resource { resource, .. }) if resource == target.resource)
    };
    // The block stands in the root module, where names of resources mean those of the root.
    let own = expr.traversals().into_iter().find(names_target)?;
    target.module.is_root().then(|| {
        let detail = format!(
            "The import block needs {target}, the resource that it imports into, which is planned only once its imports are known. Write the keys or ids as literals, or take them from a variable, a local value or another resource."
        );
        Diagnostic::error("Import block refers to its own target", detail).at(own.span())
    })
}

/// How objects of the type are told apart, where its provider says.
fn identities<'w>(walk: &'w Walk, target: &ConfigResource) -> Option<&'w IdentitySchema> {
    let root = &walk.around.root;
    let module = root.descendant(&target.module.0)?;
    let declared = module.resources.get(&target.resource)?;
    let key = provider_addr::for_resource(root, module, declared);
    let schema = walk.around.schemas.get(&key.address)?;
    schema.identities.get(&*target.resource.kind)
}

/// Blocks whose target nobody declares. Planning ends there, before anything else is looked at.
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
        "The configuration for the import target {target} does not exist. What is imported must be declared, as a managed resource: add the block."
    );
    Diagnostic::error("Configuration for import target does not exist", detail).at(span)
}

impl PlanWalk {
    /// Notes what is to be imported into a resource; `false` where that cannot be worked out.
    pub fn imports(
        &self,
        address: &ConfigResource,
        cell: &mut Cell,
    ) -> Option<BTreeMap<AbsInstance, Wanted>> {
        debug_assert!(
            self.walk.around.phase == Phase::Plan,
            "imports are worked out while planning"
        );
        let (all, diags) = resolve(&self.walk.around, address);
        cell.report(diags).then_some(all)
    }

    /// Reports imports into instances that are not declared.
    pub fn imports_without_configuration(
        &self,
        all: &BTreeMap<AbsInstance, Wanted>,
        cell: &mut Cell,
    ) -> bool {
        let declared = |i: &AbsInstance| {
            cell.expansions
                .get(&i.abs())
                .is_some_and(|keys| keys.contains(&i.key))
        };
        let mut diags = Diagnostics::new();
        for (address, wanted) in all {
            if self.wishes.wants(address) && !declared(address) {
                diags.push(
                    no_configuration(&address.to_string(), wanted.span).about(address.to_string()),
                );
            }
        }
        cell.report(diags)
    }
}
