//! Rows of deploys: process, liveness, outcome.

use super::operations;
use crate::sqlite::fault::Job;
use crate::sqlite::interrupted;
use crate::sqlite::stages::{from_word, parse};
use model::lock_owner::LivenessCheck;
use model::*;
use rusqlite::{Connection, OptionalExtension, Row};

/// Process that runs a deploy.
pub(super) fn runner(r: &Row<'_>) -> Result<LockHolder, rusqlite::Error> {
    Ok(LockHolder {
        who: String::new(),
        host: r.get("host")?,
        pid: r.get("holder_pid")?,
        start_time: u64::try_from(r.get::<_, i64>("holder_start")?).unwrap_or(0),
        boot_id: r.get("holder_boot")?,
        pid_namespace: r.get("holder_namespace")?,
        leased: r.get("leased")?,
        since: 0,
        reason: String::new(),
    })
}

pub(in crate::sqlite) struct DeployRow {
    pub(in crate::sqlite) summary: DeploySummary,
    mode: String,
    outcome: String,
    operations: String,
    counts: String,
    runner: LockHolder,
}

impl DeployRow {
    /// Is it recorded as running although its process has ended?
    pub(in crate::sqlite) fn has_ended_process(&self, judge: &dyn LivenessCheck) -> Job<bool> {
        Ok(
            from_word::<DeployOutcome>("outcome", &self.outcome)? == DeployOutcome::Running
                && !judge.is_alive(&self.runner),
        )
    }

    /// Does this process run it?
    pub(in crate::sqlite) fn is_run_by(&self, holder: &LockHolder) -> bool {
        let place = |h: &LockHolder| (h.host.clone(), h.pid, h.start_time, h.boot_id.clone());
        place(&self.runner) == place(holder)
    }
}

pub(in crate::sqlite) fn row(r: &Row<'_>) -> Result<DeployRow, rusqlite::Error> {
    Ok(DeployRow {
        summary: DeploySummary {
            deploy: r.get("id")?,
            stage: r.get("stage")?,
            // Parsed by the callers, because this function can only return errors of rusqlite.
            mode: StageMode::Normal,
            began: r.get("began")?,
            ended: r.get("ended")?,
            who: r.get("who")?,
            host: r.get("host")?,
            outcome: DeployOutcome::Running,
            operations: OperationCounts::default(),
            counts: Counts::default(),
            config_digest: r.get("config_digest")?,
        },
        mode: r.get("mode")?,
        outcome: r.get("outcome")?,
        operations: r.get("operations")?,
        counts: r.get("counts")?,
        runner: runner(r)?,
    })
}

pub(super) fn summary(found: DeployRow) -> Job<DeploySummary> {
    let mut summary = found.summary;
    summary.mode = from_word("mode", &found.mode)?;
    summary.outcome = from_word("outcome", &found.outcome)?;
    summary.operations = parse("counts", &found.operations)?;
    summary.counts = parse("counts", &found.counts)?;
    Ok(summary)
}

/// A deploy with its operations. If its process has ended, the result shows the deploy as
/// interrupted before a writer has recorded that.
pub(super) fn load_with_operations(
    conn: &Connection,
    found: DeployRow,
    judge: &dyn LivenessCheck,
) -> Job<(DeploySummary, Vec<Operation>)> {
    let dead = found.has_ended_process(judge)?;
    let mut summary = summary(found)?;
    if !dead {
        let operations = operations(conn, summary.deploy)?;
        return Ok((summary, operations));
    }
    let left = interrupted::interrupted_state(conn, summary.deploy, summary.began)?;
    summary.outcome = DeployOutcome::Interrupted;
    summary.ended = Some(left.ended);
    summary.operations = left.counts;
    Ok((summary, left.operations))
}

/// The deploy with an id, if there is one, with its operations.
pub(super) fn load_one(
    conn: &Connection,
    id: DeployId,
    judge: &dyn LivenessCheck,
) -> Job<Option<(DeploySummary, Vec<Operation>)>> {
    let found = conn
        .prepare_cached("SELECT * FROM deploy WHERE id = ?1")?
        .query_row([id], row)
        .optional()?;
    found
        .map(|found| load_with_operations(conn, found, judge))
        .transpose()
}
