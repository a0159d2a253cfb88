//! Plugins screen: states, launches and usage; and the schema browser.

use crate::app::doc::{self, Line, Role, line, span};
use crate::app::format::{bytes, duration, elapsed};
use crate::app::list::Row;
use crate::app::state::State;
use crate::engine::model::{PluginId, PluginState};
use crate::engine::view::PluginView;
use crate::ui::table::{Column, Width, column, number};

pub const COLUMNS: &[Column] = &[
    column("STATE", Width::Fix(14), 0),
    column("PLUGIN", Width::Key(14), 0),
    column("VERSION", Width::Fix(8), 4),
    column("DIALECT", Width::Fix(11), 6),
    number("PID", 7, 8),
    number("TRY", 5, 2),
    number("UP", 6, 3),
    number("↻", 2, 5),
    number("CPU", 5, 7),
    number("RSS", 6, 7),
    number("CALLS", 5, 3),
    number("P95", 7, 9),
    column("LAST OUTPUT", Width::Flex(10, 4), 1),
];

fn empty_cell() -> Line {
    line(Role::Dim, "–")
}

/// Time since the plugin is ready, or since its launch began, or until its next launch.
fn uptime(state: &State, p: &PluginView) -> Line {
    let attempt = p.attempt();
    match &p.state {
        PluginState::Ready { since } => line(Role::Plain, elapsed(state.now - since)),
        PluginState::Launching { .. }
        | PluginState::Handshaking { .. }
        | PluginState::Registering { .. } => attempt.map_or_else(empty_cell, |a| {
            line(Role::Busy, elapsed(state.now - a.began))
        }),
        PluginState::Backoff { until, .. } => line(
            Role::Warn,
            format!("in {}", elapsed((until - state.now).max(0))),
        ),
        _ => empty_cell(),
    }
}

/// Number of the current launch, and the limit.
fn launch_count(p: &PluginView) -> Line {
    let attempt = p.attempt();
    match &p.state {
        PluginState::Launching { attempt, limit }
        | PluginState::Handshaking { attempt, limit }
        | PluginState::Registering { attempt, limit }
        | PluginState::Backoff { attempt, limit, .. } => line(
            if *attempt > 1 {
                Role::Warn
            } else {
                Role::Plain
            },
            format!("{attempt}/{limit}"),
        ),
        // In other states the number of the last launch still tells how many it took.
        _ => attempt.map_or_else(empty_cell, |a| {
            line(
                if a.number > 1 {
                    Role::Warn
                } else {
                    Role::Plain
                },
                format!("{}/{}", a.number, a.limit),
            )
        }),
    }
}

/// Last output line of the plugin; preceded by the name of the transform for a transformer.
fn last_output(p: &PluginView) -> String {
    let transform = p.found.as_ref().and_then(|f| f.transform.as_deref());
    let kind = p.is_transformer().then(|| match transform {
        Some(name) => format!("transformer {name:?}"),
        None => "transformer".to_owned(),
    });
    let parts: Vec<String> = kind.into_iter().chain(p.last_line.clone()).collect();
    parts.join(" · ")
}

/// Cells of a plugin.
pub fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(p) = row
        .key
        .text()
        .and_then(|k| state.view.plugins.get(&PluginId(k.into())))
    else {
        return Vec::new();
    };
    let (symbol, word, role) = doc::status(&p.state);
    let found = p.found.as_ref();
    let in_call = state
        .view
        .calls
        .values()
        .filter(|c| c.plugin == p.id && c.started_at.is_some())
        .count();
    // Calls of draining processes are shown with those processes.
    let left: u64 = p.leaving.iter().map(|l| l.calls).sum();
    let in_call = in_call.saturating_sub(usize::try_from(left).unwrap_or(usize::MAX));
    // The reason of a failure matters more than the last line.
    let words = p
        .state
        .unavailable_reason()
        .map_or_else(|| line(Role::Dim, last_output(p)), |why| line(role, why));
    vec![
        line(role, format!("{symbol} {word}")),
        line(Role::Strong, &p.id.0),
        found
            .and_then(|f| f.version.as_ref())
            .map_or_else(empty_cell, |v| line(Role::Plain, v)),
        found
            .and_then(|f| f.dialect.as_ref())
            .map_or_else(empty_cell, |d| line(Role::Plain, d)),
        p.usage
            .map(|u| u.pid)
            // A new process has no usage sample yet.
            .or(p.pid.filter(|_| p.state.has_process()))
            .map_or_else(empty_cell, |pid| line(Role::Plain, pid.to_string())),
        launch_count(p),
        uptime(state, p),
        if p.restarts > 0 {
            line(Role::Warn, p.restarts.to_string())
        } else {
            line(Role::Dim, "0")
        },
        p.usage.map_or_else(empty_cell, |u| {
            line(Role::Plain, format!("{:.0}%", u.cpu_percent))
        }),
        p.usage
            .map_or_else(empty_cell, |u| line(Role::Plain, bytes(u.rss_bytes))),
        if in_call > 0 {
            line(Role::Busy, in_call.to_string())
        } else {
            line(Role::Dim, "0")
        },
        state
            .view
            .p95_ms(&p.id)
            .map_or_else(empty_cell, |ms| line(Role::Plain, duration(ms))),
        words,
    ]
}

pub const SCHEMA: &[Column] = &[column("", Width::Flex(20, 1), 0)];

/// Cells of a row in the schema browser.
pub fn schema_cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(r) = state
        .plugin()
        .and_then(|p| state.loaded.schemas.get(&p.id))
        .and_then(|s| s.get(row.index))
    else {
        return Vec::new();
    };
    let mut l = doc::schema_line(r);
    if r.folder {
        let open = crate::app::rows::is_open(state, r) || !state.list().filter.is_empty();
        l.insert(1, span(Role::Dim, if open { "- " } else { "+ " }));
    } else {
        l.insert(1, span(Role::Plain, "  "));
    }
    vec![l]
}
