//! Draws [`State`] into a frame and uses nothing else: no clock, no environment, no lock. The same
//! state gives the same frame. Exception: the engine's own log, which tui-logger owns.

mod bars;
mod charts;
mod color;
mod log_view;
mod paint;
mod popup;
mod table;
pub mod term;
#[cfg(test)]
mod tests;
mod theme;

use crate::app::column::Column;
use crate::app::doc::{self, Doc, Line, Role};
use crate::app::layout::{
    Areas, areas, detail_has_keys, is_side_by_side, pinned, placed_columns, too_small,
};
use crate::app::list::{Pane, Row};
use crate::app::popups::Popup;
use crate::app::rows;
use crate::app::screens::Body;
use crate::app::state::{Context, State};
use crate::app::text::width;
use paint::{Brush, border_symbol};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use table::Table;

pub use theme::Theme;

/// Draws the frame. Returns the position of the terminal's cursor, if it is visible.
pub fn draw(
    state: &State,
    tracing: &tui_logger::TuiWidgetState,
    buffer: &mut Buffer,
) -> Option<Position> {
    let theme = Theme::of(state.shown_theme(), state.frame.appearance);
    let mut brush = Brush {
        buffer,
        theme: &theme,
    };
    let whole = Rect {
        x: 0,
        y: 0,
        width: state.frame.size.0,
        height: state.frame.size.1,
    }
    // The state may already have another size than the buffer.
    .intersection(brush.buffer.area);
    brush.fill(whole, theme.base_style());
    let cursor = if too_small(state) {
        draw_too_small(state, &mut brush, whole);
        None
    } else {
        let a = areas(state);
        bars::draw(state, &a, &mut brush);
        body(state, &a, &mut brush, tracing);
        let prompt = bars::footer(state, &a, &mut brush);
        // A list of themes shows a preview on the screen.
        if !matches!(&state.frame.popup, None | Some(Popup::ThemeList(_))) {
            brush.fade(whole);
        }
        popup::draw(state, &mut brush).or(prompt)
    };
    // Last, because it rewrites all cells.
    theme::finish(state.frame.appearance, brush.buffer);
    cursor
}

fn draw_too_small(state: &State, brush: &mut Brush<'_>, whole: Rect) {
    let text = format!(
        "flightdeck needs 40×12, this is {}×{}",
        state.frame.size.0, state.frame.size.1
    );
    if whole.height > 0 {
        brush.text(whole.x, whole.y, whole.width, Role::Warn, &text);
    }
}

fn body(state: &State, a: &Areas, brush: &mut Brush<'_>, tracing: &tui_logger::TuiWidgetState) {
    brush.line(
        a.title.x,
        a.title.y,
        a.title.width,
        &doc::title(state, usize::from(a.title.width)),
        false,
    );
    let context = state.context();
    if matches!(context.of().body, Body::Tracing) {
        log_view::tracing(a.list, brush, tracing);
        return;
    }
    if state.list().zoom && context.of().has_detail() {
        detail(state, a.detail, a.foot_rule, brush);
        return;
    }
    if a.bar.height > 0 {
        let bar = doc::title_bar(state, a.bar.width);
        brush.line(a.bar.x + 1, a.bar.y, a.bar.width - 2, &bar, false);
    }
    if a.charts.height > 0 {
        charts::draw(state, a.charts, brush);
    }
    if let Some(words) = doc::empty(state) {
        // Charts stay visible above the text of an empty screen.
        let y = a.charts.bottom().max(a.title.bottom());
        // The text ends above the first visible bar at the bottom.
        let below = [a.note, a.foot_rule, a.footer]
            .into_iter()
            .filter(|r| r.height > 0)
            .map(|r| r.y)
            .min();
        let height = below.unwrap_or(a.footer.y).saturating_sub(y);
        let area = Rect {
            x: a.columns.x.max(a.list.x),
            y,
            width: state.frame.size.0,
            height,
        };
        // Lines that do not fit here are in the popup of `d`.
        let more = if context == Context::Stage && state.view.stage_error.is_some() {
            ", d shows them"
        } else {
            ""
        };
        empty(area, &words, more, brush);
        return;
    }
    match &context.of().body {
        Body::Table { columns, cells } => table(state, a, brush, columns, *cells),
        Body::Log => log_view::draw(state, a.list, brush),
        Body::Tracing => {}
    }
    if a.detail.height > 0 {
        border(state, a, brush);
        detail(state, a.detail, a.foot_rule, brush);
    }
}

/// Draws the list of the current context as a table.
fn table(
    state: &State,
    a: &Areas,
    brush: &mut Brush<'_>,
    columns: &[Column],
    cells: fn(&State, &Row) -> Vec<Line>,
) {
    let list = state.list();
    let find = list.find.to_lowercase();
    Table {
        columns,
        rows: &state.frame.rows,
        index: list.index,
        offset: list.offset,
        pinned: pinned(state, usize::from(a.list.height)),
        // The focus may still be on a detail that the screen has no space for.
        has_keys: list.focus == Pane::List || a.detail.height == 0,
        sorted: rows::sorted_column(state),
        range: state.range(),
        placed: placed_columns(state, columns, a.list),
        find: &find,
        last_heading: (state.context().of().last_heading)(state),
    }
    .draw(a.columns, a.list, brush, |row| cells(state, row));
}

fn empty(area: Rect, words: &Doc, more: &str, brush: &mut Brush<'_>) {
    let mut wrapped = doc::wrap(words, usize::from(area.width).saturating_sub(6));
    let room = usize::from(area.height);
    if wrapped.len() > room && room > 1 {
        let hidden = wrapped.len() - (room - 1);
        wrapped.truncate(room - 1);
        wrapped.push(doc::line(Role::Dim, format!("… {hidden} more{more}")));
    }
    let top = if usize::from(area.height) > wrapped.len() + 2 {
        1
    } else {
        0
    };
    for (i, l) in wrapped
        .iter()
        .enumerate()
        .take(usize::from(area.height.saturating_sub(top)))
    {
        let i = u16::try_from(i).unwrap_or(u16::MAX);
        brush.line(
            area.x + 3,
            area.y + top + i,
            area.width.saturating_sub(6),
            l,
            false,
        );
    }
}

/// Draws the border between list and detail, with the title of the detail if it is horizontal.
fn border(state: &State, a: &Areas, brush: &mut Brush<'_>) {
    let has_keys = detail_has_keys(state);
    let role = if has_keys { Role::Key } else { Role::Dim };
    if is_side_by_side(state) {
        for y in a.border.top()..a.border.bottom() {
            brush.text(a.border.x, y, 1, role, border_symbol(has_keys, true));
        }
    } else {
        brush.text(
            a.border.x,
            a.border.y,
            a.border.width,
            role,
            &border_symbol(has_keys, false).repeat(usize::from(a.border.width)),
        );
        let title = doc::detail_title(state);
        let cells: usize = title.iter().map(|s| width(&s.text)).sum();
        let cells = u16::try_from(cells)
            .unwrap_or(u16::MAX)
            .min(a.border.width.saturating_sub(2));
        // Without the style of the border, which would dim the title.
        let ground = brush.theme.base_style();
        let behind = Rect {
            x: a.border.x + 1,
            width: cells,
            ..a.border
        };
        brush.clear(behind, ground);
        brush.line(a.border.x + 1, a.border.y, cells, &title, false);
    }
}

/// Draws the detail. `rule` is the line below it, if there is one.
fn detail(state: &State, area: Rect, rule: Rect, brush: &mut Brush<'_>) {
    let lines = state.wrapped_detail(usize::from(area.width));
    let list = state.list();
    let height = usize::from(area.height);
    // Matches are marked only in the pane that a search moves through.
    let needle = if detail_has_keys(state) {
        list.find.to_lowercase()
    } else {
        String::new()
    };
    let from = list.scroll.min(lines.len().saturating_sub(1));
    let mut used = 0;
    for (i, l) in lines.iter().skip(from).take(height).enumerate() {
        let y = area.y + u16::try_from(i).unwrap_or(0);
        let cells = brush.line(area.x, y, area.width, l, false);
        if i + 1 == height {
            used = cells;
        }
        if !needle.is_empty() {
            brush.mark(area.x, y, area.width, &needle);
        }
    }
    let shown = from + height;
    if lines.len() <= height || area.height == 0 {
        return;
    }
    let hidden = lines.len().saturating_sub(shown);
    // The rule below the text has space. Without one, the mark never covers text: beside a long
    // line it is shorter, or absent.
    let (mark_y, used) = match rule.height {
        0 => (area.bottom() - 1, used),
        _ => {
            // A message has precedence over the mark.
            let message = state.frame.toast.as_ref().map_or(0, |t| width(&t.text) + 6);
            let before = usize::from(area.x.saturating_sub(rule.x));
            let covered = message.saturating_sub(before).min(usize::from(area.width));
            (rule.y, u16::try_from(covered).unwrap_or(0))
        }
    };
    let marks = match hidden {
        0 => [" end ".to_owned(), String::new()],
        _ => [format!(" {hidden} more ↓ "), " ↓ ".to_owned()],
    };
    let free = usize::from(area.width - used.min(area.width));
    if let Some(text) = marks.iter().find(|text| width(text) <= free) {
        let w = u16::try_from(width(text)).unwrap_or(0);
        brush.text(area.right() - w, mark_y, w, Role::Dim, text);
    }
}
