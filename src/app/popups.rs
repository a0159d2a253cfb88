//! Popups over the screen, one file each: state, keys and content. `ui` draws all of them with the
//! same code, so a new popup needs its file, its name in `popups!` and a command that opens it.

mod confirm;
mod demo;
mod doctor;
mod hidden_rows;
mod import;
mod incidents;
mod installing;
mod ladder;
mod move_objects;
mod name_list;
mod page;
mod palette;
mod plan_options;
mod reveal;
mod saved_selections;
mod scale;
mod text;
mod themes;
mod unknown;
mod workspaces;

pub use confirm::{After, Answers, Confirm, trust};
pub use demo::Demo;
pub use doctor::Doctor;
pub use hidden_rows::HiddenRows;
pub use import::Import;
pub use incidents::Incidents;
pub use installing::Installing;
pub use ladder::Ladder;
pub use move_objects::{Move, confirm_move};
pub use page::{Choices, Input, List, More, Page, Part};
pub use palette::Palette;
pub use plan_options::{PlanOptions, open as open_plan_options};
pub use reveal::Reveal;
pub use saved_selections::{SavedSelections, report_loaded};
pub use scale::Scale;
pub use text::{Help, Message};
pub use themes::ThemeList;
pub use unknown::UnknownOutcomes;
pub use workspaces::{Workspaces, reopen};

use super::key::{ESC, Key};
use super::msg::Effect;
use super::state::State;

/// Behaviour of one popup.
trait Content {
    /// Preferred width in cells.
    const WIDTH: u16;

    /// It asks nothing and holds no text, so that a click outside may close it.
    const IS_HARMLESS: bool = false;

    /// Handles a key, except for those that close every popup. A popup that stays open puts itself
    /// back with [`State::open`].
    fn key(self, state: &mut State, key: Key, effects: &mut Vec<Effect>);

    /// Inserts pasted text. Without a text input a paste would act as keys, so it is ignored.
    fn paste(&mut self, _: &str) {}

    /// Returns the content; texts are wrapped to `cells`.
    fn page(&self, state: &State, cells: usize) -> Page;
}

/// Declares [`Popup`] with a variant for each popup.
macro_rules! popups {
    ($($popup:ident),+) => {
        /// Popup over the screen.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Popup { $($popup($popup)),+ }

        $(impl From<$popup> for Popup {
            fn from(popup: $popup) -> Self { Self::$popup(popup) }
        })+

        impl Popup {
            /// Preferred width in cells.
            pub fn width(&self) -> u16 {
                match self { $(Self::$popup(_) => $popup::WIDTH),+ }
            }

            /// Returns true if a click outside may close it.
            pub fn is_harmless(&self) -> bool {
                match self { $(Self::$popup(_) => $popup::IS_HARMLESS),+ }
            }

            fn handle_key(self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
                match self { $(Self::$popup(popup) => popup.key(state, key, effects)),+ }
            }

            /// Inserts pasted text, if the popup has a text input.
            pub fn paste(&mut self, text: &str) {
                match self { $(Self::$popup(popup) => popup.paste(text)),+ }
            }

            /// Returns the content, wrapped to `cells`.
            pub fn page(&self, state: &State, cells: usize) -> Page {
                let page = match self { $(Self::$popup(popup) => popup.page(state, cells)),+ };
                page.wrapped(cells)
            }
        }
    };
}

popups! {
    Help, Palette, Confirm, Ladder, Demo, Message, UnknownOutcomes, Workspaces, Installing, Doctor,
    Import, Incidents, HiddenRows, Move, SavedSelections, Scale, Reveal, ThemeList, PlanOptions
}

impl Popup {
    /// Handles a key while the popup is open. The popup has been taken out of the state.
    pub(super) fn key(self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key == ESC || key == Key::ctrl('c') {
            return;
        }
        let before = (self.clone(), effects.len(), state.incident_log.clone());
        // Taken out, to notice a message of the key itself.
        let toast = state.frame.toast.take();
        self.handle_key(state, key, effects);
        if state.frame.toast.is_some() {
            return;
        }
        state.frame.toast = toast;
        let is_same = state.frame.popup.as_ref() == Some(&before.0)
            && (effects.len(), &state.incident_log) == (before.1, &before.2);
        // A cursor stays where it is at the end of its list or text.
        if is_same && key.step().is_none() && !key.is_editing() {
            state.show_hint(format!("`{key}` has no effect here; esc closes the popup"));
        }
    }
}

impl State {
    /// Opens a popup instead of the current one.
    pub fn open(&mut self, popup: impl Into<Popup>) {
        self.frame.popup = Some(popup.into());
    }
}
