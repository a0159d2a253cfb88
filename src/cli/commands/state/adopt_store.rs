//! `flightdeck state adopt-store`: takes a store that was set aside, after a confirmation. Starts
//! no engine, which would open the present store.

use crate::cli::confirmation::confirm;
use crate::cli::escape::{safe, safe_path};
use crate::cli::exit::{CliError, CommandResult, ERROR, OK, fields};
use crate::cli::output::Output;
use crate::cli::signals::Signals;
use engine::workspace_store::{store_key, unwritten_outcomes};
use serde_json::json;

pub(super) async fn run(
    number: Option<u32>,
    auto_approve: bool,
    out: &mut Output,
) -> CommandResult {
    let here = std::env::current_dir().map_err(|e| {
        CliError::io(format!("cannot determine the current directory: {e}"))
            .hint("change to another directory, or use -C DIR")
    })?;
    let key = store_key(&here).map_err(CliError::Engine)?;
    let Some(number) = number.or_else(|| key.all_aside().pop()) else {
        return Err(CliError::usage("no store is set aside in this directory")
            .hint("run the command in the directory of the workspace"));
    };
    let place = safe_path(&key.aside(number));
    let outcomes = unwritten_outcomes(&key, number).await;
    for line in &outcomes {
        out.stderr_line(&format!("{place}: {}", safe(line)));
    }
    if !auto_approve {
        let question = format!(
            "Use the store in {place}? Its copy of the state can be written to the backend, and its secrets and records count as yours."
        );
        let mut signals = Signals::listen()?;
        let instead = "pass --auto-approve";
        if !confirm(&question, instead, &mut signals, out).await? {
            out.stderr_line("nothing was changed");
            return Err(CliError::AlreadyReported(ERROR));
        }
    }
    let former = key.adopt(number).map_err(|e| CliError::io(e.to_string()))?;
    let former = former.map(|number| safe_path(&key.aside(number)));
    out.result(
        "state adopt-store",
        fields(json!({ "adopted": &place, "set_aside": &former })),
    );
    if !out.json {
        out.line(&format!("using the store of {place} from now on"));
        if let Some(former) = former {
            out.line(&format!("the store that was in use is now in {former}"));
        }
    }
    Ok(OK)
}
