//! Calls screen: slots and their owners, running times, blockers.

use crate::app::doc::{self, Line, Role, line, span};
use crate::app::format::{count, duration, elapsed};
use crate::app::list::Row;
use crate::app::rows::{CallRow, call_row};
use crate::app::state::State;
use crate::engine::view::CallView;
use crate::ui::paint::Brush;
use crate::ui::table::{Column, Width, column, number};
use ratatui::layout::Rect;
use std::collections::VecDeque;

pub const COLUMNS: &[Column] = &[
    number("SLOT", 5, 4),
    column("PLUGIN", Width::Flex(12, 2), 3),
    column("METHOD", Width::Flex(14, 2), 2),
    column("RESOURCE", Width::Flex(14, 5), 0),
    number("TIME", 7, 0),
    column("VS. USUAL · WAITS FOR · OUTCOME", Width::Flex(16, 5), 1),
];

/// Role of the running time: a warning past the 95th percentile, bad past the deadline.
fn time_role(state: &State, c: &CallView) -> Role {
    let Some(at) = c.started_at else {
        return Role::Warn;
    };
    let ms = u64::try_from(state.now - at).unwrap_or(0);
    if c.deadline_ms.is_some_and(|d| ms > d) {
        Role::Bad
    } else if c.usual.is_some_and(|u| u.count > 0 && ms > u.p95_ms) {
        Role::Warn
    } else {
        Role::Busy
    }
}

/// Draws a duration relative to the usual one: `▕██████░░▏`.
pub fn bar(ms: u64, usual_ms: u64) -> String {
    const CELLS: u64 = 8;
    let full = (ms * CELLS / usual_ms.max(1)).min(CELLS) as usize;
    format!(
        "▕{}{}▏",
        "█".repeat(full),
        "░".repeat(CELLS as usize - full)
    )
}

/// Cells of a call.
pub fn cells(state: &State, row: &Row) -> Vec<Line> {
    match call_row(state, row) {
        Some(CallRow::Open(c)) => open(state, c),
        Some(CallRow::Finished(f)) => {
            let (word, role) = doc::outcome(f.outcome);
            let mut last = vec![span(
                role,
                if role == Role::Ok {
                    format!("✓ {word}")
                } else {
                    format!("✗ {word}")
                },
            )];
            if let Some(again) = &f.again {
                last.push(span(Role::Warn, format!("  {}", again.text(state.now))));
            }
            if let Some(e) = &f.error {
                last.push(span(Role::Dim, format!("  {e}")));
            }
            vec![
                Line::new(),
                line(Role::Dim, &f.plugin.0),
                line(Role::Dim, &*f.method),
                line(Role::Dim, f.resource.as_deref().unwrap_or("")),
                line(Role::Dim, duration(f.took_ms)),
                last,
            ]
        }
        None => Vec::new(),
    }
}

/// Number of locks that the plugin holds for the call, and of calls that wait for them.
fn locks_and_waiters(state: &State, c: &CallView) -> Line {
    let held = state.view.locks.values().filter(|l| l.call == Some(c.call));
    let (n, waiters) = held.fold((0, 0), |(n, w), l| (n + 1, w + l.waiters.len()));
    match (n, waiters) {
        (0, _) => Line::new(),
        (n, 0) => line(Role::Plain, format!("holds {} · ", count(n, "lock"))),
        (n, w) => line(
            Role::Warn,
            format!("holds {}, {w} waiting · ", count(n, "lock")),
        ),
    }
}

fn open(state: &State, c: &CallView) -> Vec<Line> {
    let role = time_role(state, c);
    let since = state.now - c.started_at.unwrap_or(c.queued_at);
    let slot = match (c.started_at, c.slot) {
        (None, _) => line(Role::Warn, "waits"),
        (_, Some(s)) => line(Role::Plain, format!("{s}/{}", c.slots)),
        // Calls within this process need no slot.
        (_, None) => line(Role::Dim, "–"),
    };
    let mut last = locks_and_waiters(state, c);
    // A queued call has no running time to compare with the usual one.
    if let Some(w) = &c.waits_for {
        last.push(span(Role::Warn, w));
    } else {
        let ms = u64::try_from(since).unwrap_or(0);
        match c.usual.filter(|u| u.count > 0) {
            Some(u) => {
                last.push(span(role, bar(ms, u.p95_ms)));
                last.push(span(
                    role,
                    if ms > u.p95_ms { " over p95 " } else { " p95 " },
                ));
                last.push(span(Role::Plain, duration(u.p95_ms)));
            }
            None => last.push(span(Role::Dim, "no history yet")),
        }
        if let Some(d) = c.deadline_ms {
            last.push(span(
                if ms > d { Role::Bad } else { Role::Dim },
                format!(" · deadline {}", duration(d)),
            ));
        }
    }
    vec![
        slot,
        line(Role::Plain, &c.plugin.0),
        line(Role::Plain, &*c.method),
        line(Role::Strong, c.resource.as_deref().unwrap_or("")),
        line(role, elapsed(since)),
        last,
    ]
}

const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Draws the newest samples as bars, scaled to their maximum.
fn sparkline(samples: &VecDeque<u64>, cells: usize) -> String {
    let from = samples.len().saturating_sub(cells);
    // At least 1, because an idle chart has only zeros.
    let most = samples.iter().skip(from).max().copied().unwrap_or(0).max(1);
    let bars: String = samples
        .iter()
        .skip(from)
        .map(|v| {
            if *v == 0 {
                " "
            } else {
                LEVELS[(v * 7 / most) as usize]
            }
        })
        .collect();
    // Right-aligned, so that the newest sample is always at the edge.
    format!("{bars:>cells$}")
}

/// Draws the charts of running, waiting and finished calls.
pub fn charts(state: &State, area: Rect, brush: &mut Brush<'_>) {
    let half = area.width / 2;
    let draw = |brush: &mut Brush<'_>,
                x: u16,
                y: u16,
                cells: u16,
                name: &str,
                samples: &VecDeque<u64>,
                role: Role| {
        let now = samples.back().copied().unwrap_or(0);
        let head = format!(" {now:>3} {name} ");
        let used = brush.text(x, y, cells, Role::Dim, &head);
        brush.text(
            x + used,
            y,
            cells.saturating_sub(used + 1),
            role,
            &sparkline(samples, usize::from(cells.saturating_sub(used + 1))),
        );
    };
    let s = &state.samples;
    if area.height >= 2 {
        draw(
            brush,
            area.x,
            area.y,
            area.width,
            "running",
            &s.running,
            Role::Busy,
        );
        draw(
            brush,
            area.x,
            area.y + 1,
            half,
            "waiting",
            &s.waiting,
            Role::Warn,
        );
        draw(
            brush,
            area.x + half,
            area.y + 1,
            area.width - half,
            "calls/s",
            &s.finished,
            Role::Ok,
        );
    } else {
        // With a single line, running calls have no chart: the title counts them.
        draw(
            brush,
            area.x,
            area.y,
            half,
            "waiting",
            &s.waiting,
            Role::Warn,
        );
        draw(
            brush,
            area.x + half,
            area.y,
            area.width - half,
            "calls/s",
            &s.finished,
            Role::Ok,
        );
    }
}
