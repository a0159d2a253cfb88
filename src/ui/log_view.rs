//! Logs screen, which builds visible lines only, and the engine's own log, which tui-logger owns.

use super::paint::Brush;
use super::table::scroll_mark;
use crate::app::doc::{self, Doc, Line, Role, cells_of, span};
use crate::app::format::{clock_ms, count};
use crate::app::layout::is_side_by_side;
use crate::app::log::LogEntry;
use crate::app::screens::{causes, folded_lines, is_settled, settled};
use crate::app::state::State;
use crate::app::text::{truncate_end, width};
use model::{LogStream, PluginId, UnixMs};
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use std::collections::BTreeMap;

/// Maximum width of the names of sources.
const SOURCE_CELLS: usize = 16;

/// Renders the mark of a deploy: a rule with its text.
fn mark_of_deploy(text: &str, cells: u16) -> Line {
    let (time, text) = text.split_once("── ").unwrap_or(("", text));
    let mut l = vec![
        span(Role::Dim, format!(" {time}── ")),
        span(outcome_of(text), format!("{text} ")),
    ];
    let rest = usize::from(cells).saturating_sub(cells_of(&l) + 1);
    l.push(span(Role::Dim, "─".repeat(rest)));
    l
}

/// Role of the mark of a deploy.
fn outcome_of(text: &str) -> Role {
    match text.rsplit(' ').next() {
        Some("succeeded") => Role::Ok,
        // A later deploy did what this one could not do.
        Some(_) if text.contains(", solved in #") => Role::Dim,
        Some("started") => Role::Plain,
        _ => Role::Bad,
    }
}

/// Facts about errors and warnings that their levels do not tell.
struct Weights<'a> {
    settled: BTreeMap<&'a PluginId, UnixMs>,
    causes: BTreeMap<(UnixMs, &'a str), bool>,
}

impl Weights<'_> {
    /// Role of a line: dim for an error that needs nobody, bad for the one at a failure.
    fn role(&self, e: &LogEntry) -> Role {
        let role = doc::level_role(e.line.level);
        if !matches!(role, Role::Bad | Role::Warn) {
            return role;
        }
        match self.causes.get(&(e.line.at, &*e.line.text)) {
            Some(false) => Role::Bad,
            Some(true) => Role::Dim,
            None if is_settled(&self.settled, e) => Role::Dim,
            None => role,
        }
    }
}

/// Renders the log line of a row: mark, time, level, source, text. The first line on the screen
/// has all of them.
fn line(state: &State, weights: &Weights<'_>, index: usize, is_first: bool, wide: bool) -> Line {
    let log = &state.log;
    let entry = |i: usize| log.get(state.frame.rows.get(i)?.index);
    let Some(e) = entry(index) else {
        return Line::new();
    };
    let before = index.checked_sub(1).and_then(entry);
    let mark = if log.marks.contains(&e.n) { "▌" } else { " " };
    let mut l = vec![span(Role::Key, mark)];
    let role = weights.role(e);
    let time = log.times.then(|| clock_ms(e.line.at, state.utc_offset));
    l.extend(time.map(|time| span(Role::Dim, format!("{time} "))));
    // Levels of normal lines recede behind their texts.
    let level = if role == Role::Plain { Role::Dim } else { role };
    l.push(span(level, format!("{:<5} ", e.line.level.label())));
    // With one source, all lines have the same name.
    if log.source.is_none() {
        let cells = log.source_cells.min(if wide { SOURCE_CELLS } else { 10 });
        let name = truncate_end(&e.source(), cells).into_owned();
        let gap = " ".repeat(cells.saturating_sub(width(&name)) + 1);
        l.push(span(Role::Dim, name + &gap));
    }
    if before.is_some_and(|b| e.continues(b)) {
        // Time, level and source are those of the panic.
        if !is_first {
            let head = cells_of(&l).saturating_sub(1);
            l.truncate(1);
            l.push(span(Role::Plain, " ".repeat(head)));
        }
        l.push(span(Role::Dim, format!("│ {}", e.line.text)));
        return l;
    }
    // Plugins write their logs to stderr.
    if matches!(e.line.stream, LogStream::Stdout | LogStream::Stdio) {
        let stream = doc::stream_label(e.line.stream);
        l.push(span(Role::Dim, format!("{stream}: ")));
    }
    if e.line.panic {
        l.push(span(role, &e.line.text));
        let folded = folded_lines(state, index).len();
        if folded > 0 {
            let text = format!("  same stack as before ({})", count(folded, "line"));
            l.push(span(Role::Dim, text));
        }
    } else {
        l.extend(doc::log_text(role, &e.line.text));
    }
    l
}

/// Draws the log lines from the list's offset on.
pub fn draw(state: &State, area: Rect, brush: &mut Brush<'_>) {
    let list = state.list();
    let needle = list.find.to_lowercase();
    let wide = area.width >= 80 || is_side_by_side(state);
    let height = usize::from(area.height);
    let cells = area.width.saturating_sub(1);
    let weights = Weights {
        settled: settled(state),
        causes: causes(state),
    };
    // Lines are built on demand, because the log may have thousands.
    let made = |i: usize, first: usize| -> Doc {
        let l = match &state.frame.rows[i] {
            row if row.heading => mark_of_deploy(row.key.text().unwrap_or_default(), cells),
            _ => line(state, &weights, i, i == first, wide),
        };
        if state.log.wrap {
            doc::wrap(&vec![l], usize::from(cells))
        } else {
            vec![l]
        }
    };
    // Fewer wrapped rows fit: goes back from the cursor until the screen is full.
    let mut from = list.offset.min(state.frame.rows.len());
    if state.log.wrap && !state.frame.rows.is_empty() {
        let mut used = made(list.index, from).len();
        let mut first = list.index;
        while first > from {
            used += made(first - 1, from).len();
            if used > height {
                break;
            }
            first -= 1;
        }
        from = first;
    }
    scroll_mark(area, from, state.frame.rows.len(), brush);
    let mut y = area.y;
    for i in from..state.frame.rows.len() {
        for l in made(i, from) {
            if y >= area.bottom() {
                return;
            }
            brush.line(area.x, y, cells, &l, false);
            if !needle.is_empty() {
                brush.mark(area.x, y, cells, &needle);
            }
            if i == list.index {
                let style = brush.theme.cursor();
                brush.cursor(
                    Rect {
                        x: area.x,
                        y,
                        width: area.width,
                        height: 1,
                    },
                    style,
                );
            }
            y += 1;
        }
    }
}

/// Draws the engine's own log, the only content that is not in the state: tui-logger owns it, with
/// its targets and levels, and limits its size.
pub fn tracing(area: Rect, brush: &mut Brush<'_>, widget: &tui_logger::TuiWidgetState) {
    let theme = brush.theme;
    tui_logger::TuiLoggerSmartWidget::default()
        .style_error(theme.style(Role::Bad))
        .style_warn(theme.style(Role::Warn))
        .style_info(theme.style(Role::Plain))
        .style_debug(theme.style(Role::Dim))
        .style_trace(theme.style(Role::Dim))
        .title_log(" the engine's own log ")
        .title_target(" targets ")
        .output_timestamp(Some("%H:%M:%S".to_owned()))
        .output_separator(' ')
        .output_file(false)
        .output_line(false)
        .state(widget)
        .render(area.intersection(brush.buffer.area), brush.buffer);
}
