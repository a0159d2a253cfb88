//! Command palette.

use super::{Content, List, Page, Part};
use crate::app::command::{self, Command};
use crate::app::doc::{Line, Role, span};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::State;

/// Maximum number of visible commands.
const ROWS: usize = 16;

/// Input of a command's name, and the matching commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Palette {
    entry: Entry,
    selected: usize,
    /// The cursor was moved since the last typed letter.
    chosen: bool,
}

impl Content for Palette {
    const WIDTH: u16 = 92;
    const IS_HARMLESS: bool = true;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        let found = command::matching(state, &self.entry.text());
        if key == ENTER {
            match found.get(self.selected) {
                // A few letters are not enough for a drastic command: the best match may be
                // another one.
                Some(c) if c.is_drastic() && !self.chosen && self.entry.text().trim() != c.name => {
                    state.show_error(format!(
                        "the command did not run: type {:?} in full, or select it with the arrow keys",
                        c.name
                    ));
                    state.open(self);
                }
                Some(c) => command::run(c, state, effects),
                None => {}
            }
            return;
        }
        // Letters are typed into the palette, so only other keys move the cursor.
        match key.step().filter(|_| !key.is_letter()) {
            Some(by) => {
                (self.selected, self.chosen) = (moved(self.selected, by, found.len()), true)
            }
            None if self.entry.key(key) => (self.selected, self.chosen) = (0, false),
            None => {}
        }
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        self.entry.insert(text);
        // The text matches other commands now.
        (self.selected, self.chosen) = (0, false);
    }

    fn page(&self, state: &State, _: usize) -> Page {
        let found = command::matching(state, &self.entry.text());
        let list = List {
            shown: found.len().clamp(1, ROWS),
            rows: found.iter().map(|c| row(state, c)).collect(),
            selected: self.selected,
            empty: "no matching command",
            counted: false,
            ..List::default()
        };
        Page {
            above: vec![Part::input(": ", &self.entry)],
            below: vec![Part::keys(&[
                ("enter", "run the selected command"),
                ("up down", "choose"),
                ("esc", "close"),
            ])],
            ..Page::new("Command", Role::Key, Part::List(list))
        }
    }
}

fn row(state: &State, c: &Command) -> Line {
    let keys = state.options.keys.keys_of(c, state.context());
    let key = keys.first().map(ToString::to_string).unwrap_or_default();
    // Unavailable commands are listed with the reason, so that the operator finds them.
    let (role, words) = match (c.when)(state) {
        Ok(()) if c.is_drastic() => (Role::Bad, c.doc.to_owned()),
        Ok(()) => (Role::Plain, c.doc.to_owned()),
        Err(why) => (Role::Dim, format!("({why})")),
    };
    let key_role = match role {
        Role::Dim => Role::Dim,
        _ => Role::Key,
    };
    vec![
        span(key_role, format!("{key:>9} ")),
        span(role, format!("{:<18} ", c.name)),
        span(Role::Dim, words),
    ]
}
