//! Popup that asks for a confirmation.

use ratatui::layout::{Position, Rect};

use super::frame::{lines, open};
use crate::app::doc;
use crate::app::doc::{Role, span};
use crate::app::state::{Confirm, Popup, State};
use crate::app::text::width;
use crate::ui::paint::Brush;

pub(super) fn draw_confirmation(
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
    // The answer stays visible; only the body scrolls.
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
            span(Role::Plain, " and press enter, or esc: "),
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
        span(
            Role::Dim,
            "    y yes · n no · enter chooses the marked answer",
        ),
    ];
    brush.line(inner.x, y, inner.width, &l, false);
    None
}
