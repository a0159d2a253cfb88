//! `flightdeck state`: look at the state, export it, change it by hand.

use super::files::write_private;
use super::not_yet;
use crate::cli::args::StateCommand;
use crate::cli::exit::{CliError, Ended, OK, fields};
use crate::cli::options::{ImportArgs, TaintArgs};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::safe::{safe, safe_lines};
use crate::cli::session::{Session, settings};
use crate::cli::show;
use crate::cli::suggest::nearest;
use crate::engine::settings::Access;
use crate::engine::words::{DriftKind, ImportObject, StateChange, StateRow};
use serde_json::json;
use std::path::Path;

pub(super) async fn run(command: StateCommand, out: &mut Output) -> Ended {
    match command {
        StateCommand::List { filter, .. } => list(filter.as_deref(), out).await,
        StateCommand::Show { address, .. } => show(&address, out).await,
        StateCommand::Export { file } => export(file.as_deref(), out).await,
        StateCommand::Mv { .. } => Err(not_yet(
            "state mv",
            "a `moved` block in the configuration gives an object another address",
        )),
        StateCommand::Forget { addresses, .. } => forget(addresses, out).await,
        StateCommand::Import(args) => import(args, out).await,
        StateCommand::Taint(args) => taint("state taint", args, true, out).await,
        StateCommand::Untaint(args) => taint("state untaint", args, false, out).await,
        StateCommand::Adopt { .. } => Err(not_yet(
            "state adopt",
            "keep working on that state with the tool that wrote it",
        )),
    }
}

async fn rows(out: &mut Output) -> Result<Vec<StateRow>, CliError> {
    let mut session = Session::start(settings("state", Access::ReadOnly, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let answer = async {
        let rows = engine.state_rows().await?;
        Ok((rows, engine.unknown_outcomes().await?))
    };
    let answer = session.wait(out, &mut progress, answer).await;
    session.end(out).await;
    let (rows, unknown) = answer?;
    unknown.iter().for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    Ok(rows)
}

async fn import(args: ImportArgs, out: &mut Output) -> Ended {
    let mut session = Session::start(settings("state import", Access::ReadWrite, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let object = ImportObject {
        address: args.address,
        id: args.id,
        vars: args.variables.vars,
        var_files: args.variables.var_files,
    };
    let change = session
        .wait(out, &mut progress, engine.import(object))
        .await;
    session.end(out).await;
    changed("state import", vec![change?], out)
}

async fn forget(addresses: Vec<String>, out: &mut Output) -> Ended {
    let mut session = Session::start(settings("state forget", Access::ReadWrite, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let changes = session
        .wait(out, &mut progress, engine.forget(addresses))
        .await;
    session.end(out).await;
    changed("state forget", changes?, out)
}

async fn taint(command: &'static str, args: TaintArgs, tainted: bool, out: &mut Output) -> Ended {
    let mut session = Session::start(settings(command, Access::ReadWrite, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let change = session
        .wait(out, &mut progress, engine.taint(args.address, tainted))
        .await;
    session.end(out).await;
    changed(command, vec![change?], out)
}

fn changed(command: &str, changes: Vec<StateChange>, out: &mut Output) -> Ended {
    out.flush_diagnostics();
    if out.json {
        out.result(command, fields(json!({ "state_changes": changes })));
    } else {
        changes
            .iter()
            .for_each(|change| out.line(&show::state_change(change)));
    }
    Ok(OK)
}

fn drift_said(drift: DriftKind) -> &'static str {
    match drift {
        DriftKind::Gone => "gone: the last stage did not find it any more",
        _ => "changed outside of flightdeck, as the last stage found",
    }
}

async fn list(filter: Option<&str>, out: &mut Output) -> Ended {
    let mut rows = rows(out).await?;
    rows.retain(|row| filter.is_none_or(|part| row.address.contains(part)));
    if out.json {
        out.result("state list", fields(json!({ "resources": rows })));
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
            .map(|d| out.paint(Ink::Yellow, &format!("  {}", drift_said(d))))
            .unwrap_or_default();
        out.line(&format!("{}{tainted}{drift}", safe(&row.id())));
    }
    Ok(OK)
}

async fn show(address: &str, out: &mut Output) -> Ended {
    let rows = rows(out).await?;
    let found: Vec<&StateRow> = rows.iter().filter(|row| row.address == address).collect();
    if found.is_empty() {
        let near = nearest(address, rows.iter().map(|r| r.address.as_str()));
        let hint = near.map_or_else(
            || "`flightdeck state list` shows what there is".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(CliError::Refused(format!(
            "{address} is not in the state; {hint}"
        )));
    }
    if out.json {
        out.result("state show", fields(json!({ "resources": found })));
        return Ok(OK);
    }
    for row in found {
        let head = out.paint(Ink::Bold, &safe(&row.id()));
        out.line(&head);
        out.line(&format!("  provider   {}", safe(&row.provider)));
        if row.tainted {
            let line = out.paint(Ink::Magenta, "  tainted    will be replaced");
            out.line(&line);
        }
        if let Some(drift) = row.drift {
            let line = out.paint(Ink::Yellow, &format!("  drift      {}", drift_said(drift)));
            out.line(&line);
        }
        for (label, all) in [("needs", &row.dependencies), ("needed by", &row.dependents)] {
            if !all.is_empty() {
                out.line(&format!("  {label:<10} {}", safe(&all.join(", "))));
            }
        }
        for (path, value) in &row.attributes {
            out.line(&format!(
                "  {} = {}",
                safe(path),
                safe_lines(value).replace('\n', "\n    ")
            ));
        }
    }
    Ok(OK)
}

async fn export(file: Option<&Path>, out: &mut Output) -> Ended {
    let mut session = Session::start(settings("state", Access::ReadOnly, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let state = session
        .wait(out, &mut progress, engine.export_state())
        .await;
    session.end(out).await;
    let text = format!("{:#}\n", state?);
    match file {
        Some(file) => write_private(file, &text)?,
        None => out.line(text.trim_end()),
    }
    Ok(OK)
}
