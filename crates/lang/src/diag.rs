//! Diagnostics of all stages of the language: problem, source position and remedy. Summaries and
//! details are full sentences for operators; positions are spans of the `SourceMap`.

use crate::source::{Range, SourceMap, Span};

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Blocks all further work.
    Error,
    /// Reported without stopping anything.
    Warning,
}

/// Replaces text that would quote a sensitive value.
const REDACTED_DETAIL: &str = "the details are hidden because they contain a sensitive value";

/// Text for the operator, and a version of it without values. Literals of the program quote
/// nothing; formatted text may, unless marked by [`Message::plain`]. Callers that know the marks of
/// the values replace the text by [`Message::redacted_if`].
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    text: String,
    /// Text without values, if it differs.
    hidden: Hidden,
}

#[derive(Clone, Debug, PartialEq)]
enum Hidden {
    Same,
    Redacted,
    Text(String),
}

impl Message {
    /// Text without values: names of types, counts, text from the configuration.
    pub fn plain(text: impl Into<String>) -> Message {
        Message {
            text: text.into(),
            hidden: Hidden::Same,
        }
    }

    /// Text that quotes values, and the same text without them.
    pub fn either(text: impl Into<String>, hidden: impl Into<String>) -> Message {
        Message {
            text: text.into(),
            hidden: Hidden::Text(hidden.into()),
        }
    }

    /// Removes values if `secret` is set.
    #[must_use]
    pub fn redacted_if(self, secret: bool) -> Message {
        match self.hidden {
            _ if !secret => self,
            Hidden::Same => self,
            Hidden::Redacted => Message::plain(REDACTED_DETAIL),
            Hidden::Text(text) => Message::plain(text),
        }
    }

    /// Hides the values, unless the text already has a version without them.
    #[must_use]
    pub(crate) fn redacted_if_unset(self, secret: bool) -> Message {
        if self.hidden == Hidden::Redacted {
            self.redacted_if(secret)
        } else {
            self
        }
    }

    /// Wraps both texts by `put`.
    #[must_use]
    pub fn wrap(self, put: impl Fn(&str) -> String) -> Message {
        let text = put(&self.text);
        match self.hidden {
            Hidden::Same => Message::plain(text),
            Hidden::Redacted => Message::either(text, put(REDACTED_DETAIL)),
            Hidden::Text(hidden) => Message::either(text, put(&hidden)),
        }
    }

    /// Text, including values.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&cty::ConvertError> for Message {
    /// A failed conversion respects the marks of its own value only; those of enclosing values may
    /// differ. An error without path and names has nothing to hide.
    fn from(error: &cty::ConvertError) -> Message {
        // Values are quoted in messages, so text without quotes has none.
        let bare = error.path.is_empty() && !error.message.contains('"');
        if bare {
            Message::plain(error.to_string())
        } else {
            Message::from(error.to_string())
        }
    }
}

impl From<&'static str> for Message {
    fn from(text: &'static str) -> Message {
        Message::plain(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message {
            text,
            hidden: Hidden::Redacted,
        }
    }
}

/// Error or warning for the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// One short line.
    pub summary: String,
    /// Reason and remedy.
    pub detail: String,
    /// The exact source position.
    pub subject: Option<Span>,
    /// Larger source range around the subject, for context.
    pub context: Option<Span>,
    /// The object it is about, as an address.
    pub address: Option<String>,
    /// Detail without values, if it may quote some.
    hidden: Option<Box<Hidden>>,
}

impl Diagnostic {
    /// An error without a source position.
    pub fn error(summary: impl Into<String>, detail: impl Into<Message>) -> Self {
        let detail = detail.into();
        Diagnostic {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.text,
            // Boxed, to keep diagnostics without a second text small.
            hidden: (detail.hidden != Hidden::Same).then(|| Box::new(detail.hidden)),
            subject: None,
            context: None,
            address: None,
        }
    }

    /// A warning without a source position.
    pub fn warning(summary: impl Into<String>, detail: impl Into<Message>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Self::error(summary, detail)
        }
    }

    /// Sets the source position.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.subject = Some(span);
        self
    }

    /// Sets the larger source range.
    #[must_use]
    pub fn within(mut self, span: Span) -> Self {
        self.context = Some(span);
        self
    }

    /// Names the object it is about.
    #[must_use]
    pub fn with_address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Detail as redactable text.
    pub fn message(&self) -> Message {
        Message {
            text: self.detail.clone(),
            hidden: self.hidden.as_deref().cloned().unwrap_or(Hidden::Same),
        }
    }

    /// Removes values from the detail if `secret` is set.
    #[must_use]
    pub fn redacted_if(mut self, secret: bool) -> Self {
        match self.hidden.take_if(|_| secret).map(|hidden| *hidden) {
            Some(Hidden::Redacted) => {
                // The phrase stands alone here, so it becomes a sentence.
                self.detail = format!(
                    "{}{}.",
                    REDACTED_DETAIL[..1].to_uppercase(),
                    &REDACTED_DETAIL[1..]
                )
            }
            Some(Hidden::Text(text)) => self.detail = text,
            Some(Hidden::Same) | None => {}
        }
        self
    }

    /// Returns true for an error.
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
                let line = self
                    .subject
                    .map(|s| sources.source_line(s))
                    .unwrap_or_default();
                let pad: String = line
                    .chars()
                    .take(range.start.column as usize - 1)
                    // Tabs stay tabs, so that the caret is below its character.
                    .map(|c| if c == '\t' { '\t' } else { ' ' })
                    .collect();
                format!(
                    "{}:{}:{}: {word}: {}\n  {line}\n  {pad}^\n",
                    range.filename, range.start.line, range.start.column, self.summary
                )
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

    /// Adds an error at a source position.
    pub fn error(&mut self, span: Span, summary: impl Into<String>, detail: impl Into<Message>) {
        self.push(Diagnostic::error(summary, detail).at(span));
    }

    /// Adds a warning at a source position.
    pub fn warning(&mut self, span: Span, summary: impl Into<String>, detail: impl Into<Message>) {
        self.push(Diagnostic::warning(summary, detail).at(span));
    }

    /// Adds all of another.
    pub fn append(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// Joins all in one text, as OpenTofu does.
    pub fn joined(&self) -> String {
        let one = |d: &Diagnostic| match d.detail.is_empty() {
            true => d.summary.clone(),
            false => format!("{}: {}", d.summary, d.detail),
        };
        match &self.0[..] {
            [only] => one(only),
            all => all
                .iter()
                .fold(format!("{} problems:\n", all.len()), |text, d| {
                    format!("{text}\n- {}", one(d))
                }),
        }
    }

    /// Appends diagnostics, without values if `secret` is set.
    pub fn append_redacted(&mut self, other: Diagnostics, secret: bool) {
        self.0
            .extend(other.0.into_iter().map(|d| d.redacted_if(secret)));
    }

    /// Marks all as free of sensitive values.
    #[must_use]
    pub fn without_sensitive(mut self) -> Self {
        self.0.iter_mut().for_each(|d| d.hidden = None);
        self
    }

    /// Returns true if there is an error.
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

    /// Returns true if there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of diagnostics.
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
