//! `flightdeck selections`: lists, saves and deletes saved selections. `stage` and `deploy` load
//! one with `--selection`.

use crate::cli::escape::safe;
use crate::cli::exit::{CliError, CommandResult, OK, fields, plain_diagnostic};
use crate::cli::options::{SelectionsArgs, SelectionsCommand};
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::time::format_local;
use engine::Engine;
use engine::error::EngineError;
use model::settings::Access;
use model::{SavedSelection, Select, Severity, StageId, StageSummary};
use serde_json::json;
use std::sync::Arc;

/// Maximum number of addresses that a warning names.
const NAMED: usize = 10;

pub(super) async fn run(args: SelectionsArgs, out: &mut Output) -> CommandResult {
    let access = match args.command {
        None => Access::ReadOnly,
        Some(_) => Access::ReadWrite,
    };
    let mut session = Session::start(settings("selections", access, None)?, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let done = session
        .wait(out, &mut progress, execute(&engine, args.command))
        .await;
    session.finish(out).await;
    match done? {
        Done::Listed(all) => print_all(out, &all),
        Done::Saved(saved) => {
            out.result("selections", fields(json!({ "saved": saved })));
            if !out.json {
                out.line(&format!("saved {}", describe(&saved)));
            }
        }
        Done::Deleted(name) => {
            out.result("selections", fields(json!({ "deleted": name })));
            if !out.json {
                out.line(&format!("deleted the selection {}", safe(&name)));
            }
        }
    }
    Ok(OK)
}

/// Result of a command.
enum Done {
    Listed(Vec<SavedSelection>),
    Saved(SavedSelection),
    Deleted(String),
}

async fn execute(engine: &Engine, command: Option<SelectionsCommand>) -> Result<Done, EngineError> {
    Ok(match command {
        None => Done::Listed(engine.saved_selections().await?),
        Some(SelectionsCommand::Save { name, stage }) => {
            let stage = match stage {
                Some(stage) => stage,
                None => engine.stored_stage(None).await?.stage,
            };
            Done::Saved(engine.save_selection(stage, &name).await?)
        }
        Some(SelectionsCommand::Delete { name }) => {
            engine.delete_selection(&name).await?;
            Done::Deleted(name)
        }
    })
}

fn describe(s: &SavedSelection) -> String {
    let n = s.addresses.len();
    let changes = if n == 1 { "change" } else { "changes" };
    format!("{}  {n} {changes}  {}", safe(&s.name), format_local(s.at))
}

fn print_all(out: &mut Output, all: &[SavedSelection]) {
    out.result("selections", fields(json!({ "selections": all })));
    if out.json {
        return;
    }
    if all.is_empty() {
        out.line("no saved selections");
    }
    for selection in all {
        out.line(&describe(selection));
    }
}

/// Checks that a saved selection exists, before a stage is planned for it.
pub(super) async fn check(
    session: &mut Session,
    progress: &mut Progress,
    name: Option<&str>,
    out: &mut Output,
) -> Result<(), CliError> {
    let engine = session.engine.clone();
    if let Some(name) = name {
        let saved = engine.saved_selection(name);
        session.wait(out, progress, saved).await?;
    }
    Ok(())
}

/// Error if a stage has none of the saved changes.
fn nothing_to_select(stage: StageId, name: &str) -> CliError {
    let why = format!("stage #{stage} has no change of the selection {name:?}");
    CliError::missing(why)
        .hint("run `flightdeck selections save NAME` to save the selection of a stage")
}

/// Loads a saved selection into a stage. Returns the stage with this selection.
///
/// # Errors
/// There is no such selection, or the stage has none of its changes.
pub(super) async fn load(
    session: &mut Session,
    progress: &mut Progress,
    (stage, name): (StageId, &str),
    out: &mut Output,
) -> Result<Arc<StageSummary>, CliError> {
    let engine = session.engine.clone();
    let reading = async {
        let saved = engine.saved_selection(name).await?;
        Ok((saved, engine.stored_stage(Some(stage)).await?))
    };
    let (saved, summary) = session.wait(out, progress, reading).await?;
    // Before the selection of the stage is replaced.
    let is_here = |address: &String| summary.changes.iter().any(|c| c.address == *address);
    if !saved.addresses.iter().any(is_here) {
        return Err(nothing_to_select(stage, name));
    }
    let loading = async {
        let only = Select::Only(saved.addresses.clone());
        let selection = engine.select(stage, only).await?;
        Ok((selection, engine.stored_stage(Some(stage)).await?))
    };
    let (selection, summary) = session.wait(out, progress, loading).await?;
    let missing = saved.missing(&selection);
    if missing.len() == saved.addresses.len() {
        return Err(nothing_to_select(stage, name));
    }
    if !missing.is_empty() {
        let mut lines: Vec<String> = missing.iter().take(NAMED).map(|a| safe(a).into()).collect();
        if missing.len() > NAMED {
            lines.push(format!("and {} more", missing.len() - NAMED));
        }
        let (n, all) = (missing.len(), saved.addresses.len());
        let mut warning = plain_diagnostic(&format!(
            "{n} of {all} changes of the selection {name:?} are not in stage #{stage}"
        ));
        (warning.severity, warning.detail) = (Severity::Warning, lines.join("\n"));
        out.diagnostic(&warning);
    }
    Ok(summary)
}
