//! Intents, their outcomes and their settlement.

use super::put_operation;
use crate::records::{Intent, Outcome};
use crate::sqlite::fault::Job;
use crate::sqlite::stages::{parse, read_step};
use crate::sqlite::state::apply;
use model::*;
use rusqlite::{Connection, OptionalExtension};

pub(super) fn record_outcome(conn: &Connection, outcome: &Outcome) -> Job<i64> {
    // Only an open intent gets an outcome.
    conn.prepare_cached("UPDATE intent SET ok = ?4, outcome_at = ?5 WHERE deploy = ?1 AND idx = ?2 AND step = ?3 AND ok IS NULL")?
        .execute((outcome.deploy, outcome.index, outcome.step.to_string(), outcome.ok, outcome.at))?;
    super::destroy_steps::record_outcome(conn, outcome)?;
    apply(conn, &outcome.edits)
}

/// Inserts an intent; `ended` adds its outcome: success and time.
pub(in crate::sqlite) fn put_intent(
    conn: &Connection,
    intent: &Intent,
    ended: Option<(bool, UnixMs)>,
) -> Job<()> {
    conn.prepare_cached(
        "INSERT INTO intent (deploy, idx, address, deposed, step, at, detail, ok, outcome_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        intent.deploy,
        intent.index,
        &intent.address,
        &intent.deposed,
        intent.step.to_string(),
        intent.at,
        &intent.detail,
        ended.map(|(ok, _)| ok),
        ended.map(|(_, at)| at),
    ))?;
    Ok(())
}

/// Deletes an intent without an outcome.
pub(super) fn remove_intent(
    conn: &Connection,
    deploy: DeployId,
    index: u32,
    step: &OperationStep,
) -> Job<()> {
    conn.prepare_cached(
        "DELETE FROM intent WHERE deploy = ?1 AND idx = ?2 AND step = ?3 AND ok IS NULL",
    )?
    .execute((deploy, index, step.to_string()))?;
    Ok(())
}

/// Settles intents in the caller's transaction and updates their operations.
pub(in crate::sqlite) fn settle_intents(
    conn: &Connection,
    intents: &[i64],
    how: &str,
) -> Job<usize> {
    let mut settled = 0;
    for id in intents {
        let found: Option<(DeployId, u32, OperationStep)> = conn
            .prepare_cached("SELECT deploy, idx, step FROM intent WHERE id = ?1 AND ok IS NULL AND settled_at IS NULL")?
            .query_row([id], |r| Ok((r.get(0)?, r.get(1)?, read_step(r, 2)?)))
            .optional()?;
        // Intents that are answered or settled already are skipped.
        let Some((deploy, index, step)) = found else {
            continue;
        };
        conn.prepare_cached("UPDATE intent SET settled_at = ?2, settled_by = ?3 WHERE id = ?1")?
            .execute((id, now_ms(), how))?;
        settled += 1;
        let data: Option<String> = conn
            .prepare_cached("SELECT data FROM operation WHERE deploy = ?1 AND idx = ?2")?
            .query_row((deploy, index), |r| r.get(0))
            .optional()?;
        if let Some(data) = data {
            let mut operation: Operation = parse("operation", &data)?;
            operation.set_settlement(&step, how);
            put_operation(conn, &operation)?;
        }
    }
    Ok(settled)
}
