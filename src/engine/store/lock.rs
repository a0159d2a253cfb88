//! The workspace's lock: one row that names its holder. A dead holder's lock is taken over, and that is on record.

use super::error::{Fault, Job, StoreError};
use super::file::Store;
use super::liveness::{is_alive, now_ms};
use crate::engine::event::LockHolder;
use crate::engine::plugin::record::UnixMs;
use rusqlite::{Connection, OptionalExtension};

/// The lock is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acquired {
    /// Who held it before and died with it.
    pub taken_over: Option<LockHolder>,
}

impl Store {
    /// Takes the workspace's lock for `holder` (see [`super::this_process`]). Taking it again through the same store is no error.
    ///
    /// # Errors
    /// [`StoreError::Held`] names a holder that is alive.
    pub async fn acquire_lock(&self, holder: LockHolder) -> Result<Acquired, StoreError> {
        let token = self.token().to_owned();
        self.keep("the lock", move |conn| acquire(conn, &token, &holder)).await
    }

    /// Gives the lock back; nothing happens where this store does not hold it.
    pub async fn release_lock(&self) -> Result<(), StoreError> {
        let token = self.token().to_owned();
        self.keep("the lock", move |conn| release(conn, &token)).await
    }

    /// Who works on the workspace; a dead holder counts as nobody.
    pub async fn holder(&self) -> Result<Option<LockHolder>, StoreError> {
        self.read(|conn| Ok(row(conn)?.map(|(_, holder)| holder).filter(is_alive))).await
    }

    /// Locks taken over from dead holders, newest first, at most 100: when, from whom, by whom.
    pub async fn takeovers(&self) -> Result<Vec<(UnixMs, LockHolder, LockHolder)>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached("SELECT at, previous, taken_by FROM lock_takeover ORDER BY id DESC LIMIT 100")?;
            let rows = query.query_map([], |r| Ok((r.get(0)?, r.get::<_, String>(1)?, r.get::<_, String>(2)?)))?;
            rows.map(|row| {
                let (at, previous, by) = row?;
                Ok((at, parse(&previous)?, parse(&by)?))
            })
            .collect()
        })
        .await
    }
}

fn parse(text: &str) -> Job<LockHolder> {
    serde_json::from_str(text).map_err(|e| Fault::Json("lock", e))
}

fn row(conn: &Connection) -> Job<Option<(String, LockHolder)>> {
    let found = conn
        .prepare_cached("SELECT token, holder FROM lock")?
        .query_row([], |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?)))
        .optional()?;
    found.map(|(token, text)| Ok((token, parse(&text)?))).transpose()
}

fn acquire(conn: &Connection, token: &str, holder: &LockHolder) -> Job<Acquired> {
    let text = serde_json::to_string(holder).map_err(|e| Fault::Json("lock", e))?;
    let mut taken_over = None;
    if let Some((theirs, before)) = row(conn)?
        && theirs != token
    {
        if is_alive(&before) {
            return Err(StoreError::Held(Box::new(before)).into());
        }
        let previous = serde_json::to_string(&before).map_err(|e| Fault::Json("lock", e))?;
        conn.execute("INSERT INTO lock_takeover (at, previous, taken_by) VALUES (?1, ?2, ?3)", (now_ms(), previous, &text))?;
        taken_over = Some(before);
    }
    conn.execute("INSERT OR REPLACE INTO lock (one, token, holder) VALUES (1, ?1, ?2)", (token, text))?;
    super::interrupted::mark(conn)?;
    Ok(Acquired { taken_over })
}

pub(super) fn release(conn: &Connection, token: &str) -> Job<()> {
    conn.execute("DELETE FROM lock WHERE token = ?1", [token])?;
    Ok(())
}
