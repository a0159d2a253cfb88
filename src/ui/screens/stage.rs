//! Stage screen: changes and their selection.

use crate::app::doc::{self, Line, Role, line, span};
use crate::app::list::Row;
use crate::app::rows::{drift_row, output_row};
use crate::app::state::State;
use crate::engine::model::{Action, DriftKind, DriftView};
use crate::ui::table::{Column, Width, column};

pub const COLUMNS: &[Column] = &[
    column("", Width::Fix(3), 0),
    column("", Width::Fix(3), 0),
    column("RESOURCE", Width::Key(16), 0),
    column("ACTION", Width::Fix(8), 1),
    column("NOTE", Width::Flex(12, 3), 2),
];

/// Cells of a change.
pub fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(stage) = &state.view.stage else {
        return Vec::new();
    };
    // Indexes past the changes belong to outputs and drift.
    let Some(c) = stage.changes.get(row.index) else {
        return drift_row(state, row).map_or_else(|| output_cells(state, row), drift_cells);
    };
    let left = state.view.left.contains(&c.address);
    let mark = match (c.action, left) {
        (Action::NoOp, _) => Line::new(),
        (_, true) => line(Role::Dim, "[ ]"),
        (_, false) => vec![
            span(Role::Dim, "["),
            span(Role::Ok, "x"),
            span(Role::Dim, "]"),
        ],
    };
    let role = if left || c.action == Action::NoOp {
        Role::Dim
    } else {
        Role::Plain
    };
    vec![
        mark,
        doc::action_sign(c.action),
        line(role, &c.address),
        line(
            if left {
                Role::Dim
            } else {
                doc::action_role(c.action)
            },
            c.action.label(),
        ),
        change_note(state, c, left),
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
            line(Role::Warn, "unchanged: depends on a deselected change")
        } else {
            // A row has one line; the detail shows the complete value.
            line(Role::Dim, text.lines().next().unwrap_or_default())
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
        line(Role::Plain, &d.address),
        line(role, d.what.label()),
        line(Role::Dim, note),
    ]
}

fn change_note(state: &State, c: &crate::engine::model::ChangeView, left: bool) -> Line {
    let mut l = Line::new();
    // Notes are ordered by importance, and rows are cut: an unknown outcome comes first.
    if let Some(u) = state
        .unknown_of(&c.address)
        .filter(|u| !u.creation || c.action == Action::Create)
    {
        return doc::unknown_note(state, u);
    }
    if let Some(a) = state.implied.get(&c.address) {
        let (symbol, word) = if a.selected {
            ("▲", "with")
        } else {
            ("▼", "with")
        };
        l.push(span(Role::Warn, format!("{symbol} {word} {}", a.cause)));
        return l;
    }
    if !left && let Some(n) = c.needs.iter().find(|n| state.view.left.contains(*n)) {
        l.push(span(Role::Bad, format!("▲ needs {n}")));
        return l;
    }
    if c.drifted {
        l.push(span(Role::Warn, "drift "));
    }
    // Counted apart, because only commands run code.
    let copies = c.commands.iter().filter(|command| command.copies).count();
    if c.commands.len() > copies {
        l.push(span(
            Role::Warn,
            format!(
                "runs {} ",
                crate::app::format::count(c.commands.len() - copies, "command")
            ),
        ));
    }
    if copies > 0 {
        l.push(span(
            Role::Warn,
            format!("copies {} ", crate::app::format::count(copies, "file")),
        ));
    }
    let forcing: Vec<&str> = c
        .attributes
        .iter()
        .filter(|a| a.forces_replacement)
        .map(|a| a.path.as_str())
        .collect();
    if !forcing.is_empty() {
        l.push(span(Role::Dim, format!("forced by {}", forcing.join(", "))));
    } else if let Some(p) = &c.previous_address {
        l.push(span(Role::Dim, format!("moved from {p}")));
    } else if c.action == Action::Update {
        let changed: Vec<&str> = c
            .attributes
            .iter()
            .filter(|a| a.changed)
            .map(|a| a.path.as_str())
            .collect();
        l.push(span(Role::Dim, changed.join(", ")));
    } else if c.action == Action::Destroy {
        l.push(span(Role::Dim, &c.why));
    }
    l
}
