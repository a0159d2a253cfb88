//! Content of a popup as a column of parts, without positions.

use crate::app::doc::{Doc, Line, Role, line, span};
use crate::app::entry::Entry;
use crate::app::text::width;

/// Content of a popup: parts from top to bottom. If the screen is too small, `body` is cut.
#[derive(Debug, Clone)]
pub struct Page {
    /// Title in the border; may be empty.
    pub title: String,
    /// Role of the border.
    pub role: Role,
    pub above: Vec<Part>,
    pub body: Part,
    pub below: Vec<Part>,
}

/// Part of a page over the full width.
#[derive(Debug, Clone)]
pub enum Part {
    /// Lines that are cut if they do not fit.
    Text(Doc),
    Blank,
    Input(Input),
    List(List),
    Choices(Choices),
    /// Lines that scroll. `from` is the first visible one.
    Scroll {
        doc: Doc,
        from: usize,
        more: More,
    },
}

/// Mark of lines below the visible ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    None,
    /// In the border below.
    InBorder,
    /// In the blank line below.
    InLine,
}

/// Text input of one line.
#[derive(Debug, Clone)]
pub struct Input {
    pub label: Line,
    pub entry: Entry,
}

/// Answers, of which one is marked.
#[derive(Debug, Clone)]
pub struct Choices {
    pub words: &'static [&'static str],
    pub selected: usize,
    pub hint: &'static str,
}

impl Choices {
    /// Renders the answers, each followed by a gap, and the hint.
    pub fn line(&self) -> Line {
        let mut l = Line::new();
        for (i, word) in self.words.iter().enumerate() {
            let role = if i == self.selected {
                Role::Match
            } else {
                Role::Plain
            };
            l.push(span(role, format!(" {word} ")));
            l.push(span(Role::Plain, "  "));
        }
        l.push(span(Role::Dim, self.hint));
        l
    }

    /// Returns the answer at a cell of the line.
    pub fn at(&self, cell: usize) -> Option<usize> {
        let mut end = 0;
        let span = self.line().iter().position(|s| {
            end += width(&s.text);
            cell < end
        })?;
        // Each answer is followed by its gap.
        (span % 2 == 0 && span / 2 < self.words.len()).then_some(span / 2)
    }
}

/// Rows with a cursor.
#[derive(Debug, Clone, Default)]
pub struct List {
    pub rows: Vec<Line>,
    pub selected: usize,
    /// Preferred number of visible rows.
    pub shown: usize,
    /// Text of a list without rows.
    pub empty: &'static str,
    /// The line below has the position if not all rows are visible.
    pub counted: bool,
}

impl Page {
    /// Creates a page with a body only.
    pub fn new(title: impl Into<String>, role: Role, body: Part) -> Self {
        Self {
            title: title.into(),
            role,
            above: Vec::new(),
            body,
            below: Vec::new(),
        }
    }

    /// Preferred number of lines.
    pub fn lines(&self) -> usize {
        let parts = self.above.iter().chain([&self.body]).chain(&self.below);
        parts.map(Part::lines).sum()
    }
}

impl Part {
    /// Preferred number of lines.
    pub fn lines(&self) -> usize {
        match self {
            // One line more, so that the mark does not touch the last line.
            Self::Scroll {
                doc,
                more: More::InLine,
                ..
            } => doc.len() + 1,
            Self::Text(doc) | Self::Scroll { doc, .. } => doc.len(),
            Self::Blank | Self::Input(_) | Self::Choices(_) => 1,
            Self::List(list) => list.shown,
        }
    }

    /// Creates a line with keys and their effects.
    pub fn keys(all: &[(&str, &str)]) -> Self {
        let mut words = Line::new();
        for (key, text) in all {
            words.push(span(Role::Key, *key));
            words.push(span(Role::Dim, format!(" {text}  ")));
        }
        Self::Text(vec![words])
    }

    /// Creates an input with a label.
    pub fn input(label: &str, entry: &Entry) -> Self {
        Self::Input(Input {
            label: line(Role::Key, label),
            entry: entry.clone(),
        })
    }
}

impl List {
    /// First visible row; a list scrolls only as far as the selected row needs.
    pub fn first(&self, height: usize) -> usize {
        (self.selected + 1).saturating_sub(height.max(1))
    }

    /// Creates a list that shows all of its rows.
    pub fn new(rows: Vec<Line>, selected: usize) -> Self {
        Self {
            shown: rows.len(),
            rows,
            selected,
            ..Self::default()
        }
    }
}
