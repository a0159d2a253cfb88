//! `flightdeck history`: lists deploys, or shows one deploy.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CommandResult, OK, fields};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::{Progress, ink_of};
use crate::cli::session::{Session, settings};
use crate::cli::show;
use crate::cli::time::format_local;
use model::settings::Access;
use model::view::View;
use model::{
    Action, ChangeView, ComparedOperation, DeployComparison, DeployId, DeployOutcome, DeployRecord,
    DeploySummary, Diagnostic, DifferenceKind, Event, Operation, OperationState, StageSummary,
    StateChange, StateEditView, UnixMs, duration,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Maximum number of deploys in the list.
const MAX_DEPLOYS: u32 = 1_000;

pub(super) async fn run(
    deploy: Option<DeployId>,
    compare: Option<DeployId>,
    out: &mut Output,
) -> CommandResult {
    let mut session = Session::start(settings("history", Access::ReadOnly, None)?, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let asked = async {
        // Unknown outcomes are reported with every history, because they block creates.
        let unknown = engine.unknown_outcomes().await?;
        let told = match (deploy, compare) {
            (Some(one), Some(other)) => {
                let compared = engine.compare_deploys(one.min(other), one.max(other));
                Answer::Comparison(Box::new(compared.await?))
            }
            (Some(id), None) => {
                let record = engine.deploy_record(id).await?;
                // Old stages are not stored any more; the operations are shown without them.
                let stage = engine.stored_stage(Some(record.summary.stage)).await.ok();
                let edits = stage.map(|stage| StateEdits::of(&record, &stage));
                Answer::One(Box::new((record, edits.unwrap_or_default())))
            }
            (None, _) => Answer::All(
                engine.history(MAX_DEPLOYS).await?,
                engine.state_changes(MAX_DEPLOYS).await?,
            ),
        };
        Ok((told, unknown))
    };
    let answer = session.wait(out, &mut progress, asked).await;
    session.finish(out).await;
    let (told, unknown) = answer?;
    let about = |d: &Diagnostic| match &told {
        Answer::One(one) => one
            .0
            .operations
            .iter()
            .any(|o| Some(&o.address) == d.address.as_ref()),
        Answer::Comparison(_) => false,
        Answer::All(..) => true,
    };
    unknown
        .iter()
        .filter(|d| about(d))
        .for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    match told {
        Answer::One(one) => print_deploy(out, one.0, &one.1),
        Answer::Comparison(compared) => print_comparison(out, &compared),
        Answer::All(deploys, changes) => all(out, &deploys, &changes),
    }
    Ok(OK)
}

/// Content of the answer.
enum Answer {
    One(Box<(DeployRecord, StateEdits)>),
    Comparison(Box<DeployComparison>),
    All(Vec<DeploySummary>, Vec<StateChange>),
}

/// Prints deploys and manual changes of the state, newest first.
fn all(out: &mut Output, deploys: &[DeploySummary], changes: &[StateChange]) {
    if out.json {
        out.result(
            "history",
            fields(json!({ "history": deploys, "state_changes": changes })),
        );
        return;
    }
    let deploys = deploys.iter().map(|d| (d.began, show::deploy_line(d)));
    let changes = changes.iter().map(|c| {
        let who = format!("by {} on {}", safe(&c.who), safe(&c.host));
        (
            c.at,
            format!(
                "      {}  {} {who}",
                format_local(c.at),
                show::state_change(c)
            ),
        )
    });
    let lines = merged(deploys.collect(), changes.collect());
    if lines.is_empty() {
        out.line("no deploys yet");
    }
    lines.iter().for_each(|line| out.line(line));
}

/// Merges two lists and keeps the order of each. Times decide only between the lists, because the
/// clock may have been set back.
fn merged<T>(one: Vec<(UnixMs, T)>, other: Vec<(UnixMs, T)>) -> Vec<T> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    loop {
        // At equal times the first list goes first.
        let next = match (one.peek(), other.peek()) {
            (Some((a, _)), Some((b, _))) if a < b => other.next(),
            (Some(_), _) => one.next(),
            (None, _) => other.next(),
        };
        match next {
            Some((_, item)) => all.push(item),
            None => return all,
        }
    }
}

/// Edits of the state that a deploy makes beside its operations, from its stage.
#[derive(Default, Serialize)]
struct StateEdits {
    /// Former and new address.
    moves: Vec<[String; 2]>,
    forgotten: Vec<String>,
    /// Names of the outputs that change.
    outputs: Vec<String>,
    /// Edits of further records, by kind.
    state_edits: Vec<StateEditView>,
}

impl StateEdits {
    fn of(record: &DeployRecord, stage: &StageSummary) -> Self {
        let left: BTreeSet<String> = stage.left.iter().cloned().collect();
        let operated: BTreeSet<&str> = record.operations.iter().map(|o| &*o.address).collect();
        let selected = |change: &&ChangeView| !left.contains(&change.address);
        let moved = |change: &ChangeView| {
            let from = change.previous_address.clone()?;
            Some([from, change.address.clone()])
        };
        let forgotten = stage.changes.iter().filter(selected).filter(|change| {
            change.action == Action::Forget && !operated.contains(&*change.address)
        });
        Self {
            moves: stage.moves().filter(selected).filter_map(moved).collect(),
            forgotten: forgotten.map(|change| change.address.clone()).collect(),
            outputs: stage
                .changed_outputs(&left)
                .map(|output| output.name.clone())
                .collect(),
            state_edits: stage.state_edits.clone(),
        }
    }

    fn print(&self, out: &mut Output, outcome: DeployOutcome) {
        let mut lines = Vec::new();
        for [from, to] in &self.moves {
            lines.push(format!("move {from} → {to}"));
        }
        lines.extend(self.forgotten.iter().map(|a| format!("forget {a}")));
        lines.extend(self.outputs.iter().map(|name| format!("output {name}")));
        for edit in &self.state_edits {
            lines.push(format!("{}: {}", edit.text(), edit.addresses.join(", ")));
        }
        if lines.is_empty() {
            return;
        }
        out.line(match outcome {
            DeployOutcome::Succeeded => "edits of the state:",
            // A deploy that did not succeed may have made a part of them.
            _ => "planned edits of the state:",
        });
        lines
            .iter()
            .for_each(|line| out.line(&format!("      {}", safe(line))));
    }
}

fn print_deploy(out: &mut Output, record: DeployRecord, edits: &StateEdits) {
    if out.json {
        let mut entry = json!(record.summary);
        if let Value::Object(entry) = &mut entry {
            entry.extend(fields(json!(edits)));
            // The summary's own field `operations` has the counts.
            entry.insert("operation_list".into(), json!(record.operations));
        }
        out.result("history", fields(json!({ "history": [entry] })));
        return;
    }
    out.line(&show::deploy_line(&record.summary));
    for operation in &record.operations {
        operation_lines(out, operation);
    }
    edits.print(out, record.summary.outcome);
    let mut folded = View::default();
    for event in record.events {
        // Each engine starts its event numbers anew. Events without a number are always folded.
        folded.apply(&Event { seq: 0, ..event });
    }
    let Some(deploy) = folded.deploy else { return };
    let path = deploy.critical_path(&deploy.ends());
    if !path.is_empty() {
        out.line("critical path, each operation needs the one above it:");
    }
    for operation in path.iter().map(|at| &deploy.operations[*at]) {
        let took = operation.took_ms.map_or_else(String::new, duration);
        out.line(&format!("  {took:>12}  {}", safe(&operation.address)));
    }
}

/// Prints both deploys, the names of the files that differ, and the operations that differ.
fn print_comparison(out: &mut Output, c: &DeployComparison) {
    if out.json {
        out.result("comparison", fields(json!({ "comparison": c })));
        return;
    }
    out.line(&show::deploy_line(&c.before));
    out.line(&show::deploy_line(&c.after));
    match &c.files {
        None => out.line("configuration: one of them is not stored any more"),
        Some(files) if files.is_empty() => out.line("configuration: the same files"),
        Some(_) => out.line("configuration:"),
    }
    for file in c.files.iter().flatten() {
        let (ink, sign) = match file.kind {
            DifferenceKind::Changed => (Ink::Yellow, "~"),
            DifferenceKind::New => (Ink::Green, "+"),
            DifferenceKind::Removed => (Ink::Red, "-"),
        };
        let name = out.paint(ink, &format!("{sign} {}", safe(&file.name)));
        out.line(&format!("  {name}"));
    }
    match c.operations.is_empty() {
        true => out.line("operations: the same, with similar durations"),
        false => out.line("operations:"),
    }
    let told = |o: Option<ComparedOperation>| {
        let Some(o) = o else { return "none".to_owned() };
        let took = o
            .took_ms
            .map_or_else(String::new, |ms| format!(" {}", duration(ms)));
        format!("{} {}{took}", o.action.operation_word(), o.state.label())
    };
    for d in &c.operations {
        let address = safe(&d.address);
        out.line(&format!(
            "  {address}: {} → {}",
            told(d.before),
            told(d.after)
        ));
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
        // The step tells which half is missing.
        OperationState::HalfReplaced => out.paint(
            Ink::Red,
            &format!("{}: {}", operation.state.label(), operation.step),
        ),
        OperationState::Failed | OperationState::Unknown => {
            out.paint(Ink::Red, operation.state.label())
        }
        _ => operation.state.label().to_owned(),
    };
    let settled = operation
        .settlement()
        .map_or_else(String::new, |how| format!(" ({})", safe(how)));
    out.line(format!("{head}  {state}{settled} {took}").trim_end());
    for warning in &operation.warnings {
        out.line(&format!("        warning: {}", safe_lines(warning)));
    }
    for beside in &operation.beside {
        out.line(&format!("        also requested: {}", safe(&beside.text())));
    }
    let Some(failure) = &operation.failure else {
        return;
    };
    out.line(&format!(
        "        {}: {}",
        failure.class.label(),
        safe(&failure.summary)
    ));
    for line in safe_lines(&failure.detail).lines() {
        out.line(&format!("        {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn history_keeps_deploy_order_when_the_clock_went_back() {
        for (deploys, changes, lines) in [
            (
                vec![(30, "#2"), (10, "#1")],
                vec![(20, "edit")],
                "#2 edit #1",
            ),
            (vec![(5, "#3"), (90, "#2"), (80, "#1")], vec![], "#3 #2 #1"),
            (
                vec![(5, "#2"), (90, "#1")],
                vec![(3, "edit 2"), (95, "edit 1")],
                "#2 #1 edit 2 edit 1",
            ),
            (vec![], vec![(1, "edit")], "edit"),
            (vec![], vec![], ""),
        ] {
            assert_eq!(merged(deploys, changes).join(" "), lines);
        }
    }
}
