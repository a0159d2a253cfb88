//! `flightdeck history`: deploys, or one deploy.

use crate::cli::exit::{Ended, OK, fields};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::{Progress, ink_of};
use crate::cli::safe::{safe, safe_lines};
use crate::cli::session::{Session, settings};
use crate::cli::show;
use crate::cli::time::{duration, moment};
use crate::engine::settings::Access;
use crate::engine::words::{
    DeployId, DeployRecord, DeploySummary, Diagnostic, Operation, OperationState, StateChange,
    UnixMs,
};
use serde_json::{Value, json};

/// How many deploys a list shows.
const SHOWN: u32 = 1_000;

pub(super) async fn run(deploy: Option<DeployId>, out: &mut Output) -> Ended {
    let mut session = Session::start(settings("history", Access::ReadOnly, None)?, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let asked = async {
        let unknown = engine.unknown_outcomes().await?;
        let told = match deploy {
            Some(id) => Told::One(Box::new(engine.deploy_record(id).await?)),
            None => Told::All(
                engine.history(SHOWN).await?,
                engine.state_changes(SHOWN).await?,
            ),
        };
        Ok((told, unknown))
    };
    let answer = session.wait(out, &mut progress, asked).await;
    session.end(out).await;
    let (told, unknown) = answer?;
    let about = |d: &Diagnostic| match &told {
        Told::One(record) => record
            .operations
            .iter()
            .any(|o| Some(&o.address) == d.address.as_ref()),
        Told::All(..) => true,
    };
    unknown
        .iter()
        .filter(|d| about(d))
        .for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    match told {
        Told::One(record) => one(out, *record),
        Told::All(deploys, changes) => all(out, &deploys, &changes),
    }
    Ok(OK)
}

/// What was asked for.
enum Told {
    One(Box<DeployRecord>),
    All(Vec<DeploySummary>, Vec<StateChange>),
}

/// Deploys and changes of the state by hand, newest first.
fn all(out: &mut Output, deploys: &[DeploySummary], changes: &[StateChange]) {
    if out.json {
        out.result(
            "history",
            fields(json!({ "history": deploys, "state_changes": changes })),
        );
        return;
    }
    let mut lines: Vec<(UnixMs, String)> = deploys
        .iter()
        .map(|d| (d.began, show::deploy_line(d)))
        .collect();
    lines.extend(changes.iter().map(|c| {
        let who = format!("by {} on {}", safe(&c.who), safe(&c.host));
        (
            c.at,
            format!("      {}  {} {who}", moment(c.at), show::state_change(c)),
        )
    }));
    lines.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    if lines.is_empty() {
        out.line("no deploys yet");
    }
    lines.iter().for_each(|(_, line)| out.line(line));
}

fn one(out: &mut Output, record: DeployRecord) {
    if out.json {
        let mut entry = json!(record.summary);
        if let Value::Object(entry) = &mut entry {
            entry.insert("operation_list".into(), json!(record.operations));
        }
        out.result("history", fields(json!({ "history": [entry] })));
        return;
    }
    out.line(&show::deploy_line(&record.summary));
    for operation in &record.operations {
        operation_lines(out, operation);
    }
}

fn operation_lines(out: &mut Output, operation: &Operation) {
    let took = operation.took_ms.map_or_else(String::new, duration);
    let head = out.paint(
        ink_of(operation.action),
        &format!(
            "{:>5} {}",
            operation.action.sign(),
            safe(&operation.address)
        ),
    );
    let state = match operation.state {
        OperationState::HalfReplaced => out.paint(
            Ink::Red,
            &format!("{}: {}", operation.state.word(), operation.step),
        ),
        OperationState::Failed | OperationState::Unknown => {
            out.paint(Ink::Red, operation.state.word())
        }
        _ => operation.state.word().to_owned(),
    };
    let settled = operation
        .settled()
        .map_or_else(String::new, |how| format!(" ({})", safe(how)));
    out.line(format!("{head}  {state}{settled} {took}").trim_end());
    for warning in &operation.warnings {
        out.line(&format!("        warning: {}", safe_lines(warning)));
    }
    for beside in &operation.beside {
        out.line(&format!("        beside it: {}", safe(&beside.text())));
    }
    let Some(failure) = &operation.failure else {
        return;
    };
    out.line(&format!(
        "        {}: {}",
        failure.class.word(),
        safe(&failure.summary)
    ));
    for line in safe_lines(&failure.detail).lines() {
        out.line(&format!("        {line}"));
    }
}
