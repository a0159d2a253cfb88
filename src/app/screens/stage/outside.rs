//! Rows of the Stage screen that belong to no change: outputs and drift.

use super::output_row;
use crate::app::doc::{self, Line, Role, line};
use crate::app::list::Row;
use crate::app::state::State;
use model::{Action, DriftKind, DriftView};

/// Cells of an output. It follows the selected changes and cannot be selected itself.
pub(super) fn output_cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(o) = output_row(state, row) else {
        return Vec::new();
    };
    let value = if o.action == Action::Destroy {
        &o.before
    } else {
        &o.after
    };
    let text = if o.sensitive {
        "(sensitive)"
    } else {
        value.as_deref().unwrap_or("null")
    };
    vec![
        Line::new(),
        doc::action_sign(o.action),
        line(Role::Plain, row.key.text().unwrap_or_default()),
        line(doc::action_role(o.action), o.action.label()),
        if o.is_unchanged_without(&state.view.left) {
            line(Role::Warn, "unchanged: needs a deselected change")
        } else {
            // A row has one line; the detail shows the complete value.
            line(Role::Plain, text.lines().next().unwrap_or_default())
        },
    ]
}

/// Cells of a drifted object.
pub(super) fn drift_cells(d: &DriftView) -> Vec<Line> {
    let role = doc::drift_role(d.what);
    let changed: Vec<&str> = d
        .attributes
        .iter()
        .filter(|a| a.changed)
        .map(|a| a.path.as_str())
        .collect();
    let note = match (d.what, &d.previous_address) {
        (DriftKind::Changed, _) => changed.join(", "),
        (DriftKind::Moved, Some(from)) => format!("moved from {from}"),
        _ => "no longer exists".to_owned(),
    };
    vec![
        Line::new(),
        line(role, "!"),
        vec![doc::address(Role::Plain, &d.address)],
        line(role, d.what.label()),
        line(Role::Dim, note),
    ]
}
