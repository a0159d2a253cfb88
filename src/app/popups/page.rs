//! Content of a popup as a column of parts, without positions.

use crate::app::doc::{Doc, Line, Role, cells_of, line, span, wrap};
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
    Text(Doc),
    /// Keys with their effects. A line ends only between two of them.
    Keys(Vec<Line>),
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
    /// Lines before the text, which starts behind the last one.
    pub label: Doc,
    pub entry: Entry,
}

/// Key and word of an answer.
pub type Answer = (char, &'static str);

/// Answers, of which one is marked.
#[derive(Debug, Clone)]
pub struct Choices {
    pub answers: Vec<Answer>,
    /// The answer that `enter` gives.
    pub selected: usize,
}

/// Cells between two answers.
const GAP: usize = 2;

impl Choices {
    /// Creates answers with one that `enter` gives.
    pub fn new(answers: &[Answer], selected: usize) -> Self {
        Self {
            answers: answers.to_vec(),
            selected,
        }
    }

    /// Text of an answer with its keys.
    fn text(&self, answer: usize) -> String {
        let (key, word) = &self.answers[answer];
        match answer == self.selected {
            true => format!("[{key}/enter] {word}"),
            false => format!("[{key}] {word}"),
        }
    }

    /// Renders the answers as `[y] Apply  [n/enter] Cancel`.
    pub fn line(&self) -> Line {
        let gap = " ".repeat(GAP);
        let mut l = Line::new();
        for (i, (key, word)) in self.answers.iter().enumerate() {
            if i == self.selected {
                l.push(span(Role::Match, self.text(i)));
            } else {
                l.push(span(Role::Key, format!("[{key}]")));
                l.push(span(Role::Plain, format!(" {word}")));
            }
            l.push(span(Role::Plain, &gap));
        }
        l
    }

    /// Returns the answer at a cell of the line.
    pub fn at(&self, cell: usize) -> Option<usize> {
        let mut start = 0;
        (0..self.answers.len()).find(|answer| {
            let end = start + width(&self.text(*answer));
            let is_here = (start..end).contains(&cell);
            start = end + GAP;
            is_here
        })
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
    /// Lines of the row under the cursor, if it takes more than one.
    pub whole: Doc,
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

    /// Wraps all parts to `cells`, so that no word is cut.
    pub(super) fn wrapped(mut self, cells: usize) -> Self {
        for part in self.above.iter_mut().chain(&mut self.below) {
            part.wrap(cells);
        }
        self.body.wrap(cells);
        // A list above a detail has the whole text of its selected row there.
        if let Part::List(list) = &mut self.body
            && let Some(row) = list.rows.get(list.selected)
        {
            list.whole = wrap(&vec![row.clone()], cells);
        }
        self
    }

    /// Preferred number of lines.
    pub fn lines(&self) -> usize {
        let parts = self.above.iter().chain([&self.body]).chain(&self.below);
        parts.map(Part::lines).sum()
    }

    /// Returns the effect of a key that the page names.
    pub fn effect_of(&self, key: &str) -> Option<&str> {
        let docs = self.below.iter().filter_map(|part| match part {
            Part::Text(doc) => Some(doc),
            _ => None,
        });
        docs.flatten().find_map(|l| {
            let at = l
                .iter()
                .position(|s| s.role == Role::Key && s.text == key)?;
            l.get(at + 1).map(|s| s.text.trim())
        })
    }
}

/// Minimum space for typed text beside its label.
const MIN_INPUT: usize = 16;

impl Part {
    fn wrap(&mut self, cells: usize) {
        match self {
            Self::Text(doc) => *doc = wrap(doc, cells),
            Self::Keys(all) => *self = Self::Text(wrap_pieces(std::mem::take(all), cells)),
            Self::Input(input) => {
                input.label = wrap(&input.label, cells);
                if input.label.last().map_or(0, cells_of) + MIN_INPUT > cells {
                    input.label.push(Line::new());
                }
            }
            // The lines of a text that scrolls are wrapped already, because its keys count them.
            Self::Choices(_) | Self::Scroll { .. } | Self::List(_) | Self::Blank => {}
        }
    }

    /// Preferred number of lines.
    pub fn lines(&self) -> usize {
        match self {
            Self::Text(doc) | Self::Scroll { doc, .. } => doc.len(),
            Self::Keys(_) | Self::Choices(_) | Self::Blank => 1,
            Self::Input(input) => input.label.len(),
            Self::List(list) => list.shown + list.whole.len().saturating_sub(1),
        }
    }

    /// Creates a line with keys and their effects.
    pub fn keys(all: &[(&str, &str)]) -> Self {
        let piece = |(key, text): &(&str, &str)| {
            vec![span(Role::Key, *key), span(Role::Dim, format!(" {text}  "))]
        };
        Self::Keys(all.iter().map(piece).collect())
    }

    /// Creates an input with a label.
    pub fn input(label: &str, entry: &Entry) -> Self {
        Self::Input(Input {
            label: vec![line(Role::Key, label)],
            entry: entry.clone(),
        })
    }
}

impl List {
    /// Number of lines of the selected row.
    fn lines_of_selected(&self, height: usize) -> usize {
        self.whole.len().clamp(1, height.max(1))
    }

    /// Visible lines with the indexes of their rows, from the first visible one on. A list scrolls
    /// only as far as the selected row needs, which is the only one with several lines.
    pub fn visible(&self, height: usize) -> Vec<(usize, &Line)> {
        let whole = self.lines_of_selected(height);
        let from = (self.selected + whole).saturating_sub(height.max(1));
        let rows = self.rows.iter().enumerate().skip(from);
        let lines = rows.flat_map(|(i, row)| match i == self.selected && whole > 1 {
            true => self.whole.iter().map(|l| (i, l)).collect(),
            false => vec![(i, row)],
        });
        lines.take(height).collect()
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

/// Arranges pieces in lines of `cells` without a break within a piece that fits.
fn wrap_pieces(all: Vec<Line>, cells: usize) -> Doc {
    let mut doc = vec![Line::new()];
    for piece in all {
        // Blanks at the end of a line need no space.
        let text: usize = crate::app::doc::plain(&piece).trim_end().len();
        let last = doc.last().map_or(0, cells_of);
        if last > 0 && last + text > cells {
            doc.push(Line::new());
        }
        if let Some(line) = doc.last_mut() {
            line.extend(piece);
        }
    }
    wrap(&doc, cells)
}
