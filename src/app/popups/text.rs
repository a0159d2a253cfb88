//! Popups with scrolling text: the help, and messages.

use super::{Content, More, Page, Part};
use crate::app::command::COMMANDS;
use crate::app::doc::{Doc, Role, push_heading, span, wrap};
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::State;

/// Keys of the current context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    scroll: usize,
}

impl Content for Help {
    const WIDTH: u16 = 84;

    fn key(self, state: &mut State, key: Key, _: &mut Vec<Effect>) {
        if key == Key::char('q') || key == Key::char('?') {
            return;
        }
        let lines = help(state).len();
        state.open(Self {
            scroll: scrolled(self.scroll, key, lines),
        });
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        page("Keys", &help(state), self.scroll, cells)
    }
}

/// Text with a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    title: String,
    doc: Doc,
    scroll: usize,
}

impl Message {
    pub fn new(title: impl Into<String>, doc: Doc) -> Self {
        Self {
            title: title.into(),
            doc,
            scroll: 0,
        }
    }
}

impl Content for Message {
    const WIDTH: u16 = 96;

    fn key(mut self, state: &mut State, key: Key, _: &mut Vec<Effect>) {
        if key == Key::char('q') || key == ENTER {
            return;
        }
        self.scroll = scrolled(self.scroll, key, self.doc.len());
        state.open(self);
    }

    fn page(&self, _: &State, cells: usize) -> Page {
        page(&self.title, &self.doc, self.scroll, cells)
    }
}

fn page(title: &str, doc: &Doc, from: usize, cells: usize) -> Page {
    let body = Part::Scroll {
        doc: wrap(doc, cells),
        from,
        more: More::InBorder,
    };
    Page::new(title, Role::Key, body)
}

/// Returns the first visible line after a key.
pub(super) fn scrolled(from: usize, key: Key, lines: usize) -> usize {
    key.step().map_or(from, |by| moved(from, by, lines))
}

/// Lists the commands of this context with their keys, special ones first.
fn help(state: &State) -> Doc {
    let context = state.context();
    let mut doc = Doc::new();
    for special in [true, false] {
        push_heading(
            &mut doc,
            if special {
                context.of().title
            } else {
                "Everywhere"
            },
        );
        for c in COMMANDS
            .iter()
            .filter(|c| c.is_in(context) && c.is_special() == special)
        {
            let keys = state.options.keys.keys_of(c, context);
            // Commands without a key are in the palette.
            if keys.is_empty() {
                continue;
            }
            let keys = keys
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
                + "  ";
            let can = (c.when)(state).is_ok();
            doc.push(vec![
                span(
                    if can { Role::Key } else { Role::Dim },
                    format!("  {keys:<16}"),
                ),
                span(if can { Role::Plain } else { Role::Dim }, c.doc),
            ]);
        }
    }
    push_heading(&mut doc, "Signs");
    for (role, sign, word) in [
        (Role::Create, "+", "create"),
        (Role::Update, "~", "update in place"),
        (
            Role::Destroy,
            "-/+",
            "replace: destroy, then create (+/-: create, then destroy)",
        ),
        (Role::Destroy, "-", "destroy"),
        (Role::Read, "<=", "read"),
        (
            Role::Forget,
            "×",
            "forget: remove from the state, keep the object",
        ),
    ] {
        doc.push(vec![
            span(role, format!("  {sign:<16}")),
            span(Role::Plain, word),
        ]);
    }
    doc
}
