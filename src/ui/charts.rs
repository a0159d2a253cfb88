//! Charts of calls: running, waiting and finished ones, one sample per second.

use super::paint::Brush;
use crate::app::doc::Role;
use crate::app::state::State;
use ratatui::layout::Rect;
use std::collections::VecDeque;

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
pub fn draw(state: &State, area: Rect, brush: &mut Brush<'_>) {
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
