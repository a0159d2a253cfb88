//! Deploys: their operations, the intent before each call and the outcome after it, their events.
//! What a flightdeck that died left behind is found by the process that each deploy names; see
//! [`super::interrupted`].

use super::fault::Job;
use super::file::Sqlite;
use super::shadow::Shadow;
use super::stages::{from_word, json, parse, word};
use crate::engine::holder::lease::ByLease;
use crate::engine::holder::{Judge, this_process};
use crate::engine::mutex::lock;
use crate::engine::store::error::StoreError;
use crate::engine::store::model::{
    Intent, KEPT_EVENTS, NewDeploy, Outcome, StateEdit, UnknownOutcome,
};
use crate::engine::store::{Deploys, Keeping};
use crate::engine::words::*;
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row};

/// Deploys whose events are kept.
const REPLAYABLE: i64 = 50;

#[async_trait]
impl Deploys for Sqlite {
    async fn begin_deploy(&self, new: NewDeploy) -> Result<DeployId, StoreError> {
        let leased = lock(self.lease()).is_some();
        let shadow = self.shadow();
        self.keep("a deploy", move |conn| {
            let id = begin(conn, None, new.clone(), leased)?;
            *lock(&shadow) = Some(Shadow::new(id, new, super::state::whole(conn)?));
            Ok(id)
        })
        .await
    }

    async fn intend(&self, intent: Intent) -> Result<(), StoreError> {
        let (shadow, index, step) = (self.shadow(), intent.index, intent.step.clone());
        let begun = self.write("an intent", move |conn| {
            put_intent(conn, &intent, None)?;
            if let Some(shadow) = &mut *lock(&shadow) {
                shadow.begun(intent);
            }
            Ok(())
        });
        let begun = begun.await;
        if begun.is_err()
            && let Some(shadow) = &mut *lock(&self.shadow())
        {
            shadow.not_begun(index, step);
        }
        begun
    }

    async fn record_done(&self, step: Intent, edits: Vec<StateEdit>) -> Result<i64, StoreError> {
        let shadow = self.shadow();
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

    async fn settle(&self, outcome: Outcome) -> Result<i64, StoreError> {
        let shadow = self.shadow();
        self.write("an outcome", move |conn| {
            let done = settle(conn, &outcome);
            // Whatever the store makes of it, it has happened.
            if let Some(shadow) = &mut *lock(&shadow) {
                shadow.ended(outcome);
            }
            done
        })
        .await
    }

    async fn operation_changed(
        &self,
        operation: Operation,
        failed: Box<dyn FnOnce(StoreError) + Send>,
    ) -> Result<(), StoreError> {
        self.post(
            "an operation",
            move |conn| put_operation(conn, &operation),
            failed,
        )
        .await
    }

    async fn finish_deploy(&self, summary: DeploySummary) -> Result<(), StoreError> {
        drop(lock(&self.shadow()).take());
        self.write("a deploy", move |conn| {
            let changed = conn
                .prepare_cached("UPDATE deploy SET ended = ?2, outcome = ?3, operations = ?4, counts = ?5 WHERE id = ?1")?
                .execute((
                    summary.deploy,
                    summary.ended,
                    word("outcome", &summary.outcome)?,
                    json("counts", &summary.operations)?,
                    json("counts", &summary.counts)?,
                ))?;
            if changed == 0 {
                return Err(StoreError::Missing { what: "deploy", id: summary.deploy.to_string() }.into());
            }
            conn.prepare_cached("DELETE FROM event WHERE deploy <= ?1")?.execute([summary.deploy - REPLAYABLE])?;
            Ok(())
        })
        .await
    }

    async fn unknown_outcomes(&self) -> Result<Vec<UnknownOutcome>, StoreError> {
        let judge = ByLease::of(self.path());
        self.read(move |conn| {
            let mut query = conn.prepare_cached(
                "SELECT i.id, i.deploy, i.address, i.deposed, i.step, i.at, i.detail,
                 d.outcome, d.host, d.holder_pid, d.holder_start, d.holder_boot, d.holder_namespace, d.leased
                 FROM intent i JOIN deploy d ON d.id = i.deploy WHERE i.ok IS NULL AND i.settled_at IS NULL ORDER BY i.id",
            )?;
            let rows = query.query_map([], |r| {
                let unknown = UnknownOutcome {
                    id: r.get("id")?,
                    deploy: r.get("deploy")?,
                    address: r.get("address")?,
                    deposed: r.get("deposed")?,
                    step: r.get("step")?,
                    at: r.get("at")?,
                    detail: r.get("detail")?,
                };
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

    async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, StoreError> {
        let limit = if limit == 0 { -1 } else { i64::from(limit) };
        let judge = ByLease::of(self.path());
        self.read(move |conn| {
            let mut query =
                conn.prepare_cached("SELECT * FROM deploy ORDER BY id DESC LIMIT ?1")?;
            let rows = query
                .query_map([limit], row)?
                .collect::<Result<Vec<_>, _>>()?;
            rows.into_iter()
                .map(|found| {
                    if found.is_dead(&judge)? {
                        whole(conn, found, &judge).map(|(summary, _)| summary)
                    } else {
                        summary(found)
                    }
                })
                .collect()
        })
        .await
    }

    async fn deploy_record(&self, id: DeployId) -> Result<Option<DeployRecord>, StoreError> {
        let judge = ByLease::of(self.path());
        self.read(move |conn| {
            let Some(found) = conn
                .prepare_cached("SELECT * FROM deploy WHERE id = ?1")?
                .query_row([id], row)
                .optional()?
            else {
                return Ok(None);
            };
            let (summary, operations) = whole(conn, found, &judge)?;
            let mut query =
                conn.prepare_cached("SELECT data FROM event WHERE deploy = ?1 ORDER BY seq")?;
            let events = query
                .query_map([id], |r| r.get::<_, String>(0))?
                .map(|text| parse("event", &text?))
                .collect::<Job<Vec<_>>>()?;
            Ok(Some(DeployRecord {
                summary,
                operations,
                events,
            }))
        })
        .await
    }

    async fn append_events(&self, deploy: DeployId, events: Vec<Event>) -> Result<u32, StoreError> {
        let kept = self.events_kept();
        self.keep("events", move |conn| {
            append(conn, deploy, &events, &mut lock(&kept))
        })
        .await
    }
}

pub(super) fn begin(
    conn: &Connection,
    id: Option<DeployId>,
    new: NewDeploy,
    leased: bool,
) -> Job<DeployId> {
    let me = this_process("deploy");
    conn.execute(
        "INSERT INTO deploy (id, stage, mode, began, who, host, outcome, operations, counts, config_digest, holder_pid, holder_start, holder_boot,
         holder_namespace, leased)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        rusqlite::params![
            id,
            new.stage,
            word("mode", &new.mode)?,
            new.began,
            new.who,
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
    for mut operation in new.operations {
        operation.deploy = id;
        put_operation(conn, &operation)?;
    }
    Ok(id)
}

fn settle(conn: &Connection, outcome: &Outcome) -> Job<i64> {
    conn.prepare_cached("UPDATE intent SET ok = ?4, outcome_at = ?5 WHERE deploy = ?1 AND idx = ?2 AND step = ?3 AND ok IS NULL")?
        .execute((outcome.deploy, outcome.index, &outcome.step, outcome.ok, outcome.at))?;
    super::state::apply(conn, &outcome.edits)
}

/// Writes an intent; with `ended`, whether it ended well and when, its outcome too.
pub(super) fn put_intent(
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
        &intent.step,
        intent.at,
        &intent.detail,
        ended.map(|(ok, _)| ok),
        ended.map(|(_, at)| at),
    ))?;
    Ok(())
}

/// Settles within the caller's transaction; the operations say how from then on.
pub(super) fn settle_intents(conn: &Connection, intents: &[i64], how: &str) -> Job<usize> {
    let mut settled = 0;
    for id in intents {
        let found: Option<(DeployId, u32)> = conn
            .prepare_cached("SELECT deploy, idx FROM intent WHERE id = ?1 AND ok IS NULL AND settled_at IS NULL")?
            .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let Some((deploy, index)) = found else {
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
            operation.settle(how);
            put_operation(conn, &operation)?;
        }
    }
    Ok(settled)
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
        word("state", &operation.state)?,
        json("operation", operation)?,
    ))?;
    Ok(())
}

/// `known` is how many events of a deploy are kept; counted once, for a count of all of them for
/// each batch takes ever longer.
fn append(
    conn: &Connection,
    deploy: DeployId,
    events: &[Event],
    known: &mut Option<(DeployId, u32)>,
) -> Job<u32> {
    let kept: u32 = match known.take() {
        Some((of, kept)) if of == deploy => kept,
        _ => conn
            .prepare_cached("SELECT count(*) FROM event WHERE deploy = ?1")?
            .query_row([deploy], |r| r.get(0))?,
    };
    let room = usize::try_from(KEPT_EVENTS.saturating_sub(kept))
        .unwrap_or(0)
        .min(events.len());
    let mut insert = conn
        .prepare_cached("INSERT OR REPLACE INTO event (deploy, seq, data) VALUES (?1, ?2, ?3)")?;
    for event in &events[..room] {
        insert.execute((
            deploy,
            i64::try_from(event.seq).unwrap_or(i64::MAX),
            json("event", event)?,
        ))?;
    }
    let dropped = u32::try_from(events.len() - room).unwrap_or(u32::MAX);
    *known = Some((deploy, kept + u32::try_from(room).unwrap_or(u32::MAX)));
    if dropped > 0 {
        conn.execute(
            "UPDATE deploy SET events_dropped = events_dropped + ?2 WHERE id = ?1",
            (deploy, dropped),
        )?;
    }
    Ok(dropped)
}

pub(super) fn operations(conn: &Connection, deploy: DeployId) -> Job<Vec<Operation>> {
    let mut query =
        conn.prepare_cached("SELECT data FROM operation WHERE deploy = ?1 ORDER BY idx")?;
    let rows = query.query_map([deploy], |r| r.get::<_, String>(0))?;
    rows.map(|text| parse("operation", &text?)).collect()
}

/// The process that runs a deploy.
fn runner(r: &Row<'_>) -> Result<LockHolder, rusqlite::Error> {
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

pub(super) struct Found {
    pub(super) summary: DeploySummary,
    mode: String,
    outcome: String,
    operations: String,
    counts: String,
    runner: LockHolder,
}

impl Found {
    /// Whether it is on record as running and its process is gone.
    pub(super) fn is_dead(&self, judge: &dyn Judge) -> Job<bool> {
        Ok(
            from_word::<DeployOutcome>("outcome", &self.outcome)? == DeployOutcome::Running
                && !judge.is_alive(&self.runner),
        )
    }

    /// Whether it is this holder's.
    pub(super) fn runs_in(&self, holder: &LockHolder) -> bool {
        let place = |h: &LockHolder| (h.host.clone(), h.pid, h.start_time, h.boot_id.clone());
        place(&self.runner) == place(holder)
    }
}

pub(super) fn row(r: &Row<'_>) -> Result<Found, rusqlite::Error> {
    Ok(Found {
        summary: DeploySummary {
            deploy: r.get("id")?,
            stage: r.get("stage")?,
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

fn summary(found: Found) -> Job<DeploySummary> {
    let mut summary = found.summary;
    summary.mode = from_word("mode", &found.mode)?;
    summary.outcome = from_word("outcome", &found.outcome)?;
    summary.operations = parse("counts", &found.operations)?;
    summary.counts = parse("counts", &found.counts)?;
    Ok(summary)
}

/// A deploy with its operations. A reader must not take a dead deploy for a running one before
/// anybody who may write has been here: it sees what will be written then.
fn whole(
    conn: &Connection,
    found: Found,
    judge: &dyn Judge,
) -> Job<(DeploySummary, Vec<Operation>)> {
    let dead = found.is_dead(judge)?;
    let mut summary = summary(found)?;
    if !dead {
        let operations = operations(conn, summary.deploy)?;
        return Ok((summary, operations));
    }
    let left = super::interrupted::left(conn, summary.deploy, summary.began)?;
    summary.outcome = DeployOutcome::Interrupted;
    summary.ended = Some(left.ended);
    summary.operations = left.counts;
    Ok((summary, left.operations))
}
