//! The forms in which OpenTofu tells programs what it does, for scripts that were written for it.
//! Translates at the output what the engine says; knows nothing that is not in our own lines.

mod address;
mod diagnostic;
mod lines;
mod output_type;
mod plan;

use crate::engine::words::{Diagnostic, Event, Severity};
pub(super) use lines::Lines;
use serde_json::{Value, json};

/// Version of the document of `validate`.
const DOCUMENT: &str = "1.0";

/// Which form is written, and what it needs to remember.
#[derive(Debug)]
pub(super) enum Form {
    /// One document at the end, of diagnostics alone.
    Document(Vec<Diagnostic>),
    /// A line for each step.
    Lines(Box<Lines>),
}

impl Form {
    /// One document at the end, as of `validate`.
    pub(super) fn document() -> Self {
        Self::Document(Vec::new())
    }

    /// A line for each step, as of `plan` and its kin.
    pub(super) fn lines() -> Self {
        Self::Lines(Box::default())
    }

    /// Takes in an event; the answer is what is written now.
    pub(super) fn event(&mut self, event: &Event) -> Vec<String> {
        match self {
            Self::Document(_) => Vec::new(),
            Self::Lines(lines) => lines.event(event),
        }
    }

    /// Takes in a diagnostic; the answer is what is written now.
    pub(super) fn diagnostic(&mut self, d: &Diagnostic) -> Vec<String> {
        match self {
            Self::Document(all) => {
                all.push(d.clone());
                Vec::new()
            }
            Self::Lines(lines) => lines.diagnostic(d),
        }
    }

    /// What is written at the end.
    pub(super) fn result(&mut self) -> Vec<String> {
        match self {
            Self::Document(all) => vec![document(all)],
            Self::Lines(lines) => lines.written(Vec::new()),
        }
    }
}

fn document(all: &[Diagnostic]) -> String {
    let count = |severity| all.iter().filter(|d| d.severity == severity).count();
    let mut shown = diagnostic::Shown::default();
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
