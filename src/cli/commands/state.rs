//! `flightdeck state`: shows, exports and changes the state.

mod adopt_store;
mod change;

pub(super) use change::{copy_into, state_file};

use super::files::{check, write_private};
use crate::cli::args::{StateCommand, UseState};
use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CliError, CommandResult, OK, fields};
use crate::cli::options::{ImportArgs, TaintArgs};
use crate::cli::output::{Ink, Output};
use crate::cli::session::{run_request, settings};
use crate::cli::show;
use crate::cli::signals::interruptible;
use crate::cli::suggest::nearest_word;
use engine::error::{EngineError, NotFound};
use engine::handle::Engine;
use model::settings::Access;
use model::{
    DriftKind, ImportObject, Observation, Readiness, StateChange, StateRow, connection_details,
    moment,
};
use serde_json::json;
use state::ConflictChoice;
use std::path::Path;

pub(super) async fn run(command: StateCommand, out: &mut Output) -> CommandResult {
    match command {
        StateCommand::List { filter, id, .. } => list(filter.as_deref(), id.as_deref(), out).await,
        StateCommand::Show { address, .. } => show(&address, out).await,
        StateCommand::Export { file } => export(file.as_deref(), out).await,
        StateCommand::Mv {
            from, to, dry_run, ..
        } => Box::pin(change::rename(from, to, dry_run, out)).await,
        StateCommand::ReplaceProvider {
            from,
            to,
            auto_approve,
            ..
        } => change::replace_provider(from, to, auto_approve, out).await,
        StateCommand::Pull => pull(out).await,
        StateCommand::Push { file, force, .. } => change::push(&file, force, out).await,
        StateCommand::Forget {
            addresses, dry_run, ..
        } => forget(addresses, dry_run, out).await,
        StateCommand::Import(args) => import("state import", args, out).await,
        StateCommand::Taint(args) => taint("state taint", args, true, out).await,
        StateCommand::Untaint(args) => taint("state untaint", args, false, out).await,
        StateCommand::AdoptStore {
            number,
            auto_approve,
            ..
        } => adopt_store::run(number, auto_approve, out).await,
        StateCommand::Use { which, force, .. } => use_state(which, force, out).await,
    }
}

async fn rows(access: Access, out: &mut Output) -> Result<Vec<StateRow>, CliError> {
    let settings = settings("state", access, None)?;
    let question = |engine: Engine| async move {
        let rows = engine.state_rows().await?;
        Ok((rows, engine.unknown_outcomes().await?))
    };
    let (rows, unknown) = run_request(settings, out, question).await?;
    unknown.iter().for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    Ok(rows)
}

pub(super) async fn import(
    command: &'static str,
    args: ImportArgs,
    out: &mut Output,
) -> CommandResult {
    let settings = settings(command, Access::ReadWrite, None)?;
    let object = ImportObject {
        address: args.address,
        id: args.id,
        variables: args.variables.flags,
    };
    let change = run_request(settings, out, |engine| async move {
        engine.import(object).await
    })
    .await;
    changed(command, vec![change?], out)
}

async fn forget(addresses: Vec<String>, dry_run: bool, out: &mut Output) -> CommandResult {
    let settings = settings("state forget", Access::ReadWrite, None)?;
    let changes = run_request(settings, out, |engine| async move {
        engine.forget(addresses, dry_run).await
    })
    .await;
    let changes = changes?;
    if !dry_run {
        return changed("state forget", changes, out);
    }
    out.flush_diagnostics();
    let result = json!({ "state_changes": &changes, "dry_run": true });
    out.result("state forget", fields(result));
    if !out.json {
        for change in &changes {
            out.line(&format!("{} would be forgotten", safe(&change.address)));
        }
    }
    Ok(OK)
}

pub(super) async fn taint(
    command: &'static str,
    args: TaintArgs,
    tainted: bool,
    out: &mut Output,
) -> CommandResult {
    let settings = settings(command, Access::ReadWrite, None)?;
    let address = args.address.clone();
    let change = run_request(settings, out, |engine| async move {
        engine.taint(address, tainted).await
    })
    .await;
    match change {
        Err(CliError::Engine(EngineError::NotFound(why @ NotFound::ToMark(_))))
            if args.allow_missing =>
        {
            out.stderr_line(&format!(
                "note: {}; nothing was changed",
                safe(&why.to_string())
            ));
            changed(command, Vec::new(), out)
        }
        change => changed(command, vec![change?], out),
    }
}

fn changed(command: &str, changes: Vec<StateChange>, out: &mut Output) -> CommandResult {
    out.flush_diagnostics();
    out.result(command, fields(json!({ "state_changes": &changes })));
    if !out.json {
        changes
            .iter()
            .for_each(|change| out.line(&show::state_change(change)));
    }
    Ok(OK)
}

fn drift_text(drift: DriftKind) -> &'static str {
    match drift {
        DriftKind::Gone => "deleted outside of flightdeck, as found by the last stage",
        _ => "changed outside of flightdeck, as found by the last stage",
    }
}

async fn list(filter: Option<&str>, id: Option<&str>, out: &mut Output) -> CommandResult {
    let mut rows = rows(Access::ReadOnly, out).await?;
    rows.retain(|row| filter.is_none_or(|part| row.address.contains(part)));
    if let Some(id) = id {
        // Attribute values of rows are JSON texts, so the id is compared as one.
        let wanted = serde_json::Value::from(id).to_string();
        let has_it = |(path, value): &(String, String)| path == "id" && *value == wanted;
        rows.retain(|row| row.attributes.iter().any(has_it));
    }
    out.result("state list", fields(json!({ "resources": &rows })));
    if out.json {
        return Ok(OK);
    }
    for row in &rows {
        let tainted = if row.tainted {
            out.paint(Ink::Magenta, "  tainted")
        } else {
            String::new()
        };
        let drift = row
            .drift
            .map(|d| out.paint(Ink::Yellow, &format!("  {}", drift_text(d))))
            .unwrap_or_default();
        let observation = row.observation.as_ref();
        let facts = observation.map_or_else(String::new, |o| deviation(o, row.drift.is_some()));
        out.line(&format!("{}{tainted}{drift}{facts}", safe(&row.id())));
    }
    Ok(OK)
}

/// Facts about an object that are not as usual, after its address. Without its existence and drift
/// if the newest stage has found them.
fn deviation(o: &Observation, of_stage: bool) -> String {
    let mut facts = Vec::new();
    if !o.exists && !of_stage {
        facts.push("does not exist".to_owned());
    }
    let readiness = o.readiness.filter(|r| *r != Readiness::Available);
    facts.extend(readiness.map(|r| r.label().to_owned()));
    if !o.drift.is_empty() && !of_stage {
        facts.push(aspects(o));
    }
    match facts.is_empty() {
        true => String::new(),
        false => format!("  {} (read {})", facts.join(", "), moment(o.at)),
    }
}

fn aspects(o: &Observation) -> String {
    let labels: Vec<&str> = o.drift.iter().map(|aspect| aspect.label()).collect();
    labels.join(", ")
}

async fn show(address: &str, out: &mut Output) -> CommandResult {
    let rows = rows(Access::ReadOnly, out).await?;
    // Several, because deposed objects have the address of the current one.
    let found: Vec<&StateRow> = rows.iter().filter(|row| row.address == address).collect();
    if found.is_empty() {
        let near = nearest_word(address, rows.iter().map(|r| r.address.as_str()));
        let hint = near.map_or_else(
            || "run `flightdeck state list` to list all addresses".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(CliError::missing(format!("{} is not in the state", safe(address))).hint(hint));
    }
    if out.json_file.is_some() && out.flags.show_sensitive {
        // The file of `--json-into` never gets sensitive values: rows are read again without them.
        out.flags.show_sensitive = false;
        let masked = self::rows(Access::ReadOnly, out).await;
        out.flags.show_sensitive = true;
        let masked: Vec<StateRow> = masked?
            .into_iter()
            .filter(|row| row.address == address)
            .collect();
        out.result("state show", fields(json!({ "resources": masked })));
    } else {
        out.result("state show", fields(json!({ "resources": &found })));
    }
    if out.json {
        return Ok(OK);
    }
    found.into_iter().for_each(|row| instance(row, out));
    Ok(OK)
}

/// Prints one instance with its attributes.
fn instance(row: &StateRow, out: &mut Output) {
    let head = out.paint(Ink::Bold, &safe(&row.id()));
    out.line(&head);
    out.line(&format!("  provider   {}", safe(&row.provider)));
    if row.tainted {
        let line = out.paint(Ink::Magenta, "  tainted    will be replaced");
        out.line(&line);
    }
    if let Some(drift) = row.drift {
        let line = out.paint(Ink::Yellow, &format!("  drift      {}", drift_text(drift)));
        out.line(&line);
    }
    if let Some(o) = &row.observation {
        let exists = if o.exists { "yes" } else { "no" };
        out.line(&format!("  exists     {exists}, read {}", moment(o.at)));
        if let Some(readiness) = o.readiness {
            let status = o.status.as_ref().map(|s| format!(", status {}", safe(s)));
            out.line(&format!(
                "  ready      {}, since {}{}",
                readiness.label(),
                moment(o.since),
                status.unwrap_or_default()
            ));
        }
        if !o.drift.is_empty() {
            out.line(&format!("  aspects    {}", aspects(o)));
        }
    }
    for (label, all) in [("needs", &row.dependencies), ("needed by", &row.dependents)] {
        if !all.is_empty() {
            out.line(&format!("  {label:<10} {}", safe(&all.join(", "))));
        }
    }
    for (path, value) in connection_details(&row.attributes) {
        out.line(&format!(
            "  connection {} = {}",
            safe(path),
            safe_lines(value)
        ));
    }
    for (path, value) in row.attributes.iter() {
        out.line(&format!(
            "  {} = {}",
            safe(path),
            safe_lines(value).replace('\n', "\n    ")
        ));
    }
}

/// Prints the complete state: instances with attributes, then the outputs.
pub(super) async fn show_all(out: &mut Output) -> CommandResult {
    let rows = rows(Access::ReadState, out).await?;
    show_rows(&rows, out);
    super::output::run(None, (false, false), out).await
}

/// Prints each instance with its attributes.
pub(super) fn show_rows(rows: &[StateRow], out: &mut Output) {
    if rows.is_empty() {
        out.stderr_line("the state has no objects");
    }
    rows.iter().for_each(|row| instance(row, out));
}

async fn use_state(which: UseState, force: bool, out: &mut Output) -> CommandResult {
    let settings = settings("state use", Access::ReadWrite, None)?;
    let (with, word) = match which {
        UseState::Backend => (ConflictChoice::Backend, "the state in the backend"),
        UseState::Record => (ConflictChoice::Record { force }, "the state in the store"),
    };
    let kept = run_request(settings, out, |engine| async move {
        engine.use_state(with).await
    })
    .await;
    let kept = kept?.map(|file| file.display().to_string());
    out.result("state use", fields(json!({ "kept": &kept })));
    if out.json {
        return Ok(OK);
    }
    match kept {
        Some(file) => out.line(&format!(
            "using {word} from now on; the other state was saved to {}",
            safe(&file)
        )),
        None => out.line(&format!(
            "using {word} from now on; there was no other state"
        )),
    }
    Ok(OK)
}

async fn pull(out: &mut Output) -> CommandResult {
    let settings = settings("state pull", Access::ReadOnly, None)?;
    let state = run_request(settings, out, |engine| async move {
        engine.export_state().await
    })
    .await;
    let state = state?;
    // As in OpenTofu, an empty state prints nothing.
    if state.serial > 0 {
        out.write((state.to_line() + "\n").as_bytes());
    }
    Ok(OK)
}

async fn export(file: Option<&Path>, out: &mut Output) -> CommandResult {
    let file = file.filter(|file| *file != Path::new("-"));
    // Refused before the engine starts.
    file.map_or(Ok(()), check)?;
    let settings = settings("state", Access::ReadOnly, None)?;
    let state = run_request(settings, out, |engine| async move {
        engine.export_state().await
    })
    .await;
    let text = state?.to_local();
    match file {
        Some(file) => interruptible(write_private(file, text)).await??,
        None => out.line(text.trim_end()),
    }
    Ok(OK)
}
