//! Charts of calls side by side: running, waiting and finished ones, and the slow ones among the
//! finished; one sample per second. A chart has the samples since the start of the console, or the
//! newest that fit. Its label, with the current value, is above it, or beside it on a small screen.

use super::paint::Brush;
use crate::app::doc::{LEVELS, Line, Role, cells_of, span};
use crate::app::format::duration;
use crate::app::state::State;
use crate::app::text::width;
use ratatui::layout::Rect;
use std::collections::VecDeque;

/// Blank cells between two charts.
const GAP: u16 = 3;

/// Fewest seconds of a chart, so that the first samples are no wide blocks.
const FEWEST: usize = 10;

/// Fewest calls that fill a chart of calls.
const FULL: u64 = 4;

struct Chart<'a> {
    samples: &'a VecDeque<u64>,
    unit: Unit,
    role: Role,
}

/// Meaning of the samples of a chart.
#[derive(Clone, Copy)]
enum Unit {
    /// Calls in a state.
    Calls(&'static str),
    /// Calls that finished in each second.
    PerSecond,
    /// 95th percentile of the durations of the calls that finished in each second, in milliseconds.
    P95,
}

/// Draws the charts in equal shares of the area; without the waiting calls if there were none.
pub fn draw(state: &State, area: Rect, brush: &mut Brush<'_>) {
    let s = &state.samples;
    let mut charts = vec![
        (&s.running, Unit::Calls("running"), Role::Busy),
        (&s.finished, Unit::PerSecond, Role::Ok),
        (&s.p95_ms, Unit::P95, Role::Heading),
    ];
    if s.waiting.iter().any(|n| *n > 0) {
        charts.insert(1, (&s.waiting, Unit::Calls("waiting"), Role::Warn));
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
        let mut label = self.value();
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
        let (most, seconds) = (*shown.clone().max().unwrap_or(&0), shown.count());
        let peak = match self.unit {
            Unit::Calls(_) => most.to_string(),
            Unit::PerSecond => format!("{most}/s"),
            Unit::P95 => duration(most),
        };
        let peak = (most > 0).then(|| format!(" · peak {peak}"));
        let since = Some(format!(" · last {seconds} s"));
        for part in [peak, since].into_iter().flatten() {
            if cells_of(&label) + width(&part) <= cells {
                label.push(span(Role::Dim, part));
            }
        }
        brush.line(area.x, area.y, area.width, &label, false);
        let below = Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        };
        self.bars(below, brush);
    }

    /// Newest sample with its unit; of durations, the newest one of a second with calls.
    fn value(&self) -> Line {
        let mut newest = self.samples.iter().rev().copied();
        let now = match self.unit {
            // A second without calls has no duration.
            Unit::P95 => newest.find(|ms| *ms > 0),
            _ => newest.next(),
        };
        let now = now.unwrap_or(0);
        let role = if now > 0 { Role::Strong } else { Role::Dim };
        match self.unit {
            Unit::Calls(word) => {
                vec![
                    span(role, now.to_string()),
                    span(Role::Dim, format!(" {word}")),
                ]
            }
            Unit::PerSecond => {
                vec![span(role, now.to_string()), span(Role::Dim, " calls/s")]
            }
            Unit::P95 if now == 0 => vec![span(Role::Dim, "p95")],
            Unit::P95 => vec![span(Role::Dim, "p95 "), span(role, duration(now))],
        }
    }

    /// Draws the newest samples, scaled to their maximum, over the whole width on a dim base line.
    /// The newest one is at the right edge; the time before the first one is blank.
    fn bars(&self, area: Rect, brush: &mut Brush<'_>) {
        let cells = usize::from(area.width);
        let seconds = self.samples.len().max(FEWEST).min(cells);
        if seconds == 0 {
            return;
        }
        let shown = || self.samples.iter().rev().take(seconds);
        let least = match self.unit {
            // A single call does not fill the chart.
            Unit::Calls(_) => FULL,
            Unit::PerSecond | Unit::P95 => 1,
        };
        let most = shown().max().copied().unwrap_or(0).max(least);
        let levels = u64::from(area.height) * 8;
        let bottom = area.bottom().saturating_sub(1);
        for (from_right, x) in (area.x..area.right()).rev().enumerate() {
            let Some(sample) = shown().nth(from_right * seconds / cells) else {
                return;
            };
            brush.text(x, bottom, 1, Role::Dim, LEVELS[0]);
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
