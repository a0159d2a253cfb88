//! Logs screen, which builds visible lines only, and the engine's own log, which tui-logger owns.

use super::paint::Brush;
use crate::app::doc::{self, Doc, Line, Role, span};
use crate::app::format::clock_ms;
use crate::app::layout::is_side_by_side;
use crate::app::list::Row;
use crate::app::state::State;
use model::LogStream;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// Renders one log line: mark, time, level, source, text.
fn line(state: &State, row: &Row, wide: bool) -> Line {
    let Some(e) = state.log.get(row.index) else {
        return Line::new();
    };
    let mut l = vec![span(
        Role::Key,
        if state.log.marks.contains(&e.n) {
            "▌"
        } else {
            " "
        },
    )];
    if state.log.times {
        l.push(span(
            Role::Dim,
            format!("{} ", clock_ms(e.line.at, state.utc_offset)),
        ));
    }
    let role = doc::level_role(e.line.level);
    l.push(span(role, format!("{:<5} ", e.line.level.label())));
    // With one source, all lines have the same name.
    if state.log.source.is_none() {
        // The last part of an id is its most specific one.
        let name = e.line.plugin.0.rsplit('/').next().unwrap_or_default();
        let name = crate::app::text::clean(name);
        let cells = if wide { 16 } else { 10 };
        l.push(span(
            Role::Heading,
            format!("{:<cells$} ", crate::app::text::truncate_end(&name, cells)),
        ));
    }
    if e.line.stream == LogStream::Stderr && wide {
        l.push(span(Role::Dim, "err "));
    } else if wide {
        l.push(span(Role::Dim, "    "));
    }
    l.push(span(
        if e.line.panic { Role::Bad } else { role },
        &e.line.text,
    ));
    l
}

/// Draws the log lines from the list's offset on.
pub fn draw(state: &State, area: Rect, brush: &mut Brush<'_>) {
    let list = state.list();
    let needle = list.find.to_lowercase();
    let wide = area.width >= 80 || is_side_by_side(state);
    let height = usize::from(area.height);
    let cells = area.width.saturating_sub(1);
    // Lines are built on demand, because the log may have thousands.
    let made = |i: usize| -> Doc {
        let l = line(state, &state.frame.rows[i], wide);
        if state.log.wrap {
            doc::wrap(&vec![l], usize::from(cells))
        } else {
            vec![l]
        }
    };
    // Fewer wrapped rows fit: goes back from the cursor until the screen is full.
    let mut from = list.offset.min(state.frame.rows.len());
    if state.log.wrap && !state.frame.rows.is_empty() {
        let mut used = made(list.index).len();
        let mut first = list.index;
        while first > from {
            used += made(first - 1).len();
            if used > height {
                break;
            }
            first -= 1;
        }
        from = first;
    }
    let mut y = area.y;
    for i in from..state.frame.rows.len() {
        for l in made(i) {
            if y >= area.bottom() {
                return;
            }
            brush.line(area.x, y, cells, &l, false);
            if !needle.is_empty() {
                brush.mark(area.x, y, cells, &needle);
            }
            // While following, the newest line needs no cursor.
            if i == list.index && !state.log.follow {
                let style = brush.theme.cursor();
                brush.fill(
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
