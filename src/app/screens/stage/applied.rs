//! Rows and title of a stage that a deploy uses or has used: results instead of a selection.

use crate::app::doc::{self, Doc, Line, Role, line, outcome_role, span};
use crate::app::list::Row;
use crate::app::screens::deploy::symbol;
use crate::app::screens::push_keys;
use crate::app::state::State;
use model::view::DeployView;
use model::{ChangeView, DeployOutcome, Operation, OperationState};

/// Cells of a change.
pub(super) fn cells(state: &State, deploy: &DeployView, c: &ChangeView, row: &Row) -> Vec<Line> {
    let op = deploy.operation(&c.address);
    let (mark, role) = op.map_or(("", Role::Dim), |o| symbol(o.state));
    let mark = match c.is_selectable() {
        false => Line::new(),
        true => line(role, format!(" {mark}")),
    };
    // Completed and excluded changes need nothing more.
    let past = op.is_none_or(|o| o.state == OperationState::Done);
    let (address, action) = match past {
        true => (Role::Dim, Role::Dim),
        false => (Role::Plain, doc::change_role(c)),
    };
    let note = match op {
        Some(op) => note(state, op),
        None if state.is_outside(deploy, c) => line(Role::Dim, "not selected"),
        None => Line::new(),
    };
    vec![
        mark,
        doc::change_sign(c),
        doc::row_label(address, row),
        line(action, c.label()),
        note,
    ]
}

/// Result of an operation.
fn note(state: &State, op: &Operation) -> Line {
    let (_, role) = symbol(op.state);
    match op.state {
        OperationState::Done => line(role, op.action.past_tense()),
        OperationState::Unknown => vec![doc::unknown_of_operation(state, op)],
        OperationState::Failed | OperationState::HalfReplaced => {
            let mut l = line(role, format!("{}: ", op.state.label()));
            let failure = op.failure.as_ref();
            l.extend(failure.map(|f| span(Role::Plain, &f.summary)));
            l
        }
        other => line(role, other.label()),
    }
}

/// Appends the outcome of the deploy, and what it left.
pub(super) fn write_subject(state: &State, deploy: &DeployView, l: &mut Line) {
    let Some(summary) = &deploy.summary else {
        let text = format!(" · ◐ deploy #{} is applying it (4)", deploy.deploy);
        l.push(span(Role::Busy, text));
        return;
    };
    let (sign, role) = outcome_role(summary.outcome);
    let left = state.left_after(deploy);
    if summary.outcome == DeployOutcome::Succeeded {
        let text = format!(" · {sign} applied by deploy #{}", deploy.deploy);
        l.push(span(role, text));
        if left.is_empty() {
            l.push(span(Role::Plain, ", nothing left to apply"));
        }
    } else {
        let outcome = summary.outcome.label();
        let text = format!(" · {sign} deploy #{} {outcome}", deploy.deploy);
        l.push(span(role, text));
    }
    if left.is_empty() {
        return;
    }
    let unfinished = deploy.operations.iter().any(Operation::is_incomplete);
    let (command, effect) = match unfinished {
        true => ("retry", "stages the unfinished ones"),
        false => ("stage", "stages again"),
    };
    let key = state.options.keys.first(command);
    l.push(span(Role::Warn, format!(" · {}", left.join(", "))));
    l.push(span(Role::Plain, format!(" · {key} {effect}")));
}

/// Explains the empty list of a stage that was applied.
pub(super) fn explain_empty(deploy: &DeployView) -> Doc {
    let outcome = deploy.summary.as_ref().map(|s| s.outcome);
    let mut doc = match outcome {
        Some(DeployOutcome::Succeeded) => vec![line(
            Role::Ok,
            "✓ The stage was applied, nothing is left to apply.",
        )],
        other => {
            let outcome = other.unwrap_or(DeployOutcome::Running);
            let (sign, role) = outcome_role(outcome);
            let text = format!("{sign} deploy #{} {}", deploy.deploy, outcome.label());
            vec![line(role, text)]
        }
    };
    push_keys(
        &mut doc,
        &[("s", "stages again"), ("4", "shows the deploy")],
    );
    doc
}
