//! Titles of screens and of their details: subject, counts and filters.

use super::header::status;
use super::{Line, Role, cells_of, fit_line, span};
use crate::app::format::{clock, count, elapsed};
use crate::app::state::{Context, DeployFilter, PluginTab, State};

fn find_and_filter(l: &mut Line, state: &State) {
    let list = state.list();
    if !list.filter.is_empty() {
        l.push(span(Role::Plain, "   "));
        l.push(span(Role::Warn, format!("filter: {}", list.filter)));
    }
    if !list.find.is_empty() {
        l.push(span(Role::Plain, "   "));
        l.push(span(Role::Match, format!(" find: {} ", list.find)));
    }
}

/// Renders the title of the screen in `cells` cells. The subject is cut first; filters remain.
pub fn title(state: &State, cells: usize) -> Line {
    let mut tail = Line::new();
    // Measured first, because filters must stay visible in a narrow title.
    narrowed(&mut tail, state);
    let room = cells.saturating_sub(cells_of(&tail));
    let mut l = fit_line(subject(state), room);
    l.extend(tail);
    l
}

/// Adds the filters of the list and the position of a replay.
fn narrowed(l: &mut Line, state: &State) {
    match (state.context(), state.filters.action) {
        (Context::Stage, Some(f)) => l.push(span(Role::Warn, format!("   only {}", f.label()))),
        (Context::Deploy | Context::Replay, _) if state.filters.deploy != DeployFilter::All => {
            l.push(span(
                Role::Warn,
                format!("   only {}", state.filters.deploy.label()),
            ));
        }
        _ => {}
    }
    if let (Context::Replay, Some(r)) = (state.context(), &state.loaded.replay) {
        let text = format!(
            "   replay {} · event {} of {} [ ]",
            clock(r.at, state.utc_offset),
            r.cursor,
            r.record.events.len()
        );
        l.push(span(Role::Key, text));
    }
    find_and_filter(l, state);
}

/// Returns the subject of the screen.
fn subject(state: &State) -> Line {
    let mut l = vec![span(Role::Plain, " ")];
    (state.context().of().write_subject)(state, &mut l);
    l
}

pub(in crate::app) fn history(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "history"));
    l.push(span(
        Role::Plain,
        format!(
            " · {}",
            count(state.loaded.history.as_ref().map_or(0, Vec::len), "deploy")
        ),
    ));
}

pub(in crate::app) fn failures(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "failures"));
    l.push(span(
        Role::Plain,
        format!(
            " · {} · newest first",
            count(state.loaded.failures.as_ref().map_or(0, Vec::len), "kind")
        ),
    ));
}

pub(in crate::app) fn resources(state: &State, l: &mut Line) {
    let rows = state.loaded.state_rows.as_deref().unwrap_or_default();
    l.push(span(Role::Strong, "state"));
    l.push(span(
        Role::Plain,
        format!(" · {}", count(rows.len(), "object")),
    ));
    let tainted = rows.iter().filter(|r| r.tainted).count();
    if tainted > 0 {
        l.push(span(Role::Bad, format!(" · {tainted} tainted")));
    }
}

pub(in crate::app) fn tracing(_: &State, l: &mut Line) {
    l.push(span(Role::Strong, "the engine's own log"));
}

pub(in crate::app) fn plugins(state: &State, l: &mut Line) {
    let list = &state.lists[Context::Plugins as usize];
    if let (true, Some(p)) = (list.zoom, state.plugin()) {
        let (symbol, word, role) = status(&p.state);
        l.push(span(Role::Strong, &p.id.0));
        l.push(span(role, format!("  {symbol} {word}  ")));
        tabs(state, l);
        return;
    }
    l.push(span(Role::Strong, "plugins"));
    l.push(span(
        Role::Plain,
        format!(" · {}", state.view.plugins.len()),
    ));
    let mut failed = state.view.plugins.values().filter(|p| p.state.is_failed());
    // Transformers are excluded: no resource needs them.
    if let Some(p) = failed.find(|p| !p.is_transformer()) {
        l.push(span(
            Role::Bad,
            format!(
                " · {} {}; its resources cannot be staged or applied",
                p.id,
                p.state.label()
            ),
        ));
    }
}

fn tabs(state: &State, l: &mut Line) {
    for tab in PluginTab::ALL {
        let role = if tab == state.filters.plugin_tab {
            Role::Key
        } else {
            Role::Dim
        };
        l.push(span(
            role,
            if tab == state.filters.plugin_tab {
                format!("[{}]", tab.label())
            } else {
                format!(" {} ", tab.label())
            },
        ));
    }
}

pub(in crate::app) fn calls(state: &State, l: &mut Line) {
    let running = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some())
        .count();
    l.push(span(Role::Strong, "calls"));
    l.push(span(
        Role::Plain,
        format!(
            " · {running} running · {} waiting",
            state.view.calls.len() - running
        ),
    ));
    if let Some(c) = state.view.longest_blocker() {
        let behind = state
            .view
            .calls
            .values()
            .filter(|o| o.blocker == Some(c.call))
            .count();
        let since = elapsed(state.now - c.started_at.unwrap_or(state.now));
        let what = c.resource.as_deref().unwrap_or(&c.plugin.0);
        l.push(span(
            Role::Warn,
            format!(" · longest: {what} ({}, {since})", c.method),
        ));
        if behind > 0 {
            l.push(span(
                Role::Warn,
                format!(", blocks {}", count(behind, "call")),
            ));
        }
    }
}

pub(in crate::app) fn logs(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "logs"));
    l.push(span(
        Role::Plain,
        format!(" · {}", count(state.frame.rows.len(), "line")),
    ));
    l.push(if state.log.follow {
        span(Role::Ok, " · following")
    } else {
        span(Role::Warn, " · not following (space)")
    });
    l.push(span(
        Role::Plain,
        format!(
            " · {} and up · {}",
            state.log.level.label(),
            state.log.source.as_deref().unwrap_or("all sources")
        ),
    ));
    if state.log.dropped > 0 {
        l.push(span(
            Role::Warn,
            format!(" · {} older lines are only in the store", state.log.dropped),
        ));
    }
}

/// Renders the title of the detail.
pub fn detail_title(state: &State) -> Line {
    let mut l = Line::new();
    match state.context() {
        Context::Plugins => {
            if let Some(p) = state.plugin() {
                l.push(span(Role::Strong, format!(" {} ", p.id)));
                tabs(state, &mut l);
                l.push(span(Role::Plain, " "));
            }
        }
        _ => {
            if let Some(r) = state.selected() {
                let text = match &r.key {
                    crate::app::list::RowKey::Text(t) => t.clone(),
                    crate::app::list::RowKey::Number(n) => format!("#{n}"),
                };
                l.push(span(Role::Strong, format!(" {text} ")));
            }
        }
    }
    l
}
