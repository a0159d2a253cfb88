//! Exit codes of commands, and the single place that maps errors to messages, diagnostics and
//! codes.

use super::json_into::JsonInto;
use super::output::Output;
use engine::error::EngineError;
use model::{Diagnostic, Severity};
use serde_json::{Map, Value, json};
use std::fmt;

pub(super) const OK: u8 = 0;
pub(super) const ERROR: u8 = 1;
pub(super) const CHANGES: u8 = 2;
/// OpenTofu's exit code, so that pipelines work with either tool.
pub(super) const UNFORMATTED: u8 = 3;
pub(super) const FAILURES: u8 = 5;
pub(super) const CANCELLED: u8 = 130;

/// Reasons for a command to fail.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// Failure outside of the engine.
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("cancelled")]
    Cancelled,
    /// Unexpected failure with its causes.
    #[error("{0:#}")]
    Unforeseen(#[from] color_eyre::Report),
    /// Already reported in full; only the exit code remains.
    #[error("exit code {0}")]
    AlreadyReported(u8),
}

/// Kinds of failures outside of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandErrorKind {
    /// Arguments or answers that the command cannot work with.
    Usage,
    /// Environment variables or files with settings.
    Setting,
    /// Something that the arguments name does not exist.
    Missing,
    /// Files, directories or standard input.
    Io,
    /// Parts of flightdeck or of the operating system that normally work.
    Internal,
}

impl CommandErrorKind {
    fn exit_code(self) -> u8 {
        match self {
            Self::Usage | Self::Setting | Self::Missing | Self::Io | Self::Internal => ERROR,
        }
    }
}

/// Failure outside of the engine: what failed and why, and what the operator can do.
#[derive(Debug)]
pub(super) struct CommandError {
    pub(super) kind: CommandErrorKind,
    message: String,
    hints: Vec<String>,
}

impl std::error::Error for CommandError {}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl CliError {
    fn command(kind: CommandErrorKind, message: impl Into<String>) -> Self {
        Self::Command(CommandError {
            kind,
            message: message.into(),
            hints: Vec::new(),
        })
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::command(CommandErrorKind::Usage, message)
    }

    pub(super) fn setting(message: impl Into<String>) -> Self {
        Self::command(CommandErrorKind::Setting, message)
    }

    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::command(CommandErrorKind::Missing, message)
    }

    pub(super) fn io(message: impl Into<String>) -> Self {
        Self::command(CommandErrorKind::Io, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::command(CommandErrorKind::Internal, message)
    }

    /// Adds a remedy to a failure outside of the engine; other errors have their own.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Command(error) = &mut self {
            error.hints.push(hint.into());
        }
        self
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Engine(e) => e.exit_code(),
            Self::Command(e) => e.kind.exit_code(),
            Self::Unforeseen(_) => ERROR,
            Self::Cancelled => CANCELLED,
            Self::AlreadyReported(code) => *code,
        }
    }
}

/// Result of a command: its exit code. The command has printed its output.
pub(super) type CommandResult = Result<u8, CliError>;

/// Returns the fields of a failed command's result line.
pub(super) fn failed(code: u8) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("outcome".into(), "error".into());
    fields.insert("exit_code".into(), code.into());
    fields
}

/// Reports the result of a command, and returns the exit code of the process.
pub(super) fn report(ended: CommandResult, command: &str, out: &mut Output) -> u8 {
    let code = report_error(ended, command, out);
    // Both outputs are checked: an incomplete file counts like an incomplete stdout.
    let into = out.json_file.take().and_then(JsonInto::finish);
    match out.take_write_error().or(into) {
        Some(text) => {
            out.error_line(&text);
            // An incomplete output must not end with an exit code of success.
            if matches!(code, OK | CHANGES) {
                ERROR
            } else {
                code
            }
        }
        None => code,
    }
}

fn report_error(ended: CommandResult, command: &str, out: &mut Output) -> u8 {
    let error = match ended {
        Ok(code) => return code,
        Err(error) => error,
    };
    let code = error.exit_code();
    report_problem(&error, out);
    // The result line is the last one, so diagnostics precede it.
    out.flush_diagnostics();
    out.result(command, failed(code));
    code
}

/// Reports an error. Diagnostics are held back.
pub(super) fn report_problem(error: &CliError, out: &mut Output) {
    match error {
        CliError::AlreadyReported(_) => {}
        // Already reported as a diagnostic with its position.
        CliError::Engine(EngineError::Plugin(trouble))
            if out.has_error_with(&trouble.to_string()) => {}
        CliError::Engine(e) if !e.diagnostics().is_empty() => {
            e.diagnostics().iter().for_each(|d| out.diagnostic(d))
        }
        other if out.json => out.diagnostic(&plain_diagnostic(&other.to_string())),
        other => {
            out.error_line(&other.to_string());
            out.program_diagnostic(&plain_diagnostic(&other.to_string()));
        }
    }
}

/// Converts a text to a diagnostic without a position: the first line is the summary, the rest the
/// detail.
pub(super) fn plain_diagnostic(text: &str) -> Diagnostic {
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

/// Returns the fields of a JSON object.
pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => Map::from_iter([("value".to_owned(), json!(other))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_follow_the_message_of_a_command_error() {
        let error = CliError::usage("cannot prompt with --json").hint("add --auto-approve");
        assert_eq!(
            (error.to_string().as_str(), error.exit_code()),
            ("cannot prompt with --json; add --auto-approve", ERROR)
        );
        // The engine's errors contain their remedies.
        assert_eq!(CliError::Cancelled.hint("wait").to_string(), "cancelled");
    }
}
