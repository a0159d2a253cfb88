//! Command palette.

use ratatui::layout::{Position, Rect};

use super::frame::open;
use crate::app::command;
use crate::app::doc::{Role, span};
use crate::app::state::{Popup, State};
use crate::app::text::width;
use crate::ui::paint::Brush;

pub(super) fn palette(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    entry: &crate::app::entry::Entry,
    selected: usize,
) -> Position {
    let found = command::matching(state, &entry.text());
    let inner = open(
        state,
        popup,
        brush,
        "Command",
        found.len().clamp(1, 16) + 1,
        Role::Key,
    );
    let used = brush.text(inner.x, inner.y, inner.width, Role::Key, ": ");
    brush.text(
        inner.x + used,
        inner.y,
        inner.width.saturating_sub(used),
        Role::Strong,
        &entry.text(),
    );
    let before = u16::try_from(width(&entry.before())).unwrap_or(0);
    let at = Position {
        x: (inner.x + used + before).min(inner.right().saturating_sub(1)),
        y: inner.y,
    };
    let list = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    };
    let height = usize::from(list.height).max(1);
    // Scrolls only as far as the selected row needs.
    let from = (selected + 1).saturating_sub(height);
    if found.is_empty() {
        brush.text(list.x, list.y, list.width, Role::Dim, "no matching command");
    }
    for (i, c) in found.iter().enumerate().skip(from).take(height) {
        let y = list.y + u16::try_from(i - from).unwrap_or(0);
        let keys = state
            .keys
            .keys_of(c, state.context())
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        // Unavailable commands are listed with the reason, so that the operator finds them.
        let can = (c.when)(state);
        let role = if can.is_ok() { Role::Plain } else { Role::Dim };
        let words = can
            .as_ref()
            .err()
            .map_or_else(|| c.doc.to_owned(), |why| format!("({why})"));
        let l = vec![
            span(Role::Key, format!("{keys:>9} ")),
            span(role, format!("{:<18} ", c.name)),
            span(Role::Dim, words),
        ];
        brush.line(list.x, y, list.width, &l, i == selected);
    }
    at
}
