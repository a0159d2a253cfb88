//! Workspace lock: a system lock, and a row that names its owner. A lock whose owner has ended is
//! taken over, which is recorded.

use super::fault::{Fault, Job};
use super::file::{Sqlite, refuse_newer};
use crate::error::StoreError;
use crate::records::Acquired;
use crate::{Locks, StoreApi, unused_rescue_file};
use async_trait::async_trait;
use model::lock_owner::lease::LeaseCheck;
use model::lock_owner::{LivenessCheck, lease, this_process};
use model::mutex::lock;
use model::{LockHolder, UnixMs, now_ms};
use rusqlite::{Connection, OptionalExtension};

#[async_trait]
impl Locks for Sqlite {
    async fn acquire_lock(&self, holder: LockHolder) -> Result<Acquired, StoreError> {
        let certain = self.take_lease().await?;
        let (token, path) = (self.token().to_owned(), self.path().to_owned());
        let taken = self
            .write_later("the lock", move |conn| {
                // A new store must not hide the rescue file of a lost one.
                if is_blank(conn)?
                    && let Some(rescue) = unused_rescue_file(&path)
                {
                    return Err(StoreError::Rescued { path, rescue }.into());
                }
                refuse_newer(conn, &path)?;
                acquire(
                    conn,
                    &token,
                    &LockHolder {
                        leased: true,
                        ..holder
                    },
                    &LeaseCheck::held_by_caller(certain),
                    false,
                )
            })
            .await;
        if taken.is_err() {
            self.drop_lease();
        }
        taken
    }

    async fn force_unlock(&self, by: LockHolder) -> Result<Option<LockHolder>, StoreError> {
        let certain = self.take_lease().await?;
        let token = self.token().to_owned();
        let taken = self
            .write("the lock", move |conn| {
                let taken = acquire(
                    conn,
                    &token,
                    &by,
                    &LeaseCheck::held_by_caller(certain),
                    true,
                )?;
                // Only removes the owner; this process does not keep the lock.
                release(conn, &token)?;
                Ok(taken.former_owner)
            })
            .await;
        self.drop_lease();
        taken
    }

    async fn release_lock(&self) -> Result<(), StoreError> {
        let token = self.token().to_owned();
        let released = self
            .write_later("the lock", move |conn| release(conn, &token))
            .await;
        self.drop_lease();
        released
    }

    async fn lock_owner(&self) -> Result<Option<LockHolder>, StoreError> {
        let judge = LeaseCheck::for_store(self.path());
        self.read(move |conn| {
            Ok(row(conn)?
                .map(|(_, holder)| holder)
                .filter(|h| judge.is_alive(h)))
        })
        .await
    }

    async fn takeovers(&self) -> Result<Vec<(UnixMs, LockHolder, LockHolder)>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached(
                "SELECT at, previous, taken_by FROM lock_takeover ORDER BY id DESC LIMIT 100",
            )?;
            let rows = query.query_map([], |r| {
                Ok((r.get(0)?, r.get::<_, String>(1)?, r.get::<_, String>(2)?))
            })?;
            rows.map(|row| {
                let (at, previous, by) = row?;
                Ok((at, parse(&previous)?, parse(&by)?))
            })
            .collect()
        })
        .await
    }
}

impl Sqlite {
    /// Takes the system lock, unless held; returns true if no other process can have it.
    async fn take_lease(&self) -> Result<bool, StoreError> {
        if let Some(lease) = &*lock(self.lease()) {
            return Ok(lease.certain);
        }
        let dir = self.path().parent().unwrap_or(self.path()).to_owned();
        let taken = tokio::task::spawn_blocking(move || {
            lease::try_acquire(&dir).map_err(|e| StoreError::io(&dir.join("lock"), "open", e))
        });
        let Some(lease) = taken.await.map_err(|_| StoreError::Closed)?? else {
            return Err(self.lock_owner_error().await);
        };
        let certain = lease.certain;
        *lock(self.lease()) = Some(lease);
        Ok(certain)
    }

    fn drop_lease(&self) {
        drop(lock(self.lease()).take());
    }

    /// Error that names the owner of the system lock: from the row, or from the system if the row
    /// was lost with the store.
    async fn lock_owner_error(&self) -> StoreError {
        let recorded = self
            .read(|conn| Ok(row(conn)?.map(|(_, holder)| holder).filter(|h| h.leased)))
            .await;
        let holder = recorded.ok().flatten().unwrap_or_else(|| {
            let nobody = this_process("its lock record is missing, because the store was removed or replaced while it runs");
            let pid = lease::owner_pid(self.path().parent().unwrap_or(self.path())).unwrap_or(0);
            LockHolder { who: "another process".to_owned(), pid, ..nobody }
        });
        StoreError::Locked(Box::new(holder))
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
    found
        .map(|(token, text)| Ok((token, parse(&text)?)))
        .transpose()
}

/// Was the store never used?
fn is_blank(conn: &Connection) -> Job<bool> {
    let any = "SELECT EXISTS (SELECT 1 FROM deploy) OR EXISTS (SELECT 1 FROM state_resource)";
    Ok(!conn.query_row(any, [], |r| r.get::<_, bool>(0))?)
}

/// Takes the lock, also from an owner that has ended, or by force.
fn acquire(
    conn: &Connection,
    token: &str,
    holder: &LockHolder,
    judge: &dyn LivenessCheck,
    force: bool,
) -> Job<Acquired> {
    let text = serde_json::to_string(holder).map_err(|e| Fault::Json("lock", e))?;
    let mut taken_over = None;
    // The same token means that this store already has the lock.
    if let Some((theirs, before)) = row(conn)?
        && theirs != token
    {
        if !force && judge.is_alive(&before) {
            return Err(StoreError::Locked(Box::new(before)).into());
        }
        let previous = serde_json::to_string(&before).map_err(|e| Fault::Json("lock", e))?;
        conn.execute(
            "INSERT INTO lock_takeover (at, previous, taken_by) VALUES (?1, ?2, ?3)",
            (now_ms(), previous, &text),
        )?;
        taken_over = Some(before);
    }
    conn.execute(
        "INSERT OR REPLACE INTO lock (one, token, holder) VALUES (1, ?1, ?2)",
        (token, text),
    )?;
    // Deploys of an owner that has ended are interrupted.
    super::interrupted::mark(conn, judge, force.then_some(taken_over.as_ref()).flatten())?;
    Ok(Acquired {
        former_owner: taken_over,
    })
}

pub(super) fn release(conn: &Connection, token: &str) -> Job<()> {
    conn.execute("DELETE FROM lock WHERE token = ?1", [token])?;
    Ok(())
}
