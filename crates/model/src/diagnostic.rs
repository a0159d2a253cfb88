//! Errors and warnings with their source positions in configuration files.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Warning,
    Error,
}

/// Error or warning about a configuration, plan or deploy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub summary: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SourceRange>,
    /// Source lines of the range, for display. `--json` does not promise it, but may contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
    /// Further occurrences of the same cause: other instances, or other calls of the same module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherPlaces>,
    /// Number of the intent, for an unknown outcome. The diagnostic ends when it is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<i64>,
}

/// Further occurrences of one cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FurtherPlaces {
    /// Number of further occurrences.
    pub count: usize,
    /// Addresses of the first ones, if known.
    pub addresses: Vec<String>,
}

impl FurtherPlaces {
    /// Returns their number and the first addresses as a sentence.
    pub fn text(&self) -> String {
        const SHOWN: usize = 3;
        let places = match self.count {
            1 => "Same problem at 1 more place".to_owned(),
            n => format!("Same problem at {n} more places"),
        };
        let some: Vec<&str> = self
            .addresses
            .iter()
            .take(SHOWN)
            .map(String::as_str)
            .collect();
        match some.is_empty() {
            true => format!("{places}."),
            // `addresses` is limited, so only the count shows that some are missing.
            false if self.count > some.len() => {
                format!("{places}: {}, ….", some.join(", "))
            }
            false => format!("{places}: {}.", some.join(", ")),
        }
    }
}

/// Range in a configuration file, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRange {
    pub filename: String,
    pub start: SourcePosition,
    pub end: SourcePosition,
}

/// Line and column from 1 (columns in grapheme clusters), byte from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    pub line: u32,
    pub column: u32,
    pub byte: u32,
}

/// Line of a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    pub line: u32,
    pub text: String,
    /// Byte offsets of the marked part within `text`.
    pub mark: (u32, u32),
    /// All lines, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<Lines>>,
}

impl Snippet {
    /// Returns the text before the mark, the marked text, and the text after it. A mark that does
    /// not fall on the characters of the line is moved back to one.
    pub fn parts(&self) -> (&str, &str, &str) {
        let fit = |at: u32| {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            self.text.floor_char_boundary(at)
        };
        let start = fit(self.mark.0);
        let end = fit(self.mark.1).max(start);
        let (before, rest) = self.text.split_at(start);
        let (marked, after) = rest.split_at(end - start);
        (before, marked, after)
    }
}

/// Several lines of a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// Number of the first line.
    pub line: u32,
    pub text: String,
    /// Byte offsets of the marked part within `text`.
    pub mark: (u32, u32),
}
