//! Rows of a list, and its cursor. The cursor refers to a row's key and not its index, because rows
//! are added, removed and sorted while the list is shown.

use std::borrow::Cow;

/// Identity of a row, independent of its position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    Text(String),
    Number(u64),
}

impl RowKey {
    /// Returns the text of a textual key.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(t) => Some(t),
            Self::Number(_) => None,
        }
    }

    /// Returns the number of a numeric key.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Text(_) => None,
        }
    }
}

/// Blanks between the text of a heading and its note, which is dim.
pub const HEADING_NOTE: &str = "   ";

/// A row: its key, and the index of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: RowKey,
    /// Index in the collection that the context shows; `usize::MAX` for headings and nodes.
    pub index: usize,
    /// Headings cannot be selected.
    pub heading: bool,
    /// Place in the tree of modules; `None` for rows outside of it.
    pub place: Option<Place>,
    /// The row never is in the tree, such as a running operation.
    pub outside: bool,
}

/// Place of a row in the tree of modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Number of nodes around the row.
    pub depth: u16,
    /// Start of the relative address in the key.
    pub name_from: usize,
    /// The row is a node.
    pub node: Option<Box<NodeRow>>,
}

/// Row of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    /// Index of the node in its tree.
    pub at: usize,
    /// The rows below it are hidden.
    pub folded: bool,
    pub name: String,
}

impl Row {
    /// Creates a selectable row with a textual key.
    pub fn text(key: impl Into<String>, index: usize) -> Self {
        Self {
            key: RowKey::Text(key.into()),
            index,
            heading: false,
            place: None,
            outside: false,
        }
    }

    /// Creates a selectable row with a numeric key.
    pub fn number(key: u64, index: usize) -> Self {
        Self {
            key: RowKey::Number(key),
            index,
            heading: false,
            place: None,
            outside: false,
        }
    }

    /// Creates a heading.
    pub fn heading(text: impl Into<String>) -> Self {
        Self {
            key: RowKey::Text(text.into()),
            index: usize::MAX,
            heading: true,
            place: None,
            outside: false,
        }
    }

    /// Keeps the row out of the tree of modules.
    pub fn outside_of_tree(self) -> Self {
        Self {
            outside: true,
            ..self
        }
    }

    /// Returns the node of the row, if it is one.
    pub fn node(&self) -> Option<&NodeRow> {
        self.place.as_ref()?.node.as_deref()
    }

    /// Number of nodes around the row.
    pub fn depth(&self) -> u16 {
        self.place.as_ref().map_or(0, |place| place.depth)
    }

    /// Returns the text of the key column: in a tree the indented relative address, otherwise the
    /// key.
    pub fn label(&self) -> Cow<'_, str> {
        let key = self.key.text().unwrap_or_default();
        let Some(place) = &self.place else {
            return Cow::Borrowed(key);
        };
        let indent = "  ".repeat(usize::from(place.depth));
        Cow::Owned(match &place.node {
            Some(node) => {
                let mark = if node.folded { '▸' } else { '▾' };
                format!("{indent}{mark} {}", node.name)
            }
            None => format!("{indent}{}", key.get(place.name_from..).unwrap_or(key)),
        })
    }
}

/// Sort order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub name: &'static str,
    /// Title of the column that shows it; empty if none does.
    pub column: &'static str,
    /// The largest value comes first, unless the order is reversed.
    pub descending: bool,
}

/// Creates a sort order with the smallest value first.
pub const fn ascending(name: &'static str, column: &'static str) -> Sort {
    Sort {
        name,
        column,
        descending: false,
    }
}

/// Creates a sort order with the largest value first.
pub const fn descending(name: &'static str, column: &'static str) -> Sort {
    Sort {
        name,
        column,
        descending: true,
    }
}

/// Parts of a screen that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    #[default]
    List,
    Detail,
}

/// Position of the operator in one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListState {
    pub key: Option<RowKey>,
    pub index: usize,
    /// First visible row below the pinned ones.
    pub offset: usize,
    /// Search text; all rows remain visible.
    pub find: String,
    /// Filter text; hides rows without it.
    pub filter: String,
    /// Index of the sort order; 0 is the natural order.
    pub sort: usize,
    pub descending: bool,
    pub focus: Pane,
    /// The detail fills the screen.
    pub zoom: bool,
    /// First visible line of the detail.
    pub scroll: usize,
    /// The operator has moved the cursor.
    pub moved: bool,
    /// First row of the range that commands act on; the cursor is the other end.
    pub range: Option<RowKey>,
    /// Width of the longest cell of each column.
    pub contents: Vec<u16>,
    /// Number of rows when all columns were measured.
    pub measured: usize,
}

impl ListState {
    /// Finds the cursor's row again after the rows have changed, and scrolls it into view.
    pub fn restore_cursor(&mut self, rows: &[Row], height: usize, pinned: usize) {
        if rows.is_empty() {
            // Keeps the key, because the rows may return with the next load.
            (self.index, self.offset) = (0, 0);
            return;
        }
        let found = self.key.as_ref().and_then(|key| {
            // Fast path: the row has usually not moved.
            let here = rows
                .get(self.index)
                .is_some_and(|r| r.key == *key && !r.heading);
            if here {
                Some(self.index)
            } else {
                rows.iter().position(|r| r.key == *key && !r.heading)
            }
        });
        self.move_to(rows, found.unwrap_or(self.index.min(rows.len() - 1)));
        let height = height.saturating_sub(pinned).max(1);
        let (rest, at) = (rows.len() - pinned, self.index.saturating_sub(pinned));
        // Pinned rows are always visible, so the offset only has to be valid.
        if self.index < pinned {
            self.offset = self.offset.min(rest.saturating_sub(height));
            return;
        }
        // A heading directly above the cursor is scrolled into view, too.
        let top = if at > 0 && rows[self.index - 1].heading {
            at - 1
        } else {
            at
        };
        // So are the headings after the last row.
        let is_last = rows[self.index + 1..].iter().all(|r| r.heading);
        let end = if is_last { rest } else { at + 1 };
        self.offset = self
            .offset
            .min(top)
            .max(end.saturating_sub(height).min(at))
            .min(rest.saturating_sub(height));
    }

    /// Moves the cursor to a row, or to the nearest one that is no heading.
    pub fn move_to(&mut self, rows: &[Row], index: usize) {
        let Some(last) = rows.len().checked_sub(1) else {
            return;
        };
        let index = index.min(last);
        let near = (index..rows.len())
            .chain((0..index).rev())
            .find(|i| !rows[*i].heading);
        if let Some(i) = near {
            if self.key.as_ref() != Some(&rows[i].key) {
                // Another row has another detail.
                self.scroll = 0;
            }
            self.index = i;
            self.key = Some(rows[i].key.clone());
        }
    }

    /// Moves the cursor by a number of selectable rows.
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
        self.move_to(rows, index);
    }

    /// Returns the row under the cursor.
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
    fn cursor_follows_its_row_when_rows_are_inserted_before_it() {
        let mut list = ListState::default();
        list.restore_cursor(&rows(&["a", "b", "c"]), 10, 0);
        list.step(&rows(&["a", "b", "c"]), 1);
        list.restore_cursor(&rows(&["x", "y", "a", "b", "c"]), 10, 0);
        assert_eq!(list.index, 3);
        assert_eq!(list.key, Some(RowKey::Text("b".into())));
    }

    #[test]
    fn cursor_keeps_its_position_when_its_row_is_removed() {
        let mut list = ListState {
            index: 2,
            key: Some(RowKey::Text("c".into())),
            ..ListState::default()
        };
        list.restore_cursor(&rows(&["a", "b"]), 10, 0);
        assert_eq!(list.key, Some(RowKey::Text("b".into())));
    }

    #[test]
    fn cursor_skips_headings() {
        let all = rows(&["#1", "a", "#2", "b"]);
        let mut list = ListState::default();
        list.restore_cursor(&all, 10, 0);
        assert_eq!(list.index, 1);
        list.step(&all, 1);
        assert_eq!(list.index, 3);
        list.step(&all, -1);
        list.step(&all, -1);
        assert_eq!(list.index, 1);
    }

    #[test]
    fn cursor_stays_within_the_visible_rows() {
        let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let all: Vec<Row> = names
            .iter()
            .enumerate()
            .map(|(i, n)| Row::text(n.as_str(), i))
            .collect();
        let mut list = ListState::default();
        list.move_to(&all, 50);
        list.restore_cursor(&all, 10, 0);
        assert_eq!(list.offset, 41);
        list.step(&all, -20);
        list.restore_cursor(&all, 10, 0);
        assert_eq!(list.offset, 30);
        list.restore_cursor(&all[..3], 10, 0);
        assert_eq!((list.index, list.offset), (2, 0));
    }
}
