//! Rows of a list and the place of the cursor in it. The cursor belongs to a row's identity, not to
//! its index: rows may come, go and be sorted anew under it.

/// What a row is, whatever its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    Text(String),
    Number(u64),
}

impl RowKey {
    /// The text of a textual key.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(t) => Some(t),
            Self::Number(_) => None,
        }
    }

    /// The number of a numeric key.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Text(_) => None,
        }
    }
}

/// One row: its identity and where its source lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: RowKey,
    /// Index in the collection that the screen shows; its meaning is the screen's own.
    pub index: usize,
    /// Headings are drawn and never selected.
    pub heading: bool,
}

impl Row {
    /// A row that can be selected.
    pub fn text(key: impl Into<String>, index: usize) -> Self {
        Self {
            key: RowKey::Text(key.into()),
            index,
            heading: false,
        }
    }

    /// A row that can be selected, named by a number.
    pub fn number(key: u64, index: usize) -> Self {
        Self {
            key: RowKey::Number(key),
            index,
            heading: false,
        }
    }

    /// A heading within the list.
    pub fn heading(text: impl Into<String>) -> Self {
        Self {
            key: RowKey::Text(text.into()),
            index: usize::MAX,
            heading: true,
        }
    }
}

/// Which part of a screen has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    #[default]
    List,
    Detail,
}

/// Where an operator is in one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListState {
    pub key: Option<RowKey>,
    pub index: usize,
    /// First row on the screen after the pinned ones.
    pub offset: usize,
    /// Text looked for; keeps the context.
    pub find: String,
    /// Text that rows must have; hides the others.
    pub filter: String,
    /// Index of the column that the list is sorted by; 0 is the natural order.
    pub sort: usize,
    pub descending: bool,
    pub focus: Pane,
    /// The detail fills the screen.
    pub zoom: bool,
    /// First line of the detail on the screen.
    pub scroll: usize,
    /// Whether the operator has put the cursor somewhere.
    pub moved: bool,
}

impl ListState {
    /// Finds the cursor's row again after the rows changed, and brings it onto the screen.
    pub fn settle(&mut self, rows: &[Row], height: usize, pinned: usize) {
        if rows.is_empty() {
            // The identity is kept: the rows may be back in a moment.
            (self.index, self.offset) = (0, 0);
            return;
        }
        let found = self.key.as_ref().and_then(|key| {
            // Most often it is where it was.
            let here = rows
                .get(self.index)
                .is_some_and(|r| r.key == *key && !r.heading);
            if here {
                Some(self.index)
            } else {
                rows.iter().position(|r| r.key == *key && !r.heading)
            }
        });
        self.place(rows, found.unwrap_or(self.index.min(rows.len() - 1)));
        let height = height.saturating_sub(pinned).max(1);
        let (rest, at) = (rows.len() - pinned, self.index.saturating_sub(pinned));
        if self.index < pinned {
            self.offset = self.offset.min(rest.saturating_sub(height));
            return;
        }
        // A heading right above the cursor is shown with it.
        let top = if at > 0 && rows[self.index - 1].heading {
            at - 1
        } else {
            at
        };
        self.offset = self
            .offset
            .min(top)
            .max((at + 1).saturating_sub(height))
            .min(rest.saturating_sub(height));
    }

    /// Puts the cursor on a row, or on the nearest that is no heading.
    pub fn place(&mut self, rows: &[Row], index: usize) {
        let Some(last) = rows.len().checked_sub(1) else {
            return;
        };
        let index = index.min(last);
        let near = (index..rows.len())
            .chain((0..index).rev())
            .find(|i| !rows[*i].heading);
        if let Some(i) = near {
            if self.key.as_ref() != Some(&rows[i].key) {
                self.scroll = 0;
            }
            self.index = i;
            self.key = Some(rows[i].key.clone());
        }
    }

    /// Moves the cursor by rows that can be selected.
    pub fn step(&mut self, rows: &[Row], delta: isize) {
        self.moved = true;
        let mut index = self.index;
        for _ in 0..delta.unsigned_abs() {
            let next = if delta > 0 {
                (index + 1..rows.len()).find(|i| !rows[*i].heading)
            } else {
                (0..index).rev().find(|i| !rows[*i].heading)
            };
            match next {
                Some(i) => index = i,
                None => break,
            }
        }
        self.place(rows, index);
    }

    /// The row under the cursor.
    pub fn selected<'r>(&self, rows: &'r [Row]) -> Option<&'r Row> {
        rows.get(self.index).filter(|r| !r.heading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &[&str]) -> Vec<Row> {
        names
            .iter()
            .enumerate()
            .map(|(i, n)| {
                if n.starts_with('#') {
                    Row::heading(*n)
                } else {
                    Row::text(*n, i)
                }
            })
            .collect()
    }

    #[test]
    fn the_cursor_follows_its_row_when_rows_are_put_before_it() {
        let mut list = ListState::default();
        list.settle(&rows(&["a", "b", "c"]), 10, 0);
        list.step(&rows(&["a", "b", "c"]), 1);
        list.settle(&rows(&["x", "y", "a", "b", "c"]), 10, 0);
        assert_eq!(list.index, 3);
        assert_eq!(list.key, Some(RowKey::Text("b".into())));
    }

    #[test]
    fn a_row_that_is_gone_leaves_the_cursor_at_its_place() {
        let mut list = ListState {
            index: 2,
            key: Some(RowKey::Text("c".into())),
            ..ListState::default()
        };
        list.settle(&rows(&["a", "b"]), 10, 0);
        assert_eq!(list.key, Some(RowKey::Text("b".into())));
    }

    #[test]
    fn headings_are_stepped_over() {
        let all = rows(&["#1", "a", "#2", "b"]);
        let mut list = ListState::default();
        list.settle(&all, 10, 0);
        assert_eq!(list.index, 1);
        list.step(&all, 1);
        assert_eq!(list.index, 3);
        list.step(&all, -1);
        list.step(&all, -1);
        assert_eq!(list.index, 1);
    }

    #[test]
    fn the_cursor_stays_on_the_screen() {
        let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let all: Vec<Row> = names
            .iter()
            .enumerate()
            .map(|(i, n)| Row::text(n.as_str(), i))
            .collect();
        let mut list = ListState::default();
        list.place(&all, 50);
        list.settle(&all, 10, 0);
        assert_eq!(list.offset, 41);
        list.step(&all, -20);
        list.settle(&all, 10, 0);
        assert_eq!(list.offset, 30);
        list.settle(&all[..3], 10, 0);
        assert_eq!((list.index, list.offset), (2, 0));
    }
}
