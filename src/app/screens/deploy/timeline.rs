//! Time axis of a deploy: one bar for each operation, and the times above them.

use super::COLUMNS;
use crate::app::doc::{self, Line, Role};
use crate::app::layout;
use crate::app::list::HEADING_NOTE;
use crate::app::state::{Context, State};
use crate::app::text::width;
use model::view::DeployView;
use model::{Operation, OperationState, UnixMs};
use std::ops::RangeInclusive;

/// Lengths of the axis in seconds. A running deploy goes on to the next one, so that the bars move
/// seldom; longer ones are multiples of the last.
const LENGTHS: [i64; 18] = [
    1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1_800, 3_600,
];

/// Width of the narrowest list with an axis.
const LIST_CELLS: u16 = 110;

/// Width of the axis.
const AXIS_CELLS: RangeInclusive<u16> = 28..=60;

/// Fewest cells between the starts of two times of the heading.
const TICK_CELLS: i64 = 9;

/// Part of the time on the axis: a cell begins at `cell * ms / cells`.
#[derive(Debug, Clone, Copy)]
struct Axis {
    begin: UnixMs,
    ms: i64,
    cells: usize,
}

impl Axis {
    /// Axis of the shown deploy; `None` if the list is too narrow for it.
    fn of(state: &State) -> Option<(Self, UnixMs)> {
        let (deploy, now) = state.shown_deploy()?;
        let cells = usize::from(state.frame.axis_cells?);
        let whole = state.frame.progress.whole_ms;
        let ms = match &deploy.summary {
            Some(_) => whole,
            None => rounded(whole),
        };
        let axis = Self {
            begin: deploy.began,
            ms: ms.max(1),
            cells,
        };
        Some((axis, now))
    }

    /// Cell of a time.
    fn cell(&self, at: UnixMs) -> usize {
        let cell = (at - self.begin).max(0) * self.cells as i64 / self.ms;
        usize::try_from(cell).map_or(self.cells, |cell| cell.min(self.cells))
    }
}

/// Cells of the axis: half of the last column, the rest of which has the reasons. `None` in a list
/// that is too narrow.
pub fn axis_cells(state: &State) -> Option<u16> {
    let list = layout::areas(state).list;
    if list.width < LIST_CELLS {
        return None;
    }
    let placed = layout::placed_columns(state, COLUMNS, list);
    let last = placed.last().filter(|(at, ..)| at + 1 == COLUMNS.len());
    let half = last.map_or(0, |(.., width)| width / 2);
    Some(half.clamp(*AXIS_CELLS.start(), *AXIS_CELLS.end()))
}

/// Rounds a duration up to a length of the axis.
fn rounded(ms: i64) -> i64 {
    let whole = LENGTHS
        .iter()
        .map(|s| s * 1_000)
        .find(|length| *length > ms);
    let longest = 3_600_000;
    whole.unwrap_or_else(|| (ms / longest + 1) * longest)
}

/// Times along the axis above the bars, with the present one of a running deploy.
pub(super) fn heading(state: &State) -> Option<Line> {
    let (axis, now) = Axis::of(state)?;
    let is_running = state.shown_deploy()?.0.summary.is_none();
    // The smallest length as a step whose times have space.
    let shares = |step: &i64| axis.ms / step * TICK_CELLS <= axis.cells as i64;
    let step = LENGTHS.iter().map(|s| s * 1_000).find(shares);
    let step = step.unwrap_or(axis.ms);
    let mut text = String::new();
    let mark = is_running.then(|| axis.cell(now));
    let mut ticks: Vec<(usize, String)> = (0..=axis.ms / step)
        .map(|n| (axis.cell(axis.begin + n * step), tick(n * step)))
        .collect();
    if let Some(mark) = mark {
        // A replay is in the past.
        let label = match state.context() {
            Context::Replay => "here",
            _ => "now",
        };
        let label = label.to_owned();
        let end = mark + label.len();
        ticks.retain(|(at, text)| *at > end || at + text.len() < mark);
        ticks.push((mark, label));
        ticks.sort();
    }
    for (at, label) in ticks {
        if at + label.len() <= axis.cells + 4 {
            text += &" ".repeat(at.saturating_sub(width(&text)));
            text += &label;
        }
    }
    let mut l = doc::line(Role::Dim, text);
    if !state.frame.progress.critical_path.is_empty() {
        let gap = (axis.cells + 1).saturating_sub(doc::cells_of(&l)).max(1);
        l.push(doc::omittable(Role::Plain, " ".repeat(gap)));
        l.push(doc::omittable(Role::Key, "◀"));
        l.push(doc::omittable(Role::Dim, " critical path"));
    }
    Some(l)
}

/// Time on the axis, as short as possible: `0 s`, `90 s`, `5m`, `2h`.
fn tick(ms: i64) -> String {
    match ms / 1_000 {
        s if s > 0 && s % 3_600 == 0 => format!("{}h", s / 3_600),
        s if s > 0 && s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s} s"),
    }
}

/// Bar of an operation: heavy while it ran or runs, light until its usual end. The time beyond the
/// usual one has the colour of a warning, and `mark` stands at the end. Empty for an operation that
/// has not begun, or without space.
pub(super) fn bar(
    state: &State,
    deploy: &DeployView,
    op: &Operation,
    now: UnixMs,
    mark: &str,
) -> Line {
    let (Some(began), Some((axis, _))) = (op.began, Axis::of(state)) else {
        return Line::new();
    };
    let end = op.ended().unwrap_or(now);
    let usual = op.usual_ms.and_then(|ms| i64::try_from(ms).ok());
    let is_running = op.state == OperationState::Running;
    let role = match op.state {
        OperationState::Running => Role::Busy,
        OperationState::Failed | OperationState::HalfReplaced => Role::Bad,
        OperationState::Unknown => Role::Warn,
        _ => Role::Ok,
    };
    // Without the time in the queue, which no usual duration includes.
    let queued = deploy.queued_ms.get(&op.address).copied().unwrap_or(0);
    let usual_end = usual.map(|ms| began + ms + i64::try_from(queued).unwrap_or(0));
    let from = axis.cell(began).min(axis.cells - 1);
    let to = axis.cell(end).max(from + 1);
    let usual_to = usual_end.map_or(to, |at| axis.cell(at).max(from + 1));
    let within = to.min(if is_running { usual_to } else { to });
    let pieces = [
        (Role::Plain, " ", from),
        (role, "━", within - from),
        (Role::Warn, "━", to - within),
        (
            Role::Dim,
            "─",
            if is_running {
                usual_to.saturating_sub(to)
            } else {
                0
            },
        ),
    ];
    let used: usize = pieces.iter().map(|(.., n)| n).sum();
    let pieces = pieces.into_iter().filter(|(.., n)| *n > 0);
    let mut l: Line = pieces
        .map(|(role, text, n)| doc::omittable(role, text.repeat(n)))
        .collect();
    l.push(doc::omittable(Role::Key, mark));
    let blank = axis.cells + 1 - used - width(mark);
    l.push(doc::omittable(Role::Plain, " ".repeat(blank)));
    l
}

/// Note that shows along the axis how many operations ran at each time until now; empty if no two
/// of them did, or without an axis.
pub(super) fn concurrency(state: &State, deploy: &DeployView, now: UnixMs) -> String {
    let Some((axis, _)) = Axis::of(state).filter(|_| deploy.peak >= 2) else {
        return String::new();
    };
    let end = deploy
        .summary
        .as_ref()
        .map_or(now, |_| deploy.last_end().unwrap_or(deploy.began));
    let cells = axis.cell(end).max(1);
    let bound = |cell: usize| axis.begin + cell as i64 * axis.ms / axis.cells as i64;
    let mut worked = vec![0; cells];
    for op in &deploy.operations {
        let Some(from) = op.began else { continue };
        let to = op.ended().unwrap_or(end);
        let shown = axis.cell(from)..(axis.cell(to) + 1).min(cells);
        for cell in shown {
            worked[cell] += (to.min(bound(cell + 1)) - from.max(bound(cell))).max(0);
        }
    }
    let most = worked.iter().max().copied().unwrap_or(0).max(1);
    let bars = worked.into_iter().map(|ms| {
        // Rounded up, so that little work is more than none, and low, as a note beside the bars.
        let level = (ms * 4 + most - 1) / most;
        doc::LEVELS[usize::try_from(level - 1).unwrap_or(0).min(7)]
    });
    let bars: String = bars.collect();
    format!("{HEADING_NOTE}{bars} at most {} at a time", deploy.peak)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_goes_on_to_the_next_round_length() {
        for (ms, length) in [
            (0, 1),
            (999, 1),
            (1_000, 2),
            (14_999, 15),
            (3_600_000, 7_200),
        ] {
            assert_eq!(rounded(ms), length * 1_000, "{ms} ms");
        }
    }

    #[test]
    fn times_of_the_axis_are_short() {
        let all = [0, 5_000, 90_000, 300_000, 7_200_000].map(tick);
        assert_eq!(all, ["0 s", "5 s", "90 s", "5m", "2h"]);
    }
}
