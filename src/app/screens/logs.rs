//! Logs screen: log lines of the plugins, and the engine's own log.

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, push_keys, sentence};
use crate::app::doc::{self, Doc, Line, Role, line, span};
use crate::app::format::count;
use crate::app::list::Row;
use crate::app::state::State;

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current,
    load: || None,
};

pub(super) const LOGS: ContextInfo = ContextInfo {
    title: "Logs",
    body: Body::Log,
    // Log lines need the full width.
    detail_place: DetailPlace::Zoomed,
    rows: |state| (rows(state), 0),
    text,
    detail,
    write_subject,
    empty,
    ..ContextInfo::DEFAULT
};

pub(super) const TRACING: ContextInfo = ContextInfo {
    title: "The engine's own log",
    body: Body::Tracing,
    write_subject: |_, l| l.push(span(Role::Strong, "the engine's own log")),
    ..ContextInfo::DEFAULT
};

fn current(state: &State) -> Context {
    if state.log.tracing {
        Context::Tracing
    } else {
        Context::Logs
    }
}

fn rows(state: &State) -> Vec<Row> {
    let shown = state
        .log
        .lines()
        .enumerate()
        .filter(|(_, e)| state.log.is_shown(e));
    shown.map(|(i, e)| Row::number(e.n, i)).collect()
}

fn text(state: &State, row: &Row) -> String {
    let Some(e) = state.log.get(row.index) else {
        return String::new();
    };
    format!("{} {} {}", e.line.plugin, e.line.level.label(), e.line.text)
}

fn detail(state: &State, row: &Row) -> Doc {
    state
        .log
        .get(row.index)
        .map(|e| doc::log_line(state, e))
        .unwrap_or_default()
}

fn write_subject(state: &State, l: &mut Line) {
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

fn empty(state: &State) -> Option<Doc> {
    if state.log.lines().next().is_none() {
        return sentence(Role::Plain, "No log lines yet.");
    }
    let mut doc = vec![line(Role::Plain, "No line has this level and source.")];
    let all = [("v", "changes the level"), ("p", "changes the source")];
    push_keys(&mut doc, &all);
    Some(doc)
}
