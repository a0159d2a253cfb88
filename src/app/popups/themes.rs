//! Popup that lists the themes. The screen shows the one under the cursor until the popup closes.

use super::{Content, List, Page, Part};
use crate::app::doc::{Role, span};
use crate::app::key::{ENTER, Key, moved};
use crate::app::msg::Effect;
use crate::app::state::State;
use crate::app::theme::Themes;

/// Maximum number of visible themes.
const ROWS: usize = 14;

/// List of the themes, after the row that follows the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeList {
    selected: usize,
}

impl ThemeList {
    /// Creates the list with the cursor on the chosen theme.
    pub fn new(themes: &Themes) -> Self {
        let chosen = themes
            .all()
            .iter()
            .position(|t| themes.chosen() == Some(&t.name));
        Self {
            selected: chosen.map_or(0, |i| i + 1),
        }
    }

    /// Returns the choice under the cursor.
    pub fn choice<'t>(&self, themes: &'t Themes) -> Option<&'t str> {
        let theme = self
            .selected
            .checked_sub(1)
            .and_then(|i| themes.all().get(i));
        theme.map(|t| t.name.as_str())
    }
}

impl Content for ThemeList {
    const WIDTH: u16 = 60;

    fn key(self, state: &mut State, key: Key, _: &mut Vec<Effect>) {
        if key == Key::char('q') {
            return;
        }
        if key == ENTER {
            let choice = self.choice(&state.frame.themes).map(str::to_owned);
            state.frame.themes.choose(choice.as_deref());
            let text = match &choice {
                Some(name) => format!("theme: {name}"),
                None => "theme: follows the terminal".to_owned(),
            };
            state.show_message(text);
            return;
        }
        let count = state.frame.themes.all().len() + 1;
        let step = key.step();
        state.open(Self {
            selected: step.map_or(self.selected, |by| moved(self.selected, by, count)),
        });
    }

    fn page(&self, state: &State, _: usize) -> Page {
        let themes = &state.frame.themes;
        let choices = std::iter::once(None).chain(themes.all().iter().map(|t| Some(&*t.name)));
        let rows: Vec<_> = choices
            .map(|choice| {
                let mark = if choice == themes.chosen() {
                    " ● "
                } else {
                    "   "
                };
                let words = match choice {
                    Some(name) => name.to_owned(),
                    None => format!("follow the terminal ({})", themes.of(None).name),
                };
                vec![span(Role::Ok, mark), span(Role::Plain, words)]
            })
            .collect();
        let list = List {
            shown: rows.len().min(ROWS),
            rows,
            selected: self.selected,
            empty: "",
            counted: true,
            ..List::default()
        };
        let keys = Part::keys(&[("↑↓", "preview"), ("enter", "choose"), ("esc", "cancel")]);
        Page {
            below: vec![Part::Blank, keys],
            ..Page::new("Theme", Role::Key, Part::List(list))
        }
    }
}
