//! Deploys: their operations, the intent before each call and the outcome after it, their events. What a flightdeck that
//! died left behind is found by the process that each deploy names.

use super::error::{Job, StoreError};
use super::file::Store;
use super::liveness::{is_alive, now_ms, this_process};
use super::model::{Intent, Outcome, UnknownOutcome};
use super::stages::{from_word, json, parse, word};
use crate::engine::api::DeployRecord;
use crate::engine::calls::lock;
use crate::engine::event::*;
use crate::engine::plugin::record::UnixMs;
use rusqlite::{Connection, OptionalExtension, Row};

/// Events kept of one deploy; what comes after is counted, not kept.
pub const KEPT_EVENTS: u32 = 100_000;
/// Deploys whose events are kept.
const REPLAYABLE: i64 = 50;

/// A deploy that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDeploy {
    pub stage: StageId,
    pub mode: StageMode,
    pub began: UnixMs,
    pub who: String,
    pub counts: Counts,
    pub config_digest: String,
    /// Their `deploy` is set to the new number.
    pub operations: Vec<Operation>,
}

impl Store {
    /// Records a deploy of this process as running; the answer is its number.
    pub async fn begin_deploy(&self, new: NewDeploy) -> Result<DeployId, StoreError> {
        self.write("a deploy", move |conn| begin(conn, new)).await
    }

    /// Records what is about to be done. It is durable when this returns: only then may the call be made.
    pub async fn intend(&self, intent: Intent) -> Result<(), StoreError> {
        self.write("an intent", move |conn| {
            conn.prepare_cached(
                "INSERT INTO intent (deploy, idx, address, deposed, step, at, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((
                intent.deploy,
                intent.index,
                &intent.address,
                &intent.deposed,
                &intent.step,
                intent.at,
                &intent.detail,
            ))?;
            Ok(())
        })
        .await
    }

    /// Records what came of it together with the state that it left, in one transaction. The answer is the state's serial.
    pub async fn settle(&self, outcome: Outcome) -> Result<i64, StoreError> {
        self.write("an outcome", move |conn| {
            conn.prepare_cached("UPDATE intent SET ok = ?4, outcome_at = ?5 WHERE deploy = ?1 AND idx = ?2 AND step = ?3 AND ok IS NULL")?
                .execute((outcome.deploy, outcome.index, &outcome.step, outcome.ok, outcome.at))?;
            super::state::apply(conn, &outcome.edits)
        })
        .await
    }

    /// Keeps an operation as it stands now. It is durable with what is asked next, at the latest with the deploy's end;
    /// `failed` hears why where it could not be kept.
    pub async fn operation_changed(
        &self,
        operation: Operation,
        failed: impl FnOnce(StoreError) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.post("an operation", move |conn| put_operation(conn, &operation), failed).await
    }

    /// Records a deploy's end.
    pub async fn finish_deploy(&self, summary: DeploySummary) -> Result<(), StoreError> {
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

    /// Operations whose intent is on record and whose outcome is not, oldest first; those of a deploy that runs are not among them.
    pub async fn unknown_outcomes(&self) -> Result<Vec<UnknownOutcome>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached(
                "SELECT i.deploy, i.address, i.deposed, i.step, i.at, i.detail, d.outcome, d.host, d.holder_pid, d.holder_start, d.holder_boot
                 FROM intent i JOIN deploy d ON d.id = i.deploy WHERE i.ok IS NULL AND i.settled_at IS NULL ORDER BY i.id",
            )?;
            let rows = query.query_map([], |r| {
                let unknown = UnknownOutcome {
                    deploy: r.get(0)?,
                    address: r.get(1)?,
                    deposed: r.get(2)?,
                    step: r.get(3)?,
                    at: r.get(4)?,
                    detail: r.get(5)?,
                };
                let runs = r.get::<_, String>(6)? == "running" && is_alive(&runner(r)?);
                Ok((unknown, runs))
            })?;
            let all = rows.collect::<Result<Vec<_>, _>>()?;
            Ok(all.into_iter().filter(|(_, runs)| !runs).map(|(unknown, _)| unknown).collect())
        })
        .await
    }

    /// Settles what is unknown of `address`, `how` in words (`read back`, `imported`, `forgotten`). The answer: how many records it settled.
    pub async fn settle_unknown(&self, address: &str, how: &str) -> Result<usize, StoreError> {
        let (address, how) = (address.to_owned(), how.to_owned());
        self.write("an outcome", move |conn| {
            Ok(conn.execute(
                "UPDATE intent SET settled_at = ?2, settled_by = ?3 WHERE address = ?1 AND ok IS NULL AND settled_at IS NULL",
                (address, now_ms(), how),
            )?)
        })
        .await
    }

    /// The newest deploys, newest first; all of them for a `limit` of 0.
    pub async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, StoreError> {
        let limit = if limit == 0 { -1 } else { i64::from(limit) };
        self.read(move |conn| {
            let mut query = conn.prepare_cached("SELECT * FROM deploy ORDER BY id DESC LIMIT ?1")?;
            let rows = query.query_map([limit], row)?.collect::<Result<Vec<_>, _>>()?;
            rows.into_iter().map(summary).collect()
        })
        .await
    }

    /// One deploy with its operations and events.
    pub async fn deploy_record(&self, id: DeployId) -> Result<Option<DeployRecord>, StoreError> {
        self.read(move |conn| {
            let Some(found) = conn.prepare_cached("SELECT * FROM deploy WHERE id = ?1")?.query_row([id], row).optional()? else {
                return Ok(None);
            };
            let summary = summary(found)?;
            let operations = operations(conn, id)?;
            let mut query = conn.prepare_cached("SELECT data FROM event WHERE deploy = ?1 ORDER BY seq")?;
            let events = query.query_map([id], |r| r.get::<_, String>(0))?.map(|text| parse("event", &text?)).collect::<Job<Vec<_>>>()?;
            Ok(Some(DeployRecord { summary, operations, events }))
        })
        .await
    }

    /// Keeps events of a deploy for its replay, at most [`KEPT_EVENTS`]; the answer is how many were not kept.
    pub async fn append_events(&self, deploy: DeployId, events: Vec<Event>) -> Result<u32, StoreError> {
        let kept = self.events_kept();
        self.write("events", move |conn| append(conn, deploy, &events, &mut lock(&kept))).await
    }
}

fn begin(conn: &Connection, new: NewDeploy) -> Job<DeployId> {
    let me = this_process("deploy");
    conn.execute(
        "INSERT INTO deploy (stage, mode, began, who, host, outcome, operations, counts, config_digest, holder_pid, holder_start, holder_boot)
         VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, ?7, ?8, ?9, ?10, ?11)",
        rusqlite::params![
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
            me.boot_id
        ],
    )?;
    let id = conn.last_insert_rowid();
    for mut operation in new.operations {
        operation.deploy = id;
        put_operation(conn, &operation)?;
    }
    Ok(id)
}

fn put_operation(conn: &Connection, operation: &Operation) -> Job<()> {
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

/// `known` is how many events of a deploy are kept; counted once, for a count of all of them for each batch takes ever longer.
fn append(conn: &Connection, deploy: DeployId, events: &[Event], known: &mut Option<(DeployId, u32)>) -> Job<u32> {
    let kept: u32 = match known.take() {
        Some((of, kept)) if of == deploy => kept,
        _ => conn.prepare_cached("SELECT count(*) FROM event WHERE deploy = ?1")?.query_row([deploy], |r| r.get(0))?,
    };
    let room = usize::try_from(KEPT_EVENTS.saturating_sub(kept)).unwrap_or(0).min(events.len());
    let mut insert = conn.prepare_cached("INSERT OR REPLACE INTO event (deploy, seq, data) VALUES (?1, ?2, ?3)")?;
    for event in &events[..room] {
        insert.execute((deploy, i64::try_from(event.seq).unwrap_or(i64::MAX), json("event", event)?))?;
    }
    let dropped = u32::try_from(events.len() - room).unwrap_or(u32::MAX);
    *known = Some((deploy, kept + u32::try_from(room).unwrap_or(u32::MAX)));
    if dropped > 0 {
        conn.execute("UPDATE deploy SET events_dropped = events_dropped + ?2 WHERE id = ?1", (deploy, dropped))?;
    }
    Ok(dropped)
}

fn operations(conn: &Connection, deploy: DeployId) -> Job<Vec<Operation>> {
    let mut query = conn.prepare_cached("SELECT data FROM operation WHERE deploy = ?1 ORDER BY idx")?;
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
        since: 0,
        reason: String::new(),
    })
}

struct Found {
    summary: DeploySummary,
    mode: String,
    outcome: String,
    operations: String,
    counts: String,
    runner: LockHolder,
}

fn row(r: &Row<'_>) -> Result<Found, rusqlite::Error> {
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
    // A reader must not take a dead deploy for a running one before anybody who may write has been here.
    if summary.outcome == DeployOutcome::Running && !is_alive(&found.runner) {
        summary.outcome = DeployOutcome::Interrupted;
    }
    Ok(summary)
}

/// [`mark_interrupted`] in a transaction of its own, when a store is opened.
pub(super) fn sweep(conn: &Connection) -> Job<()> {
    let any: bool = conn.query_row("SELECT EXISTS (SELECT 1 FROM deploy WHERE outcome = 'running')", [], |r| r.get(0))?;
    if !any {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let marked = mark_interrupted(conn);
    conn.execute_batch(if marked.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    marked
}

/// Deploys on record as running whose process is dead become interrupted, their running operations unknown.
pub(super) fn mark_interrupted(conn: &Connection) -> Job<()> {
    let mut query = conn.prepare("SELECT * FROM deploy WHERE outcome = 'running'")?;
    let running = query.query_map([], row)?.collect::<Result<Vec<_>, _>>()?;
    for dead in running.into_iter().filter(|found| !is_alive(&found.runner)) {
        let id = dead.summary.deploy;
        interrupt(conn, id, dead.summary.began)?;
    }
    Ok(())
}

fn interrupt(conn: &Connection, id: DeployId, began: UnixMs) -> Job<()> {
    let open: Vec<u32> = conn
        .prepare("SELECT DISTINCT idx FROM intent WHERE deploy = ?1 AND ok IS NULL")?
        .query_map([id], |r| r.get(0))?
        .collect::<Result<_, _>>()?;
    let last: Option<UnixMs> =
        conn.query_row("SELECT max(max(at), coalesce(max(outcome_at), 0)) FROM intent WHERE deploy = ?1", [id], |r| r.get(0))?;
    let mut counts = OperationCounts::default();
    for mut operation in operations(conn, id)? {
        if open.contains(&operation.index) {
            operation.state = OperationState::Unknown;
        } else if matches!(operation.state, OperationState::Waiting | OperationState::Running) {
            operation.state = OperationState::NotAttempted;
        }
        match operation.state {
            OperationState::Done => counts.done += 1,
            OperationState::Failed => counts.failed += 1,
            OperationState::Unknown => counts.unknown += 1,
            OperationState::Waiting | OperationState::Running | OperationState::NotAttempted => counts.not_attempted += 1,
        }
        put_operation(conn, &operation)?;
    }
    conn.execute(
        "UPDATE deploy SET outcome = 'interrupted', ended = ?2, operations = ?3 WHERE id = ?1 AND outcome = 'running'",
        (id, last.unwrap_or(began), json("counts", &counts)?),
    )?;
    Ok(())
}
