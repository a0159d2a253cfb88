//! What is wrong, where, and what to do: the diagnostics of every stage of the language.
//! Summaries and details are whole sentences for operators; places are spans of the `SourceMap`.

use crate::source::{Range, SourceMap, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing can be done until it is settled.
    Error,
    /// Worth knowing; does not stop anything.
    Warning,
}

/// One thing to tell the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// One short line.
    pub summary: String,
    /// Why, and what to do.
    pub detail: String,
    /// The exact place.
    pub subject: Option<Span>,
    /// The larger place around the subject worth showing.
    pub context: Option<Span>,
    /// The object it is about, as an address.
    pub address: Option<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            subject: None,
            context: None,
            address: None,
        }
    }

    /// A warning without a place.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Self::error(summary, detail) }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.subject = Some(span);
        self
    }

    /// Sets the larger place.
    #[must_use]
    pub fn within(mut self, span: Span) -> Self {
        self.context = Some(span);
        self
    }

    /// Names the object it is about.
    #[must_use]
    pub fn about(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// File, line and column of the subject.
    pub fn range(&self, sources: &SourceMap) -> Option<Range> {
        self.subject.and_then(|span| sources.range(span))
    }

    /// Plain text: `file:line:column: summary`, the source line with a caret, the detail.
    pub fn render(&self, sources: &SourceMap) -> String {
        let word = if self.is_error() { "error" } else { "warning" };
        let mut out = match self.range(sources) {
            Some(range) => {
                let line = self.subject.map(|s| sources.source_line(s)).unwrap_or_default();
                let pad: String = line.chars().take(range.start.column as usize - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                format!("{}:{}:{}: {word}: {}\n  {line}\n  {pad}^\n", range.filename, range.start.line, range.start.column, self.summary)
            }
            None => format!("{word}: {}\n", self.summary),
        };
        if !self.detail.is_empty() {
            out.push_str(&self.detail);
            out.push('\n');
        }
        out
    }
}

/// Diagnostics in the order they were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds an error at a place.
    pub fn error(&mut self, span: Span, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::error(summary, detail).at(span));
    }

    /// Adds a warning at a place.
    pub fn warning(&mut self, span: Span, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::warning(summary, detail).at(span));
    }

    /// Adds all of another.
    pub fn append(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// Whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    /// The errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter().filter(|d| d.is_error())
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic])
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, iter: T) {
        self.0.extend(iter);
    }
}
