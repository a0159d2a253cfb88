//! Runs of the reconcile loop, and the lock lease of its leader.

use super::fault::{Fault, Job};
use super::file::Sqlite;
use super::stages::json;
use crate::Reconciles;
use crate::error::StoreError;
use crate::records::LeaderLease;
use async_trait::async_trait;
use model::ReconcileRun;
use rusqlite::{Connection, OptionalExtension};

/// Number of runs that are kept for each group.
const KEPT: i64 = 100;
const RUN: &str = "a run of the reconcile loop";
/// Name of the reports on conformance among the runs; no group can have it because of the space.
const CONFORM: &str = "plugin conform";

#[async_trait]
impl Reconciles for Sqlite {
    async fn leader(&self) -> Result<Option<LeaderLease>, StoreError> {
        self.read(leader).await
    }

    async fn swap_leader(
        &self,
        observed: Option<LeaderLease>,
        next: LeaderLease,
    ) -> Result<bool, StoreError> {
        self.write("the leader", move |conn| {
            if leader(conn)? != observed {
                return Ok(false);
            }
            conn.prepare_cached(
                "INSERT OR REPLACE INTO leader (one, owner, token, expires) VALUES (1, ?1, ?2, ?3)",
            )?
            .execute((&next.owner, next.token, next.expires))?;
            Ok(true)
        })
        .await
    }

    async fn put_reconcile_run(&self, run: ReconcileRun) -> Result<(), StoreError> {
        self.write_later(RUN, move |conn| put(conn, &run.group, &json(RUN, &run)?))
            .await
    }

    async fn reconcile_runs(
        &self,
        name: &str,
        limit: u32,
    ) -> Result<Vec<ReconcileRun>, StoreError> {
        let name = name.to_owned();
        self.read(move |conn| {
            let parse = |text: &String| serde_json::from_str(text).map_err(|e| Fault::Json(RUN, e));
            newest(conn, &name, limit)?.iter().map(parse).collect()
        })
        .await
    }

    async fn put_conform_report(&self, report: String) -> Result<(), StoreError> {
        let what = "a report on a provider's conformance";
        self.write(what, move |conn| put(conn, CONFORM, &report))
            .await
    }

    async fn conform_reports(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        self.read(move |conn| newest(conn, CONFORM, limit)).await
    }
}

/// Adds a run to those with its name, and removes the oldest ones.
fn put(conn: &Connection, name: &str, run: &str) -> Job<()> {
    conn.prepare_cached("INSERT INTO reconcile_run (name, run) VALUES (?1, ?2)")?
        .execute((name, run))?;
    conn.prepare_cached(
        "DELETE FROM reconcile_run WHERE name = ?1 AND id <=
         (SELECT id FROM reconcile_run WHERE name = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute((name, KEPT))?;
    Ok(())
}

fn newest(conn: &Connection, name: &str, limit: u32) -> Job<Vec<String>> {
    let mut query = conn.prepare_cached(
        "SELECT run FROM reconcile_run WHERE name = ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let rows = query.query_map((name, limit), |r| r.get::<_, String>(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn leader(conn: &Connection) -> Job<Option<LeaderLease>> {
    let lease = conn
        .prepare_cached("SELECT owner, token, expires FROM leader")?
        .query_row([], |r| {
            Ok(LeaderLease {
                owner: r.get(0)?,
                token: r.get(1)?,
                expires: r.get(2)?,
            })
        })
        .optional()?;
    Ok(lease)
}

/// Refuses a step of a former leader. Runs in the transaction of the step's first record, if it has
/// one.
pub(super) fn refuse_former_leader(conn: &Connection, token: i64) -> Job<()> {
    let lease = leader(conn)?.unwrap_or_default();
    match lease.token == token && !lease.owner.is_empty() {
        true => Ok(()),
        false => Err(StoreError::NotLeader { owner: lease.owner }.into()),
    }
}
