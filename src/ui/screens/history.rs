//! History screen: deploys, and groups of similar failures.

use crate::app::doc::{self, Line, Role, line, span};
use crate::app::format::{date, duration};
use crate::app::list::Row;
use crate::app::state::State;
use crate::ui::table::{Column, Width, column, number};

pub const COLUMNS: &[Column] = &[
    number("#", 4, 0),
    column("WHEN", Width::Fix(16), 1),
    column("OUTCOME", Width::Flex(13, 2), 0),
    column("CHANGES", Width::Flex(15, 2), 2),
    number("DONE", 5, 5),
    number("FAIL", 5, 4),
    number("TOOK", 7, 3),
    column("WHO", Width::Flex(8, 2), 6),
    column("CONFIG", Width::Fix(8), 8),
];

/// Cells of a deploy.
pub fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(d) = state.loaded.history.as_ref().and_then(|h| h.get(row.index)) else {
        return Vec::new();
    };
    let (symbol, role) = doc::outcome_role(d.outcome);
    let failed = d.operations.bad();
    vec![
        line(Role::Strong, d.deploy.to_string()),
        line(Role::Plain, date(d.began, state.utc_offset)),
        line(role, format!("{symbol} {}", d.outcome.label())),
        doc::counts(&d.counts),
        line(Role::Plain, d.operations.done.to_string()),
        line(
            if failed > 0 { Role::Bad } else { Role::Dim },
            failed.to_string(),
        ),
        d.ended.map_or_else(Line::new, |e| {
            line(
                Role::Plain,
                duration(u64::try_from(e - d.began).unwrap_or(0)),
            )
        }),
        line(Role::Plain, format!("{}@{}", d.who, d.host)),
        line(
            Role::Dim,
            // A prefix is enough to compare the configurations of two deploys.
            d.config_digest.get(..8).unwrap_or(&d.config_digest),
        ),
    ]
}

pub const FAILURES: &[Column] = &[
    number("SEEN", 4, 0),
    column("LAST", Width::Fix(16), 1),
    column("CLASS", Width::Fix(14), 0),
    column("FAILURE", Width::Flex(26, 5), 0),
    column("WHERE", Width::Flex(12, 3), 2),
];

/// Cells of a group of failures.
pub fn failure_cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(g) = state
        .loaded
        .failures
        .as_ref()
        .and_then(|f| f.get(row.index))
    else {
        return Vec::new();
    };
    // A failure of a launch has a plugin but no resource.
    let place = match g.addresses.as_slice() {
        [] => g
            .plugin
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    vec![
        line(
            if g.count > 1 { Role::Warn } else { Role::Plain },
            format!("{}×", g.count),
        ),
        line(Role::Plain, date(g.last, state.utc_offset)),
        line(Role::Bad, g.class.label()),
        vec![span(Role::Strong, &g.summary)],
        line(Role::Plain, place),
    ]
}
