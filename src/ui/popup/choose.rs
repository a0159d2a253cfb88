//! Popups with a list: cancel ladder, faults of the demo, unknown outcomes; and the input of an
//! import id.

use ratatui::layout::{Position, Rect};

use super::frame::{lines, open};
use crate::app::doc;
use crate::app::doc::{Doc, Line, Role, span};
use crate::app::state::{Popup, State};
use crate::app::text::width;
use crate::ui::paint::Brush;

pub(super) fn draw_cancel_ladder(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    selected: usize,
    cells: usize,
) {
    let rungs: Vec<Doc> = doc::cancel_rungs(state)
        .iter()
        .map(|d| doc::wrap(d, cells))
        .collect();
    let total: usize = rungs.iter().map(|r| r.len() + 1).sum::<usize>() + 1;
    let inner = open(
        state,
        popup,
        brush,
        "Cancel ladder, from soft to hard",
        total,
        Role::Warn,
    );
    let mut y = inner.y;
    for (i, rung) in rungs.iter().enumerate() {
        for (n, l) in rung.iter().enumerate() {
            // The last line has the keys.
            if y >= inner.bottom().saturating_sub(1) {
                break;
            }
            brush.line(inner.x, y, inner.width, l, i == selected && n == 0);
            y += 1;
        }
        y += 1;
    }
    let words = vec![
        span(Role::Key, "1-3 j k"),
        span(Role::Dim, " choose  "),
        span(Role::Key, "enter"),
        span(Role::Dim, " run this step  "),
        span(Role::Key, "esc"),
        span(Role::Dim, " close"),
    ];
    brush.line(
        inner.x,
        inner.bottom().saturating_sub(1),
        inner.width,
        &words,
        false,
    );
}

pub(super) fn demo(state: &State, popup: &Popup, brush: &mut Brush<'_>, selected: usize) {
    let inner = open(
        state,
        popup,
        brush,
        "Cause a fault in the demo",
        state.faults.len() + 2,
        Role::Warn,
    );
    for (i, f) in state
        .faults
        .iter()
        .enumerate()
        .take(usize::from(inner.height))
    {
        let y = inner.y + u16::try_from(i).unwrap_or(0);
        let l = vec![
            span(Role::Key, format!(" {}  ", f.key)),
            span(Role::Strong, format!("{:<15} ", f.id)),
            span(Role::Plain, &f.doc),
        ];
        brush.line(inner.x, y, inner.width, &l, i == selected);
    }
    brush.text(
        inner.x,
        inner.bottom().saturating_sub(1),
        inner.width,
        Role::Dim,
        "then deploy or stage to see the effect; esc closes",
    );
}

/// Draws the reason for the popup, the list, the details of the selected outcome, and the keys that
/// settle it.
pub(super) fn unknown(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    selected: usize,
    refused: bool,
    cells: usize,
) {
    let all = &state.view.unknown;
    let Some(u) = all.get(selected.min(all.len().saturating_sub(1))) else {
        return;
    };
    let head = doc::wrap(&doc::unknown_head(state, refused), cells);
    let detail = doc::wrap(&doc::unknown(u), cells);
    // The list leaves space for the complete details of the selected outcome.
    let most = usize::from(state.frame.size.1)
        .saturating_sub(head.len() + detail.len() + 7)
        .max(1);
    let shown = all.len().min(most);
    let total = head.len() + 1 + shown + 1 + detail.len() + 2;
    let inner = open(
        state,
        popup,
        brush,
        "Unknown outcomes",
        total,
        if refused { Role::Bad } else { Role::Warn },
    );
    lines(brush, inner, &head);
    let mut y = inner.y + u16::try_from(head.len()).unwrap_or(0) + 1;
    // Scrolls only as far as the selected row needs.
    let from = (selected + 1).saturating_sub(shown);
    for (i, u) in all.iter().enumerate().skip(from).take(shown) {
        brush.line(
            inner.x,
            y,
            inner.width,
            &doc::fit_line(doc::unknown_line(state, u), usize::from(inner.width)),
            i == selected,
        );
        y += 1;
    }
    if shown < all.len() {
        let text = format!(" {} of {} ", selected + 1, all.len());
        let w = u16::try_from(width(&text)).unwrap_or(0);
        brush.text(inner.right().saturating_sub(w), y, w, Role::Dim, &text);
    }
    let last = inner.bottom().saturating_sub(1);
    let room = Rect {
        y: y + 1,
        height: last.saturating_sub(y + 2),
        ..inner
    };
    lines(brush, room, &detail);
    brush.line(inner.x, last, inner.width, &doc::unknown_keys(u), false);
}

/// Draws the input of an import id. Returns the position of the cursor.
pub(super) fn import(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    address: &str,
    entry: &crate::app::entry::Entry,
    cells: usize,
) -> Position {
    let words = [
        doc::line(Role::Strong, format!("Import {address} into the state")),
        Line::new(),
        doc::line(
            Role::Plain,
            "Type the id of the object in the target system. Its provider reads the object and changes nothing.",
        ),
    ];
    let words = doc::wrap(&words.into(), cells);
    let inner = open(state, popup, brush, "", words.len() + 4, Role::Key);
    lines(brush, inner, &words);
    let y = inner.bottom().saturating_sub(1);
    let keys = vec![
        span(Role::Key, "enter"),
        span(Role::Dim, " imports it  "),
        span(Role::Key, "esc"),
        span(Role::Dim, " cancels"),
    ];
    brush.line(inner.x, y, inner.width, &keys, false);
    let y = y.saturating_sub(2);
    let x = inner.x + brush.text(inner.x, y, inner.width, Role::Key, "id: ");
    brush.text(
        x,
        y,
        inner.right().saturating_sub(x),
        Role::Strong,
        &entry.text(),
    );
    let before = u16::try_from(width(&entry.before())).unwrap_or(0);
    Position {
        x: (x + before).min(inner.right().saturating_sub(1)),
        y,
    }
}
