//! The file: where it lies, who may open it, its layout's version; and the [`Sqlite`] handle over
//! it. The handle owns the writer thread and the readers' connections.

use super::fault::{Fault, Job};
use super::shadow::Shadow;
use super::writer::Durable;
use super::{guard, lock, writer};
use crate::engine::holder::lease::ByLease;
use crate::engine::holder::lease::Lease;
use crate::engine::settings::Access;
use crate::engine::store::Keeping;
use crate::engine::store::error::{BUSY_SECONDS, StoreError};
use crate::engine::words::DeployId;
use rusqlite::{Connection, OpenFlags};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// `FLDK`: what marks a file as ours.
const APPLICATION_ID: i64 = 0x464C_444B;
/// Layouts, oldest first; `user_version` is how many of them a file has.
const MIGRATIONS: [&str; 6] = [
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
    include_str!("schema/006.sql"),
];
/// Idle connections kept for readers.
const READERS: usize = 4;

/// The handle that everything holds. The last one to go ends the writer thread, which gives the
/// lock back.
#[derive(Debug, Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    writer: Option<Writer>,
    /// Given up after the writer has ended and the record of the lock with it.
    lease: Mutex<Option<Lease>>,
    token: String,
    commits: Arc<AtomicU64>,
    /// Of the deploy that runs.
    shadow: Arc<Mutex<Option<Shadow>>>,
    /// How many events of the deploy that runs are kept, so that nobody has to count them for each
    /// batch.
    events: Arc<Mutex<Option<(DeployId, u32)>>>,
}

struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn writer::Task>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Writer")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer thread panicked");
        }
    }
}

impl Sqlite {
    /// Opens the store of the workspace `dir`, creating it for [`Access::ReadWrite`]. Blocks for
    /// some milliseconds.
    ///
    /// # Errors
    /// Every way in which a file can be unusable has its own [`StoreError`].
    pub fn open(dir: &Path, access: Access) -> Result<Self, StoreError> {
        let path = dir.join(".flightdeck").join("flightdeck.db");
        let token = uuid::Uuid::new_v4().to_string();
        let commits = Arc::<AtomicU64>::default();
        let writer = match access {
            Access::ReadOnly => {
                if is_there(&path)? {
                    drop(open_reader(&path)?);
                }
                None
            }
            Access::ReadWrite => {
                let conn = open_writer(&path)?;
                super::interrupted::sweep(&conn, &ByLease::of(&path)).map_err(|f| f.at(&path))?;
                let (jobs, queue) = mpsc::channel(writer::QUEUE);
                let (for_thread, for_release, counted) =
                    (path.clone(), token.clone(), Arc::clone(&commits));
                let thread = std::thread::Builder::new()
                    .name("store".into())
                    .spawn(move || {
                        writer::run(conn, for_thread, queue, &counted, |conn| {
                            if let Err(e) = lock::release(conn, &for_release) {
                                tracing::warn!(error = ?e, "the lock could not be released; its holder is dead soon enough");
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
                lease: Mutex::default(),
                token,
                commits,
                shadow: Arc::default(),
                events: Arc::default(),
            }),
        })
    }

    pub(super) fn events_kept(&self) -> Arc<Mutex<Option<(DeployId, u32)>>> {
        Arc::clone(&self.inner.events)
    }

    pub(super) fn lease(&self) -> &Mutex<Option<Lease>> {
        &self.inner.lease
    }

    pub(super) fn shadow(&self) -> Arc<Mutex<Option<Shadow>>> {
        Arc::clone(&self.inner.shadow)
    }

    pub(super) fn token(&self) -> &str {
        &self.inner.token
    }

    /// Runs `job` on the writer; the answer comes when it is on disk.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(what, Durable::Now, job).await
    }

    /// Runs `job` on the writer; the answer comes when it is committed, for every process to see. A
    /// loss of power may undo it until something is written by [`Sqlite::write`].
    pub(super) async fn keep<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(what, Durable::Later, job).await
    }

    /// Runs `job` on the writer outside of any transaction.
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(what, Durable::Apart, job).await
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
        task: Box<dyn writer::Task>,
    ) -> Result<(), StoreError> {
        let writer = self
            .inner
            .writer
            .as_ref()
            .ok_or(StoreError::ReadOnly { what })?;
        let jobs = writer.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(task).await.map_err(|_| StoreError::Closed)
    }

    /// Has `job` run on the writer after everything that was asked before, and does not wait for
    /// it; what is asked after it is durable no sooner than it is. `failed` hears why where it
    /// could not be done.
    pub(super) async fn post(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Job<()> + Send + 'static,
        failed: impl FnOnce(StoreError) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.send(what, writer::post(job, failed)).await
    }

    /// Runs `job` on a read-only connection, off the runtime's threads. Empty where there is no
    /// store.
    pub(super) async fn read<T: Default + Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || {
            let idle = inner
                .readers
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .pop();
            let conn = match idle {
                Some(conn) => conn,
                // Whoever writes has made it: nothing must not be taken for an empty store.
                None if !is_there(&inner.path)? && inner.writer.is_some() => {
                    return Err(StoreError::Vanished {
                        path: inner.path.clone(),
                        why: "it is gone",
                    });
                }
                None if !is_there(&inner.path)? => return Ok(T::default()),
                None => open_reader(&inner.path)?,
            };
            // One transaction, so that several statements see one moment.
            let result = conn
                .execute_batch("BEGIN")
                .map_err(Fault::from)
                .and_then(|()| job(&conn));
            let ended = conn.execute_batch("ROLLBACK");
            let answer = result.map_err(|f| f.at(&inner.path))?;
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

impl Keeping for Sqlite {
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

fn pragma(conn: &Connection, name: &str) -> Result<i64, rusqlite::Error> {
    conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// Whether there is a store. One that may not be looked at is there, and not to be taken for none.
fn is_there(path: &Path) -> Result<bool, StoreError> {
    guard::look(path.parent().unwrap_or(path))?.map_or(Ok(false), |dir| dir.has_store())
}

/// The layout's version of a file that is ours.
fn check(conn: &Connection, path: &Path) -> Result<i64, StoreError> {
    let read = || -> Job<(i64, i64, i64)> {
        Ok((
            pragma(conn, "application_id")?,
            pragma(conn, "user_version")?,
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
        ))
    };
    let (id, version, tables) = read().map_err(|f| f.at(path))?;
    if id != APPLICATION_ID && (id != 0 || version != 0 || tables != 0) {
        return Err(StoreError::NotOurs {
            path: path.to_owned(),
            why: "another program's SQLite file".into(),
        });
    }
    let ours = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    // Files come into being with their tables in them: one without has lost them.
    if version == 0 {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            why: "it is empty".into(),
        });
    }
    if version > ours {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            theirs: version,
            ours,
        });
    }
    let layouts = usize::try_from(version)
        .ok()
        .and_then(|version| MIGRATIONS.get(..version))
        .unwrap_or(&MIGRATIONS);
    guard::as_made(conn, layouts, path)?;
    Ok(version)
}

fn is_current(version: i64) -> bool {
    usize::try_from(version) == Ok(MIGRATIONS.len())
}

fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    // Asked of the system first, which says why; SQLite would only say that it cannot.
    if let Some(dir) = guard::look(path.parent().unwrap_or(path))? {
        dir.permitted(false)?;
    }
    let uri = format!("file:{}", uri_path(path));
    guard::untouched(&uri, |conn| check(conn, path), path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let open = |uri: &str| -> Job<Connection> {
        let conn = Connection::open_with_flags(uri, flags)?;
        conn.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
        guard::defend(&conn)?;
        pragma(&conn, "schema_version")?;
        Ok(conn)
    };
    let conn = open(&uri).map_err(|f| f.at(path)).or_else(|e| match e {
        // Without write permission the shared memory file cannot be made; with no writer about the
        // file is safe to read as it is.
        StoreError::ReadOnlyDirectory { .. }
            if !path.with_file_name("flightdeck.db-wal").exists() =>
        {
            open(&format!("{uri}?immutable=1")).map_err(|f| f.at(path))
        }
        other => Err(other),
    })?;
    let version = check(&conn, path)?;
    if !is_current(version) {
        drop(conn);
        drop(open_writer(path)?);
        return open_reader(path);
    }
    Ok(conn)
}

/// A path as it stands in a `file:` address.
fn uri_path(path: &Path) -> String {
    path.to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    make_private(path)?;
    let conn = connect(path).map_err(|f| f.at(path))?;
    check(&conn, path)?;
    set(&conn).map_err(|f| f.at(path))?;
    bring_forward(&conn, path)?;
    Ok(conn)
}

pub(super) fn connect(path: &Path) -> Job<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
    guard::defend(&conn)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

fn set(conn: &Connection) -> Job<()> {
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
    Ok(())
}

/// Gives the file its name unless there is one of that name: [`std::fs::rename`] would take its
/// place.
fn name(new: &Path, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::hard_link(new, path),
        renamed => renamed.map_err(Into::into),
    }
}

/// Makes the file under another name and gives it its own when it is whole: a file that is empty or
/// half made has been damaged, and is never taken for a new one. Whoever is second keeps the file
/// of the first.
fn create(path: &Path) -> Result<(), StoreError> {
    let new = path.with_file_name(format!("flightdeck.{}.new", uuid::Uuid::new_v4().simple()));
    let made = fill(&new, path).and_then(|()| match name(&new, path) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        // Not every file system has links; there the name is given without a look at who was first.
        Err(_) if !path.exists() => {
            std::fs::rename(&new, path).map_err(|e| StoreError::io(path, "create", e))
        }
        linked => linked.map_err(|e| StoreError::io(path, "create", e)),
    });
    remove(&new);
    made?;
    let dir = path.parent().unwrap_or(path);
    std::fs::File::open(dir)
        .and_then(|d| d.sync_all())
        .map_err(|e| StoreError::io(dir, "write", e))
}

/// Removes a store that nobody uses, with what lies beside it.
pub(super) fn remove(path: &Path) {
    for beside in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.to_owned().into_os_string();
        name.push(beside);
        match std::fs::remove_file(&name) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(error = %e, file = ?name, "could not be removed")
            }
            _ => {}
        }
    }
}

pub(super) fn fill(new: &Path, path: &Path) -> Result<(), StoreError> {
    std::fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(new)
        .map_err(|e| StoreError::io(path, "create", e))?;
    let job = || -> Job<()> {
        // Without a write-ahead log: what closing could not move from it into the file would be
        // lost without a word.
        let conn = connect(new)?;
        conn.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
        migrate(&conn, 0)?;
        conn.execute_batch("COMMIT")?;
        conn.close().map_err(|(_, e)| e.into())
    };
    job().map_err(|f| f.at(path))
}

fn bring_forward(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    if is_current(check(conn, path)?) {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE")
        .map_err(|e| Fault::from(e).at(path))?;
    // Asked again under the lock: another flightdeck may have been quicker.
    let migrated = check(conn, path).and_then(|version| {
        let had = usize::try_from(version).unwrap_or(0);
        migrate(conn, had).map_err(|f| f.at(path))
    });
    let end = if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = conn.execute_batch(end).map_err(|e| Fault::from(e).at(path));
    migrated.and(ended)
}

fn migrate(conn: &Connection, had: usize) -> Job<()> {
    for sql in MIGRATIONS.iter().skip(had) {
        conn.execute_batch(sql)?;
    }
    conn.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};",
        MIGRATIONS.len()
    ))?;
    conn.execute(
        "INSERT OR IGNORE INTO meta VALUES ('lineage', ?1)",
        [uuid::Uuid::new_v4().to_string()],
    )?;
    conn.execute("INSERT OR IGNORE INTO meta VALUES ('serial', '0')", [])?;
    Ok(())
}

/// The directory for us alone, and the file too before SQLite opens it: its companions take over
/// its mode. What is there is looked into before any of it is changed.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let parent = path.parent().unwrap_or(path);
    if is_there(path)? {
        guard::untouched(
            &format!("file:{}", uri_path(path)),
            |conn| check(conn, path),
            path,
        )?;
    } else if let Some(rescue) = super::shadow::waiting(path) {
        return Err(StoreError::Rescued {
            path: path.to_owned(),
            rescue,
        });
    }
    let dir = guard::prepare(parent)?;
    if !dir.has_store()? {
        create(path)?;
    }
    dir.permitted(true)
}
