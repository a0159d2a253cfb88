//! Logs screen: log lines of the plugins, and the engine's own log.

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, push_keys, sentence};
use crate::app::doc::{self, Doc, Line, Role, line, push_text, span};
use crate::app::format::{clock_ms, count};
use crate::app::list::Row;
use crate::app::log::LogEntry;
use crate::app::rows::is_filtered;
use crate::app::state::State;
use crate::app::unsettled::unused_in;
use model::view::PluginView;
use model::{DeploySummary, LogLevel, PluginId, PluginState, UnixMs};
use std::collections::BTreeMap;

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
    first_keys: |_| &["problem-previous", "problem-next"],
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

/// Rows of the lines, with marks at the begin and the end of each deploy. The stack of a repeated
/// panic has no rows of its own. A filter looks at every line.
fn rows(state: &State) -> Vec<Row> {
    let log = &state.log;
    let mut shown = log
        .lines()
        .enumerate()
        .filter(|(_, e)| log.is_shown(e))
        .peekable();
    if is_filtered(state) {
        return shown.map(|(i, e)| Row::number(e.n, i)).collect();
    }
    let first = shown.peek().map_or(UnixMs::MAX, |(_, e)| e.line.at);
    let mut marks = deploy_marks(state).into_iter().peekable();
    while marks.next_if(|(at, _)| *at < first).is_some() {}
    let mut stacks: BTreeMap<&PluginId, Vec<&str>> = BTreeMap::new();
    let (mut rows, mut hidden) = (Vec::new(), 0);
    for (i, e) in shown {
        if i < hidden {
            continue;
        }
        // The lines of a panic stay together.
        let is_begin = !e.line.panic || plugin::opens_panic(&e.line.text);
        while let Some((_, text)) = marks.next_if(|(at, _)| is_begin && *at <= e.line.at) {
            rows.push(Row::heading(text));
        }
        rows.push(Row::number(e.n, i));
        if !e.line.panic || !is_begin {
            continue;
        }
        let rest = log.rest_of_panic(i);
        let lines = std::iter::once(&i).chain(&rest).filter_map(|i| log.get(*i));
        let stack: Vec<&str> = lines.map(|e| e.line.text.as_str()).collect();
        let before = stacks.insert(&e.line.plugin, stack);
        if before.as_ref() == stacks.get(&e.line.plugin) {
            hidden = rest.last().map_or(0, |last| last + 1);
        }
    }
    rows.extend(marks.map(|(_, text)| Row::heading(text)));
    rows
}

/// Times and texts of the begins and the ends of deploys, oldest first.
fn deploy_marks(state: &State) -> Vec<(UnixMs, String)> {
    let mut marks = Vec::new();
    let mut add = |at: UnixMs, text: String| {
        let time = clock_ms(at, state.utc_offset) + " ";
        let time = Some(time).filter(|_| state.log.times).unwrap_or_default();
        marks.push((at, format!("{time}── {text}")));
    };
    let live = state.view.deploy.as_ref();
    for s in state.loaded.history.iter().flatten() {
        if live.is_none_or(|d| d.deploy != s.deploy) {
            add(s.began, format!("deploy #{} started", s.deploy));
            add_end(state, s, &mut add);
        }
    }
    if let Some(d) = live {
        add(d.began, format!("deploy #{} started", d.deploy));
        if let Some(s) = &d.summary {
            add_end(state, s, &mut add);
        }
    }
    marks.sort_by_key(|(at, _)| *at);
    marks
}

fn add_end(state: &State, s: &DeploySummary, add: &mut impl FnMut(UnixMs, String)) {
    let Some(at) = s.ended else { return };
    let failure = doc::failures_of(state, s).next();
    let why = failure.map(|g| {
        let solved = g.solved_in.map(|deploy| format!(", solved in #{deploy}"));
        let solved = solved.unwrap_or_default();
        format!(": {}: {}{solved}", g.class.label(), g.summary)
    });
    let why = why.unwrap_or_default();
    add(
        at,
        format!("deploy #{} {}{why}", s.deploy, s.outcome.label()),
    );
}

/// Returns the indexes of the lines that a row stands for in addition to its own: the stack of a
/// panic that an earlier panic of the plugin has, too.
pub fn folded_lines(state: &State, at: usize) -> Vec<usize> {
    let index = |at: usize| state.frame.rows.get(at).map(|row| row.index);
    let Some(first) = index(at).filter(|_| !is_filtered(state)) else {
        return Vec::new();
    };
    let rest = state.log.rest_of_panic(first);
    match rest.first() {
        Some(next) if index(at + 1) == Some(*next) => Vec::new(),
        _ => rest,
    }
}

fn text(state: &State, row: &Row) -> String {
    let Some(e) = state.log.get(row.index) else {
        return String::new();
    };
    format!("{} {} {}", e.line.plugin, e.line.level.label(), e.line.text)
}

/// Complete line; of a panic with its stack.
fn detail(state: &State, row: &Row) -> Doc {
    let Some(e) = state.log.get(row.index) else {
        return Doc::new();
    };
    let mut doc = doc::log_line(state, e);
    for e in state.log.rest_of_panic(row.index) {
        if let Some(e) = state.log.get(e) {
            push_text(&mut doc, Role::Plain, "  ", &e.line.text);
        }
    }
    doc
}

fn write_subject(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "logs"));
    let lines = match is_filtered(state) {
        true => state.frame.counts.0,
        false => state.log.lines().filter(|e| state.log.is_shown(e)).count(),
    };
    l.push(span(Role::Plain, format!(" · {}", count(lines, "line"))));
    let (settled, causes) = (settled(state), causes(state));
    let is_solved = |e: &LogEntry| causes.get(&(e.line.at, &*e.line.text)) == Some(&true);
    let (mut errors, mut warnings, mut minor) = (0, 0, 0);
    for row in state.frame.rows.iter().filter(|row| !row.heading) {
        match state.log.get(row.index) {
            Some(e) if is_stack(e) || e.line.level < LogLevel::Warn => {}
            Some(e) if is_settled(&settled, e) || is_solved(e) => minor += 1,
            Some(e) if e.line.level == LogLevel::Error => errors += 1,
            Some(_) => warnings += 1,
            None => {}
        }
    }
    for (n, word, role) in [
        (errors, "error", Role::Bad),
        (warnings, "warning", Role::Warn),
    ] {
        if n > 0 {
            l.push(span(role, format!(" · {}", count(n, word))));
        }
    }
    if minor > 0 {
        if errors + warnings == 0 {
            l.push(span(Role::Ok, " · no open problem"));
        }
        l.push(span(Role::Dim, format!(" · {minor} settled or unused")));
    }
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

/// Times until which the errors of plugins need nobody: the plugin is ready since then, or nothing
/// uses it.
pub fn settled(state: &State) -> BTreeMap<&PluginId, UnixMs> {
    let plugins = state.view.plugins.values();
    let until = |p: &PluginView| match &p.state {
        PluginState::Ready { since } => Some(*since),
        other if other.is_failed() && unused_in(state, p).is_some() => Some(UnixMs::MAX),
        _ => None,
    };
    plugins.filter_map(|p| Some((&p.id, until(p)?))).collect()
}

/// Returns true for a line before the time until which the errors of its plugin need nobody.
pub fn is_settled(settled: &BTreeMap<&PluginId, UnixMs>, e: &LogEntry) -> bool {
    let until = settled.get(&e.line.plugin);
    until.is_some_and(|until| e.line.at < *until)
}

/// Times and texts of the log lines at failures of operations, and whether a later deploy solved
/// the failure.
pub fn causes(state: &State) -> BTreeMap<(UnixMs, &str), bool> {
    let groups = state.loaded.failures.iter().flatten();
    let lines = groups.flat_map(|g| {
        let lines = g.last_lines_at.iter().zip(&g.last_lines);
        lines.map(|(at, text)| ((*at, text.as_str()), g.solved_in.is_some()))
    });
    lines.collect()
}

/// Returns true for a line of a panic after its first one.
fn is_stack(e: &LogEntry) -> bool {
    e.line.panic && !plugin::opens_panic(&e.line.text)
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
