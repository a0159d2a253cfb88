//! Prompts on a terminal for variables without a value.

use super::escape::safe;
use super::exit::CliError;
use super::output::{Ink, Output, paint};
use super::progress::Progress;
use super::session::Session;
use model::{StageId, StageRequest, UnsetVariable, VariableFlag};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::IsTerminal;

/// Returns true if prompts for values are possible.
pub(super) fn can_ask(out: &Output) -> bool {
    can_confirm(out) && std::io::stderr().is_terminal()
}

/// Returns true if prompts are allowed and stdin is a terminal.
pub(super) fn can_confirm(out: &Output) -> bool {
    out.has_input && !out.json && std::io::stdin().is_terminal()
}

/// Returns true unless the flag, or without one `TF_INPUT`, turns prompts off.
pub(super) fn is_input_on(flag: Option<bool>, variable: Option<&str>) -> bool {
    let off = |text: &str| matches!(text, "0" | "f" | "F" | "FALSE" | "false" | "False");
    flag != Some(false) && !variable.is_some_and(off)
}

/// Prompts for required variables without a value, of a request or of a stage to deploy. Returns
/// the answers as flags.
///
/// # Errors
/// A signal arrived.
pub(super) async fn prompt_missing(
    session: &mut Session,
    progress: &mut Progress,
    request: StageRequest,
    stage: Option<StageId>,
    out: &mut Output,
) -> Result<Vec<VariableFlag>, CliError> {
    let engine = session.engine.clone();
    let unset = engine.unset_variables(request, stage);
    let mut flags = Vec::new();
    for variable in session.wait(out, progress, unset).await? {
        let Some(text) = prompt_variable(session, &variable, out).await? else {
            // End of the input: the command then reports the missing variables.
            break;
        };
        let name = variable.name;
        flags.push(VariableFlag::Value { name, text });
    }
    Ok(flags)
}

async fn prompt_variable(
    session: &mut Session,
    variable: &UnsetVariable,
    out: &Output,
) -> Result<Option<String>, CliError> {
    let title = paint(out.err_color, Ink::Bold, &format!("var.{}", variable.name));
    eprintln!("{title}");
    for line in variable.description.lines() {
        eprintln!("  {}", safe(line));
    }
    // Before the prompt: hiding discards pending input, which may be the answer to it.
    let hidden = variable.is_secret.then(Hidden::hide_input).flatten();
    eprint!("  Enter a value: ");
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|n| (n, line))
    });
    // The terminal echoed no line break of a hidden value, so one is printed below.
    let read = session.wait_outside_engine(read).await;
    if hidden.is_some() {
        eprintln!();
    }
    drop(hidden);
    match read? {
        Ok(Ok((1.., line))) => Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned())),
        _ => Ok(None),
    }
}

/// Disables the terminal's echo until dropped.
struct Hidden(Termios);

impl Hidden {
    fn hide_input() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // Discards input typed ahead of the prompt: it is no answer to this question.
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Err(e) = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0) {
            tracing::warn!(error = %e, "failed to restore the terminal's echo; run `stty echo`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_flag_or_environment_disables_prompts() {
        assert!(is_input_on(None, None));
        assert!(is_input_on(Some(true), Some("1")));
        assert!(is_input_on(None, Some("maybe")));
        assert!(!is_input_on(Some(false), None));
        for off in ["0", "false", "F"] {
            assert!(!is_input_on(None, Some(off)), "{off}");
            assert!(!is_input_on(Some(true), Some(off)), "{off}");
        }
    }
}
