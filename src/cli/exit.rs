//! How commands end: errors to words, diagnostics and exit codes, in one place.

use super::json_into::JsonInto;
use super::output::Output;
use crate::engine::error::EngineError;
use crate::engine::words::{Diagnostic, Severity};
use serde_json::{Map, Value, json};

pub(super) const OK: u8 = 0;
pub(super) const ERROR: u8 = 1;
pub(super) const CHANGES: u8 = 2;
/// As with the reference engine, so that pipelines need not know which of both they call.
pub(super) const UNFORMATTED: u8 = 3;
pub(super) const FAILURES: u8 = 5;
pub(super) const CANCELLED: u8 = 130;

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// Wrong usage, or something outside of the engine: what, why, what to do.
    #[error("{0}")]
    Refused(String),
    #[error("cancelled")]
    Cancelled,
    /// Something that nobody foresaw, with its causes.
    #[error("{0:#}")]
    Unforeseen(#[from] color_eyre::Report),
    /// Already said in full on the output; only the code is left.
    #[error("exit code {0}")]
    Said(u8),
}

impl CliError {
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Engine(e) => e.exit_code(),
            Self::Refused(_) | Self::Unforeseen(_) => ERROR,
            Self::Cancelled => CANCELLED,
            Self::Said(code) => *code,
        }
    }
}

/// What a command answers: its exit code, its result having been printed.
pub(super) type Ended = Result<u8, CliError>;

/// The result of a command that failed.
pub(super) fn failed(code: u8) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("outcome".into(), "error".into());
    fields.insert("exit_code".into(), code.into());
    fields
}

/// Says how a command ended, and with which code the process is to end.
pub(super) fn report(ended: Ended, command: &str, out: &mut Output) -> u8 {
    let code = said(ended, command, out);
    let into = out.into.take().and_then(JsonInto::end);
    match out.broken().or(into) {
        Some(text) => {
            out.problem(&text);
            // A program that reads half of an answer must not take it for the whole.
            if matches!(code, OK | CHANGES) {
                ERROR
            } else {
                code
            }
        }
        None => code,
    }
}

fn said(ended: Ended, command: &str, out: &mut Output) -> u8 {
    let error = match ended {
        Ok(code) => return code,
        Err(error) => error,
    };
    let code = error.exit_code();
    match &error {
        CliError::Said(_) => {}
        // Said with its place already.
        CliError::Engine(EngineError::Plugin(trouble))
            if out.has_error_with(&trouble.to_string()) => {}
        CliError::Engine(e) if !e.diagnostics().is_empty() => {
            e.diagnostics().iter().for_each(|d| out.diagnostic(d))
        }
        other if out.json => out.diagnostic(&plain(&other.to_string())),
        other => {
            out.problem(&other.to_string());
            out.program_diagnostic(&plain(&other.to_string()));
        }
    }
    out.flush_diagnostics();
    out.result(command, failed(code));
    code
}

/// Words without a place, as a diagnostic: what in the first line, the rest is detail.
pub(super) fn plain(text: &str) -> Diagnostic {
    let (summary, detail) = text.split_once('\n').unwrap_or((text, ""));
    Diagnostic {
        severity: Severity::Error,
        summary: summary.to_owned(),
        detail: detail.to_owned(),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }
}

/// Fields of an object.
pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => Map::from_iter([("value".to_owned(), json!(other))]),
    }
}
