//! `flightdeck console`: evaluates expressions, one per line. On a terminal it prompts for each and
//! continues after errors; from a pipe the first error ends it.

mod lines;

use crate::cli::args::ConsoleArgs;
use crate::cli::escape::safe_lines;
use crate::cli::exit::{CliError, CommandResult, ERROR, OK};
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use engine::handle::Evaluator;
use lines::{Line, Lines};
use model::settings::Access;

/// Limit of an incomplete expression, in bytes. A longer one is evaluated as it is.
const MAX_EXPRESSION: usize = 1_000_000;

pub(super) async fn run(args: ConsoleArgs, out: &mut Output) -> CommandResult {
    let request = args.variables.request();
    let mut session = Session::start(settings("console", Access::ReadState, None)?, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let made = session
        .wait(out, &mut progress, engine.evaluator(request))
        .await;
    let ended = match made {
        Ok(evaluator) => {
            out.flush_diagnostics();
            evaluate_input(&mut session, evaluator, out).await
        }
        Err(error) => Err(error),
    };
    session.finish(out).await;
    ended
}

/// Evaluates expressions until the input ends.
async fn evaluate_input(
    session: &mut Session,
    evaluator: Evaluator,
    out: &mut Output,
) -> CommandResult {
    let mut lines = Lines::new(evaluator.names())?;
    let person = lines.is_interactive();
    let evaluator = std::sync::Arc::new(evaluator);
    let mut text = String::new();
    loop {
        let prompt = if text.is_empty() { "> " } else { ": " };
        let line = match lines.next(session, prompt).await? {
            Line::Text(line) => line,
            // Ctrl-C discards an incomplete expression; on an empty prompt it ends the command.
            Line::Interrupted if !text.is_empty() => {
                text.clear();
                continue;
            }
            Line::Interrupted | Line::End => break,
        };
        if text.is_empty() && line.trim() == "exit" {
            return Ok(OK);
        }
        text.push_str(&line);
        if text.trim().is_empty() {
            out.line("");
            text.clear();
            continue;
        }
        if text.len() < MAX_EXPRESSION && lang::syntax::is_incomplete(&text) {
            continue;
        }
        evaluate_line(session, &evaluator, std::mem::take(&mut text), person, out).await?;
    }
    if !text.is_empty() {
        evaluate_line(session, &evaluator, text, person, out).await?;
    }
    Ok(OK)
}

async fn evaluate_line(
    session: &mut Session,
    evaluator: &std::sync::Arc<Evaluator>,
    text: String,
    person: bool,
    out: &mut Output,
) -> Result<(), CliError> {
    let evaluator = evaluator.clone();
    // An evaluation may take long, and a signal must end the wait for it.
    let worked = tokio::task::spawn_blocking(move || {
        // A heredoc needs the line break after its end marker.
        let heredoc = text.contains("<<");
        evaluator.evaluate(if heredoc { &text } else { text.trim_end() })
    });
    match session.wait_outside_engine(worked).await? {
        Ok(Ok(value)) => out.line(&safe_lines(&value)),
        Ok(Err(diagnostics)) => {
            diagnostics.iter().for_each(|d| out.diagnostic_again(d));
            out.flush_diagnostics();
            // No operator can correct a piped line, so the exit code must report the error.
            if !person {
                return Err(CliError::AlreadyReported(ERROR));
            }
        }
        Err(e) => return Err(CliError::Unforeseen(e.into())),
    }
    Ok(())
}
