//! Popup that causes a fault in the demo.

use super::{Content, List, Page, Part};
use crate::app::doc::{Role, line, span};
use crate::app::key::{ENTER, Key, KeyCode, moved};
use crate::app::msg::Effect;
use crate::app::state::State;

/// List of the demo's faults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demo {
    selected: usize,
}

impl Content for Demo {
    const WIDTH: u16 = 108;
    const IS_HARMLESS: bool = true;

    fn key(self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key == Key::char('q') {
            return;
        }
        let by_key = match key {
            Key {
                code: KeyCode::Char(c),
                ctrl: false,
                alt: false,
            } => state.options.faults.iter().position(|f| f.key == c),
            ENTER => Some(self.selected),
            _ => None,
        };
        match by_key.and_then(|i| state.options.faults.get(i)) {
            Some(f) => effects.push(Effect::Demo(f.id.clone())),
            None => {
                let n = state.options.faults.len();
                let step = key.step();
                state.open(Self {
                    selected: step.map_or(self.selected, |by| moved(self.selected, by, n)),
                });
            }
        }
    }

    fn page(&self, state: &State, _: usize) -> Page {
        let row = |f: &crate::app::state::Fault| {
            vec![
                span(Role::Key, format!(" {}  ", f.key)),
                span(Role::Strong, format!("{:<15} ", f.id)),
                span(Role::Plain, &f.doc),
            ]
        };
        let rows = state.options.faults.iter().map(row).collect();
        let keys = Part::keys(&[
            ("0-9", "cause it at once"),
            ("enter", "cause the selected one"),
            ("esc", "close"),
        ]);
        let hint = line(Role::Dim, "then deploy or stage to see the effect");
        let list = Part::List(List::new(rows, self.selected));
        Page {
            below: vec![Part::Blank, Part::Text(vec![hint]), keys],
            ..Page::new("Cause a fault in the demo", Role::Warn, list)
        }
    }
}
