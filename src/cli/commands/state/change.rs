//! State changes that leave objects untouched: new addresses, other providers, or a pushed state.

use super::changed;
use crate::cli::escape::{safe, safe_path};
use crate::cli::exit::{CliError, CommandResult, ERROR, OK, fields};
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, run_request, settings};
use crate::cli::signals;
use model::StateChange;
use model::settings::Access;
use serde_json::json;
use std::io::Read;
use std::path::Path;

pub(super) async fn rename(
    from: String,
    to: String,
    dry_run: bool,
    out: &mut Output,
) -> CommandResult {
    let command = "state mv";
    let settings = settings(command, Access::ReadWrite, None)?;
    let changes = run_request(settings, out, |engine| async move {
        engine.rename(from, to, dry_run).await
    })
    .await;
    report_changes(command, changes?, dry_run, out)
}

pub(super) async fn replace_provider(
    from: String,
    to: String,
    auto_approve: bool,
    out: &mut Output,
) -> CommandResult {
    let command = "state replace-provider";
    let mut session = Session::start(settings(command, Access::ReadWrite, None)?, out).await?;
    let replaced = replace(&mut session, (from, to), auto_approve, out).await;
    session.finish(out).await;
    match replaced? {
        changes if changes.is_empty() && !out.json => {
            out.line("no object of the state belongs to that provider; nothing was changed");
            out.result(command, fields(json!({ "state_changes": [] })));
            Ok(OK)
        }
        changes => changed(command, changes, out),
    }
}

/// Shows the affected objects, asks for a confirmation if needed, and changes them.
async fn replace(
    session: &mut Session,
    (from, to): (String, String),
    auto_approve: bool,
    out: &mut Output,
) -> Result<Vec<StateChange>, CliError> {
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    if !auto_approve {
        // A dry run lists the objects that the confirmation is about.
        let would = engine.replace_provider(from.clone(), to.clone(), true);
        let would = session.wait(out, &mut progress, would).await?;
        if would.is_empty() {
            return Ok(would);
        }
        for change in &would {
            out.stderr_line(&format!(
                "{} of {}",
                safe(&change.address),
                safe(change.provider.as_deref().unwrap_or_default())
            ));
        }
        let question = format!(
            "Change the provider of these {} objects to {to}?",
            would.len()
        );
        if !session
            .confirm(&question, "add --auto-approve", out)
            .await?
        {
            out.stderr_line("nothing was changed");
            return Err(CliError::AlreadyReported(ERROR));
        }
    }
    let replaced = engine.replace_provider(from, to, false);
    session.wait(out, &mut progress, replaced).await
}

/// Maximum size of a pushed state, in bytes.
const MAX_PUSHED: u64 = 1 << 30;

/// Reads a state file, or standard input for `-`.
pub(in crate::cli::commands) fn state_file(file: &Path) -> Result<Vec<u8>, CliError> {
    let read = if file == Path::new("-") {
        let mut text = Vec::new();
        // One byte more than the limit shows that the input is too large.
        let mut stdin = std::io::stdin().take(MAX_PUSHED + 1);
        match stdin.read_to_end(&mut text) {
            Ok(_) if text.len() as u64 > MAX_PUSHED => {
                Err(std::io::Error::other("it is larger than 1 GiB"))
            }
            read => read.map(|_| text),
        }
    } else {
        fsroot::read_input(file, MAX_PUSHED, &signals::was_signalled)
    };
    read.map_err(|e| {
        CliError::io(format!("cannot read {}: {e}", safe_path(file)))
            .hint("name a state file, or `-` for standard input")
    })
}

/// Copies a state into a new workspace.
pub(in crate::cli::commands) async fn copy_into(
    workspace: &str,
    text: Vec<u8>,
    out: &mut Output,
) -> Result<(), CliError> {
    let mut settings = settings("workspace new", Access::ReadWrite, None)?;
    workspace.clone_into(&mut settings.workspace_name);
    let pushed = run_request(settings, out, |engine| async move {
        // Forced, because the lineage cannot match that of a new workspace.
        engine.push_state(text, true).await
    })
    .await;
    pushed.map(drop)
}

pub(super) async fn push(file: &Path, force: bool, out: &mut Output) -> CommandResult {
    let command = "state push";
    let text = state_file(file)?;
    let settings = settings(command, Access::ReadWrite, None)?;
    let pushed = run_request(settings, out, |engine| async move {
        engine.push_state(text, force).await
    })
    .await;
    match pushed? {
        None if !out.json => {
            out.line("the workspace already has this state; nothing was changed");
            out.result(command, fields(json!({ "state_changes": [] })));
            Ok(OK)
        }
        pushed => changed(command, pushed.into_iter().collect(), out),
    }
}

/// Reports renamed instances, or those that would be renamed.
fn report_changes(
    command: &str,
    changes: Vec<StateChange>,
    dry_run: bool,
    out: &mut Output,
) -> CommandResult {
    if !dry_run {
        return changed(command, changes, out);
    }
    out.flush_diagnostics();
    let said = json!({ "state_changes": &changes, "dry_run": true });
    out.result(command, fields(said));
    if !out.json {
        for change in &changes {
            let to = change.to.as_deref().unwrap_or_default();
            out.line(&format!(
                "{} would move to {}",
                safe(&change.address),
                safe(to)
            ));
        }
    }
    Ok(OK)
}
