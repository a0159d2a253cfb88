//! Deploys whose process has ended without finishing: the state of their operations, derived from
//! recorded intents and outcomes. The row of an operation may be older than its outcome, because
//! the two are written separately.

use super::deploys::{operations, put_operation, row};
use super::fault::Job;
use super::stages::{json, read_step};
use model::lock_owner::LivenessCheck;
use model::*;
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashMap;

/// Operations of an interrupted deploy, derived from its intents and outcomes.
pub(super) struct InterruptedState {
    pub(super) operations: Vec<Operation>,
    pub(super) counts: OperationCounts,
    /// Time of its last record.
    pub(super) ended: UnixMs,
}

/// Step of an operation, with its result if known.
struct Step {
    step: OperationStep,
    address: String,
    ok: Option<bool>,
}

/// Derives the state of an interrupted deploy; changes nothing.
pub(super) fn interrupted_state(
    conn: &Connection,
    id: DeployId,
    began: UnixMs,
) -> Job<InterruptedState> {
    let mut steps: HashMap<u32, Vec<Step>> = HashMap::new();
    let mut query = conn.prepare_cached(
        "SELECT idx, step, address, ok FROM intent WHERE deploy = ?1 ORDER BY id",
    )?;
    let rows = query.query_map([id], |r| {
        Ok((
            r.get(0)?,
            Step {
                step: read_step(r, 1)?,
                address: r.get(2)?,
                ok: r.get(3)?,
            },
        ))
    })?;
    for row in rows {
        let (index, step) = row?;
        steps.entry(index).or_default().push(step);
    }
    // The last recorded step is the best known end of the deploy.
    let last: Option<UnixMs> = conn
        .prepare_cached(
            "SELECT max(max(at), coalesce(max(outcome_at), 0)) FROM intent WHERE deploy = ?1",
        )?
        .query_row([id], |r| r.get(0))?;
    let mut all = operations(conn, id)?;
    for operation in &mut all {
        derive_operation_state(
            conn,
            operation,
            steps.get(&operation.index).map_or(&[], Vec::as_slice),
        )?;
    }
    let counts = OperationCounts::of(&all);
    Ok(InterruptedState {
        operations: all,
        counts,
        ended: last.unwrap_or(began),
    })
}

/// Derives the state of side effects from their steps.
fn derive_side_effects(operation: &mut Operation, steps: &[Step]) {
    for step in steps {
        let OperationStep::Beside { place, .. } = &step.step else {
            continue;
        };
        let Some(beside) = operation.beside.iter_mut().find(|b| b.place == *place) else {
            continue;
        };
        let nobody = "flightdeck ended before the answer arrived".to_owned();
        match (step.ok, &beside.end) {
            (Some(true), _) => beside.end = SideEffectOutcome::Done,
            (None, SideEffectOutcome::Open) => beside.end = SideEffectOutcome::Unknown(nobody),
            (Some(false), SideEffectOutcome::Open) => {
                // The outcome was committed, but the operation's record with the reason was not.
                beside.end = SideEffectOutcome::Failed("the reason was not recorded".to_owned());
            }
            (Some(false) | None, _) => {}
        }
    }
}

fn derive_operation_state(conn: &Connection, operation: &mut Operation, steps: &[Step]) -> Job<()> {
    operation.waits_for.clear();
    operation.waits_for_more = 0;
    derive_side_effects(operation, steps);
    // The operation's state describes its own object only.
    let steps: Vec<&Step> = steps
        .iter()
        .filter(|s| s.step.requested_call().is_none())
        .collect();
    // An intent without an outcome: the call may or may not have had an effect.
    if steps.iter().any(|s| s.ok.is_none()) {
        operation.state = OperationState::Unknown;
        return Ok(());
    }
    // Any other state was recorded by the deploy itself.
    if !matches!(
        operation.state,
        OperationState::Waiting | OperationState::Running
    ) {
        return Ok(());
    }
    use OperationStep::{Create, Destroy, Forget};
    let done =
        |is: fn(&OperationStep) -> bool| steps.iter().any(|s| s.ok == Some(true) && is(&s.step));
    let (made, taken_away) = (
        done(|step| *step == Create),
        done(|step| matches!(step, Destroy | Forget)),
    );
    // A replacement is half done if only one of its two objects was handled.
    operation.half_done = match operation.action {
        Action::Replace => taken_away && !is_in_state(conn, &steps[0].address)?,
        Action::ReplaceCreateFirst => made && !taken_away,
        _ => false,
    };
    let failed = steps.iter().any(|s| s.ok == Some(false));
    // The last step of the object itself decides; provisioners only follow it.
    let last = steps
        .iter()
        .rev()
        .find(|s| !s.step.is_provisioner())
        .or(steps.last());
    (operation.state, operation.step) = match (last, operation.missing_half()) {
        (None, _) => (
            OperationState::NotAttempted,
            OperationProgress::NotAttempted,
        ),
        // If the old object could not be destroyed, creating the new one first has failed. If its
        // destruction was never tried, the replacement is only half done.
        (Some(_), Some(missing)) if operation.action == Action::Replace || !failed => {
            (OperationState::HalfReplaced, missing)
        }
        (Some(_), _) if failed => (
            OperationState::Failed,
            OperationProgress::Failed(operation.action),
        ),
        // An object whose provisioners have not run stays tainted.
        (Some(step), _)
            if step.step.completes(operation.action) && !is_tainted(conn, &step.address)? =>
        {
            (
                OperationState::Done,
                OperationProgress::Done(operation.action),
            )
        }
        (Some(step), _) => (
            OperationState::NotAttempted,
            OperationProgress::Only(step.step.clone()),
        ),
    };
    Ok(())
}

fn is_in_state(conn: &Connection, address: &str) -> Job<bool> {
    let there = "SELECT EXISTS (SELECT 1 FROM state_resource WHERE address = ?1 AND deposed = '')";
    Ok(conn
        .prepare_cached(there)?
        .query_row([address], |r| r.get(0))?)
}

fn is_tainted(conn: &Connection, address: &str) -> Job<bool> {
    let tainted = conn
        .prepare_cached("SELECT tainted FROM state_resource WHERE address = ?1 AND deposed = ''")?
        .query_row([address], |r| r.get(0))
        .optional()?;
    Ok(tainted.unwrap_or(false))
}

/// Runs [`mark`] in its own transaction when a store is opened.
pub(super) fn mark_interrupted(conn: &Connection, judge: &dyn LivenessCheck) -> Job<()> {
    let any: bool = conn.query_row(
        "SELECT EXISTS (SELECT 1 FROM deploy WHERE outcome = 'running')",
        [],
        |r| r.get(0),
    )?;
    // Usually no deploy is marked as running, and then nothing is written.
    if !any {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let marked = mark(conn, judge, None);
    conn.execute_batch(if marked.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    marked
}

/// Records the end of deploys that are marked as running and whose process has ended or was
/// `given_up` by force.
pub(super) fn mark(
    conn: &Connection,
    judge: &dyn LivenessCheck,
    given_up: Option<&LockHolder>,
) -> Job<()> {
    let mut query = conn.prepare("SELECT * FROM deploy WHERE outcome = 'running'")?;
    let running = query.query_map([], row)?.collect::<Result<Vec<_>, _>>()?;
    for found in running {
        if !found.has_ended_process(judge)?
            && !given_up.is_some_and(|holder| found.is_run_by(holder))
        {
            continue;
        }
        let id = found.summary.deploy;
        let left = interrupted_state(conn, id, found.summary.began)?;
        for operation in &left.operations {
            put_operation(conn, operation)?;
        }
        conn.execute(
            "UPDATE deploy SET outcome = 'interrupted', ended = ?2, operations = ?3 WHERE id = ?1 AND outcome = 'running'",
            (id, left.ended, json("counts", &left.counts)?),
        )?;
    }
    Ok(())
}
