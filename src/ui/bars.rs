//! Draws everything around the current screen: header, tabs, separator lines, permanent note and
//! footer.

use super::paint::Brush;
use crate::app::command::COMMANDS;
use crate::app::doc::{self, Line, Role, span};
use crate::app::format::{clock, count};
use crate::app::layout::{Areas, tabs};
use crate::app::state::{PromptKind, State, Weight};
use crate::app::text::width;
use ratatui::layout::{Position, Rect};

/// Time in milliseconds in which a new message takes the space of the keys.
const NEW_MESSAGE_MS: i64 = 5_000;

/// Draws everything around the screen except for the footer.
pub fn draw(state: &State, a: &Areas, brush: &mut Brush<'_>) {
    header(state, a.header, brush);
    let end = draw_tabs(state, a.tabs, brush);
    incidents(state, a.tabs, end, brush);
    for rule in [a.rule, a.foot_rule] {
        let line = "─".repeat(usize::from(rule.width));
        if rule.height > 0 {
            brush.text(rule.x, rule.y, rule.width, Role::Dim, &line);
        }
    }
    for (y, l) in (a.note.top()..a.note.bottom()).zip(&doc::notes(state)) {
        brush.line(a.note.x + 1, y, a.note.width.saturating_sub(2), l, false);
    }
}

/// Draws the header line with the time at its right.
fn header(state: &State, area: Rect, brush: &mut Brush<'_>) {
    brush.fill(area, brush.theme.bar());
    let time = clock(state.now, state.utc_offset);
    let right = u16::try_from(width(&time)).unwrap_or(0) + 1;
    let room = area.width.saturating_sub(right + 1);
    let header = doc::header(state, usize::from(room));
    brush.line(area.x, area.y, room, &header, false);
    let x = area.right().saturating_sub(right);
    brush.text(x, area.y, right, Role::Plain, &time);
}

/// Draws the tabs. Returns the first column behind them.
fn draw_tabs(state: &State, area: Rect, brush: &mut Brush<'_>) -> u16 {
    let mut end = 0;
    for (screen, x, label) in tabs(state) {
        let cells = area.width.saturating_sub(x);
        if screen == state.screen {
            let style = brush.theme.tab();
            brush.styled(x, area.y, cells, style, &label);
        } else {
            brush.text(x, area.y, cells, Role::Plain, &label);
        }
        end = x + u16::try_from(label.len()).unwrap_or(0);
    }
    end
}

/// Draws the badge of incidents at the right of the tabs, which have precedence over it.
fn incidents(state: &State, area: Rect, end: u16, brush: &mut Brush<'_>) {
    let incidents = state.incidents().len();
    if incidents == 0 {
        return;
    }
    let long = format!("⚠ {} (!) ", count(incidents, "incident"));
    let room = area.width.saturating_sub(end);
    let text = if usize::from(room) > width(&long) {
        long
    } else {
        format!("⚠{incidents}(!)")
    };
    let w = u16::try_from(width(&text)).unwrap_or(0);
    if room >= w {
        brush.text(area.right() - w, area.y, w, Role::Bad, &text);
    }
}

/// Draws the footer: available keys and the last message, or the prompt.
pub fn footer(state: &State, a: &Areas, brush: &mut Brush<'_>) -> Option<Position> {
    let area = a.footer;
    brush.fill(area, brush.theme.bar());
    if let Some(p) = &state.frame.prompt {
        let (sign, word) = match p.kind {
            PromptKind::Find => (
                "/",
                "enter keeps the search, ↑↓ move between matches, esc cancels",
            ),
            PromptKind::Filter => ("filter: ", "enter keeps the filter, esc cancels"),
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
        brush.text(
            x + 2,
            area.y,
            area.right().saturating_sub(x + 2),
            Role::Dim,
            word,
        );
        // In cells, because wide characters take two.
        let before = u16::try_from(width(&p.entry.before())).unwrap_or(0);
        return Some(Position {
            x: (start + before).min(area.right().saturating_sub(1)),
            y: area.y,
        });
    }
    let mut said = 0;
    if let Some(t) = &state.frame.toast {
        let role = if t.weight == Weight::Good {
            Role::Dim
        } else {
            Role::Bad
        };
        let text = crate::app::text::clean(&t.text).into_owned();
        let w = u16::try_from(width(&text)).unwrap_or(u16::MAX);
        // A new message may take the whole line; later it leaves space for keys.
        let fresh = state.now - t.at < NEW_MESSAGE_MS;
        let most = if fresh {
            area.width.saturating_sub(12)
        } else {
            area.width / 2
        };
        let w = w.min(most);
        brush.text(area.right().saturating_sub(w + 1), area.y, w, role, &text);
        said = w + 2;
    }
    keys(
        state,
        Rect {
            width: area.width.saturating_sub(said),
            ..area
        },
        brush,
    );
    None
}

fn keys(state: &State, area: Rect, brush: &mut Brush<'_>) {
    let context = state.context();
    let mut at = 1;
    let help: Vec<_> = COMMANDS.iter().filter(|c| c.name == "help").collect();
    let special = COMMANDS
        .iter()
        .filter(|c| c.is_special() && c.is_in(context));
    let general = COMMANDS
        .iter()
        .filter(|c| !c.is_special() && c.name != "help");
    let usable = |c: &&crate::app::command::Command| !c.short.is_empty() && (c.when)(state).is_ok();
    for c in special.chain(general).filter(usable).chain(help) {
        let Some(key) = state
            .options
            .keys
            .keys_of(c, context)
            .first()
            .map(ToString::to_string)
        else {
            continue;
        };
        let piece: Line = vec![
            span(Role::Key, &key),
            span(Role::Plain, format!(" {}  ", c.short)),
        ];
        let w =
            u16::try_from(piece.iter().map(|s| width(&s.text)).sum::<usize>()).unwrap_or(u16::MAX);
        // Keeps space for the help key, which is always shown.
        let keep = if c.name == "help" { 0 } else { 8 };
        // Keys that do not fit are skipped, because a shorter one may still fit.
        if at + w > area.width.saturating_sub(keep) + 1 {
            continue;
        }
        at += brush.line(area.x + at, area.y, w, &piece, false);
    }
}
