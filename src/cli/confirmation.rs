//! Confirmation prompts: the question on stderr, the answer from one line of stdin.
//!
//! stdin may be a pipe (`echo yes | flightdeck apply`), as with tofu. An input that ends without a
//! line is an error: a script without an answer must not look like one that declined.

use super::escape::{safe, safe_lines};
use super::exit::CliError;
use super::output::{Ink, Output, paint};
use super::signals::Signals;

/// Asks `question`; returns true only for `yes`. `instead` is the remedy if no answer can be read.
///
/// # Errors
/// `--json` was given, stdin ended without a line or cannot be read, or a signal arrived.
pub(super) async fn confirm(
    question: &str,
    instead: &str,
    signals: &mut Signals,
    out: &Output,
) -> Result<bool, CliError> {
    if out.json {
        return Err(CliError::usage("cannot prompt with --json").hint(instead));
    }
    // A line break in a name that the question quotes must not start a line of its own.
    let question = format!("{} Only \"yes\" is accepted: ", safe(question));
    match prompt_line(&question, signals, out).await? {
        Some(line) => Ok(line == "yes"),
        None => Err(CliError::usage("cannot prompt: stdin ended without an answer").hint(instead)),
    }
}

/// Asks `question` and returns one line, trimmed; `None` at the end of the input.
///
/// # Errors
/// A signal arrived.
pub(super) async fn prompt_line(
    question: &str,
    signals: &mut Signals,
    out: &Output,
) -> Result<Option<String>, CliError> {
    eprint!("{}", paint(out.err_color, Ink::Bold, &safe_lines(question)));
    // On a blocking thread, because a read of stdin cannot be cancelled: a signal leaves it behind.
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let read = tokio::select! { biased;
        () = signals.next() => return Err(CliError::Cancelled),
        read = read => read,
    };
    let line = match read {
        Ok(Ok(line)) if !line.is_empty() => Some(line.trim().to_owned()),
        _ => None,
    };
    // A pipe echoes no line break: the next message would continue the line of the question.
    if line.is_none() || !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        eprintln!();
    }
    Ok(line)
}
