//! The lines that frame a screen: header, the screen's own title, the title of its detail, the
//! state of a plugin.

use super::operation::{counts, mode, outcome_role};
use super::*;
use crate::app::format::{clock, count, duration, elapsed};
use crate::app::running;
use crate::app::state::{Context, DeployFilter, PluginTab, State};
use crate::engine::words::{
    Action, DeployOutcome, DriftKind, OperationState, PluginState, Severity, StageMode,
};

/// Symbol, word and role of a plugin's state.
pub fn status(s: &PluginState) -> (&'static str, &'static str, Role) {
    let symbol_role = match s {
        PluginState::Ready { .. } => ("●", Role::Ok),
        PluginState::Launching { .. }
        | PluginState::Handshaking { .. }
        | PluginState::Registering { .. }
        | PluginState::Draining => ("◐", Role::Busy),
        PluginState::Backoff { .. } => ("◌", Role::Warn),
        PluginState::Discovered | PluginState::Stopped | PluginState::Disabled => ("○", Role::Dim),
        PluginState::Rejected { .. }
        | PluginState::Crashed { .. }
        | PluginState::GaveUp { .. }
        | PluginState::Incompatible { .. } => ("✗", Role::Bad),
    };
    (symbol_role.0, s.word(), symbol_role.1)
}

/// A part of the header, and what stands for it where there is less room: the part shrinks to
/// `forms[n].1` (empty: it goes) when its turn `forms[n].0` comes.
struct Part {
    line: Line,
    forms: Vec<(u8, Line)>,
}

/// The parts in a row, shrunk one after the other by their turns until they fit.
fn squeeze(mut parts: Vec<Part>, cells: usize) -> Line {
    let mut turns: Vec<(u8, usize, Line)> = Vec::new();
    for (i, p) in parts.iter_mut().enumerate() {
        turns.extend(p.forms.drain(..).map(|(turn, line)| (turn, i, line)));
    }
    turns.sort_by_key(|(turn, ..)| *turn);
    for (_, i, shorter) in turns {
        if parts.iter().map(|p| cells_of(&p.line)).sum::<usize>() <= cells {
            break;
        }
        parts[i].line = shorter;
    }
    parts.into_iter().flat_map(|p| p.line).collect()
}

/// Line 1 in so many cells: workspace, health, what goes on, who holds the lock. The clock is put
/// at its right end by the drawing. Where it is narrow, what is as always goes first (that the lock
/// is ours, the program's name), then what other screens show in full; what failed, what runs and
/// who else holds the workspace stay.
pub fn header(state: &State, cells: usize) -> Line {
    let name = |text: &str| line(Role::Heading, text);
    let goes = |turn: u8, line: Line| Part {
        line,
        forms: vec![(turn, Line::new())],
    };
    let shrinks = |long: String, turn: u8, short: String| Part {
        line: line(Role::Busy, long),
        forms: vec![(turn, line(Role::Busy, short))],
    };
    let mut parts = vec![
        Part {
            line: line(Role::Strong, " flightdeck  "),
            forms: vec![(3, line(Role::Plain, " "))],
        },
        Part {
            line: name(&state.workspace),
            forms: vec![(14, name(&crate::app::text::fit(&state.workspace, 8)))],
        },
    ];
    if let Some(h) = state.locked_by() {
        let long = line(
            Role::Bad,
            format!("   read-only, locked by {} (pid {})", h.who, h.pid),
        );
        parts.push(Part {
            line: long,
            forms: vec![(10, line(Role::Bad, format!("  read-only: {}", h.who)))],
        });
    }
    if !state.view.unknown.is_empty() {
        let badge = |short| line(Role::Bad, unknown_badge(state, short));
        parts.push(Part {
            line: badge(false),
            forms: vec![(8, badge(true))],
        });
    }
    parts.extend(health(state));
    let running = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some())
        .count();
    let waiting = state.view.calls.len() - running;
    let (held, slots) = state.view.slots();
    if slots > 0 {
        parts.push(goes(
            6,
            line(Role::Plain, format!("  calls {held}/{slots}")),
        ));
    } else if running > 0 {
        parts.push(goes(6, line(Role::Plain, format!("  calls {running}"))));
    }
    if waiting > 0 {
        parts.push(goes(5, line(Role::Warn, format!(" +{waiting} waiting"))));
    }
    if let Some(d) = state.view.deploy.as_ref().filter(|d| d.summary.is_none()) {
        let since = elapsed(state.now - d.began);
        parts.push(shrinks(
            format!("  ◐ deploy #{} {since}", d.deploy),
            11,
            format!("  ◐ #{} {since}", d.deploy),
        ));
    } else if let Some(s) = &state.view.staging {
        parts.push(shrinks(
            format!("  ◐ staging #{}", s.stage),
            11,
            format!("  ◐ #{}", s.stage),
        ));
    } else if let Some(s) = &state.view.stage {
        let all = s
            .changes
            .iter()
            .filter(|c| c.action != Action::NoOp)
            .count();
        let taken = state.taken().count();
        let short = line(Role::Plain, format!("  stage #{} {taken}/{all}", s.stage));
        let long = line(
            Role::Plain,
            format!("  stage #{}: {taken} of {all} taken", s.stage),
        );
        parts.push(Part {
            line: long,
            forms: vec![(4, short), (7, Line::new())],
        });
    }
    match (&state.view.lock, state.view.lock_is_ours) {
        (Some(_), true) => parts.push(goes(1, line(Role::Plain, "  lock: you"))),
        (Some(_), false) => {}
        (None, _) => parts.push(goes(1, line(Role::Dim, "  lock: free"))),
    }
    squeeze(parts, cells)
}

/// How the plugins are.
fn health(state: &State) -> Vec<Part> {
    let (mut ready, mut busy, mut failed) = (0, 0, 0);
    for p in state.view.plugins.values() {
        match status(&p.state).2 {
            Role::Ok => ready += 1,
            Role::Busy | Role::Warn => busy += 1,
            Role::Bad => failed += 1,
            _ => {}
        }
    }
    let role = if ready > 0 { Role::Ok } else { Role::Dim };
    let mut parts = vec![Part {
        line: line(role, format!("  ● {} ready", count(ready, "plugin"))),
        forms: vec![
            (2, line(role, format!("  ● {ready} ready"))),
            (9, line(role, format!("  ●{ready}"))),
            (13, Line::new()),
        ],
    }];
    if busy > 0 {
        let short = line(Role::Busy, format!(" ◐{busy}"));
        parts.push(Part {
            line: line(Role::Busy, format!(" ◐ {busy} starting")),
            forms: vec![(5, short), (12, Line::new())],
        });
    }
    if failed > 0 {
        let short = line(Role::Bad, format!(" ✗{failed}"));
        parts.push(Part {
            line: line(Role::Bad, format!(" ✗ {failed} failed")),
            forms: vec![(9, short)],
        });
    }
    parts
}

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

/// The screen's own line in so many cells: what it is about, cut where that must be, and at its end
/// what narrows it.
pub fn title(state: &State, cells: usize) -> Line {
    let mut tail = Line::new();
    narrowed(&mut tail, state);
    let room = cells.saturating_sub(cells_of(&tail));
    let mut l = fit_line(about(state), room);
    l.extend(tail);
    l
}

/// What the list is narrowed to, and where a replay stands.
fn narrowed(l: &mut Line, state: &State) {
    match (state.context(), state.filters.action) {
        (Context::Stage, Some(f)) => l.push(span(Role::Warn, format!("   only {}", f.word()))),
        (Context::Deploy | Context::Replay, _) if state.filters.deploy != DeployFilter::All => {
            l.push(span(
                Role::Warn,
                format!("   only {}", state.filters.deploy.word()),
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

/// What the screen is about.
fn about(state: &State) -> Line {
    let mut l = vec![span(Role::Plain, " ")];
    (state.context().of().about)(state, &mut l);
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
    if let Some(p) = state.view.plugins.values().find(|p| p.state.is_failed()) {
        l.push(span(
            Role::Bad,
            format!(" · blocked: what needs {} is refused", p.id),
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
                format!("[{}]", tab.word())
            } else {
                format!(" {} ", tab.word())
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
        let what = c.resource.as_deref().unwrap_or(c.plugin.0.as_str());
        l.push(span(
            Role::Warn,
            format!(" · longest: {what} ({}, {since})", c.method),
        ));
        if behind > 0 {
            l.push(span(Role::Warn, format!(", {behind} behind it")));
        }
    }
}

pub(in crate::app) fn stage(state: &State, l: &mut Line) {
    if let Some(s) = &state.view.staging {
        l.push(span(
            Role::Busy,
            format!("◐ staging #{} ({})", s.stage, mode(s.mode)),
        ));
        l.push(span(
            Role::Plain,
            format!(
                " · {}/{} · {} · {}",
                s.done,
                s.total,
                elapsed(state.now - s.since),
                s.now
            ),
        ));
        return;
    }
    if state.view.stage_error.is_some() {
        l.push(span(Role::Bad, "✗ staging failed"));
        if let Some(s) = &state.view.stage {
            l.push(span(
                Role::Dim,
                format!(" · stage #{} is still there: s stages again", s.stage),
            ));
        }
        return;
    }
    let Some(s) = &state.view.stage else {
        l.push(span(Role::Strong, "stage"));
        return;
    };
    let all = s
        .changes
        .iter()
        .filter(|c| c.action != Action::NoOp)
        .count();
    l.push(span(Role::Strong, format!("stage #{}", s.stage)));
    if s.mode != StageMode::Normal {
        l.push(span(Role::Warn, format!(" ({})", mode(s.mode))));
    }
    if s.mode == StageMode::RefreshOnly {
        if s.drift.is_empty() {
            l.push(span(Role::Ok, " · as the state has it"));
        }
        l.extend(said(state));
    } else {
        l.push(span(
            Role::Plain,
            format!(
                " · {} · {} taken",
                count(all, "change"),
                state.taken().count()
            ),
        ));
        l.extend(said(state));
        l.push(span(Role::Plain, " · "));
        l.extend(counts(&s.counts));
    }
    let mut found = [DriftKind::Gone, DriftKind::Changed, DriftKind::Moved]
        .map(|what| (what, s.drifted(what)))
        .to_vec();
    found.retain(|(_, n)| *n > 0);
    for (i, (what, n)) in found.iter().enumerate() {
        l.push(span(
            drift_role(*what),
            format!("{}{n} {}", if i == 0 { " · " } else { ", " }, what.word()),
        ));
    }
    if !found.is_empty() && s.mode != StageMode::RefreshOnly {
        l.push(span(Role::Dim, " in the world"));
    }
    let outputs = s
        .outputs
        .iter()
        .filter(|o| o.action != Action::NoOp)
        .count();
    if outputs > 0 {
        l.push(span(
            Role::Plain,
            format!(" · {}", count(outputs, "output")),
        ));
    }
    let moved = s
        .changes
        .iter()
        .filter(|c| c.action == Action::NoOp && c.does_something())
        .count();
    if moved > 0 {
        l.push(span(Role::Plain, format!(" · {moved} moved")));
    }
    l.push(span(Role::Dim, format!(" · in {}", duration(s.took_ms))));
}

/// How many errors and warnings there are, and the key that shows them.
fn said(state: &State) -> Line {
    let of = |severity| {
        state
            .view
            .diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .count()
    };
    let (errors, warnings, key) = (
        of(Severity::Error),
        of(Severity::Warning),
        state.keys.first("stage-diagnostics"),
    );
    let mut l = Line::new();
    for (n, one, role) in [
        (errors, "error", Role::Bad),
        (warnings, "warning", Role::Warn),
    ] {
        if n > 0 {
            l.push(span(role, format!(" · {} ({key})", count(n, one))));
        }
    }
    l
}

pub(in crate::app) fn deploy(state: &State, l: &mut Line) {
    let Some((d, now)) = state.shown_deploy() else {
        l.push(span(Role::Strong, "deploy"));
        return;
    };
    l.push(span(Role::Strong, format!("deploy #{}", d.deploy)));
    let queued = running::count_queued(state, d);
    let of = |s: OperationState| match s {
        OperationState::Running => d
            .operations
            .iter()
            .filter(|o| o.state == s)
            .count()
            .saturating_sub(queued),
        s => d.operations.iter().filter(|o| o.state == s).count(),
    };
    match &d.summary {
        Some(s) => {
            let (symbol, role) = outcome_role(s.outcome);
            let took = s
                .ended
                .map_or(0, |e| u64::try_from(e - s.began).unwrap_or(0));
            // When a killed run ended nobody knows.
            let how = if s.outcome == DeployOutcome::Interrupted {
                "last heard of after"
            } else {
                "in"
            };
            l.push(span(
                role,
                format!(" · {symbol} {} {how} {}", s.outcome.word(), duration(took)),
            ));
        }
        None => {
            let (symbol, role) = outcome_role(DeployOutcome::Running);
            l.push(span(
                role,
                format!(" · {symbol} running {}", elapsed(now - d.began)),
            ));
        }
    }
    let parts = [
        (OperationState::Done, Role::Ok, "done"),
        (OperationState::Running, Role::Busy, "running"),
        (OperationState::HalfReplaced, Role::Bad, "half replaced"),
        (OperationState::Failed, Role::Bad, "failed"),
        (OperationState::Unknown, Role::Warn, "unknown"),
        (OperationState::Waiting, Role::Plain, "waiting"),
        (OperationState::NotAttempted, Role::Warn, "not attempted"),
    ];
    for (s, role, word) in parts {
        let n = of(s);
        if n > 0 || s == OperationState::Done {
            l.push(span(
                if n > 0 { role } else { Role::Dim },
                format!(" · {n} {word}"),
            ));
        }
        if s == OperationState::Running && queued > 0 {
            l.push(span(Role::Warn, format!(" · {queued} queued")));
        }
    }
    if let Some(r) = d.cancel {
        let word = match r {
            crate::engine::words::CancelRung::StopStarting => "nothing new starts",
            crate::engine::words::CancelRung::AskPlugins => "plugins were asked to stop",
            crate::engine::words::CancelRung::KillPlugins => "plugins were killed",
        };
        l.push(span(Role::Warn, format!(" · cancelled: {word}")));
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
            state.log.level.word(),
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

/// What stands over the detail.
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
