//! Popup for the size of a group.

use super::{Content, Page, Part};
use crate::app::doc::{Line, Role, line, wrap};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key};
use crate::app::msg::Effect;
use crate::app::state::State;

/// Input of the number of members of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    pub group: String,
    pub entry: Entry,
}

impl Content for Scale {
    const WIDTH: u16 = 84;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key != ENTER {
            self.entry.key(key);
            state.open(self);
            return;
        }
        match self.entry.text().trim().parse() {
            Ok(size) => effects.push(Effect::ScaleGroup(self.group, size)),
            Err(_) => {
                state.show_error("the size of a group is a whole number, 0 or more");
                state.open(self);
            }
        }
    }

    fn paste(&mut self, text: &str) {
        self.entry.insert(text);
    }

    fn page(&self, _: &State, cells: usize) -> Page {
        let words = vec![
            line(Role::Strong, format!("Scale group {}", self.group)),
            Line::new(),
            line(
                Role::Plain,
                "Sets the variable that decides the number of members, or commits the specification \
                 with this size. Members change once you stage and apply.",
            ),
        ];
        let keys = Part::keys(&[("enter", "sets the size"), ("esc", "cancels")]);
        let size = Part::input("members: ", &self.entry);
        Page {
            below: vec![Part::Blank, size, Part::Blank, keys],
            ..Page::new("", Role::Key, Part::Text(wrap(&words, cells)))
        }
    }
}
