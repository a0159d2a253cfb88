//! Rollouts of groups with their steps, requests about rollouts, and committed groups.

use super::fault::Job;
use super::file::Sqlite;
use super::stages::json;
use crate::Rollouts;
use crate::error::StoreError;
use crate::records::{GroupCommitRecord, MemberHash, RolloutRecord, RolloutRequestRecord};
use async_trait::async_trait;
use model::UnixMs;
use rusqlite::{Connection, OptionalExtension as _, Params, Row};
use std::collections::BTreeMap;

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
            put_hashes(conn, &rollout.name, &rollout.members)?;
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

    async fn put_member_hashes(
        &self,
        name: String,
        members: Vec<MemberHash>,
    ) -> Result<(), StoreError> {
        self.write("the configuration of members", move |conn| {
            put_hashes(conn, &name, &members)
        })
        .await
    }

    async fn member_hashes(&self, name: String) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(move |conn| {
            let mut query =
                conn.prepare_cached("SELECT member, hash FROM group_member WHERE name = ?1")?;
            let rows = query.query_map([&name], |r| Ok((r.get(0)?, r.get(1)?)))?;
            Ok(rows.collect::<Result<BTreeMap<_, _>, _>>()?)
        })
        .await
    }

    async fn put_rollout_request(&self, request: RolloutRequestRecord) -> Result<i64, StoreError> {
        self.write_later("a request about a rollout", move |conn| {
            let mut insert = conn.prepare_cached(
                "INSERT INTO rollout_request (rollout, verb, member, who, requested)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            Ok(insert.insert((
                request.rollout,
                &request.verb,
                &request.member,
                &request.who,
                request.requested,
            ))?)
        })
        .await
    }

    async fn open_rollout_requests(
        &self,
        rollout: i64,
    ) -> Result<Vec<RolloutRequestRecord>, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached(
                "SELECT * FROM rollout_request WHERE rollout = ?1 AND taken IS NULL ORDER BY id",
            )?;
            let rows = query.query_map([rollout], request)?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        })
        .await
    }

    async fn take_rollout_request(&self, id: i64, at: UnixMs) -> Result<bool, StoreError> {
        self.write_later("a request about a rollout", move |conn| {
            let taken = conn.execute(
                "UPDATE rollout_request SET taken = ?2 WHERE id = ?1 AND taken IS NULL",
                (id, at),
            )?;
            Ok(taken > 0)
        })
        .await
    }

    async fn answer_rollout_request(
        &self,
        id: i64,
        at: UnixMs,
        refusal: Option<String>,
    ) -> Result<(), StoreError> {
        self.write_later("an answer to a request about a rollout", move |conn| {
            conn.execute(
                "UPDATE rollout_request SET answered = ?2, refusal = ?3 WHERE id = ?1",
                (id, at, &refusal),
            )?;
            Ok(())
        })
        .await
    }

    async fn rollout_request(&self, id: i64) -> Result<Option<RolloutRequestRecord>, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached("SELECT * FROM rollout_request WHERE id = ?1")?;
            Ok(query.query_row([id], request).optional()?)
        })
        .await
    }

    async fn withdraw_rollout_request(&self, id: i64) -> Result<bool, StoreError> {
        self.write_later("a request about a rollout", move |conn| {
            let withdrawn = conn.execute(
                "DELETE FROM rollout_request WHERE id = ?1 AND taken IS NULL",
                [id],
            )?;
            Ok(withdrawn > 0)
        })
        .await
    }

    async fn put_group_commit(&self, commit: GroupCommitRecord) -> Result<i64, StoreError> {
        self.write("a commit of a group", move |conn| {
            if let Some(id) = commit.id {
                conn.prepare_cached(
                    "UPDATE group_commit SET content = ?2, taken = ?3, freed = ?4 WHERE id = ?1",
                )?
                .execute((id, &commit.content, commit.taken, commit.freed))?;
                return Ok(id);
            }
            let mut insert = conn.prepare_cached(
                "INSERT INTO group_commit
                     (name, committed, who, hash, spec, content, taken, freed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?;
            Ok(insert.insert((
                &commit.name,
                commit.committed,
                &commit.who,
                &commit.hash,
                &commit.spec,
                &commit.content,
                commit.taken,
                commit.freed,
            ))?)
        })
        .await
    }

    async fn group_commits(
        &self,
        name: Option<String>,
    ) -> Result<Vec<GroupCommitRecord>, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached(
                "SELECT * FROM group_commit WHERE ?1 IS NULL OR name = ?1 ORDER BY id DESC",
            )?;
            let rows = query.query_map([&name], |r| {
                Ok(GroupCommitRecord {
                    id: Some(r.get("id")?),
                    name: r.get("name")?,
                    committed: r.get("committed")?,
                    who: r.get("who")?,
                    hash: r.get("hash")?,
                    spec: r.get("spec")?,
                    content: r.get("content")?,
                    taken: r.get("taken")?,
                    freed: r.get("freed")?,
                })
            })?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        })
        .await
    }
}

/// Stores the hashes of existing members, and removes those of the others.
fn put_hashes(conn: &Connection, group: &str, members: &[MemberHash]) -> Job<()> {
    let mut put = conn.prepare_cached(
        "INSERT OR REPLACE INTO group_member (name, member, hash) VALUES (?1, ?2, ?3)",
    )?;
    let mut remove =
        conn.prepare_cached("DELETE FROM group_member WHERE name = ?1 AND member = ?2")?;
    for MemberHash { member, hash } in members {
        match hash {
            Some(hash) => put.execute((group, member, hash))?,
            None => remove.execute((group, member))?,
        };
    }
    Ok(())
}

fn request(r: &Row<'_>) -> rusqlite::Result<RolloutRequestRecord> {
    Ok(RolloutRequestRecord {
        id: r.get("id")?,
        rollout: r.get("rollout")?,
        verb: r.get("verb")?,
        member: r.get("member")?,
        who: r.get("who")?,
        requested: r.get("requested")?,
        answered: r.get("answered")?,
        refusal: r.get("refusal")?,
    })
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
            members: Vec::new(),
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
