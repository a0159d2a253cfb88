//! Progress of unfinished destroys: destroy-time provisioners that succeeded, as long as their
//! object in the state is unchanged. All functions run in the caller's transaction.

use super::super::fault::Job;
use super::super::stages::{parse, read_step};
use crate::records::{DestroyStep, Outcome};
use model::{DeployId, OperationStep, UnixMs};
use rusqlite::Connection;

/// Stores the progress of an outcome and drops progress that it invalidates.
pub(super) fn record_outcome(conn: &Connection, outcome: &Outcome) -> Job<()> {
    let Outcome {
        deploy,
        index,
        step,
        ok,
        ..
    } = outcome;
    if *ok && step.is_provisioner() {
        return record_step(conn, *deploy, *index, step);
    }
    // An updated object needs its commands again, and so does a failed destroy.
    if (*ok && *step == OperationStep::Update) || outcome.starts_over {
        conn.prepare_cached(
            "DELETE FROM destroy_step WHERE address IN (SELECT address FROM intent WHERE deploy = ?1 AND idx = ?2)",
        )?
        .execute((deploy, index))?;
    }
    Ok(())
}

/// Stores a provisioner's step, if it belongs to a destroy.
pub(in crate::sqlite) fn record_step(
    conn: &Connection,
    deploy: DeployId,
    index: u32,
    step: &OperationStep,
) -> Job<()> {
    conn.prepare_cached(
        "INSERT OR IGNORE INTO destroy_step (intent, address)
         SELECT id, address FROM intent WHERE deploy = ?1 AND idx = ?2 AND step = ?3 AND ok = 1
         AND json_extract(detail, '$.destroy') IS NOT NULL",
    )?
    .execute((deploy, index, step.to_string()))?;
    Ok(())
}

/// Stores the steps of intents whose commands have run, according to the operator.
pub(in crate::sqlite) fn record_settled(conn: &Connection, intents: &[i64]) -> Job<()> {
    for intent in intents {
        conn.prepare_cached(
            "INSERT OR IGNORE INTO destroy_step (intent, address)
             SELECT id, address FROM intent WHERE id = ?1 AND json_extract(detail, '$.destroy') IS NOT NULL",
        )?
        .execute([intent])?;
    }
    Ok(())
}

/// Drops the progress of an address whose object was removed or replaced.
pub(in crate::sqlite) fn delete_for_address(conn: &Connection, address: &str) -> Job<()> {
    conn.prepare_cached("DELETE FROM destroy_step WHERE address = ?1")?
        .execute([address])?;
    Ok(())
}

/// Drops all progress: another program changed the state and may have recreated an object with
/// equal attributes.
pub(in crate::sqlite) fn delete_all(conn: &Connection) -> Job<()> {
    conn.prepare_cached("DELETE FROM destroy_step")?
        .execute([])?;
    Ok(())
}

/// Follows an object to its new address.
pub(in crate::sqlite) fn shift(conn: &Connection, from: &str, to: &str) -> Job<()> {
    conn.prepare_cached("UPDATE destroy_step SET address = ?2 WHERE address = ?1")?
        .execute([from, to])?;
    Ok(())
}

/// All steps, oldest first.
pub(super) fn all(conn: &Connection) -> Job<Vec<DestroyStep>> {
    let mut query = conn.prepare_cached(
        "SELECT s.address, i.deploy, i.step, coalesce(i.outcome_at, i.settled_at, i.at), json_extract(i.detail, '$.destroy')
         FROM destroy_step s JOIN intent i ON i.id = s.intent ORDER BY s.intent",
    )?;
    let rows = query.query_map([], |r| {
        let of: String = r.get(4)?;
        let (address, deploy, step): (String, DeployId, OperationStep) =
            (r.get(0)?, r.get(1)?, read_step(r, 2)?);
        let ended: UnixMs = r.get(3)?;
        Ok((address, deploy, step, ended, of))
    })?;
    rows.map(|row| {
        let (address, deploy, step, ended, of) = row?;
        Ok(DestroyStep {
            address,
            deploy,
            step,
            ended,
            of: parse("a step of a destroy", &of)?,
        })
    })
    .collect()
}
