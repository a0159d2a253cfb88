//! Progress of a stage that is being computed: resources that are read or planned now, and plugins
//! that it waits for.

use super::launches::next_launch;
use super::{Doc, Line, Role, line, push_heading, span};
use crate::app::format::{count, duration, elapsed};
use crate::app::state::State;
use model::view::{CallView, Staging};
use model::{Action, ChangeView, MethodName, PluginState, StageMode, StageSummary};

/// Maximum number of calls in the list; the rest is counted.
const MAX_CALLS: usize = 20;
/// Width of the progress bar.
const BAR_CELLS: usize = 20;
/// Factor of the usual duration from which a call counts as slow.
const SLOW: u64 = 3;

/// Renders the progress as the contents of the screen.
pub fn staging(state: &State, s: &Staging) -> Doc {
    let mut head = vec![span(Role::Busy, format!("◐ {}  ", step(s)))];
    if s.total > 0 {
        let (done, total) = (s.done as usize, s.total as usize);
        head.extend(super::gauge(Role::Busy, done, total, BAR_CELLS));
        head.push(span(Role::Plain, format!(" {} of {}  ", s.done, s.total)));
    }
    head.push(span(Role::Dim, elapsed(state.now - s.since)));
    let mut doc = vec![head];
    let plugins: Vec<Line> = waiting_plugins(state).collect();
    if !plugins.is_empty() {
        push_heading(&mut doc, "plugins that are starting");
        doc.extend(plugins.into_iter().map(indented));
    }
    let calls = running_calls(state);
    if !calls.is_empty() {
        push_heading(&mut doc, "in progress, oldest first");
        doc.extend(
            calls
                .iter()
                .take(MAX_CALLS)
                .map(|c| indented(call(state, c))),
        );
        if calls.len() > MAX_CALLS {
            let more = count(calls.len() - MAX_CALLS, "more call");
            doc.push(line(Role::Dim, format!("  and {more}")));
        }
    }
    // Running calls without a resource, such as the configuration of a provider, do not wait.
    let is_queued = |c: &&CallView| c.started_at.is_none();
    let queued = state.view.calls.values().filter(is_queued).count();
    if queued > 0 {
        doc.push(Line::new());
        doc.push(line(
            Role::Dim,
            format!("{} for a slot of the pool", waiting(queued)),
        ));
    }
    doc
}

/// Appends the progress to the title of the screen: counts, time, and the cause of a wait.
pub fn write_staging(state: &State, s: &Staging, l: &mut Line) {
    l.push(span(Role::Busy, format!("◐ staging #{}", s.stage)));
    if s.mode != StageMode::Normal {
        l.push(span(Role::Warn, format!(" ({})", super::mode(s.mode))));
    }
    if s.total > 0 {
        l.push(span(Role::Plain, format!(" · {} of {}", s.done, s.total)));
    }
    l.push(span(
        Role::Plain,
        format!(" · {}", elapsed(state.now - s.since)),
    ));
    let calls = running_calls(state);
    if let Some(oldest) = calls.first() {
        l.push(span(Role::Plain, " · "));
        l.extend(call(state, oldest));
        if calls.len() > 1 {
            l.push(span(Role::Dim, format!(" and {} more", calls.len() - 1)));
        }
    } else if let Some(plugin) = waiting_plugins(state).next() {
        l.push(span(Role::Plain, " · waiting for "));
        l.extend(plugin);
    }
}

/// Step of the work, as far as the counts show it.
fn step(s: &Staging) -> &'static str {
    match (s.total, s.mode) {
        (0, _) => "Reading the configuration and starting plugins",
        (_, StageMode::RefreshOnly) => "Reading the real objects",
        _ => "Planning the changes",
    }
}

fn waiting(calls: usize) -> String {
    match calls {
        1 => "1 call waits".to_owned(),
        n => format!("{n} calls wait"),
    }
}

/// Plugins that are being launched, with the current step of each.
fn waiting_plugins(state: &State) -> impl Iterator<Item = Line> {
    state.view.plugins.values().filter_map(|p| {
        let (role, text) = match &p.state {
            PluginState::Launching { attempt, limit } => {
                (Role::Busy, format!("launch {attempt} of {limit}"))
            }
            PluginState::Handshaking { attempt, limit } => (
                Role::Busy,
                format!("launch {attempt} of {limit}, no handshake yet"),
            ),
            PluginState::Registering { attempt, limit } => (
                Role::Busy,
                format!("launch {attempt} of {limit}, not registered yet"),
            ),
            PluginState::Backoff {
                until,
                attempt,
                limit,
                ..
            } => (Role::Warn, next_launch(*attempt, *limit, until - state.now)),
            _ => return None,
        };
        Some(vec![
            span(Role::Plain, format!("{}: ", p.id)),
            span(role, text),
        ])
    })
}

/// Calls for resources that have a slot, oldest first.
fn running_calls(state: &State) -> Vec<&CallView> {
    let mut calls: Vec<_> = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some() && c.resource.is_some())
        .collect();
    calls.sort_by_key(|c| (c.started_at, c.call));
    calls
}

/// Renders a call: its activity, resource and time, and the usual time if it is slow.
fn call(state: &State, c: &CallView) -> Line {
    let since = state.now - c.started_at.unwrap_or(state.now);
    let ms = u64::try_from(since).unwrap_or(0);
    let usual = c.usual.filter(|u| u.count > 0).map(|u| u.p50_ms.max(1));
    let slow = usual.is_some_and(|usual| ms > SLOW * usual);
    let mut l = vec![
        span(Role::Dim, format!("{} ", activity(&c.method))),
        span(Role::Plain, c.resource.as_deref().unwrap_or_default()),
        span(
            if slow { Role::Warn } else { Role::Dim },
            format!("  {}", elapsed(since)),
        ),
    ];
    if let Some(usual) = usual.filter(|_| slow) {
        l.push(span(Role::Warn, format!(", {}× usual", ms / usual)));
    }
    l
}

/// Verb of a call's method; other methods by their own name.
fn activity(method: &MethodName) -> &str {
    match method.as_str() {
        "ReadResource" | "ReadDataSource" => "reading",
        "PlanResourceChange" => "planning",
        "ImportResourceState" => "importing",
        "ValidateResourceConfig" | "ValidateDataResourceConfig" | "ValidateProviderConfig" => {
            "validating"
        }
        "UpgradeResourceState" => "upgrading",
        other => other,
    }
}

fn indented(mut l: Line) -> Line {
    l.insert(0, span(Role::Plain, "  "));
    l
}

/// Maximum number of addresses in a message.
const NAMED: usize = 3;

/// Message about a new stage. Another configuration than the one on disk may destroy what the
/// operator has forgotten, so those objects are named.
pub fn staged_message(s: &StageSummary) -> String {
    let took = duration(s.took_ms);
    match s.configuration_of {
        Some(_) => format!("staged in {took}: {}", destroyed(s)),
        None => format!("staged in {took}"),
    }
}

/// Names the objects that a stage destroys or replaces.
fn destroyed(s: &StageSummary) -> String {
    let lost = |c: &&ChangeView| {
        c.action == Action::Destroy
            || matches!(c.action, Action::Replace | Action::ReplaceCreateFirst)
    };
    let all: Vec<&str> = s.changes.iter().filter(lost).map(|c| &*c.address).collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match &all[..all.len().min(NAMED)] {
        [] => "would destroy nothing".to_owned(),
        named => format!("would destroy {}{more}", named.join(", ")),
    }
}
