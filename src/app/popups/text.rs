//! Popups with scrolling text: the help, and messages.

use super::{Content, More, Page, Part};
use crate::app::command::{COMMANDS, Command, GROUPS, HelpRow, KEYS, Scope};
use crate::app::doc::{self, Doc, Line, Role, cells_of, line, plain, push_heading, span, wrap};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key, moved};
use crate::app::layout;
use crate::app::msg::Effect;
use crate::app::state::{Context, State};
use crate::app::text::contains;

/// Keys of the current context and of all contexts, in groups. A search looks at the keys of the
/// other contexts, too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    scroll: usize,
    /// Search text; lines without it are hidden.
    search: Entry,
    /// Keys are typed into the search.
    typing: bool,
}

/// Cells from which the help has two columns.
const TWO_COLUMNS: usize = 108;
/// Lines of the popup that name its own keys.
const KEY_LINES: usize = 1;
/// Cells between two columns.
const GUTTER: usize = 2;

impl Help {
    fn doc(&self, state: &State, cells: usize) -> Doc {
        let search = self.search.text();
        if !search.trim().is_empty() {
            return wrap(&searched(all_keys(state), &search), cells);
        }
        let mut here = grouped(state, state.context().of().title, true);
        let mut everywhere = grouped(state, "Everywhere", false);
        if cells >= TWO_COLUMNS {
            // The column with more space.
            let shorter = match here.len() < everywhere.len() {
                true => &mut here,
                false => &mut everywhere,
            };
            push_signs(shorter);
            let room = layout::popup_lines(state).saturating_sub(KEY_LINES);
            for column in [&mut here, &mut everywhere] {
                // Groups have headings, so blank lines between them are not needed.
                if column.len() > room {
                    column.retain(|l| !l.is_empty());
                }
            }
            return side_by_side(&here, &everywhere, cells);
        }
        push_signs(&mut everywhere);
        let blank = (!here.is_empty()).then(Line::new);
        wrap(
            &here.into_iter().chain(blank).chain(everywhere).collect(),
            cells,
        )
    }
}

impl Content for Help {
    const WIDTH: u16 = 120;
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
            let cells = state.frame.size.0.min(Self::WIDTH);
            let lines = self.doc(state, usize::from(cells).saturating_sub(8)).len();
            self.scroll = scrolled(self.scroll, key, lines);
        }
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        (self.typing, self.scroll) = (true, 0);
        self.search.insert(text);
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        // It covers the title of the screen.
        let subject = plain(&doc::title(state, cells.saturating_sub(TITLE_CELLS)));
        let title = format!("Keys ─ {}", subject.trim());
        let mut page = page(&title, &self.doc(state, cells), self.scroll, cells);
        if self.typing || !self.search.is_empty() {
            page.above = vec![Part::input("/ ", &self.search)];
        }
        let keys: &[_] = match self.typing {
            true => &[("enter", "scroll the result"), ("esc", "close")],
            false => &[
                ("/", "search the keys of all screens"),
                ("j k", "scroll"),
                ("esc", "close"),
            ],
        };
        // The keys of a long help need each line.
        let is_full = page.lines() + KEY_LINES >= layout::popup_lines(state);
        let blank = (!is_full).then_some(Part::Blank);
        page.below = blank.into_iter().chain([Part::keys(keys)]).collect();
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

/// Cells of the title of the help beside that of the screen, and of its border.
const TITLE_CELLS: usize = 12;

/// Returns the first visible line after a key.
pub(super) fn scrolled(from: usize, key: Key, lines: usize) -> usize {
    key.step().map_or(from, |by| moved(from, by, lines))
}

/// Lists the keys of this context, or those of all contexts, in groups.
fn grouped(state: &State, title: &str, special: bool) -> Doc {
    let mut doc = Doc::new();
    for group in GROUPS {
        let rows = group.rows(state, special);
        if rows.is_empty() {
            continue;
        }
        match doc.is_empty() {
            true => push_heading(&mut doc, title),
            false => doc.push(Line::new()),
        }
        doc.push(line(Role::Strong, group.title));
        doc.extend(rows.into_iter().map(|row| {
            let HelpRow { keys, text, usable } = row;
            let (key, role) = match usable {
                true => (Role::Key, Role::Plain),
                false => (Role::Dim, Role::Dim),
            };
            vec![span(key, format!("  {keys:<KEYS$} ")), span(role, text)]
        }));
    }
    doc
}

/// Places two texts in columns of equal width.
fn side_by_side(left: &Doc, right: &Doc, cells: usize) -> Doc {
    let column = (cells - GUTTER) / 2;
    let (left, right) = (wrap(left, column), wrap(right, column));
    let lines = left.len().max(right.len());
    (0..lines)
        .map(|i| {
            let mut l = left.get(i).cloned().unwrap_or_default();
            if let Some(r) = right.get(i) {
                let gap = column + GUTTER - cells_of(&l).min(column);
                l.push(span(Role::Plain, " ".repeat(gap)));
                l.extend(r.iter().cloned());
            }
            l
        })
        .collect()
}

/// Lists the commands with all of their keys: those of this context, the general ones, and those
/// of the other contexts.
fn all_keys(state: &State) -> Doc {
    let here = state.context();
    let mut doc = Doc::new();
    push_heading(&mut doc, here.of().title);
    push_commands(&mut doc, state, here, |c| c.is_special());
    push_heading(&mut doc, "Everywhere");
    push_commands(&mut doc, state, here, |c| !c.is_special());
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
    doc.push(Line::new());
    let mut l = Line::new();
    for (role, sign, word) in [
        (Role::Create, "+", "create"),
        (Role::Update, "~", "update"),
        (Role::Destroy, "-", "destroy"),
        (Role::Destroy, "-/+", "replace"),
        (Role::Read, "<=", "read"),
        (Role::Forget, "×", "forget"),
    ] {
        l.push(span(role, format!(" {sign} ")));
        l.push(span(Role::Plain, word));
    }
    doc.push(l);
}
