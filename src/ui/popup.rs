//! What lies over the screen: help, palette, questions, the cancel ladder.

use super::paint::Brush;
use crate::app::command;
use crate::app::doc::{self, Doc, Line, Role, span};
use crate::app::layout;
use crate::app::state::{Confirm, Popup, State};
use crate::app::text::width;
use ratatui::layout::{Position, Rect};

/// Draws the popup, if there is one; answers where the terminal's cursor belongs.
pub fn draw(state: &State, brush: &mut Brush<'_>) -> Option<Position> {
    let popup = state.frame.popup.as_ref()?;
    let cells = usize::from(layout::popup(state, popup, 1).width).saturating_sub(4);
    match popup {
        Popup::Help { scroll } => {
            scrolled(
                state,
                popup,
                brush,
                "keys",
                &doc::wrap(&doc::help(state), cells),
                *scroll,
            );
            None
        }
        Popup::Message { title, doc, scroll } => {
            scrolled(state, popup, brush, title, &doc::wrap(doc, cells), *scroll);
            None
        }
        Popup::Palette { entry, selected } => Some(palette(state, popup, brush, entry, *selected)),
        Popup::Ladder { selected } => {
            ladder(state, popup, brush, *selected, cells);
            None
        }
        Popup::Demo { selected } => {
            demo(state, popup, brush, *selected);
            None
        }
        Popup::Confirm(c) => confirm(state, popup, brush, c, cells),
        Popup::Unknown { selected, refused } => {
            unknown(state, popup, brush, *selected, *refused, cells);
            None
        }
        Popup::Import { address, entry } => {
            Some(import(state, popup, brush, address, entry, cells))
        }
    }
}

/// An empty frame for so many lines; answers what is inside.
fn open(
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

fn lines(brush: &mut Brush<'_>, area: Rect, doc: &[Line]) {
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

fn palette(
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
        "command",
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
    let from = (selected + 1).saturating_sub(height);
    if found.is_empty() {
        brush.text(
            list.x,
            list.y,
            list.width,
            Role::Dim,
            "no command has these letters",
        );
    }
    for (i, c) in found.iter().enumerate().skip(from).take(height) {
        let y = list.y + u16::try_from(i - from).unwrap_or(0);
        let keys = state
            .keys
            .keys_of(c, state.context())
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
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

fn ladder(state: &State, popup: &Popup, brush: &mut Brush<'_>, selected: usize, cells: usize) {
    let rungs: Vec<Doc> = doc::ladder(state)
        .iter()
        .map(|d| doc::wrap(d, cells))
        .collect();
    let total: usize = rungs.iter().map(|r| r.len() + 1).sum::<usize>() + 1;
    let inner = open(
        state,
        popup,
        brush,
        "cancel ladder, from soft to hard",
        total,
        Role::Warn,
    );
    let mut y = inner.y;
    for (i, rung) in rungs.iter().enumerate() {
        for (n, l) in rung.iter().enumerate() {
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
        span(Role::Dim, " do it  "),
        span(Role::Key, "esc"),
        span(Role::Dim, " do nothing"),
    ];
    brush.line(
        inner.x,
        inner.bottom().saturating_sub(1),
        inner.width,
        &words,
        false,
    );
}

fn demo(state: &State, popup: &Popup, brush: &mut Brush<'_>, selected: usize) {
    let inner = open(
        state,
        popup,
        brush,
        "break something on purpose",
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
        "then deploy (or stage), and watch; esc closes this",
    );
}

fn confirm(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    c: &Confirm,
    cells: usize,
) -> Option<Position> {
    let title = doc::wrap(&vec![doc::line(Role::Strong, &c.title)], cells);
    let body = doc::wrap(&c.body, cells);
    let inner = open(
        state,
        popup,
        brush,
        "",
        title.len() + body.len() + 4,
        Role::Warn,
    );
    lines(brush, inner, &title);
    let used = u16::try_from(title.len()).unwrap_or(1) + 1;
    let room = Rect {
        y: inner.y + used,
        height: inner.height.saturating_sub(used + 2),
        ..inner
    };
    let from = c
        .scroll
        .min(body.len().saturating_sub(usize::from(room.height)));
    lines(brush, room, &body[from..]);
    if from + usize::from(room.height) < body.len() {
        let text = format!(
            "… {} more (j, or down)",
            body.len() - from - usize::from(room.height)
        );
        brush.text(inner.x, room.bottom(), inner.width, Role::Warn, &text);
    }
    let y = inner.bottom().saturating_sub(1);
    if let Some((want, entry)) = &c.typed {
        let l = vec![
            span(Role::Plain, "type "),
            span(Role::Bad, want),
            span(Role::Plain, " and enter, or esc: "),
        ];
        let x = inner.x + brush.line(inner.x, y, inner.width, &l, false);
        brush.text(
            x,
            y,
            inner.right().saturating_sub(x),
            Role::Strong,
            &entry.text(),
        );
        let before = u16::try_from(width(&entry.before())).unwrap_or(0);
        return Some(Position {
            x: (x + before).min(inner.right().saturating_sub(1)),
            y,
        });
    }
    let answer = |chosen: bool, word: &str| {
        if chosen {
            span(Role::Match, format!(" {word} "))
        } else {
            span(Role::Plain, format!(" {word} "))
        }
    };
    let l = vec![
        answer(!c.yes, "No"),
        span(Role::Plain, "  "),
        answer(c.yes, "Yes"),
        span(Role::Dim, "    y yes · n no · enter takes the marked one"),
    ];
    brush.line(inner.x, y, inner.width, &l, false);
    None
}

/// Why it is open, the list, all words of the one that is chosen, the keys that settle it.
fn unknown(
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
    let most = usize::from(state.frame.size.1)
        .saturating_sub(head.len() + detail.len() + 7)
        .max(1);
    let shown = all.len().min(most);
    let total = head.len() + 1 + shown + 1 + detail.len() + 2;
    let inner = open(
        state,
        popup,
        brush,
        "unknown outcomes",
        total,
        if refused { Role::Bad } else { Role::Warn },
    );
    lines(brush, inner, &head);
    let mut y = inner.y + u16::try_from(head.len()).unwrap_or(0) + 1;
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

/// The id is typed; answers where the cursor is.
fn import(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    address: &str,
    entry: &crate::app::entry::Entry,
    cells: usize,
) -> Position {
    let words = [
        doc::line(Role::Strong, format!("take {address} into the state")),
        Line::new(),
        doc::line(
            Role::Plain,
            "Under which id does the target system have it? Its provider reads it; nothing is changed there.",
        ),
    ];
    let words = doc::wrap(&words.into(), cells);
    let inner = open(state, popup, brush, "", words.len() + 4, Role::Key);
    lines(brush, inner, &words);
    let y = inner.bottom().saturating_sub(1);
    let keys = vec![
        span(Role::Key, "enter"),
        span(Role::Dim, " takes it in  "),
        span(Role::Key, "esc"),
        span(Role::Dim, " does nothing"),
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
