//! Popups with scrolling text: the help, and messages.

use super::{Content, More, Page, Part};
use crate::app::command::{COMMANDS, Command, Scope};
use crate::app::doc::{Doc, Role, line, plain, push_heading, span, wrap};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::{Context, State};
use crate::app::text::contains;

/// Keys of all contexts, those of the current one first, with a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    scroll: usize,
    /// Search text; lines without it are hidden.
    search: Entry,
    /// Keys are typed into the search.
    typing: bool,
}

impl Content for Help {
    const WIDTH: u16 = 96;
    const IS_HARMLESS: bool = true;

    fn key(mut self, state: &mut State, key: Key, _: &mut Vec<Effect>) {
        if self.typing && key == ENTER {
            self.typing = false;
        } else if self.typing && key.step().is_none_or(|_| key.is_letter()) {
            self.search.key(key);
            self.scroll = 0;
        } else if key == Key::char('/') {
            self.typing = true;
        } else if key == Key::char('q') || key == Key::char('?') {
            return;
        } else {
            let lines = searched(help(state), &self.search.text()).len();
            self.scroll = scrolled(self.scroll, key, lines);
        }
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        (self.typing, self.scroll) = (true, 0);
        self.search.insert(text);
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        let doc = searched(help(state), &self.search.text());
        let mut page = page("Keys", &doc, self.scroll, cells);
        if self.typing || !self.search.is_empty() {
            page.above = vec![Part::input("/ ", &self.search)];
        }
        let keys: &[_] = match self.typing {
            true => &[("enter", "scroll the result"), ("esc", "close")],
            false => &[
                ("/", "search all keys"),
                ("j k", "scroll"),
                ("esc", "close"),
            ],
        };
        page.below = vec![Part::Blank, Part::keys(keys)];
        page
    }
}

/// Keeps the lines that contain each word of a text, and the headings of those lines.
fn searched(doc: Doc, text: &str) -> Doc {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return doc;
    }
    let (mut out, mut heading) = (Doc::new(), None);
    for l in doc {
        if l.first().is_some_and(|s| s.role == Role::Heading) {
            heading = Some(l);
        } else if words.iter().all(|word| contains(&plain(&l), word)) {
            if let Some(heading) = heading.take() {
                push_heading(&mut out, plain(&heading));
            }
            out.push(l);
        }
    }
    if out.is_empty() {
        out.push(line(Role::Dim, "no key or description has this text"));
    }
    out
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
    const IS_HARMLESS: bool = true;

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

/// Lists the commands with their keys: those of this context, the general ones, and those of the
/// other contexts.
fn help(state: &State) -> Doc {
    let here = state.context();
    let mut doc = Doc::new();
    push_heading(&mut doc, here.of().title);
    push_commands(&mut doc, state, here, |c| c.is_special());
    push_heading(&mut doc, "Everywhere");
    push_commands(&mut doc, state, here, |c| !c.is_special());
    push_signs(&mut doc);
    for other in Context::ALL.iter().copied().filter(|c| *c != here) {
        push_heading(&mut doc, other.of().title);
        push_commands(&mut doc, state, other, |c| matches!(c.scope, Scope::In(_)));
    }
    doc
}

/// Appends commands of a context that have a key. Unavailable ones are dim, if this is known.
fn push_commands(doc: &mut Doc, state: &State, of: Context, which: fn(&Command) -> bool) {
    for c in COMMANDS.iter().filter(|c| c.is_in(of) && which(c)) {
        let keys = state.options.keys.keys_of(c, of);
        // Commands without a key are in the palette.
        if keys.is_empty() {
            continue;
        }
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let can = of != state.context() || (c.when)(state).is_ok();
        let (key, text) = match can {
            true => (Role::Key, Role::Plain),
            false => (Role::Dim, Role::Dim),
        };
        doc.push(vec![
            span(key, format!("  {:<16}", keys.join(" ") + "  ")),
            span(text, c.doc),
        ]);
    }
}

fn push_signs(doc: &mut Doc) {
    push_heading(doc, "Signs");
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
}
