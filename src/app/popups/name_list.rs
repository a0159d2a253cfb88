//! Input of a name above a list of names: it narrows the list, or names a new thing.

use super::Part;
use crate::app::entry::Entry;
use crate::app::key::{Key, moved};

/// Typed name, and the cursor in the list of matching names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NameList {
    entry: Entry,
    pub selected: usize,
}

impl NameList {
    /// Returns true if nothing was typed.
    pub(super) fn is_empty(&self) -> bool {
        self.entry.is_empty()
    }

    /// Moves the cursor among `rows` rows, or edits the name.
    pub(super) fn key(&mut self, key: Key, rows: usize) {
        // Letters belong to the name that is typed, so only other keys move the cursor.
        match key.step().filter(|_| !key.is_letter()) {
            Some(by) => self.selected = moved(self.selected, by, rows),
            None if self.entry.key(key) => self.selected = 0,
            None => {}
        }
    }

    /// Inserts pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        self.entry.insert(text);
        // Other rows match now.
        self.selected = 0;
    }

    /// Returns the things whose names contain the typed text in upper or lower case, and the typed
    /// name if none has it.
    pub(super) fn matching<'t, T>(
        &self,
        all: &'t [T],
        name: impl Fn(&T) -> &str,
    ) -> (Vec<&'t T>, Option<String>) {
        let text = self.entry.text();
        let (typed, wanted) = (text.trim(), text.trim().to_lowercase());
        let matching = all
            .iter()
            .filter(|one| name(one).to_lowercase().contains(&wanted));
        let is_new = !typed.is_empty() && all.iter().all(|one| name(one) != typed);
        (matching.collect(), is_new.then(|| typed.to_owned()))
    }

    /// The input.
    pub(super) fn part(&self) -> Part {
        Part::input("name: ", &self.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_narrows_the_list_and_names_a_new_thing() {
        let all = ["default", "Prod", "prod-eu"];
        let found = |text: &str| {
            let mut list = NameList {
                selected: 2,
                ..NameList::default()
            };
            list.paste(text);
            assert_eq!(list.selected, 0);
            let (found, new) = list.matching(&all, |name| name);
            (found.into_iter().copied().collect::<Vec<_>>(), new)
        };
        assert_eq!(found(""), (all.to_vec(), None));
        assert_eq!(found(" Prod "), (vec!["Prod", "prod-eu"], None));
        assert_eq!(
            found("prod"),
            (vec!["Prod", "prod-eu"], Some("prod".to_owned()))
        );
        assert_eq!(found("x"), (vec![], Some("x".to_owned())));
    }

    #[test]
    fn letters_are_typed_and_other_keys_move_the_cursor() {
        let mut list = NameList::default();
        list.key(Key::char('j'), 3);
        assert_eq!((list.entry.text().as_str(), list.selected), ("j", 0));
        list.key("down".parse().unwrap(), 3);
        assert_eq!(list.selected, 1);
        list.key("backspace".parse().unwrap(), 3);
        assert_eq!((list.is_empty(), list.selected), (true, 0));
    }
}
