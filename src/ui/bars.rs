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
    brush.fill(a.header, brush.theme.bar());
    let time = clock(state.now, state.utc_offset);
    let right = u16::try_from(width(&time)).unwrap_or(0) + 1;
    let room = a.header.width.saturating_sub(right + 1);
    brush.line(
        a.header.x,
        a.header.y,
        room,
        &doc::header(state, usize::from(room)),
        false,
    );
    brush.text(
        a.header.right().saturating_sub(right),
        a.header.y,
        right,
        Role::Plain,
        &time,
    );
    for (screen, x, label) in tabs(state) {
        let cells = a.tabs.width.saturating_sub(x);
        if screen == state.screen {
            let style = brush.theme.tab();
            brush.styled(x, a.tabs.y, cells, style, &label);
        } else {
            brush.text(x, a.tabs.y, cells, Role::Plain, &label);
        }
    }
    let incidents = state.incidents().len();
    if incidents > 0 {
        let long = format!("⚠ {} (!) ", count(incidents, "incident"));
        let short = format!("⚠{incidents}(!)");
        let end = tabs(state)
            .last()
            .map_or(0, |(_, x, l)| x + u16::try_from(l.len()).unwrap_or(0));
        let room = a.tabs.width.saturating_sub(end);
        // The tabs have precedence over the badge.
        let text = if usize::from(room) > width(&long) {
            long
        } else {
            short
        };
        let w = u16::try_from(width(&text)).unwrap_or(0);
        if room >= w {
            brush.text(a.tabs.right() - w, a.tabs.y, w, Role::Bad, &text);
        }
    }
    for rule in [a.rule, a.foot_rule] {
        if rule.height > 0 {
            brush.text(
                rule.x,
                rule.y,
                rule.width,
                Role::Dim,
                &"─".repeat(usize::from(rule.width)),
            );
        }
    }
    for (i, l) in doc::notes(state)
        .iter()
        .enumerate()
        .take(usize::from(a.note.height))
    {
        brush.line(
            a.note.x + 1,
            a.note.y + u16::try_from(i).unwrap_or(0),
            a.note.width.saturating_sub(2),
            l,
            false,
        );
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
