//! State screen: resource instances in the state.

use crate::app::doc::{self, Line, Role, line};
use crate::app::list::Row;
use crate::app::state::State;
use crate::engine::model::DriftKind;
use crate::ui::table::{Column, Width, column, number};

pub const COLUMNS: &[Column] = &[
    column("RESOURCE", Width::Key(20), 0),
    column("STATE", Width::Fix(10), 0),
    column("PROVIDER", Width::Flex(10, 2), 3),
    number("NEEDS", 5, 1),
    number("NEEDED", 6, 2),
];

/// Cells of a resource instance.
pub fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(r) = state
        .loaded
        .state_rows
        .as_ref()
        .and_then(|s| s.get(row.index))
    else {
        return Vec::new();
    };
    // One word per row: the state that needs attention first.
    let (word, role) = if r.deposed.is_some() {
        ("■ deposed", Role::Warn)
    } else if r.tainted {
        ("✗ tainted", Role::Bad)
    } else if let Some(drift) = r.drift {
        (
            if drift == DriftKind::Gone {
                "✗ deleted"
            } else {
                "~ drift"
            },
            doc::drift_role(drift),
        )
    } else if r.data {
        ("<= data", Role::Read)
    } else {
        ("● known", Role::Ok)
    };
    vec![
        line(
            Role::Plain,
            format!("    {}", row.key.text().unwrap_or_default()),
        ),
        line(role, word),
        line(
            Role::Dim,
            r.provider
                .trim_end_matches("\"]")
                .rsplit('/')
                .next()
                .unwrap_or(&r.provider),
        ),
        line(Role::Plain, r.dependencies.len().to_string()),
        line(Role::Plain, r.dependents.len().to_string()),
    ]
}
