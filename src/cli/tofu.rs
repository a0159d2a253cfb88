//! OpenTofu's JSON output, for scripts written for it. Translates the engine's events and adds no
//! information to flightdeck's own lines.

mod address;
mod diagnostic;
mod lines;
mod output_type;
mod plan;

pub(super) use lines::Lines;
use model::{Diagnostic, Event, Severity};
use serde_json::{Value, json};

/// Version of the document of `validate`.
const DOCUMENT: &str = "1.0";

/// Output form, with its state.
#[derive(Debug)]
pub(super) enum Form {
    /// One document of diagnostics at the end.
    Document(Vec<Diagnostic>),
    /// A line for each step.
    Lines(Box<Lines>),
}

impl Form {
    /// Creates the form of `validate`.
    pub(super) fn document() -> Self {
        Self::Document(Vec::new())
    }

    /// Creates the form of `plan`, `apply` and related commands.
    pub(super) fn lines() -> Self {
        Self::Lines(Box::default())
    }

    /// Processes an event, and returns the lines to write now.
    pub(super) fn event(&mut self, event: &Event) -> Vec<String> {
        match self {
            Self::Document(_) => Vec::new(),
            Self::Lines(lines) => lines.event(event),
        }
    }

    /// Processes a diagnostic, and returns the lines to write now.
    pub(super) fn diagnostic(&mut self, d: &Diagnostic) -> Vec<String> {
        match self {
            Self::Document(all) => {
                all.push(d.clone());
                Vec::new()
            }
            Self::Lines(lines) => lines.diagnostic(d),
        }
    }

    /// Returns the lines to write at the end.
    pub(super) fn result(&mut self) -> Vec<String> {
        match self {
            Self::Document(all) => vec![document(all)],
            Self::Lines(lines) => lines.format_lines(Vec::new()),
        }
    }
}

fn document(all: &[Diagnostic]) -> String {
    let count = |severity| all.iter().filter(|d| d.severity == severity).count();
    let mut shown = diagnostic::Shown::default();
    // One cache for all diagnostics, because many of them concern the same file.
    let told: Vec<Value> = all.iter().map(|d| shown.json(d)).collect();
    let errors = count(Severity::Error);
    let all = json!({
        "format_version": DOCUMENT,
        "valid": errors == 0,
        "error_count": errors,
        "warning_count": count(Severity::Warning),
        "diagnostics": told,
    });
    statefile::indented(&all.to_string())
}
