//! Frame of a popup: its border, title and lines.

use ratatui::layout::{Position, Rect};

use super::choose::{demo, draw_cancel_ladder, import, unknown};
use super::confirm::draw_confirmation;
use super::palette::palette;
use super::workspaces::{doctor, installing, workspaces};
use crate::app::doc::{Doc, Line, Role};
use crate::app::state::{Popup, State};
use crate::app::text::width;
use crate::app::{doc, layout};
use crate::ui::paint::Brush;

/// Draws the popup, if one is open. Returns the position of the terminal's cursor.
pub fn draw(state: &State, brush: &mut Brush<'_>) -> Option<Position> {
    let popup = state.frame.popup.as_ref()?;
    // The width does not depend on the number of lines, which are wrapped to it.
    let cells = usize::from(layout::popup(state, popup, 1).width).saturating_sub(4);
    match popup {
        Popup::Help { scroll } => {
            scrolled(
                state,
                popup,
                brush,
                "Keys",
                &doc::wrap(&doc::help(state), cells),
                *scroll,
            );
            None
        }
        Popup::Message { title, doc, scroll } => {
            scrolled(state, popup, brush, title, &doc::wrap(doc, cells), *scroll);
            None
        }
        Popup::Palette {
            entry, selected, ..
        } => Some(palette(state, popup, brush, entry, *selected)),
        Popup::Ladder { selected } => {
            draw_cancel_ladder(state, popup, brush, *selected, cells);
            None
        }
        Popup::Demo { selected } => {
            demo(state, popup, brush, *selected);
            None
        }
        Popup::Confirm(c) => draw_confirmation(state, popup, brush, c, cells),
        Popup::Unknown { selected, refused } => {
            unknown(state, popup, brush, *selected, *refused, cells);
            None
        }
        Popup::Workspaces { entry, selected } => {
            Some(workspaces(state, popup, brush, entry, *selected))
        }
        Popup::Installing { scroll } => {
            installing(state, popup, brush, *scroll, cells);
            None
        }
        Popup::Doctor { selected } => {
            doctor(state, popup, brush, *selected, cells);
            None
        }
        Popup::Import { address, entry } => {
            Some(import(state, popup, brush, address, entry, cells))
        }
    }
}

/// Draws an empty popup for a number of lines. Returns its inner area.
pub(super) fn open(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    title: &str,
    lines: usize,
    role: Role,
) -> Rect {
    let area = layout::popup(state, popup, lines);
    let ground = brush.theme.popup();
    brush.clear(area, ground);
    brush.frame(area, role, title);
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

pub(super) fn lines(brush: &mut Brush<'_>, area: Rect, doc: &[Line]) {
    for (i, l) in doc.iter().enumerate().take(usize::from(area.height)) {
        brush.line(
            area.x,
            area.y + u16::try_from(i).unwrap_or(0),
            area.width,
            l,
            false,
        );
    }
}

fn scrolled(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    title: &str,
    doc: &Doc,
    scroll: usize,
) {
    let inner = open(state, popup, brush, title, doc.len(), Role::Key);
    let height = usize::from(inner.height);
    let from = scroll.min(doc.len().saturating_sub(height));
    lines(brush, inner, &doc[from.min(doc.len())..]);
    if from + height < doc.len() {
        let text = format!(" {} more ↓ ", doc.len() - from - height);
        let w = u16::try_from(width(&text)).unwrap_or(0);
        brush.text(
            inner.right().saturating_sub(w),
            inner.bottom(),
            w,
            Role::Dim,
            &text,
        );
    }
}
