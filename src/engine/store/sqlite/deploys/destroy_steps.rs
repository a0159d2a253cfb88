//! Progress of destroys that were cut off: destroy-time provisioners that ended well, for as long
//! as their object is in the state as they found it. Every function runs in the caller's
//! transaction.

use super::super::fault::Job;
use super::super::stages::parse;
use crate::engine::store::model::{DestroyStep, Outcome};
use crate::engine::words::{DeployId, OperationStep, UnixMs};
use rusqlite::Connection;

/// Keeps the progress that an outcome stands for, and drops what it makes untrue.
pub(super) fn after(conn: &Connection, outcome: &Outcome) -> Job<()> {
    let Outcome {
        deploy,
        index,
        step,
        ok,
        ..
    } = outcome;
    if *ok && step.is_provisioner() {
        return keep(conn, *deploy, *index, step);
    }
    // An updated object is another one to its commands; a destroy that failed begins anew.
    if (*ok && *step == OperationStep::Update) || outcome.starts_over {
        conn.prepare_cached(
            "DELETE FROM destroy_step WHERE address IN (SELECT address FROM intent WHERE deploy = ?1 AND idx = ?2)",
        )?
        .execute((deploy, index))?;
    }
    Ok(())
}

/// Keeps a provisioner's step, where it is one of a destroy.
pub(in crate::engine::store::sqlite) fn keep(
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
    .execute((deploy, index, step))?;
    Ok(())
}

/// Keeps the steps of these intents, of which an operator says that they have done their work.
pub(in crate::engine::store::sqlite) fn keep_settled(
    conn: &Connection,
    intents: &[i64],
) -> Job<()> {
    for intent in intents {
        conn.prepare_cached(
            "INSERT OR IGNORE INTO destroy_step (intent, address)
             SELECT id, address FROM intent WHERE id = ?1 AND json_extract(detail, '$.destroy') IS NOT NULL",
        )?
        .execute([intent])?;
    }
    Ok(())
}

/// The object of this address is gone, or another one.
pub(in crate::engine::store::sqlite) fn drop_of(conn: &Connection, address: &str) -> Job<()> {
    conn.prepare_cached("DELETE FROM destroy_step WHERE address = ?1")?
        .execute([address])?;
    Ok(())
}

/// Another program changed the state: it may have made an object anew that looks the same.
pub(in crate::engine::store::sqlite) fn drop_all(conn: &Connection) -> Job<()> {
    conn.prepare_cached("DELETE FROM destroy_step")?
        .execute([])?;
    Ok(())
}

/// The object has another address now.
pub(in crate::engine::store::sqlite) fn shift(conn: &Connection, from: &str, to: &str) -> Job<()> {
    conn.prepare_cached("UPDATE destroy_step SET address = ?2 WHERE address = ?1")?
        .execute([from, to])?;
    Ok(())
}

/// All of them, oldest first.
pub(super) fn all(conn: &Connection) -> Job<Vec<DestroyStep>> {
    let mut query = conn.prepare_cached(
        "SELECT s.address, i.deploy, i.step, coalesce(i.outcome_at, i.settled_at, i.at), json_extract(i.detail, '$.destroy')
         FROM destroy_step s JOIN intent i ON i.id = s.intent ORDER BY s.intent",
    )?;
    let rows = query.query_map([], |r| {
        let of: String = r.get(4)?;
        let (address, deploy, step): (String, DeployId, OperationStep) =
            (r.get(0)?, r.get(1)?, r.get(2)?);
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
