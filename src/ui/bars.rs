//! Draws everything around the current screen: header, tabs, separator lines, permanent note and
//! footer.

use super::paint::Brush;
use crate::app::doc::{self, Line, Role};
use crate::app::format::clock;
use crate::app::layout::{Areas, footer_keys, header_cells, incident_badge, tabs};
use crate::app::state::{Prompt, PromptKind, State, Weight};
use crate::app::text::{clean, width};
use ratatui::layout::{Position, Rect};

/// Draws everything around the screen except for the footer.
pub fn draw(state: &State, a: &Areas, brush: &mut Brush<'_>) {
    header(state, a.header, brush);
    draw_tabs(state, a.tabs, brush);
    if let Some((x, badge)) = incident_badge(state, a.tabs) {
        brush.line(x, a.tabs.y, a.tabs.right() - x, &badge, false);
    }
    for rule in [a.rule, a.foot_rule] {
        let line = "─".repeat(usize::from(rule.width));
        if rule.height > 0 {
            brush.text(rule.x, rule.y, rule.width, Role::Dim, &line);
        }
    }
    for (y, l) in (a.note.top()..a.note.bottom()).zip(&doc::notes(state)) {
        brush.line(a.note.x + 1, y, a.note.width.saturating_sub(2), l, false);
    }
    message(state, a.message, brush);
}

/// Draws the header line with the time at its right.
fn header(state: &State, area: Rect, brush: &mut Brush<'_>) {
    brush.fill(area, brush.theme.bar());
    let time = clock(state.now, state.utc_offset);
    let room = header_cells(state, area);
    let parts = doc::header(state, usize::from(room));
    let header: Line = parts.into_iter().flat_map(|(line, _)| line).collect();
    brush.line(area.x, area.y, room, &header, false);
    let right = area.width.saturating_sub(room + 1);
    let x = area.right().saturating_sub(right);
    brush.text(x, area.y, right, Role::Plain, &time);
}

fn draw_tabs(state: &State, area: Rect, brush: &mut Brush<'_>) {
    for (screen, x, label) in tabs(state) {
        let cells = area.width.saturating_sub(x);
        if screen == state.screen {
            let style = brush.theme.tab();
            brush.styled(x, area.y, cells, style, &label);
        } else {
            brush.text(x, area.y, cells, Role::Plain, &label);
        }
    }
}

/// Explains a prompt in `cells` cells: the terms of a filter until one is typed, then the keys.
/// Parts that do not fit are left out from the last one on.
fn prompt_hint(state: &State, prompt: &Prompt, cells: usize) -> String {
    let fields = state.context().of().fields.iter();
    let fields: String = fields.map(|f| format!(" {}:", f.name)).collect();
    let parts: &[&str] = match (prompt.kind, prompt.entry.is_empty()) {
        (PromptKind::Filter, true) => &[
            "words",
            " !not",
            " ~fuzzy",
            " /regex/",
            &fields,
            "   ↑↓ earlier filters",
        ],
        (PromptKind::Filter, false) => &[
            "enter keeps",
            " the filter",
            ", ↑↓ recall earlier ones",
            ", esc cancels",
        ],
        (PromptKind::Find, _) => &[
            "enter keeps",
            " the search",
            ", ↑↓ move between matches",
            ", esc cancels",
        ],
    };
    let mut hint = String::new();
    for part in parts {
        if width(&hint) + width(part) > cells {
            break;
        }
        hint.push_str(part);
    }
    hint
}

/// Draws the footer: available keys, or the prompt.
pub fn footer(state: &State, a: &Areas, brush: &mut Brush<'_>) -> Option<Position> {
    let area = a.footer;
    brush.fill(area, brush.theme.bar());
    if let Some(p) = &state.frame.prompt {
        let sign = match p.kind {
            PromptKind::Find => "/",
            PromptKind::Filter => "filter: ",
        };
        let mut x = area.x + 1;
        x += brush.text(x, area.y, area.width, Role::Key, sign);
        let start = x;
        x += brush.text(
            x,
            area.y,
            area.right().saturating_sub(x),
            Role::Strong,
            &p.entry.text(),
        );
        let cells = area.right().saturating_sub(x + 2);
        let (role, word) = match &p.error {
            Some(error) => (Role::Bad, error.clone()),
            None => (Role::Dim, prompt_hint(state, p, cells.into())),
        };
        brush.text(x + 2, area.y, cells, role, &word);
        // In cells, because wide characters take two.
        let before = u16::try_from(width(&p.entry.before())).unwrap_or(0);
        return Some(Position {
            x: (start + before).min(area.right().saturating_sub(1)),
            y: area.y,
        });
    }
    for key in footer_keys(state, area.width) {
        let cells = area.width.saturating_sub(key.x);
        brush.line(area.x + key.x, area.y, cells, &key.label, false);
    }
    None
}

/// Draws the message. The list of messages has the complete text of one that is cut.
fn message(state: &State, area: Rect, brush: &mut Brush<'_>) {
    let Some(t) = state.frame.toast.as_ref().filter(|_| area.height > 0) else {
        return;
    };
    let (role, sign) = match t.weight {
        Weight::Good => (Role::Plain, ""),
        Weight::Bad => (Role::Bad, "✗ "),
    };
    let text = format!(" {sign}{} ", clean(&t.text));
    let room = area.width.saturating_sub(2);
    let hint = format!(" ({}) ", state.options.keys.first("messages"));
    let hint_cells = u16::try_from(width(&hint)).unwrap_or(0);
    // On a narrow screen the text needs all cells.
    if usize::from(room) >= width(&text) || room < 60 {
        brush.text(area.x + 1, area.y, room, role, &text);
    } else {
        let cells = room.saturating_sub(hint_cells);
        brush.text(area.x + 1, area.y, cells, role, text.trim_end());
        let at = area.x + 1 + cells;
        brush.text(at, area.y, hint_cells, Role::Dim, &hint);
    }
}
