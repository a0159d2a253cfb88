//! Charts of calls side by side: running, waiting and finished ones, one sample per second. The
//! base line begins with the first sample, because the time before it is unknown. The
//! label of a chart, with its current value, is above its end, or beside it on a small screen.

use super::paint::Brush;
use crate::app::doc::{LEVELS, Role, cells_of, fit_line, omittable, span};
use crate::app::state::State;
use crate::app::text::width;
use ratatui::layout::Rect;
use std::collections::VecDeque;

/// Mark before the first sample.
const BEGIN: &str = "console started ▕";

/// Blank cells between two charts.
const GAP: u16 = 3;

struct Chart<'a> {
    samples: &'a VecDeque<u64>,
    unit: &'static str,
    role: Role,
}

/// Draws the charts in equal shares of the area; without the waiting calls if there were none.
pub fn draw(state: &State, area: Rect, brush: &mut Brush<'_>) {
    let s = &state.samples;
    let mut charts = vec![
        (&s.running, "running", Role::Busy),
        (&s.finished, "calls/s", Role::Ok),
    ];
    if s.waiting.iter().any(|n| *n > 0) {
        charts.insert(1, (&s.waiting, "waiting", Role::Warn));
    }
    let n = u16::try_from(charts.len()).unwrap_or(1);
    let share = (area.width.saturating_sub(2) + GAP) / n;
    for (x, (samples, unit, role)) in (area.x + 1..).step_by(usize::from(share)).zip(charts) {
        let width = share.saturating_sub(GAP);
        let area = Rect { x, width, ..area };
        let chart = Chart {
            samples,
            unit,
            role,
        };
        chart.draw(area, brush);
    }
}

impl Chart<'_> {
    fn draw(&self, area: Rect, brush: &mut Brush<'_>) {
        let now = self.samples.back().copied().unwrap_or(0);
        let role = if now > 0 { Role::Strong } else { Role::Dim };
        let mut label = vec![
            span(role, now.to_string()),
            span(Role::Dim, format!(" {}", self.unit)),
        ];
        if area.height == 1 {
            let used = brush.line(area.x, area.y, area.width, &label, false);
            let left = area.width.saturating_sub(used + 1);
            let beside = Rect {
                x: area.x + used + 1,
                width: left,
                ..area
            };
            self.bars(beside, brush);
            return;
        }
        let cells = usize::from(area.width);
        let shown = self.samples.iter().rev().take(cells);
        let (most, seconds) = (shown.clone().max().unwrap_or(&0), shown.count());
        let per = if self.unit.ends_with("/s") { "/s" } else { "" };
        let peak = format!(" · peak {most}{per} · last {seconds} s");
        label.push(omittable(Role::Dim, peak));
        let label = fit_line(label, cells);
        let w = u16::try_from(cells_of(&label)).unwrap_or(u16::MAX);
        brush.line(area.right().saturating_sub(w), area.y, w, &label, false);
        let below = Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        };
        self.bars(below, brush);
    }

    /// Draws the newest samples, scaled to their maximum, on a dim base line. The newest one is at
    /// the right edge.
    fn bars(&self, area: Rect, brush: &mut Brush<'_>) {
        let cells = usize::from(area.width);
        let shown = || self.samples.iter().rev().take(cells);
        let most = shown().max().copied().unwrap_or(0).max(1);
        let levels = u64::from(area.height) * 8;
        let bottom = area.bottom().saturating_sub(1);
        let known = u16::try_from(shown().count()).unwrap_or(area.width);
        let before = area.width.saturating_sub(known);
        let base = LEVELS[0].repeat(usize::from(known));
        brush.text(area.x + before, bottom, known, Role::Dim, &base);
        let begin = u16::try_from(width(BEGIN)).unwrap_or(u16::MAX);
        if let Some(x) = before.checked_sub(begin) {
            brush.text(area.x + x, bottom, begin, Role::Dim, BEGIN);
        }
        for (x, sample) in (area.x..area.right()).rev().zip(shown()) {
            // The lowest level is that of the base line.
            let mut level = match sample {
                0 => continue,
                n => (n * levels / most).max(2),
            };
            for y in (area.y..=bottom).rev() {
                if level == 0 {
                    break;
                }
                level = draw_cell(brush, (x, y), self.role, level);
            }
        }
    }
}

/// Draws the part of a bar in one cell. Returns the level above it.
fn draw_cell(brush: &mut Brush<'_>, (x, y): (u16, u16), role: Role, level: u64) -> u64 {
    let here = level.min(8);
    let index = usize::try_from(here - 1).unwrap_or(0);
    brush.text(x, y, 1, role, LEVELS[index]);
    level - here
}
