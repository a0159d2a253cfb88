//! `flightdeck workspace` and `flightdeck force-unlock`: manages the workspaces of a directory, and
//! releases a stale state lock.

use super::state;
use crate::cli::confirmation::confirm;
use crate::cli::escape::safe;
use crate::cli::exit::{CliError, CommandResult, ERROR, OK, fields};
use crate::cli::options::WorkspaceCommand;
use crate::cli::output::Output;
use crate::cli::session::settings;
use crate::cli::signals::{Signals, interruptible};
use engine::install::convert_init_error;
use model::settings::Access;
use serde_json::json;
use std::path::PathBuf;
use workspace::initialize::InitError;
use workspace::workspaces;

/// Returns the directory and the selected workspace.
fn current_workspace(command: &str) -> Result<(PathBuf, String), CliError> {
    let settings = settings(command, Access::ReadOnly, None)?;
    let name = if settings.workspace_name.is_empty() {
        model::DEFAULT_WORKSPACE.to_owned()
    } else {
        settings.workspace_name
    };
    Ok((settings.workspace, name))
}

fn convert_error(error: InitError) -> CliError {
    CliError::Engine(convert_init_error(error))
}

/// Waits for a backend until a signal arrives.
async fn until_signal<T>(asked: impl Future<Output = Result<T, InitError>>) -> Result<T, CliError> {
    interruptible(asked).await?.map_err(convert_error)
}

pub(super) async fn run(command: WorkspaceCommand, out: &mut Output) -> CommandResult {
    let (dir, selected) = current_workspace("workspace")?;
    let asked = out.flags.request();
    let locking = out.flags.locking();
    match command {
        WorkspaceCommand::Show => out.line(&safe(&selected)),
        WorkspaceCommand::List { json } => {
            let names = until_signal(workspaces::list(&dir, &asked)).await?;
            if json {
                let all = json!({ "workspaces": names, "current_workspace": selected });
                out.line(&all.to_string());
                return Ok(OK);
            }
            for name in &names {
                let mark = if *name == selected { "*" } else { " " };
                out.line(&format!("{mark} {}", safe(name)));
            }
        }
        WorkspaceCommand::New { name, .. } => {
            // TF_WORKSPACE would override the selection, so it is refused.
            workspaces::check_selectable().map_err(convert_error)?;
            let state = out.flags.state.state.take();
            // The state file is read before the workspace is created, so that an unreadable file
            // creates nothing.
            let state = state.as_deref().map(state::state_file).transpose()?;
            until_signal(workspaces::create(&dir, &name, &asked, &locking)).await?;
            if let Some(state) = state {
                Box::pin(state::copy_into(&name, state, out)).await?;
            }
            workspaces::select(&dir, &name).map_err(convert_error)?;
            done("workspace new", &name, "was created and selected", out);
        }
        WorkspaceCommand::Select {
            name, or_create, ..
        } => {
            workspaces::check_selectable().map_err(convert_error)?;
            let there = until_signal(workspaces::exists(&dir, &name, &asked)).await?;
            if !there && !or_create {
                let why = format!("there is no workspace {name:?}");
                return Err(CliError::missing(why).hint("run `flightdeck workspace list` to list workspaces, or add --or-create to create this one"));
            }
            if !there {
                until_signal(workspaces::create(&dir, &name, &asked, &locking)).await?;
            }
            workspaces::select(&dir, &name).map_err(convert_error)?;
            done("workspace select", &name, "is selected", out);
        }
        WorkspaceCommand::Delete { name, force, .. } => {
            until_signal(workspaces::delete(&dir, &name, force, &asked, &locking)).await?;
            done("workspace delete", &name, "was deleted with its state", out);
        }
    }
    Ok(OK)
}

/// Prints the result of a workspace command.
fn done(command: &str, name: &str, what: &str, out: &mut Output) {
    out.result(command, fields(json!({ "workspace": name })));
    if !out.json {
        out.line(&format!("workspace {} {what}", safe(name)));
    }
}

pub(super) async fn force_unlock(id: &str, force: bool, out: &mut Output) -> CommandResult {
    let settings = settings("force-unlock", Access::ReadOnly, None)?;
    if !force {
        out.stderr_line(
            "If the lock's owner still runs, it can overwrite the state that others write.",
        );
        let question = format!("Release lock {id}?");
        if !confirm(&question, "add --force", &mut Signals::listen()?, out).await? {
            out.stderr_line("the lock was not released");
            return Err(CliError::AlreadyReported(ERROR));
        }
    }
    let asked = out.flags.request();
    let unlocked =
        workspaces::force_unlock(&settings.workspace, &settings.workspace_name, id, &asked);
    until_signal(unlocked).await?;
    out.result("force-unlock", fields(json!({ "id": id })));
    if !out.json {
        out.line(&format!("released the lock {}", safe(id)));
    }
    Ok(OK)
}
