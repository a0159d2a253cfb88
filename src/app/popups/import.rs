//! Popup for the id of an object to import.

use super::{Content, Page, Part};
use crate::app::doc::{Line, Role, line, wrap};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key};
use crate::app::msg::Effect;
use crate::app::state::State;
use model::ImportObject;

/// Input of the id to import an object with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub address: String,
    pub entry: Entry,
}

impl Content for Import {
    const WIDTH: u16 = 84;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        let id = self.entry.text().trim().to_owned();
        // An import without an id is impossible, so Enter does nothing then.
        if key != ENTER || id.is_empty() {
            self.entry.key(key);
            state.open(self);
            return;
        }
        let address = self.address;
        state.show_message(format!("importing {address} with id {id}"));
        effects.push(Effect::Import(ImportObject {
            address,
            id,
            ..ImportObject::default()
        }));
    }

    fn paste(&mut self, text: &str) {
        self.entry.insert(text);
    }

    fn page(&self, _: &State, cells: usize) -> Page {
        let words = vec![
            line(
                Role::Strong,
                format!("Import {} into the state", self.address),
            ),
            Line::new(),
            line(
                Role::Plain,
                "Type the id of the object in the target system. Its provider reads the object and changes nothing.",
            ),
        ];
        let keys = Part::keys(&[("enter", "imports it"), ("esc", "cancels")]);
        let id = Part::input("id: ", &self.entry);
        Page {
            below: vec![Part::Blank, id, Part::Blank, keys],
            ..Page::new("", Role::Key, Part::Text(wrap(&words, cells)))
        }
    }
}
