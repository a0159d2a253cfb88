//! The database file: location, access, schema version; and [`Sqlite`], which owns the writer
//! thread and the readers' connections.

mod connections;
mod schema;

use super::deploys::Known;
use super::fault::{Fault, Job};
use super::running_deploy::RunningDeploy;
use super::writer::Durable;
use super::{lock, writer};
use crate::StoreApi;
use crate::error::StoreError;
pub(super) use connections::connect;
use connections::{open_reader, open_writer};
use model::lock_owner::lease::{Lease, LeaseCheck};
use model::settings::Access;
use rusqlite::Connection;
use schema::store_exists;
pub(super) use schema::{fill, refuse_newer, remove};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// `FLDK`: SQLite application id of a store.
const APPLICATION_ID: i64 = 0x464C_444B;
/// Migrations, oldest first; `user_version` is the number of those applied.
const MIGRATIONS: [&str; 17] = [
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
    include_str!("schema/006.sql"),
    include_str!("schema/007.sql"),
    include_str!("schema/008.sql"),
    include_str!("schema/009.sql"),
    include_str!("schema/010.sql"),
    include_str!("schema/011.sql"),
    include_str!("schema/012.sql"),
    include_str!("schema/013.sql"),
    include_str!("schema/014.sql"),
    include_str!("schema/015.sql"),
    include_str!("schema/016.sql"),
    include_str!("schema/017.sql"),
];
/// Maximum number of idle read connections.
const READERS: usize = 4;

/// Handle to the store. Dropping the last one ends the writer thread, which releases the lock row.
#[derive(Debug, Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    writer: Option<Writer>,
    /// Do not open the file, even if it exists.
    absent: bool,
    /// Released after the writer thread has deleted the lock row.
    lease: Mutex<Option<Lease>>,
    token: String,
    commits: Arc<AtomicU64>,
    /// Copy of the running deploy in memory, for a rescue.
    running_deploy: Arc<Mutex<Option<RunningDeploy>>>,
    /// Number of stored events of the running deploy, cached to save a count for each batch.
    events: Arc<Mutex<Known>>,
}

struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn writer::Queued>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Writer")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A closed channel ends the thread, and joining it waits for the last commit.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer thread panicked");
        }
    }
}

impl Sqlite {
    /// Opens the store of the workspace `dir`; [`Access::ReadWrite`] creates it. Blocks for some
    /// milliseconds.
    ///
    /// # Errors
    /// Every way in which a file can be unusable has its own [`StoreError`].
    pub fn open(dir: &Path, access: Access) -> Result<Self, StoreError> {
        let path = dir.join(".flightdeck").join("flightdeck.db");
        let token = uuid::Uuid::new_v4().to_string();
        let commits = Arc::<AtomicU64>::default();
        let writer = match access {
            Access::NoStore => None,
            Access::ReadOnly | Access::ReadState => {
                // Opened once, to report errors at the start.
                if store_exists(&path)? {
                    drop(open_reader(&path)?);
                }
                None
            }
            Access::ReadWrite => {
                let conn = open_writer(&path)?;
                super::interrupted::mark_interrupted(&conn, &LeaseCheck::for_store(&path))
                    .map_err(|f| f.at(&path))?;
                let (jobs, queue) = mpsc::channel(writer::QUEUE);
                let (for_thread, for_release, counted) =
                    (path.clone(), token.clone(), Arc::clone(&commits));
                let thread = std::thread::Builder::new()
                    .name("store".into())
                    .spawn(move || {
                        writer::run(conn, for_thread, queue, &counted, |conn| {
                            if let Err(e) = lock::release(conn, &for_release) {
                                tracing::warn!(error = ?e, "cannot release the workspace lock; it counts as released when this process has ended");
                            }
                        });
                    })
                    .map_err(|e| StoreError::io(&path, "start the writer thread of", e))?;
                Some(Writer {
                    jobs: Some(jobs),
                    thread: Some(thread),
                })
            }
        };
        Ok(Self {
            inner: Arc::new(Inner {
                path,
                readers: Mutex::default(),
                writer,
                absent: access == Access::NoStore,
                lease: Mutex::default(),
                token,
                commits,
                running_deploy: Arc::default(),
                events: Arc::default(),
            }),
        })
    }

    pub(super) fn stored_events(&self) -> Arc<Mutex<Known>> {
        Arc::clone(&self.inner.events)
    }

    pub(super) fn lease(&self) -> &Mutex<Option<Lease>> {
        &self.inner.lease
    }

    pub(super) fn running_deploy(&self) -> Arc<Mutex<Option<RunningDeploy>>> {
        Arc::clone(&self.inner.running_deploy)
    }

    pub(super) fn token(&self) -> &str {
        &self.inner.token
    }

    /// Runs `job` on the writer; returns once the result is on disk.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(what, Durable::Now, job).await
    }

    /// Runs `job` on the writer; returns once it is committed and visible to every process. A power
    /// loss may undo it until the next [`Sqlite::write`].
    pub(super) async fn write_later<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(what, Durable::Later, job).await
    }

    /// Runs `job` on the writer outside of any transaction.
    pub(super) async fn run_outside_transaction<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(what, Durable::OutsideTransaction, job).await
    }

    async fn run<T: Send + 'static>(
        &self,
        what: &'static str,
        durable: Durable,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (task, answer) = writer::task(durable, job);
        self.send(what, task).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn send(
        &self,
        what: &'static str,
        task: Box<dyn writer::Queued>,
    ) -> Result<(), StoreError> {
        let writer = self
            .inner
            .writer
            .as_ref()
            .ok_or(StoreError::ReadOnly { what })?;
        let jobs = writer.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(task).await.map_err(|_| StoreError::Closed)
    }

    /// Queues `job` on the writer in order and does not wait for it. It becomes durable no later
    /// than any job queued after it. `failed` receives the error, if there is one.
    pub(super) async fn post(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<()> + Send + 'static,
        failed: impl FnOnce(StoreError) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.send(what, writer::post(job, failed)).await
    }

    /// Runs `job` on a read-only connection in a blocking thread. Returns the default if there is
    /// no store.
    pub(super) async fn read<T: Default + Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.inner.absent {
            return Ok(T::default());
        }
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || {
            let idle = inner
                .readers
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .pop();
            let conn = match idle {
                Some(conn) => conn,
                // A writer has created the file, so its absence is a loss and not an empty store.
                None if !store_exists(&inner.path)? && inner.writer.is_some() => {
                    return Err(StoreError::Vanished {
                        path: inner.path.clone(),
                        why: "it was removed",
                    });
                }
                None if !store_exists(&inner.path)? => return Ok(T::default()),
                None => open_reader(&inner.path)?,
            };
            // One transaction, so that all statements see the same snapshot.
            let result = conn
                .execute_batch("BEGIN")
                .map_err(Fault::from)
                .and_then(|()| job(&conn));
            let ended = conn.execute_batch("ROLLBACK");
            let answer = result.map_err(|f| f.at(&inner.path))?;
            // A connection that is still in a transaction must not be reused.
            if ended.is_ok() {
                let mut readers = inner
                    .readers
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                if readers.len() < READERS {
                    readers.push(conn);
                }
            }
            Ok(answer)
        })
        .await
        .map_err(|_| StoreError::Closed)?
    }
}

impl StoreApi for Sqlite {
    fn path(&self) -> &Path {
        &self.inner.path
    }

    fn can_write(&self) -> bool {
        self.inner.writer.is_some()
    }

    fn commits(&self) -> u64 {
        self.inner.commits.load(Ordering::Relaxed)
    }
}
