//! Popup for the new address of objects in the state, and the confirmation that lists them.

use super::{Answers, Confirm, Content, Page, Part};
use crate::app::doc::{Line, Role, address, line, span, wrap};
use crate::app::entry::Entry;
use crate::app::format::count;
use crate::app::key::{ENTER, Key};
use crate::app::msg::Effect;
use crate::app::state::State;
use lang::addr::Target;
use model::StateChange;

/// Input of the new address of an object, a resource or a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub from: String,
    pub entry: Entry,
}

impl Content for Move {
    const WIDTH: u16 = 84;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        let to = self.entry.text().trim().to_owned();
        if key != ENTER {
            self.entry.key(key);
        } else if to == self.from {
            state.show_error("the new address is the present one");
        } else if let Err(why) = to.parse::<Target>() {
            state.show_error(format!("{to:?} is not an address: {why}"));
        } else {
            // Lists what moves; the answer asks for a confirmation.
            let (from, dry_run) = (self.from, true);
            effects.push(Effect::Move { from, to, dry_run });
            return;
        }
        state.open(self);
    }

    fn paste(&mut self, text: &str) {
        self.entry.insert(text);
    }

    fn page(&self, _: &State, cells: usize) -> Page {
        let words = vec![
            line(Role::Strong, format!("Move {} in the state", self.from)),
            Line::new(),
            line(
                Role::Plain,
                "Type the new address, which the configuration declares. No object changes.",
            ),
        ];
        let keys = Part::keys(&[("enter", "lists what moves"), ("esc", "cancels")]);
        let to = Part::input("to: ", &self.entry);
        Page {
            below: vec![Part::Blank, to, Part::Blank, keys],
            ..Page::new("", Role::Key, Part::Text(wrap(&words, cells)))
        }
    }
}

/// Creates the confirmation of a move that lists the old and the new addresses.
pub fn confirm_move(from: String, to: String, moves: &[StateChange]) -> Confirm {
    let body = moves.iter().map(|change| {
        vec![
            address(Role::Plain, &change.address),
            span(Role::Dim, " → "),
            address(Role::Strong, change.to.as_deref().unwrap_or_default()),
        ]
    });
    Confirm {
        title: format!("Move {} in the state?", count(moves.len(), "object")),
        body: body.collect(),
        answers: Answers::action("Move"),
        loses_nothing: true,
        effects: vec![Effect::Move {
            from,
            to,
            dry_run: false,
        }],
        ..Confirm::default()
    }
}
