//! Events of deploys for their replay. Each batch is compressed into one row, because events are
//! many and similar. Deploys of older versions have one row for each event.

use crate::records::{CompressedJson, MAX_EVENTS};
use crate::sqlite::fault::{Fault, Job};
use crate::sqlite::stages::parse;
use model::{DeployId, Event};
use rusqlite::Connection;
use std::sync::Arc;

/// Number of stored events of a deploy, cached because counting them for each batch takes ever
/// longer.
pub(in crate::sqlite) type Known = Option<(DeployId, u32)>;

/// Stores events up to the limit; returns the number of dropped ones.
pub(super) fn append(
    conn: &Connection,
    deploy: DeployId,
    events: &[Arc<Event>],
    known: &mut Known,
) -> Job<u32> {
    // Taken, not read: if the insert fails, the next batch counts again.
    let kept: u32 = match known.take() {
        Some((of, kept)) if of == deploy => kept,
        _ => conn
            .prepare_cached("SELECT coalesce(sum(count), 0) FROM events WHERE deploy = ?1")?
            .query_row([deploy], |r| r.get(0))?,
    };
    let room = usize::try_from(MAX_EVENTS.saturating_sub(kept))
        .unwrap_or(0)
        .min(events.len());
    let (taken, dropped) = events.split_at(room);
    let count = u32::try_from(taken.len()).unwrap_or(u32::MAX);
    if let Some(first) = taken.first() {
        let all: Vec<&Event> = taken.iter().map(|event| &**event).collect();
        let packed = CompressedJson::compress(&all).map_err(|e| Fault::Json("event", e))?;
        conn.prepare_cached(
            "INSERT OR REPLACE INTO events (deploy, first, count, packed) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((
            deploy,
            i64::try_from(first.seq).unwrap_or(i64::MAX),
            count,
            packed.bytes(),
        ))?;
    }
    *known = Some((deploy, kept + count));
    let dropped = u32::try_from(dropped.len()).unwrap_or(u32::MAX);
    // Counted, so that a replay can report that it is incomplete.
    if dropped > 0 {
        conn.execute(
            "UPDATE deploy SET events_dropped = events_dropped + ?2 WHERE id = ?1",
            (deploy, dropped),
        )?;
    }
    Ok(dropped)
}

/// Events of a deploy in order.
pub(super) fn all(conn: &Connection, deploy: DeployId) -> Job<Vec<Event>> {
    let mut one_by_one =
        conn.prepare_cached("SELECT data FROM event WHERE deploy = ?1 ORDER BY seq")?;
    let mut events = one_by_one
        .query_map([deploy], |r| r.get::<_, String>(0))?
        .map(|text| parse("event", &text?))
        .collect::<Job<Vec<_>>>()?;
    let mut together =
        conn.prepare_cached("SELECT packed FROM events WHERE deploy = ?1 ORDER BY first")?;
    for packed in together.query_map([deploy], |r| r.get(0))? {
        let read = CompressedJson::from_bytes(packed?).read::<Vec<Event>>();
        events.extend(read.map_err(|e| Fault::Json("event", e))?);
    }
    Ok(events)
}

/// Deletes the events of deploys up to this one.
pub(super) fn forget(conn: &Connection, last: DeployId) -> Job<()> {
    for table in ["event", "events"] {
        conn.prepare_cached(&format!("DELETE FROM {table} WHERE deploy <= ?1"))?
            .execute([last])?;
    }
    Ok(())
}
