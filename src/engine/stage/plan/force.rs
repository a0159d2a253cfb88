//! Forced replacement, by request or by `replace_triggered_by`.

use super::instance::Declared;
use super::options::PlanOptions;
use crate::stage::cell::Cell;
use crate::stage::change::Change;
use crate::stage::managed::Reason;
use crate::stage::nodes::Node;
use crate::stage::scope::ModuleScope;
use crate::stage::walk::Walk;
use cty::{Path, PathStep};
use lang::addr::{AbsInstance, AbsResource, InstanceKey, Mode};
use lang::diag::Diagnostic;
use lang::syntax::ast::{Expr, StepKind};
use model::Action;
use workspace::refs::{self, Ref};

/// Replacements that the provider does not require.
#[derive(Clone, Copy)]
pub(super) struct ForcedReplacements<'a> {
    pub(super) walk: &'a Walk,
    pub(super) options: &'a PlanOptions,
}

impl ForcedReplacements<'_> {
    /// Returns the reason to replace the instance independently of its provider, if any.
    pub(super) fn reason(
        &self,
        declared: &Declared<'_>,
        scope: &ModuleScope<'_>,
        address: &AbsInstance,
        cell: &mut Cell,
    ) -> Result<Option<Reason>, ()> {
        for expr in &declared.resource.lifecycle.replace_triggered_by {
            if self.triggered(scope, expr, address, cell)? {
                return Ok(Some(Reason::ReplaceByTriggers));
            }
        }
        Ok(self
            .options
            .replace
            .contains(address)
            .then_some(Reason::ReplaceByRequest))
    }

    fn triggered(
        &self,
        scope: &ModuleScope<'_>,
        expr: &Expr,
        address: &AbsInstance,
        cell: &mut Cell,
    ) -> Result<bool, ()> {
        let found = trigger(scope, expr).filter(|(abs, ..)| abs.resource.mode != Mode::Ephemeral);
        let Some((abs, key, path)) = found else {
            cell.report(
                Diagnostic::error(
                    "Invalid replace_triggered_by expression",
                    "Only references to resources, their instances and their attributes are allowed here. Ephemeral resources are not allowed, because they never change.",
                )
                .at(expr.span),
            );
            return Err(());
        };
        let other = self
            .walk
            .nodes
            .step(&Node::Resource(abs.config()))
            .and_then(|step| self.walk.cells.of(step));
        let named = |c: &&Change| {
            // Deposed objects are only destroyed, which does not trigger.
            c.deposed.is_none()
                && c.address.abs() == abs
                && key.as_ref().is_none_or(|k| *k == c.address.key)
        };
        let changes: Vec<&Change> = other
            .iter()
            .flat_map(|cell| &cell.changes)
            .filter(named)
            .collect();
        // With targets, a resource outside of them has no change; this is not an error.
        if changes.is_empty() && self.options.scope.is_none() {
            let detail = format!(
                "The plan has no change of {abs} that could trigger a replacement: {abs} has no such instance, is a data source that is read while planning, or is the resource itself."
            );
            cell.report(
                Diagnostic::error("No change found for a replacement trigger", detail)
                    .with_address(address.to_string()),
            );
            return Err(());
        }
        let mut hit = false;
        for change in changes {
            // Only creates, updates and replacements trigger.
            if matches!(
                change.action(),
                Action::NoOp | Action::Read | Action::Destroy | Action::Forget
            ) {
                continue;
            }
            if path.is_empty() {
                hit = true;
                continue;
            }
            let (before, after) = (
                path.apply(&change.before.value),
                path.apply(&change.after.value),
            );
            hit |= match (before, after) {
                // Marks do not count: a value that only becomes sensitive is no trigger.
                (Ok(a), Ok(b)) => {
                    !b.is_known() || !a.unmark_deep().0.raw_equals(&b.unmark_deep().0)
                }
                // A path that only one side has counts as changed.
                _ => true,
            };
        }
        Ok(hit)
    }
}

/// Parses a `replace_triggered_by` expression: a resource, optionally an instance, optionally a
/// path in it. Index keys may use `each` and `count`.
pub(in crate::stage) fn trigger(
    scope: &ModuleScope<'_>,
    expr: &Expr,
) -> Option<(AbsResource, Option<InstanceKey>, Path)> {
    use lang::syntax::ast::ExprKind;
    // A key that is an expression splits the reference: the traversal before it, the key, and the
    // steps after it.
    let (traversal, keyed, rest) = match &expr.kind {
        ExprKind::Traversal(t) => (t.clone(), None, Vec::new()),
        ExprKind::Index { source, key, .. } => match &source.kind {
            ExprKind::Traversal(t) => (t.clone(), Some(key.as_ref()), Vec::new()),
            _ => return None,
        },
        ExprKind::RelativeTraversal { source, steps } => match &source.kind {
            ExprKind::Index { source, key, .. } => match &source.kind {
                ExprKind::Traversal(t) => (t.clone(), Some(key.as_ref()), steps.clone()),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let Ok(Ref::Resource {
        resource,
        used,
        key,
    }) = refs::parse(&traversal)
    else {
        return None;
    };
    let mut key = key;
    if let Some(expr) = keyed {
        let value = scope.evaluate(expr).0.unmark_deep().0;
        key = match (value.as_str(), value.as_number()) {
            (Some(text), _) => Some(InstanceKey::Str(text.into())),
            (None, Some(n)) => Some(InstanceKey::Int(n.to_u64()?)),
            _ => return None,
        };
    }
    let mut path = Path::root();
    for step in traversal.steps[used..].iter().chain(&rest) {
        path.push(match &step.kind {
            StepKind::Attr(name) => PathStep::Attr(name.clone()),
            StepKind::Index(value) => PathStep::Index(value.clone()),
        });
    }
    Some((
        AbsResource {
            module: scope.instance.clone(),
            resource,
        },
        key,
        path,
    ))
}
