//! Checks `depends_on` entries.

use crate::stage::cell::Cell;
use crate::stage::nodes::Node;
use crate::stage::scope::ModuleScope;
use crate::stage::walk::Walk;
use lang::diag::{Diagnostic, Diagnostics};
use workspace::refs;

/// Checks the `depends_on` of an output or module call.
pub(super) fn depends_on(walk: &Walk, node: &Node, cell: &mut Cell) -> bool {
    let (path, entries) = match node {
        Node::Output(path, name) => (
            path,
            walk.module(path)
                .and_then(|m| m.outputs.get(name))
                .map(|o| o.depends_on.clone()),
        ),
        Node::Call(path, name) => (
            path,
            walk.module(path)
                .and_then(|m| m.calls.get(name))
                .map(|c| c.depends_on.clone()),
        ),
        _ => return true,
    };
    let (Some(module), Some(entries)) = (walk.module(path), entries) else {
        return true;
    };
    let instances = walk.context.values.instances(path);
    // The entries are the same in all instances, so one is enough.
    let Some(instance) = instances.first() else {
        return true;
    };
    let scope = ModuleScope::new(&walk.context, module, instance);
    cell.report(dependency_faults(&scope, &entries))
}

/// Checks the entries of a `depends_on`.
pub(super) fn dependency_faults(
    scope: &ModuleScope<'_>,
    entries: &[lang::syntax::ast::Traversal],
) -> Diagnostics {
    let mut diags = Diagnostics::new();
    for t in entries {
        match refs::parse(t) {
            Err(d) => diags.push(d),
            Ok(refs::Ref::Resource { resource, used, .. })
                // Steps after the resource and its key lead to an attribute.
                if scope.module.resources.contains_key(&resource) && t.steps.len() > used =>
            {
                let detail = format!(
                    "References in depends_on must be to a whole object, such as {resource}, and not to an attribute of it."
                );
                diags.push(
                    Diagnostic::error("Invalid depends_on reference", detail)
                        .at(t.steps[used].span),
                );
            }
            Ok(refs::Ref::Resource { resource, .. })
                if !scope.module.resources.contains_key(&resource) =>
            {
                let detail = format!("{resource} has not been declared in this module.");
                diags.push(
                    Diagnostic::error("Reference to undeclared resource", detail).at(t.span()),
                );
            }
            Ok(refs::Ref::Resource { resource, .. })
                if scope
                    .module
                    .resources
                    .get(&resource)
                    .is_some_and(|r| r.check.is_some()) =>
            {
                let detail =
                    format!("{resource} belongs to a check, so only that check can refer to it.");
                diags.push(Diagnostic::error("Reference to scoped resource", detail).at(t.span()));
            }
            Ok(refs::Ref::Module { call, .. } | refs::Ref::ModuleOutput { call, .. })
                if !scope.module.calls.contains_key(&call) =>
            {
                let detail = format!("No module call named {call:?} is declared in this module.");
                diags
                    .push(Diagnostic::error("Reference to undeclared module", detail).at(t.span()));
            }
            Ok(
                refs::Ref::Var(_) | refs::Ref::Local(_) | refs::Ref::Resource { key: Some(_), .. },
            ) => diags.append(scope.check(&[t])),
            Ok(refs::Ref::Check(_)) => {
                let detail =
                    "A check cannot be a dependency, because checks run after all other changes.";
                diags.push(Diagnostic::error("Invalid depends_on reference", detail).at(t.span()));
            }
            // Such an entry never changes, so it is useless but harmless.
            Ok(refs::Ref::Path(_) | refs::Ref::Terraform(_)) => {
                diags.append(scope.check(&[t]));
                diags.push(without_effect(t));
            }
            Ok(refs::Ref::Each(_) | refs::Ref::Count(_) | refs::Ref::SelfObject) => {
                let detail = "\"depends_on\" accepts references to resources, modules, variables and local values only.";
                diags.push(Diagnostic::error("Invalid depends_on reference", detail).at(t.span()));
            }
            Ok(_) => {}
        }
    }
    diags
}

/// Returns the warning for an entry that never changes.
fn without_effect(entry: &lang::syntax::ast::Traversal) -> Diagnostic {
    let detail = format!(
        "{entry} never changes during a deploy, so there is nothing to wait for. Remove the entry."
    );
    Diagnostic::warning("Entry of depends_on has no effect", detail).at(entry.span())
}
