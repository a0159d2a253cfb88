//! Errors and warnings, and the places in configuration files that they are about.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Warning,
    Error,
}

/// An error or warning about the configuration, a plan, a deploy.
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
    /// The source lines of the range, for people; absent from `--json`'s contract but harmless
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
    /// Where else the same cause was met: in other instances, or other calls of the module whose
    /// text it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<Further>,
    /// Of an unknown outcome: the number of what was intended. It is over once that is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<i64>,
}

/// Further places of one cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Further {
    /// How many.
    pub count: usize,
    /// The addresses of the first of them, as far as they have any.
    pub addresses: Vec<String>,
}

impl Further {
    /// For people: how many, and the first of them.
    pub fn text(&self) -> String {
        const SHOWN: usize = 3;
        let places = if self.count == 1 {
            "The same at one further place"
        } else {
            "The same at further places"
        };
        let some: Vec<&str> = self
            .addresses
            .iter()
            .take(SHOWN)
            .map(String::as_str)
            .collect();
        let number = if self.count == 1 {
            String::new()
        } else {
            format!(", {} in all", self.count)
        };
        match some.is_empty() {
            true => format!("{places}{number}."),
            false if self.count > some.len() => {
                format!("{places}{number}: {}, ….", some.join(", "))
            }
            false => format!("{places}{number}: {}.", some.join(", ")),
        }
    }
}

/// A place in a configuration file, relative to the workspace.
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

/// The line that a diagnostic is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    pub line: u32,
    pub text: String,
    /// Byte offsets of the marked part within `text`.
    pub mark: (u32, u32),
    /// All lines, where it is about more than this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<Lines>>,
}

/// The lines that a diagnostic is about, where they are several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// The first one's number.
    pub line: u32,
    pub text: String,
    /// Byte offsets of the marked part within `text`.
    pub mark: (u32, u32),
}
