//! Deploys: operations, intents before each call, outcomes after it, and events. Deploys of a
//! process that has ended are found by its identity; see [`super::interrupted`].

mod destroy_steps;
mod events;
mod intents;
mod rows;
mod shared;

use super::fault::Job;
use super::file::Sqlite;
use super::reconciles::refuse_former_leader;
use super::running_deploy::RunningDeploy;
use super::stages::{enum_text, json, parse, read_step};
use crate::error::StoreError;
use crate::records::{
    DestroyStep, Intent, IntentKey, NewDeploy, Outcome, SharedOutcome, StartedDeploy, StateEdit,
    UnknownOutcome,
};
use crate::{Deploys, StoreApi};
use async_trait::async_trait;
pub(super) use destroy_steps::{
    delete_all, delete_for_address, record_settled, record_step, shift,
};
pub(super) use events::Known;
pub(super) use intents::{put_intent, settle_intents};
use intents::{record_outcome, remove_intent};
use model::cores;
use model::lock_owner::lease::LeaseCheck;
use model::lock_owner::{LivenessCheck, this_process};
use model::mutex::lock;
use model::*;
pub(super) use rows::row;
use rows::{load_one, load_with_operations, runner, summary};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Number of newest deploys whose events are kept.
const REPLAYABLE: i64 = 50;

#[async_trait]
impl Deploys for Sqlite {
    async fn begin_deploy(&self, mut new: NewDeploy) -> Result<StartedDeploy, StoreError> {
        // With a lease, the end of this process can be verified by its file lock.
        let leased = lock(self.lease()).is_some();
        let shadow = self.running_deploy();
        // State and shadow are read in one job, so no edit falls between them.
        self.write_later("a deploy", move |conn| {
            if let Some(token) = new.fencing_token {
                refuse_former_leader(conn, token)?;
            }
            let id = insert_deploy(conn, None, &mut new, leased)?;
            let state = Arc::new(super::state::load_state(conn)?);
            let home = super::state::backend_version(conn)?;
            *lock(&shadow) = Some(RunningDeploy::new(id, new, state.clone(), home));
            Ok(StartedDeploy { deploy: id, state })
        })
        .await
    }

    async fn check_fencing_token(&self) -> Result<(), StoreError> {
        let token = lock(&self.running_deploy())
            .as_ref()
            .and_then(RunningDeploy::fencing_token);
        match token {
            Some(token) => {
                self.read(move |conn| refuse_former_leader(conn, token))
                    .await
            }
            None => Ok(()),
        }
    }

    async fn record_intent(&self, intent: Intent) -> Result<(), StoreError> {
        let (shadow, index, step) = (self.running_deploy(), intent.index, intent.step.clone());
        let begun = self.write("an intent", move |conn| {
            let mut shadow = lock(&shadow);
            if let Some(token) = shadow.as_ref().and_then(RunningDeploy::fencing_token) {
                refuse_former_leader(conn, token)?;
            }
            put_intent(conn, &intent, None)?;
            if let Some(shadow) = &mut *shadow {
                shadow.add_intent(intent);
            }
            Ok(())
        });
        let begun = begun.await;
        // The call is not made without a durable intent.
        if begun.is_err()
            && let Some(shadow) = &mut *lock(&self.running_deploy())
        {
            shadow.remove_intent(index, step);
        }
        begun
    }

    async fn remove_intent(
        &self,
        deploy: DeployId,
        index: u32,
        step: OperationStep,
    ) -> Result<(), StoreError> {
        if let Some(shadow) = &mut *lock(&self.running_deploy()) {
            shadow.remove_intent(index, step.clone());
        }
        self.write("an intent", move |conn| {
            remove_intent(conn, deploy, index, &step)
        })
        .await
    }

    async fn record_done(&self, step: Intent, edits: Vec<StateEdit>) -> Result<i64, StoreError> {
        let shadow = self.running_deploy();
        self.write("an outcome", move |conn| {
            let done = put_intent(conn, &step, Some((true, step.at)))
                .and_then(|()| super::state::apply(conn, &edits));
            if let Some(shadow) = &mut *lock(&shadow) {
                shadow.done(step, edits);
            }
            done
        })
        .await
    }

    async fn record_outcome(&self, outcome: Outcome) -> Result<i64, StoreError> {
        let shadow = self.running_deploy();
        self.write("an outcome", move |conn| {
            let done = record_outcome(conn, &outcome);
            // Recorded even if the store fails, because it has happened.
            if let Some(shadow) = &mut *lock(&shadow) {
                shadow.record_outcome(outcome);
            }
            done
        })
        .await
    }

    async fn operations_changed(
        &self,
        operations: Vec<Operation>,
        failed: Box<dyn FnOnce(StoreError) + Send>,
    ) -> Result<(), StoreError> {
        let put = move |conn: &Connection| {
            operations
                .iter()
                .try_for_each(|operation| put_operation(conn, operation))
        };
        self.post("operations", put, failed).await
    }

    async fn finish_deploy(&self, summary: DeploySummary) -> Result<(), StoreError> {
        // Dropping a large state takes a while.
        cores::free(lock(&self.running_deploy()).take());
        self.write("a deploy", move |conn| {
            let changed = conn
                .prepare_cached("UPDATE deploy SET ended = ?2, outcome = ?3, operations = ?4, counts = ?5 WHERE id = ?1")?
                .execute((
                    summary.deploy,
                    summary.ended,
                    enum_text("outcome", &summary.outcome)?,
                    json("counts", &summary.operations)?,
                    json("counts", &summary.counts)?,
                ))?;
            if changed == 0 {
                return Err(StoreError::Missing { what: "deploy", id: summary.deploy.to_string() }.into());
            }
            events::forget(conn, summary.deploy - REPLAYABLE)
        })
        .await
    }

    async fn unknown_outcomes(&self) -> Result<Vec<UnknownOutcome>, StoreError> {
        let judge = LeaseCheck::for_store(self.path());
        self.read(move |conn| {
            // Without the index hint, SQLite scans all intents because of the order.
            let mut query = conn.prepare_cached(
                "SELECT i.id, i.deploy, i.address, i.deposed, i.step, i.at, i.detail,
                 d.outcome, d.host, d.holder_pid, d.holder_start, d.holder_boot, d.holder_namespace, d.leased
                 FROM intent i INDEXED BY intent_open JOIN deploy d ON d.id = i.deploy
                 WHERE i.ok IS NULL AND i.settled_at IS NULL ORDER BY i.id",
            )?;
            let rows = query.query_map([], |r| {
                let unknown = UnknownOutcome {
                    id: r.get("id")?,
                    deploy: r.get("deploy")?,
                    address: r.get("address")?,
                    deposed: r.get("deposed")?,
                    step: read_step(r, "step")?,
                    at: r.get("at")?,
                    detail: r.get("detail")?,
                };
                // A running deploy will still record its outcomes.
                let runs = r.get::<_, String>("outcome")? == "running" && judge.is_alive(&runner(r)?);
                Ok((unknown, runs))
            })?;
            let all = rows.collect::<Result<Vec<_>, _>>()?;
            Ok(all.into_iter().filter(|(_, runs)| !runs).map(|(unknown, _)| unknown).collect())
        })
        .await
    }

    async fn settle_unknown(&self, intents: Vec<i64>, how: &str) -> Result<usize, StoreError> {
        let how = how.to_owned();
        self.write("an outcome", move |conn| {
            settle_intents(conn, &intents, &how)
        })
        .await
    }

    async fn shared_outcomes(&self) -> Result<Vec<SharedOutcome>, StoreError> {
        let unknown = self.unknown_outcomes().await?;
        self.read(move |conn| shared::with_deploys(conn, unknown))
            .await
    }

    async fn recorded_intents(
        &self,
        keys: Vec<IntentKey>,
    ) -> Result<BTreeSet<IntentKey>, StoreError> {
        self.read(move |conn| shared::recorded(conn, keys)).await
    }

    async fn import_outcomes(&self, outcomes: Vec<SharedOutcome>) -> Result<(), StoreError> {
        self.write("outcomes", move |conn| shared::import(conn, outcomes))
            .await
    }

    async fn destroy_steps(&self) -> Result<Vec<DestroyStep>, StoreError> {
        self.read(destroy_steps::all).await
    }

    async fn drop_destroy_steps(&self) -> Result<(), StoreError> {
        self.write("a destroy's progress", destroy_steps::delete_all)
            .await
    }

    async fn creation_times(
        &self,
        addresses: Vec<String>,
    ) -> Result<BTreeMap<String, UnixMs>, StoreError> {
        self.read(move |conn| {
            // The newest creation is that of the present object.
            let mut query = conn.prepare_cached(
                "SELECT address, MAX(data ->> 'began' + coalesce(data ->> 'took_ms', 0))
                 FROM operation
                 WHERE address IN (SELECT value FROM json_each(?1)) AND state = 'done'
                   AND data ->> 'action' IN ('create', 'replace', 'replace_create_first')
                   AND data ->> 'began' IS NOT NULL
                 GROUP BY address",
            )?;
            let addresses = json("addresses", &addresses)?;
            let rows = query.query_map([addresses], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, StoreError> {
        let limit = if limit == 0 { -1 } else { i64::from(limit) };
        let judge = LeaseCheck::for_store(self.path());
        self.read(move |conn| {
            let mut query =
                conn.prepare_cached("SELECT * FROM deploy ORDER BY id DESC LIMIT ?1")?;
            let rows = query
                .query_map([limit], row)?
                .collect::<Result<Vec<_>, _>>()?;
            rows.into_iter()
                .map(|found| {
                    // A deploy of an ended process is shown as interrupted before a writer records
                    // that.
                    if found.has_ended_process(&judge)? {
                        load_with_operations(conn, found, &judge).map(|(summary, _)| summary)
                    } else {
                        summary(found)
                    }
                })
                .collect()
        })
        .await
    }

    async fn deploy_record(&self, id: DeployId) -> Result<Option<DeployRecord>, StoreError> {
        let judge = LeaseCheck::for_store(self.path());
        self.read(move |conn| {
            let Some((summary, operations)) = load_one(conn, id, &judge)? else {
                return Ok(None);
            };
            Ok(Some(DeployRecord {
                summary,
                operations,
                events: events::all(conn, id)?,
            }))
        })
        .await
    }

    async fn operations(&self, id: DeployId) -> Result<Vec<Operation>, StoreError> {
        let judge = LeaseCheck::for_store(self.path());
        self.read(move |conn| {
            let found = load_one(conn, id, &judge)?;
            Ok(found.map_or_else(Vec::new, |(_, operations)| operations))
        })
        .await
    }

    async fn append_events(
        &self,
        deploy: DeployId,
        events: Vec<Arc<Event>>,
    ) -> Result<u32, StoreError> {
        let kept = self.stored_events();
        self.write_later("events", move |conn| {
            events::append(conn, deploy, &events, &mut lock(&kept))
        })
        .await
    }
}

pub(super) fn insert_deploy(
    conn: &Connection,
    id: Option<DeployId>,
    new: &mut NewDeploy,
    leased: bool,
) -> Job<DeployId> {
    // Stored with the deploy, so that a later process can check whether this one still runs.
    let me = this_process("deploy");
    conn.execute(
        "INSERT INTO deploy (id, stage, mode, began, who, host, outcome, operations, counts, config_digest, holder_pid, holder_start, holder_boot,
         holder_namespace, leased)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        rusqlite::params![
            id,
            new.stage,
            enum_text("mode", &new.mode)?,
            new.began,
            new.user,
            me.host,
            json("counts", &OperationCounts::default())?,
            json("counts", &new.counts)?,
            new.config_digest,
            me.pid,
            i64::try_from(me.start_time).unwrap_or(0),
            me.boot_id,
            me.pid_namespace,
            leased
        ],
    )?;
    let id = conn.last_insert_rowid();
    for operation in &mut new.operations {
        operation.deploy = id;
        put_operation(conn, operation)?;
    }
    Ok(id)
}

pub(super) fn put_operation(conn: &Connection, operation: &Operation) -> Job<()> {
    conn.prepare_cached(
        "INSERT INTO operation (deploy, idx, address, state, data) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (deploy, idx) DO UPDATE SET state = excluded.state, data = excluded.data",
    )?
    .execute((
        operation.deploy,
        operation.index,
        &operation.address,
        enum_text("state", &operation.state)?,
        json("operation", operation)?,
    ))?;
    Ok(())
}

pub(super) fn operations(conn: &Connection, deploy: DeployId) -> Job<Vec<Operation>> {
    let mut query =
        conn.prepare_cached("SELECT data FROM operation WHERE deploy = ?1 ORDER BY idx")?;
    let rows = query.query_map([deploy], |r| r.get::<_, String>(0))?;
    rows.map(|text| parse("operation", &text?)).collect()
}
