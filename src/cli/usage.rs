//! Errors in the command line, help and version: prints them and maps them to an exit code.

use super::args;
use super::environment_args;
use super::escape::safe;
use super::exit;
use super::flags;
use super::output::Output;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Prints help and version, or an error in the arguments. An error has exit code 1 and, with
/// `--json`, a result line. `variables` are the environment variables that added arguments.
pub(super) fn refuse(error: clap::Error, words: &[OsString], variables: &[String]) -> ExitCode {
    let error = with_reason(error, words);
    let mut code = exit::OK;
    let is_error = error.use_stderr();
    if is_error {
        code = exit::ERROR;
        // The arguments could not be parsed, so the raw words decide about JSON.
        if words.iter().any(|w| w == "--json") {
            // Without a command the words ask for the interactive console.
            let named = words
                .iter()
                .skip(1)
                .find_map(|w| w.to_str().filter(|w| args::is_command(w)));
            Output::new(true, true).result(named.unwrap_or("console"), exit::failed(code));
        }
    }
    let printed = escaped(error)
        .print()
        .and_then(|()| std::io::stdout().flush());
    if let Err(e) = printed
        && e.kind() != std::io::ErrorKind::BrokenPipe
    {
        Output::new(true, false).error_line(&format!("failed to write output: {e}"));
        code = exit::ERROR;
    }
    if is_error && !variables.is_empty() {
        Output::new(true, false).stderr_line(&format!(
            "environment variables added arguments: {}",
            variables.join(", ")
        ));
    }
    ExitCode::from(code)
}

/// Adds the reason if the argument is a flag of OpenTofu that the command does not support.
pub(super) fn with_reason(error: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let flag = argument.trim_start_matches('-');
    let flag = flag.split_once('=').map_or(flag, |(name, _)| name);
    let command = environment_args::command_in(words);
    match flags::refusal(&command, flag) {
        Some(why) if error.kind() == ErrorKind::UnknownArgument => flags::command().error(
            ErrorKind::UnknownArgument,
            format!("`{command}` does not support -{flag}: {why}"),
        ),
        _ => error,
    }
}

/// Escapes the arguments that an error quotes, in its message and its suggestions.
fn escaped(mut error: clap::Error) -> clap::Error {
    // clap formats the message from this context only when it prints the error.
    let context: Vec<_> = error.context().map(|(k, v)| (k, v.clone())).collect();
    for (kind, value) in context {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(safe(&text).into_owned()),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(|t| safe(t).into_owned()).collect())
            }
            ContextValue::StyledStrs(texts) => {
                ContextValue::StyledStrs(texts.into_iter().map(suggestion).collect())
            }
            _ => continue,
        };
        error.insert(kind, value);
    }
    error
}

/// Escapes a suggestion. Its styles are lost if characters were escaped.
fn suggestion(text: StyledStr) -> StyledStr {
    let plain = text.to_string();
    match safe(&plain) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(escaped) => escaped.into(),
    }
}
