//! Popups for workspaces, installation and the doctor.

use super::frame::{lines, open};
use crate::app::doc;
use crate::app::doc::{Doc, Role, span};
use crate::app::entry::Entry;
use crate::app::state::{Popup, State};
use crate::app::text::width;
use crate::ui::paint::Brush;
use ratatui::layout::{Position, Rect};

/// Draws keys with their labels at the bottom of a popup.
fn keys(brush: &mut Brush<'_>, inner: Rect, all: &[(&str, &str)]) {
    let mut words = Vec::new();
    for (key, text) in all {
        words.push(span(Role::Key, *key));
        words.push(span(Role::Dim, format!(" {text}  ")));
    }
    let y = inner.bottom().saturating_sub(1);
    brush.line(inner.x, y, inner.width, &words, false);
}

/// Draws the filter and the matching workspaces. Returns the position of the cursor.
pub(super) fn workspaces(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    entry: &Entry,
    selected: usize,
) -> Position {
    let found = doc::choices(state, &entry.text());
    let rows = found.len().clamp(1, 14);
    let title = format!("Workspaces of {}", state.workspace);
    let inner = open(state, popup, brush, &title, rows + 4, Role::Key);
    let used = brush.text(inner.x, inner.y, inner.width, Role::Key, "name: ");
    let room = inner.width.saturating_sub(used);
    brush.text(inner.x + used, inner.y, room, Role::Strong, &entry.text());
    let before = u16::try_from(width(&entry.before())).unwrap_or(0);
    let cursor = Position {
        x: (inner.x + used + before).min(inner.right().saturating_sub(1)),
        y: inner.y,
    };
    let list = Rect {
        y: inner.y + 2,
        height: inner.height.saturating_sub(4),
        ..inner
    };
    if found.is_empty() {
        let words = doc::empty_list_text(state);
        brush.text(list.x, list.y, list.width, Role::Dim, words);
    }
    let height = usize::from(list.height).max(1);
    // Scrolls only as far as the selected row needs.
    let from = (selected + 1).saturating_sub(height);
    for (i, one) in found.iter().enumerate().skip(from).take(height) {
        let y = list.y + u16::try_from(i - from).unwrap_or(0);
        let row = doc::fit_line(doc::choice(one), usize::from(list.width));
        brush.line(list.x, y, list.width, &row, i == selected);
    }
    let all = [
        ("↑↓", "choose"),
        ("enter", "switch, as `workspace select` does"),
        ("esc", "cancel"),
    ];
    keys(brush, inner, &all);
    cursor
}

/// Draws the steps of an installation and its result; the newest lines if not all fit.
pub(super) fn installing(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    scroll: usize,
    cells: usize,
) {
    let words = doc::wrap(&doc::installing(state), cells);
    let inner = open(
        state,
        popup,
        brush,
        "Installation",
        words.len() + 2,
        Role::Key,
    );
    let height = usize::from(inner.height.saturating_sub(2)).max(1);
    let last = words.len().saturating_sub(height);
    // Follows the newest line while it runs; afterwards the operator scrolls.
    let from = match state.installing() {
        true => last,
        false => scroll.min(last),
    };
    let room = Rect {
        height: inner.height.saturating_sub(2),
        ..inner
    };
    lines(brush, room, &words[from.min(words.len())..]);
    match state.installing() {
        true => keys(
            brush,
            inner,
            &[("c", "stop"), ("esc", "close; it continues")],
        ),
        false if state.needs_migration_decision() => {
            let all = [("b", "copy it"), ("l", "leave it"), ("esc", "close")];
            keys(brush, inner, &all);
        }
        false => keys(brush, inner, &[("j k", "scroll"), ("esc", "close")]),
    }
}

/// Draws the findings, and the details of the selected one.
pub(super) fn doctor(
    state: &State,
    popup: &Popup,
    brush: &mut Brush<'_>,
    selected: usize,
    cells: usize,
) {
    let found = doc::findings(state);
    let at = found.get(selected.min(found.len().saturating_sub(1)));
    let detail = at.map_or_else(Doc::new, |finding| doc::wrap(&doc::finding(finding), cells));
    // The list leaves space for the complete details of the selected finding.
    let most = usize::from(state.frame.size.1)
        .saturating_sub(detail.len() + 9)
        .max(3);
    let shown = found.len().min(most);
    let total = 2 + shown + 1 + detail.len() + 2;
    let inner = open(state, popup, brush, "Doctor", total, Role::Key);
    let head = doc::findings_head(state);
    brush.line(inner.x, inner.y, inner.width, &head, false);
    let from = (selected + 1).saturating_sub(shown);
    let mut y = inner.y + 2;
    for (i, finding) in found.iter().enumerate().skip(from).take(shown) {
        let row = doc::fit_line(doc::finding_line(finding), usize::from(inner.width));
        brush.line(inner.x, y, inner.width, &row, i == selected);
        y += 1;
    }
    if shown < found.len() {
        let text = format!(" {} of {} ", selected + 1, found.len());
        let w = u16::try_from(width(&text)).unwrap_or(0);
        brush.text(inner.right().saturating_sub(w), y, w, Role::Dim, &text);
    }
    let room = Rect {
        y: y + 1,
        height: inner.bottom().saturating_sub(y + 3),
        ..inner
    };
    lines(brush, room, &detail);
    let mut all = vec![
        ("r", "check again"),
        ("y", "copy the remedy"),
        ("esc", "close"),
    ];
    if !state.view.absent.is_empty() {
        all.insert(0, ("i", "install missing…"));
    }
    if at.is_some_and(|finding| finding.fix.is_some()) {
        all.insert(0, ("F", "apply the remedy"));
    }
    keys(brush, inner, &all);
}
