//! Rollouts of groups with their steps.

use super::fault::Job;
use super::file::Sqlite;
use super::stages::json;
use crate::Rollouts;
use crate::error::StoreError;
use crate::records::RolloutRecord;
use async_trait::async_trait;
use rusqlite::{Connection, Params};

#[async_trait]
impl Rollouts for Sqlite {
    async fn put_rollout(&self, rollout: RolloutRecord) -> Result<i64, StoreError> {
        self.write("a rollout", move |conn| {
            let id = match rollout.id {
                None => conn
                    .prepare_cached(
                        "INSERT INTO rollout (name, deploy, state, began, updated, header)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .insert((
                        &rollout.name,
                        rollout.deploy,
                        &rollout.state,
                        rollout.began,
                        rollout.updated,
                        &rollout.header,
                    ))?,
                Some(id) => {
                    conn.prepare_cached(
                        "UPDATE rollout SET state = ?2, updated = ?3, header = ?4 WHERE id = ?1",
                    )?
                    .execute((
                        id,
                        &rollout.state,
                        rollout.updated,
                        &rollout.header,
                    ))?;
                    id
                }
            };
            let mut step = conn.prepare_cached(
                "INSERT OR REPLACE INTO rollout_step (rollout, position, step) VALUES (?1, ?2, ?3)",
            )?;
            for (position, text) in &rollout.steps {
                step.execute((id, position, text))?;
            }
            Ok(id)
        })
        .await
    }

    async fn rollouts(
        &self,
        name: Option<String>,
        limit: u32,
    ) -> Result<Vec<RolloutRecord>, StoreError> {
        self.read(move |conn| {
            select(
                conn,
                "WHERE ?1 IS NULL OR name = ?1 ORDER BY id DESC LIMIT ?2",
                (&name, limit),
            )
        })
        .await
    }

    async fn rollouts_in(&self, states: Vec<String>) -> Result<Vec<RolloutRecord>, StoreError> {
        self.read(move |conn| {
            let states = json("states of rollouts", &states)?;
            select(
                conn,
                "WHERE state IN (SELECT value FROM json_each(?1)) ORDER BY id DESC",
                (&states,),
            )
        })
        .await
    }
}

/// Reads rollouts with their steps.
fn select(conn: &Connection, which: &str, params: impl Params) -> Job<Vec<RolloutRecord>> {
    let mut query = conn.prepare_cached(&format!(
        "SELECT id, name, deploy, state, began, updated, header FROM rollout {which}"
    ))?;
    let rows = query.query_map(params, |r| {
        Ok(RolloutRecord {
            id: Some(r.get(0)?),
            name: r.get(1)?,
            deploy: r.get(2)?,
            state: r.get(3)?,
            began: r.get(4)?,
            updated: r.get(5)?,
            header: r.get(6)?,
            steps: Vec::new(),
        })
    })?;
    let mut rollouts = rows.collect::<Result<Vec<_>, _>>()?;
    let mut steps = conn.prepare_cached(
        "SELECT position, step FROM rollout_step WHERE rollout = ?1 ORDER BY position",
    )?;
    for rollout in &mut rollouts {
        let rows = steps.query_map([rollout.id], |r| Ok((r.get(0)?, r.get(1)?)))?;
        rollout.steps = rows.collect::<Result<Vec<_>, _>>()?;
    }
    Ok(rollouts)
}
