//! Popup that lists unknown outcomes, and settles them.

use super::{Content, Import, List, Page, Part};
use crate::app::command;
use crate::app::doc::Role;
use crate::app::doc::{self, wrap};
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::State;
use model::Unknown;

/// Unknown outcomes and their settlement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownOutcomes {
    pub selected: usize,
    /// An apply was refused because of them.
    pub refused: bool,
}

impl Content for UnknownOutcomes {
    const WIDTH: u16 = 104;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key == Key::char('q') || key == ENTER {
            return;
        }
        let last = state.view.unknown.len().saturating_sub(1);
        let step = key.step().unwrap_or_default();
        self.selected = moved(self.selected, step, last + 1);
        let u = state.view.unknown.get(self.selected).cloned();
        // Stays open for the next outcome; `open_unknown_once` closes it after the last one.
        state.open(self);
        if let Some(u) = u
            && let Err(why) = settle(state, &u, key, effects)
        {
            state.show_error(why);
        }
    }

    /// Content: the reason for the popup, the list, the details of the selected outcome, and the
    /// keys that settle it.
    fn page(&self, state: &State, cells: usize) -> Page {
        let all = &state.view.unknown;
        let at = all.get(self.selected.min(all.len().saturating_sub(1)));
        let head = wrap(&doc::unknown_head(state, self.refused), cells);
        let detail = at.map_or_else(doc::Doc::new, |u| wrap(&doc::unknown(u), cells));
        // The list leaves space for the complete details of the selected outcome.
        let most = usize::from(state.frame.size.1)
            .saturating_sub(head.len() + detail.len() + 7)
            .max(1);
        let list = List {
            shown: all.len().min(most),
            rows: all.iter().map(|u| doc::unknown_line(state, u)).collect(),
            selected: self.selected,
            empty: "",
            counted: true,
            ..List::default()
        };
        let keys = at.map_or_else(doc::Line::new, doc::unknown_keys);
        let keys = keys.chunks(2).map(<[_]>::to_vec).collect();
        let role = if self.refused { Role::Bad } else { Role::Warn };
        Page {
            above: vec![Part::Text(head), Part::Blank, Part::List(list), Part::Blank],
            below: vec![Part::Blank, Part::Keys(keys)],
            ..Page::new("Unknown outcomes", role, Part::Text(detail))
        }
    }
}

/// Runs the command of a key on an unknown outcome.
fn settle(
    state: &mut State,
    u: &Unknown,
    key: Key,
    effects: &mut Vec<Effect>,
) -> command::Available {
    // Only a creation has no object in the state; a staging reads the others back.
    if key == Key::char('i') && u.creation {
        command::can_stage(state)?;
        let id = u.id.as_deref().unwrap_or_default();
        state.open(Import::at(&u.address, id));
    } else if key == Key::char('X') {
        command::can_stage(state)?;
        state.open(command::forget(u));
    } else if key == Key::char('T') && u.provisioner {
        command::can_stage(state)?;
        state.open(command::untaint(u));
    } else if key == Key::char('s') {
        command::can_stage(state)?;
        state.frame.popup = None;
        command::stage_again(state, effects);
    }
    Ok(())
}
