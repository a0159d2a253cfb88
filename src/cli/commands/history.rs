//! `flightdeck history`: deploys, or one deploy.

use crate::cli::exit::{Ended, OK, fields};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::{Progress, ink_of};
use crate::cli::safe::safe;
use crate::cli::session::{Session, settings};
use crate::cli::show;
use crate::cli::time::duration;
use crate::engine::api::DeployRecord;
use crate::engine::event::{DeployId, Operation, OperationState};
use crate::engine::settings::Access;
use serde_json::{Value, json};

/// How many deploys a list shows.
const SHOWN: u32 = 1_000;

pub(super) async fn run(deploy: Option<DeployId>, out: &mut Output) -> Ended {
    let mut session = Session::start(settings("history", Access::ReadOnly, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let told = match deploy {
        Some(id) => session.wait(out, &mut progress, engine.deploy_record(id)).await.map(|record| one(out, record)),
        None => session.wait(out, &mut progress, engine.history(SHOWN)).await.map(|all| {
            if out.json {
                out.result("history", fields(json!({ "history": all })));
            } else if all.is_empty() {
                out.line("no deploys yet");
            } else {
                all.iter().for_each(|d| out.line(&show::deploy_line(d)));
            }
        }),
    };
    session.end(out).await;
    told?;
    Ok(OK)
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
    let head = out.paint(ink_of(operation.action), &format!("{:>5} {}", operation.action.sign(), safe(&operation.address)));
    let state = match operation.state {
        OperationState::Failed | OperationState::Unknown => out.paint(Ink::Red, operation.state.word()),
        _ => operation.state.word().to_owned(),
    };
    out.line(format!("{head}  {state} {took}").trim_end());
    let Some(failure) = &operation.failure else { return };
    out.line(&format!("        {}: {}", failure.class.word(), safe(&failure.summary)));
    for line in safe(&failure.detail).lines() {
        out.line(&format!("        {line}"));
    }
}
