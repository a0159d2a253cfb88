//! The pg backend: one row for each workspace, locked by session advisory locks. A lock ends with
//! its connection, so each state uses a single connection.

mod connect;
mod error;
mod table;

use super::values::Values;
use super::{Backend, StateError, StateManager};
use crate::Spelling;
use crate::error::UnlockError;
use async_trait::async_trait;
use connect::ConnectOptions;
use error::PgError;
use model::DEFAULT_WORKSPACE;
use statefile::LockInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use table::{Session, Table, with_timeout};
use tokio::sync::Mutex;
use tokio_postgres::Client;

const TRY_LOCK: &str = "SELECT pg_try_advisory_lock($1)";
const RELEASE: &str = "SELECT pg_advisory_unlock($1)";

/// States in a table.
pub(super) struct Pg(Arc<Table>);

/// One state in the table.
struct Row {
    table: Arc<Table>,
    name: String,
    session: Mutex<Option<Session>>,
    /// Lock lost with its connection. Writes are refused until it is taken again.
    lost: AtomicBool,
}

impl Pg {
    pub(super) fn new(values: &Values<'_>) -> Result<Self, PgError> {
        let text = |name: &str, variable: &str, default: &str| {
            let said = values.text(name, &[variable]);
            said.unwrap_or_else(|| default.to_owned())
        };
        let makes = |name: &str, variable: &str| {
            let skipped = values.flag(name, &[variable])?;
            Ok::<_, PgError>(skipped != Some(true))
        };
        Ok(Self(Arc::new(Table {
            connect_options: ConnectOptions::new(values)?,
            schema: text("schema_name", "PG_SCHEMA_NAME", "terraform_remote_state"),
            table: text("table_name", "PG_TABLE_NAME", "states"),
            index: text("index_name", "PG_INDEX_NAME", "states_by_name"),
            creates: [
                makes("skip_schema_creation", "PG_SKIP_SCHEMA_CREATION")?,
                makes("skip_table_creation", "PG_SKIP_TABLE_CREATION")?,
                makes("skip_index_creation", "PG_SKIP_INDEX_CREATION")?,
            ],
        })))
    }
}

impl Row {
    fn to_state_error(&self, what: &'static str) -> impl Fn(PgError) -> StateError {
        let place = self.table.location(&self.name);
        move |why| StateError::remote(what, place.clone(), why)
    }

    /// Fails if the lock was lost. Call it after `session`, which detects that.
    fn require_lock(&self) -> Result<(), PgError> {
        if self.lost.load(Ordering::Relaxed) {
            return Err(PgError::Lost);
        }
        Ok(())
    }

    /// Returns the connection; opens one if it is missing or closed.
    async fn session<'a>(
        &self,
        session: &'a mut Option<Session>,
    ) -> Result<&'a mut Session, PgError> {
        // The driver task may end before the client notices the lost connection.
        let lost = session
            .as_mut()
            .is_some_and(|s| s.client.is_closed() || s.driver.try_join_next().is_some());
        if lost {
            let held = session.take().and_then(|s| s.held_lock);
            // A new connection does not have the lock, and another owner may have it by now.
            if held.is_some() {
                self.lost.store(true, Ordering::Relaxed);
            }
        }
        let open = match session.take() {
            Some(open) => open,
            None => self.table.connect().await?,
        };
        Ok(session.insert(open))
    }

    /// Tries to take the lock. The inner error is the key of a lock that another session has.
    async fn try_lock(&self, session: &mut Session) -> Result<Result<(), i64>, PgError> {
        // The creation lock stands for a row that does not exist yet.
        let creation = self.table.creation();
        let client = &session.client;
        let query = format!(
            "SELECT id, pg_try_advisory_lock(id), pg_try_advisory_lock($2) FROM {} WHERE name = $1",
            self.table.qualified_name()
        );
        let row = with_timeout(client.query_opt(&query, &[&self.name, &creation])).await?;
        let (number, ours) = match row {
            Some(row) => {
                // OpenTofu also takes the creation lock here; only the row's lock is kept.
                if row.get(2) {
                    with_timeout(client.query_one(RELEASE, &[&creation])).await?;
                }
                (row.get(0), row.get(1))
            }
            None => {
                let taken = with_timeout(client.query_one(TRY_LOCK, &[&creation])).await?;
                (creation, taken.get(0))
            }
        };
        if ours {
            session.held_lock = Some(number);
            self.lost.store(false, Ordering::Relaxed);
        }
        Ok(if ours { Ok(()) } else { Err(number) })
    }

    /// Lock owner, as far as the database knows it.
    async fn lock_owner(&self, client: &Client, number: i64) -> Result<Option<LockInfo>, PgError> {
        // PostgreSQL splits a bigint key over classid and objid.
        let query = "SELECT a.pid, a.usename::text, coalesce(host(a.client_addr), 'local'), a.application_name, to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND ((l.classid::bigint << 32) | l.objid::bigint) = $1";
        let row = with_timeout(client.query_opt(query, &[&number])).await?;
        Ok(row.map(|row| {
            // Advisory locks have no id, so the session's pid serves as one.
            let (pid, user): (i32, Option<String>) = (row.get(0), row.get(1));
            let (from, program): (String, Option<String>) = (row.get(2), row.get(3));
            let program = program.filter(|text| !text.is_empty());
            LockInfo {
                id: pid.to_string(),
                operation: program.unwrap_or_else(|| "a database session".to_owned()),
                who: format!("{}@{from}", user.unwrap_or_default()),
                version: "unknown".to_owned(),
                created: row.get::<_, Option<String>>(4).unwrap_or_default(),
                ..LockInfo::default()
            }
        }))
    }
}

/// Reads a text beside a state. The table exists only after the first such text.
async fn read_beside(client: &Client, table: &str, name: &str) -> Result<Option<String>, PgError> {
    let look = "SELECT to_regclass($1)::text";
    let found = with_timeout(client.query_one(look, &[&table])).await?;
    if found.get::<_, Option<String>>(0).is_none() {
        return Ok(None);
    }
    let query = format!("SELECT data FROM {table} WHERE name = $1");
    let row = with_timeout(client.query_opt(&query, &[&name])).await?;
    Ok(row.and_then(|row| row.get(0)))
}

#[async_trait]
impl StateManager for Row {
    fn place(&self) -> String {
        self.table.location(&self.name)
    }

    fn layout(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, _: LockInfo) -> Result<(), StateError> {
        let trouble = self.to_state_error("lock");
        let mut session = self.session.lock().await;
        let session = self.session(&mut session).await.map_err(&trouble)?;
        if session.held_lock.is_some() {
            return Ok(());
        }
        let number = match self.try_lock(session).await.map_err(&trouble)? {
            Ok(()) => return Ok(()),
            Err(number) => number,
        };
        let holder = self.lock_owner(&session.client, number).await;
        Err(StateError::Locked {
            place: self.place(),
            info: holder.map_err(&trouble)?.map(Box::new),
        })
    }

    async fn unlock(&self) -> Result<(), StateError> {
        let mut session = self.session.lock().await;
        // After this nothing is held, lost or not.
        self.lost.store(false, Ordering::Relaxed);
        let Some(open) = session.take() else {
            return Ok(());
        };
        let Some(number) = open.held_lock else {
            return Ok(());
        };
        // If no answer comes, closing the connection releases the lock.
        let released = with_timeout(open.client.query_one(RELEASE, &[&number])).await;
        drop(open);
        released.map(drop).map_err(self.to_state_error("unlock"))
    }

    /// Ends the owner's session, because only that releases its lock.
    async fn force_unlock(&self, id: &str) -> Result<(), StateError> {
        let trouble = self.to_state_error("unlock");
        let mut session = self.session.lock().await;
        let session = self.session(&mut session).await.map_err(&trouble)?;
        let number = match self.try_lock(session).await.map_err(&trouble)? {
            Err(number) => number,
            // The lock was free, so it is released again.
            Ok(()) => {
                let number = session.held_lock.take();
                let released = with_timeout(session.client.query_one(RELEASE, &[&number])).await;
                released.map_err(&trouble)?;
                return Err(trouble(UnlockError::NotLocked.into()));
            }
        };
        let holder = self.lock_owner(&session.client, number).await;
        let holder = holder.map_err(&trouble)?.unwrap_or_default();
        if holder.id != id {
            return Err(trouble(PgError::OtherSession {
                id: holder.id,
                asked: id.to_owned(),
            }));
        }
        // The id equals the owner's, which is a pid.
        let pid: i32 = id.parse().unwrap_or_default();
        let end = "SELECT pg_terminate_backend($1)";
        let ended = with_timeout(session.client.query_one(end, &[&pid])).await;
        let ended: bool = ended.map_err(&trouble)?.get(0);
        if ended {
            return Ok(());
        }
        Err(trouble(PgError::NotEnded(pid)))
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        let trouble = self.to_state_error("read");
        let mut session = self.session.lock().await;
        let session = self.session(&mut session).await.map_err(&trouble)?;
        let query = format!(
            "SELECT data FROM {} WHERE name = $1",
            self.table.qualified_name()
        );
        let row = with_timeout(session.client.query_opt(&query, &[&self.name])).await;
        let text = row.map_err(&trouble)?;
        let text: Option<String> = text.and_then(|row| row.get(0));
        Ok(text.unwrap_or_default().into_bytes())
    }

    async fn write(&self, text: String) -> Result<(), StateError> {
        let trouble = self.to_state_error("write");
        let mut session = self.session.lock().await;
        let session = self.session(&mut session).await.map_err(&trouble)?;
        // Without the lock, another owner may have written meanwhile.
        self.require_lock().map_err(&trouble)?;
        let table = self.table.qualified_name();
        let query = format!(
            "INSERT INTO {table} (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = excluded.data"
        );
        let written = with_timeout(session.client.execute(&query, &[&self.name, &text])).await;
        written.map(drop).map_err(&trouble)
    }

    async fn read_beside(&self) -> Result<Option<Vec<u8>>, StateError> {
        let trouble = self.to_state_error("read");
        let mut session = self.session.lock().await;
        let session = self.session(&mut session).await.map_err(&trouble)?;
        let text = read_beside(&session.client, &self.table.name_beside(), &self.name).await;
        Ok(Some(text.map_err(&trouble)?.unwrap_or_default().into()))
    }

    async fn write_beside(&self, text: String) -> Result<(), StateError> {
        let trouble = self.to_state_error("write");
        let mut session = self.session.lock().await;
        let session = self.session(&mut session).await.map_err(&trouble)?;
        self.require_lock().map_err(&trouble)?;
        let table = self.table.name_beside();
        let written = async {
            if text.is_empty()
                && read_beside(&session.client, &table, &self.name)
                    .await?
                    .is_none()
            {
                return Ok(());
            }
            // Made with its first text, because most databases never need it.
            let make =
                format!("CREATE TABLE IF NOT EXISTS {table} (name text PRIMARY KEY, data text)");
            with_timeout(session.client.batch_execute(&make)).await?;
            let query = format!(
                "INSERT INTO {table} (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = excluded.data"
            );
            with_timeout(session.client.execute(&query, &[&self.name, &text]))
                .await
                .map(drop)
        };
        written.await.map_err(&trouble)
    }

    async fn delete(&self) -> Result<(), StateError> {
        let trouble = self.to_state_error("delete");
        let mut session = self.session.lock().await;
        let session = self.session(&mut session).await.map_err(&trouble)?;
        self.require_lock().map_err(&trouble)?;
        let query = format!(
            "DELETE FROM {} WHERE name = $1",
            self.table.qualified_name()
        );
        let deleted = with_timeout(session.client.execute(&query, &[&self.name])).await;
        deleted.map(drop).map_err(&trouble)
    }
}

#[async_trait]
impl Backend for Pg {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        let name = if named.is_empty() {
            DEFAULT_WORKSPACE
        } else {
            named
        };
        Ok(Arc::new(Row {
            table: self.0.clone(),
            name: name.to_owned(),
            session: Mutex::default(),
            lost: AtomicBool::new(false),
        }))
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        let listed = async {
            let session = self.0.connect().await?;
            let query = format!(
                "SELECT name FROM {} WHERE name <> '{DEFAULT_WORKSPACE}' ORDER BY name",
                self.0.qualified_name()
            );
            with_timeout(session.client.query(&query, &[])).await
        };
        let rows = listed.await.map_err(|why| {
            let place = self.0.location("all workspaces");
            StateError::remote("list", place, why)
        })?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::super::{BackendKind, Settings};
    use super::*;

    #[test]
    fn creation_lock_has_the_same_number_as_in_opentofu() {
        let settings = Settings::new(BackendKind::Pg);
        let pg = Pg::new(&Values::new(&settings, &|_| None)).unwrap();
        assert_eq!(pg.0.creation(), -3_797_183_428);
    }
}
