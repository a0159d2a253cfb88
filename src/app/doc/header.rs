//! Header line: workspace, lock owner, health of plugins and running work. Shortens itself to the
//! width of the screen.

use super::{Line, Role, cells_of, line, unknown_badge};
use crate::app::format::{count, elapsed};
use crate::app::state::State;
use model::Action;
use model::PluginState;

/// Symbol, text and role of a plugin's state.
pub fn status(s: &PluginState) -> (&'static str, &'static str, Role) {
    let symbol_role = match s {
        PluginState::Ready { .. } => ("●", Role::Ok),
        PluginState::Launching { .. }
        | PluginState::Handshaking { .. }
        | PluginState::Registering { .. }
        | PluginState::Draining => ("◐", Role::Busy),
        PluginState::Backoff { .. } => ("◌", Role::Warn),
        PluginState::Discovered
        | PluginState::Stopped
        | PluginState::Idle { .. }
        | PluginState::Disabled => ("○", Role::Dim),
        PluginState::Rejected { .. }
        | PluginState::Crashed { .. }
        | PluginState::GaveUp { .. }
        | PluginState::Incompatible { .. } => ("✗", Role::Bad),
    };
    (symbol_role.0, s.label(), symbol_role.1)
}

/// A part of the header with its shorter forms. The part changes to `forms[n].1` (empty to omit it)
/// at priority `forms[n].0`; lower priorities shrink first.
struct Part {
    line: Line,
    forms: Vec<(u8, Line)>,
}

/// Joins the parts, and shrinks them in order of priority until they fit.
fn fit_parts(mut parts: Vec<Part>, cells: usize) -> Line {
    let mut turns: Vec<(u8, usize, Line)> = Vec::new();
    for (i, p) in parts.iter_mut().enumerate() {
        turns.extend(p.forms.drain(..).map(|(turn, line)| (turn, i, line)));
    }
    turns.sort_by_key(|(turn, ..)| *turn);
    // Stops as soon as the line fits, so that no more than necessary is lost.
    for (_, i, shorter) in turns {
        if parts.iter().map(|p| cells_of(&p.line)).sum::<usize>() <= cells {
            break;
        }
        parts[i].line = shorter;
    }
    parts.into_iter().flat_map(|p| p.line).collect()
}

/// Renders the header in `cells` cells; `ui` adds the clock at its right end. In a narrow header,
/// normal states are omitted first (own lock, program name), then facts that other screens show in
/// full. Failures, running work and another lock owner remain.
pub fn header(state: &State, cells: usize) -> Line {
    let name = |text: &str| line(Role::Heading, text);
    let mut parts = vec![
        Part {
            line: line(Role::Strong, " flightdeck  "),
            forms: vec![(3, line(Role::Plain, " "))],
        },
        Part {
            line: name(&state.place.directory_name),
            forms: vec![(
                14,
                name(&crate::app::text::truncate_end(
                    &state.place.directory_name,
                    8,
                )),
            )],
        },
    ];
    parts.extend(workspace_part(state));
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
    if !state.view.orphans.is_empty() {
        let (n, key) = (
            state.view.orphans.len(),
            state.options.keys.first("orphans"),
        );
        let long = format!("  ✗ {} ({key})", count(n, "orphan"));
        parts.push(Part {
            line: line(Role::Bad, long),
            forms: vec![(8, line(Role::Bad, format!("  ✗{n} ({key})")))],
        });
    }
    if !state.view.absent.is_empty() {
        let badge = |short| line(Role::Bad, absent_badge(state, short));
        parts.push(Part {
            line: badge(false),
            forms: vec![(8, badge(true))],
        });
    }
    parts.extend(health(state));
    calls(state, &mut parts);
    add_work(state, &mut parts);
    match (&state.view.lock, state.view.lock_is_ours) {
        (Some(_), true) => parts.push(omittable_part(1, line(Role::Plain, "  lock: you"))),
        // Another lock owner is shown further to the left.
        (Some(_), false) => {}
        (None, _) => parts.push(omittable_part(1, line(Role::Dim, "  lock: free"))),
    }
    fit_parts(parts, cells)
}

/// Name of the workspace. The default workspace is named only if others are known, and is omitted
/// first; another one always remains.
fn workspace_part(state: &State) -> Option<Part> {
    let name = &state.place.workspace;
    if let Some(opening) = &state.ending.opening_workspace {
        return Some(shrinkable_part(
            format!("  ◐ opening workspace {opening}"),
            12,
            format!("  ◐ [{opening}]"),
        ));
    }
    if name == "default" {
        let others = state.loaded.workspaces.as_ref()?.len() > 1;
        return others.then(|| omittable_part(0, line(Role::Dim, "  workspace default")));
    }
    let short = |cells| {
        line(
            Role::Key,
            format!(" [{}]", crate::app::text::truncate_end(name, cells)),
        )
    };
    Some(Part {
        line: vec![
            super::span(Role::Dim, "  workspace "),
            super::span(Role::Key, name),
        ],
        forms: vec![(2, short(usize::MAX)), (15, short(10))],
    })
}

/// Creates a part that is omitted as a whole.
fn omittable_part(turn: u8, line: Line) -> Part {
    Part {
        line,
        forms: vec![(turn, Line::new())],
    }
}

fn shrinkable_part(long: String, turn: u8, short: String) -> Part {
    Part {
        line: line(Role::Busy, long),
        forms: vec![(turn, line(Role::Busy, short))],
    }
}

/// Adds the numbers of running and queued calls.
fn calls(state: &State, parts: &mut Vec<Part>) {
    let running = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some())
        .count();
    let waiting = state.view.calls.len() - running;
    let (held, slots) = state.view.slots();
    if slots > 0 {
        parts.push(omittable_part(
            6,
            line(Role::Plain, format!("  calls {held}/{slots}")),
        ));
    } else if running > 0 {
        parts.push(omittable_part(
            6,
            line(Role::Plain, format!("  calls {running}")),
        ));
    }
    if waiting > 0 {
        parts.push(omittable_part(
            5,
            line(Role::Warn, format!(" +{waiting} waiting")),
        ));
    }
}

/// Adds the running deploy or staging, or the current stage.
fn add_work(state: &State, parts: &mut Vec<Part>) {
    // The engine runs one deploy or staging at a time, so they share a place.
    if let Some(d) = state.view.deploy.as_ref().filter(|d| d.summary.is_none()) {
        let since = elapsed(state.now - d.began);
        parts.push(shrinkable_part(
            format!("  ◐ deploy #{} {since}", d.deploy),
            11,
            format!("  ◐ #{} {since}", d.deploy),
        ));
    } else if let Some(s) = &state.view.staging {
        parts.push(shrinkable_part(
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
        let taken = state.selected_changes().count();
        let (short, long) = match state.applied() {
            Some(_) => ("applied".to_owned(), "applied".to_owned()),
            None => (
                format!("{taken}/{all}"),
                format!("{taken} of {all} selected"),
            ),
        };
        let short = line(Role::Plain, format!("  stage #{} {short}", s.stage));
        let long = line(Role::Plain, format!("  stage #{}: {long}", s.stage));
        parts.push(Part {
            line: long,
            forms: vec![(4, short), (7, Line::new())],
        });
    }
}

/// Summarises the states of the plugins.
fn health(state: &State) -> Vec<Part> {
    let (mut ready, mut idle, mut busy, mut failed) = (0, 0, 0, 0);
    for p in state.view.plugins.values() {
        match status(&p.state).2 {
            Role::Ok => ready += 1,
            Role::Busy | Role::Warn => busy += 1,
            Role::Bad => failed += 1,
            // Idle plugins have no process, but nothing is wrong with them.
            _ if matches!(p.state, PluginState::Idle { .. }) => idle += 1,
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
    if idle > 0 {
        let short = line(Role::Dim, format!(" ○{idle}"));
        parts.push(Part {
            line: line(Role::Dim, format!(" ○ {idle} idle")),
            forms: vec![(4, short), (9, Line::new())],
        });
    }
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

/// Badge in the header while something is not installed.
fn absent_badge(state: &State, short: bool) -> String {
    let (n, key) = (state.view.absent.len(), state.options.keys.first("init"));
    if state.view.absent.backend.is_some() {
        format!("  ✗ not initialized ({key})")
    } else if short {
        format!("  ✗{n} missing ({key})")
    } else {
        format!("  ✗ {n} not installed ({key})")
    }
}
