//! Rows of the Stage screen that belong to no change: outputs, drift and edits of the state.

use super::{drift_row, output_row};
use crate::app::doc::{self, Doc, Line, Role, line, span};
use crate::app::list::Row;
use crate::app::state::State;
use model::{Action, DriftKind, DriftView, StageSummary, StateEditView};

/// Returns the edits of the state below a heading, one row for each kind. Their indexes continue
/// after the drift.
pub(super) fn edit_rows(stage: &StageSummary) -> Vec<Row> {
    let after = edits_from(stage);
    let edits = stage.state_edits.iter().enumerate();
    let mut rows: Vec<Row> = edits
        .map(|(i, e)| {
            let key = format!("{} to {}", e.what.nouns(), e.what.label());
            Row::text(key, after + i)
        })
        .collect();
    if !rows.is_empty() {
        rows.insert(0, Row::heading("state"));
    }
    rows
}

fn edits_from(stage: &StageSummary) -> usize {
    stage.changes.len() + stage.outputs.len() + stage.drift.len()
}

/// Returns the edit of a row on the Stage screen.
pub(super) fn edit_row<'a>(state: &'a State, row: &Row) -> Option<&'a StateEditView> {
    let stage = state.view.stage.as_ref().filter(|_| !row.heading)?;
    let at = row.index.checked_sub(edits_from(stage))?;
    stage.state_edits.get(at)
}

/// Lists the addresses of an edit.
pub(super) fn edit_detail(e: &StateEditView) -> Doc {
    let all = e.addresses.iter();
    let mut doc: Doc = all.map(|a| vec![doc::address(Role::Plain, a)]).collect();
    let text = "Every deploy of this stage does this, whatever is selected. No object changes.";
    doc.extend([Line::new(), line(Role::Dim, text)]);
    doc
}

pub(super) fn edit_head(e: &StateEditView) -> Line {
    vec![span(Role::Strong, e.text())]
}

/// Cells of a row that belongs to no change.
pub(super) fn cells(state: &State, row: &Row) -> Vec<Line> {
    if let Some(drift) = drift_row(state, row) {
        return drift_cells(drift);
    }
    edit_row(state, row).map_or_else(|| output_cells(state, row), edit_cells)
}

/// Cells of an edit of the state. It always runs, so it has no checkbox.
fn edit_cells(e: &StateEditView) -> Vec<Line> {
    vec![
        Line::new(),
        line(Role::Forget, "·"),
        line(Role::Plain, e.what.nouns()),
        line(Role::Forget, e.what.label()),
        vec![
            span(
                Role::Plain,
                format!("{} with every deploy: ", e.addresses.len()),
            ),
            span(Role::Dim, e.addresses.join(", ")),
        ],
    ]
}

/// Cells of an output. It follows the selected changes and cannot be selected itself.
fn output_cells(state: &State, row: &Row) -> Vec<Line> {
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
fn drift_cells(d: &DriftView) -> Vec<Line> {
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
