//! Computes the changes of root outputs.

use super::change::OutputChange;
use super::nodes::Node;
use super::objects;
use super::plan::PlanWalk;
use super::prior_values::deprecated;
use cty::Value;
use model::{Action, StageMode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Computes the changes of root outputs.
pub(super) fn outputs(plan: &PlanWalk) -> Vec<OutputChange> {
    // A narrowed destroy does not change outputs.
    if plan.options.mode == StageMode::Destroy && plan.options.scope.is_some() {
        return Vec::new();
    }
    let root = lang::addr::ModuleInstance::root();
    let declared = &plan.walk.context.root.outputs;
    let mut names: BTreeSet<Arc<str>> = declared.keys().cloned().collect();
    names.extend(plan.prior.outputs.keys().map(|n| Arc::from(n.as_str())));
    let mut out = Vec::new();
    for name in names {
        let stored = plan.prior.outputs.get(name.as_ref());
        let before = stored.and_then(objects::output_value);
        let output = declared.get(&name);
        // Unchanged: outside of the targets, or undeclared while targets narrow the stage.
        let step = plan
            .walk
            .nodes
            .step(&Node::Output(lang::addr::ModulePath::root(), name.clone()));
        if !step.map_or_else(
            || plan.options.scope.is_none(),
            |step| plan.options.evaluates(step),
        ) {
            continue;
        }
        let destroying = plan.options.mode == StageMode::Destroy;
        let refreshed = destroying
            && plan.options.refresh
            && !(plan.prior.resources.is_empty() && plan.prior.outputs.is_empty());
        let worked_out = output
            .filter(|o| !o.ephemeral)
            .and_then(|_| plan.walk.context.values.output(&root, &name));
        let given = |v: &Value| !(v.is_known() && v.is_null());
        // A destroy with refresh also removes outputs that the refresh would have added to the
        // state, even if they were never deployed.
        let before = before.or_else(|| {
            worked_out
                .clone()
                .filter(|v| refreshed && v.is_wholly_known() && given(v))
        });
        // An output that evaluates to null is not stored, but the plan representation shows it.
        let null = worked_out.as_ref().is_some_and(|v| !given(v)) && !destroying;
        let after = worked_out.filter(|v| !destroying && given(v));
        let sensitive = output.is_some_and(|o| o.sensitive) || stored.is_some_and(|o| o.sensitive);
        let kept = output.is_some_and(|o| !o.ephemeral);
        let marked = stored.is_some_and(|o| o.sensitive) == output.is_some_and(|o| o.sensitive)
            && stored.and_then(deprecated) == output.and_then(|o| o.deprecated.clone());
        let change = (before.as_ref(), after.as_ref());
        let Some(action) = action_of(change, kept && !destroying, marked) else {
            continue;
        };
        let needs = plan.needs_computation().of_output(&name);
        out.push(OutputChange {
            name,
            action,
            before,
            after,
            null,
            sensitive,
            needs,
        });
    }
    out
}

/// Returns the action on an output; `None` if it neither exists nor will. `stays`: it is declared
/// and stored in the state. `as_before`: sensitivity and deprecation are unchanged.
fn action_of(
    (before, after): (Option<&Value>, Option<&Value>),
    stays: bool,
    as_before: bool,
) -> Option<Action> {
    let plain = |value: &Value| value.clone().unmark_deep().0;
    Some(match (before, after) {
        (None, None) if !stays => return None,
        (None, None) => Action::NoOp,
        (None, Some(_)) => Action::Create,
        // A declared output with a null value is not stored, but this is not a deletion.
        (Some(_), None) if stays => Action::Update,
        (Some(_), None) => Action::Destroy,
        (Some(b), Some(a)) if plain(b).raw_equals(&plain(a)) && as_before => Action::NoOp,
        (Some(_), Some(_)) => Action::Update,
    })
}
