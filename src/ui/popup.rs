//! Draws the page of a popup: border, parts from top to bottom, and the cursor of its input.

use super::paint::Brush;
use crate::app::doc::{Doc, Line, Role, cells_of};
use crate::app::layout;
use crate::app::popups::{Input, List, More, Part};
use crate::app::state::State;
use crate::app::text::width;
use ratatui::layout::{Position, Rect};

/// Draws the popup, if one is open. Returns the position of the terminal's cursor.
pub fn draw(state: &State, brush: &mut Brush<'_>) -> Option<Position> {
    let (page, area) = layout::popup_page(state)?;
    let ground = brush.theme.popup();
    brush.clear(area, ground);
    brush.frame(area, page.role, &page.title);
    let mut cursor = None;
    for (one, area) in layout::popup_parts(&page, area) {
        cursor = cursor.or(part(one, area, brush));
    }
    cursor
}

/// Draws a part. Returns the position of the cursor, if it is an input.
fn part(part: &Part, area: Rect, brush: &mut Brush<'_>) -> Option<Position> {
    match part {
        // Keys are text after the page was wrapped.
        Part::Blank | Part::Keys(_) => None,
        Part::Text(doc) => {
            lines(doc, area, brush);
            None
        }
        Part::Scroll { doc, from, more } => {
            scroll(doc, *from, *more, area, brush);
            None
        }
        Part::List(all) => {
            list(all, area, brush);
            None
        }
        Part::Choices(choices) => {
            lines(&[choices.line()], area, brush);
            None
        }
        Part::Input(one) => input(one, area, brush),
    }
}

fn lines(doc: &[Line], area: Rect, brush: &mut Brush<'_>) {
    for (y, l) in (area.top()..area.bottom()).zip(doc) {
        brush.line(area.x, y, area.width, l, false);
    }
}

/// Draws a text from a line on, and the number of lines below the visible ones.
fn scroll(doc: &Doc, from: usize, more: More, area: Rect, brush: &mut Brush<'_>) {
    let height = usize::from(area.height);
    let from = from.min(doc.len().saturating_sub(height));
    lines(&doc[from..], area, brush);
    let hidden = doc.len().saturating_sub(from + height);
    match more {
        _ if hidden == 0 => {}
        More::None => {}
        More::InBorder => at_the_right(&format!(" {hidden} more ↓ "), area, brush),
        More::InLine => {
            let text = format!("… {hidden} more (j, or down)");
            brush.text(area.x, area.bottom(), area.width, Role::Warn, &text);
        }
    }
}

/// Draws the visible rows of a list, and its position in the line below.
fn list(list: &List, area: Rect, brush: &mut Brush<'_>) {
    if list.rows.is_empty() {
        brush.text(area.x, area.y, area.width, Role::Dim, list.empty);
    }
    let height = usize::from(area.height);
    for (y, (i, line)) in (area.top()..area.bottom()).zip(list.visible(height)) {
        brush.line(area.x, y, area.width, line, i == list.selected);
    }
    if list.counted && height < list.rows.len() {
        let text = format!(" {} of {} ", list.selected + 1, list.rows.len());
        at_the_right(&text, area, brush);
    }
}

/// Draws a text at the right of the line below an area.
fn at_the_right(text: &str, area: Rect, brush: &mut Brush<'_>) {
    let w = u16::try_from(width(text)).unwrap_or(0);
    let x = area.right().saturating_sub(w);
    brush.text(x, area.bottom(), w, Role::Dim, text);
}

/// Draws a text input. Returns the position of its cursor.
fn input(input: &Input, area: Rect, brush: &mut Brush<'_>) -> Option<Position> {
    if area.height == 0 {
        return None;
    }
    lines(&input.label, area, brush);
    let last = input.label.last().map_or(0, cells_of);
    let x = area.x + u16::try_from(last).unwrap_or(0).min(area.width);
    let y = area.bottom() - 1;
    let room = area.right().saturating_sub(x);
    let text = input.entry.text();
    brush.text(x, y, room, Role::Strong, &text);
    // In cells, because wide characters take two.
    let before = u16::try_from(width(&input.entry.before())).unwrap_or(0);
    Some(Position {
        x: (x + before).min(area.right().saturating_sub(1)),
        y,
    })
}
