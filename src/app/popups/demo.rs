//! Popup that causes a fault in the demo.

use super::{Content, List, Page, Part};
use crate::app::doc::{Role, line, span};
use crate::app::key::{ENTER, Key, moved};
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

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        let faults = &state.options.faults;
        if key == Key::char('q') {
            return;
        }
        if key == ENTER {
            let fault = faults.get(self.selected);
            effects.extend(fault.map(|f| Effect::Demo(f.id.clone())));
            return;
        }
        let by_key = faults.iter().position(|f| key == Key::char(f.key));
        let step = key.step().unwrap_or_default();
        self.selected = by_key.unwrap_or_else(|| moved(self.selected, step, faults.len()));
        state.open(self);
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
            ("0-9 j k", "choose"),
            ("enter", "cause it"),
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
