//! The writer: one thread that owns the writing connection. All jobs that are queued when it looks
//! are committed in one transaction, each within its own savepoint, and are answered only after the
//! commit. The disk is waited for (fsync) where one of the jobs asks for it, and at the end: with a
//! write-ahead log that makes all earlier commits durable as well.

use super::anchor::Anchor;
use super::fault::{Fault, Job};
use crate::engine::store::error::StoreError;
use rusqlite::Connection;
use rusqlite::hooks::Wal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Jobs that may wait; a sender waits beyond that.
pub(super) const QUEUE: usize = 4_096;
/// Jobs in one transaction, so that a flood does not make the first of them wait for the last.
const BATCH: usize = 1_024;

/// Pages of a log that is taken into the database: as many as SQLite waits for by itself.
const LOG: i32 = 1_000;

/// How long jobs are gathered for one commit where several wait for the disk: each of them waits so
/// much longer, and all of them together get on sooner for every commit that is saved.
const GATHER: Duration = Duration::from_micros(1_500);

/// When what a job writes outlives a loss of power. Once it is answered it outlives any end of this
/// process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    /// When it is answered.
    Now,
    /// With the next job for which that is so, at the latest when the store is closed.
    Later,
    /// As the job sees to it: it runs outside of any transaction.
    Apart,
}

/// A job in two halves: what it writes, and its answer once that is committed.
pub(super) trait Queued: Send {
    fn durable(&self) -> Durable;
    fn run(&mut self, conn: &Connection) -> Result<(), Fault>;
    fn fail(&mut self, error: StoreError);
    fn answer(self: Box<Self>);
}

struct Write<T, F> {
    durable: Durable,
    job: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnOnce(&Connection) -> Job<T> + Send> Queued for Write<T, F> {
    fn durable(&self) -> Durable {
        self.durable
    }

    fn run(&mut self, conn: &Connection) -> Result<(), Fault> {
        if let Some(job) = self.job.take() {
            self.result = Some(Ok(job(conn)?));
        }
        Ok(())
    }

    fn fail(&mut self, error: StoreError) {
        self.result = Some(Err(error));
    }

    fn answer(self: Box<Self>) {
        // Nobody listens where the asking task was cancelled: what was written stays written.
        drop(
            self.reply
                .send(self.result.unwrap_or(Err(StoreError::Closed))),
        );
    }
}

/// A job whose maker does not wait; only its failure is told.
struct Post<F, E> {
    job: Option<F>,
    error: Option<StoreError>,
    failed: Option<E>,
}

impl<F: FnOnce(&Connection) -> Job<()> + Send, E: FnOnce(StoreError) + Send> Queued for Post<F, E> {
    fn durable(&self) -> Durable {
        Durable::Later
    }

    fn run(&mut self, conn: &Connection) -> Result<(), Fault> {
        self.job.take().map_or(Ok(()), |job| job(conn))
    }

    fn fail(&mut self, error: StoreError) {
        self.error = Some(error);
    }

    fn answer(self: Box<Self>) {
        if let (Some(error), Some(failed)) = (self.error, self.failed) {
            failed(error);
        }
    }
}

/// A job for whose answer nobody waits; `failed` is called from the writer's thread.
pub(super) fn post(
    job: impl FnOnce(&Connection) -> Job<()> + Send + 'static,
    failed: impl FnOnce(StoreError) + Send + 'static,
) -> Box<dyn Queued> {
    Box::new(Post {
        job: Some(job),
        error: None,
        failed: Some(failed),
    })
}

/// A job and where its answer arrives.
pub(super) fn task<T: Send + 'static>(
    durable: Durable,
    job: impl FnOnce(&Connection) -> Job<T> + Send + 'static,
) -> (Box<dyn Queued>, oneshot::Receiver<Result<T, StoreError>>) {
    let (reply, answer) = oneshot::channel();
    (
        Box::new(Write {
            durable,
            job: Some(job),
            result: None,
            reply,
        }),
        answer,
    )
}

/// The thread's life: until every sender is gone; then `last` runs and the connection closes.
/// `commits` counts transactions.
pub(super) fn run(
    mut conn: Connection,
    path: PathBuf,
    mut jobs: mpsc::Receiver<Box<dyn Queued>>,
    commits: &AtomicU64,
    last: impl FnOnce(&Connection),
) {
    let logged = count_log(&mut conn);
    let mut batch = Vec::new();
    let mut anchor = Anchor::of(&path);
    // As the connection was opened.
    let mut commits_are = Durable::Now;
    let mut many_wait = false;
    while jobs.blocking_recv_many(&mut batch, BATCH) > 0 {
        if many_wait {
            gather(&mut jobs, &mut batch);
        }
        let waiting = wait_for_the_disk(&batch);
        if waiting > 0 {
            many_wait = waiting > 1;
        }
        let (apart, batch): (Vec<_>, Vec<_>) = std::mem::take(&mut batch)
            .into_iter()
            .partition(|task| task.durable() == Durable::Apart);
        let wanted = match waiting {
            0 => Durable::Later,
            _ => Durable::Now,
        };
        match if wanted == commits_are {
            Ok(())
        } else {
            make_commits(&conn, wanted)
        } {
            Ok(()) => {
                commits_are = wanted;
                commit(&mut conn, &path, &mut anchor, batch);
            }
            Err(fault) => refuse(batch, &fault.at(&path)),
        }
        for mut task in apart {
            if let Err(fault) = task.run(&conn) {
                task.fail(fault.at(&path));
            }
            task.answer();
        }
        commits.fetch_add(1, Ordering::Relaxed);
        if logged.load(Ordering::Relaxed) >= LOG {
            empty_log(&conn);
        }
    }
    if let Err(e) = make_commits(&conn, Durable::Now) {
        tracing::error!(error = ?e, "the store could not wait for the disk at its end");
    }
    last(&conn);
}

/// Counts the pages of the write-ahead log with every commit. SQLite itself would take a long log
/// into the database within a commit, for which somebody waits.
fn count_log(conn: &mut Connection) -> Arc<AtomicI32> {
    let logged = Arc::<AtomicI32>::default();
    let counts = logged.clone();
    let count = move |_: &mut Wal, pages| {
        counts.store(pages, Ordering::Relaxed);
        Ok(())
    };
    if let Err(e) = conn.wal_hook(Some(count)) {
        tracing::warn!(error = %e, "the store's log cannot be counted: SQLite empties it within a commit");
    }
    logged
}

/// As far as nobody reads it, the log goes into the database, and begins anew with the next commit.
fn empty_log(conn: &Connection) {
    let emptied = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(e) = emptied {
        tracing::warn!(error = %e, "the store's log could not be taken into the database yet");
    }
}

/// How many of these jobs are answered once they are on the disk.
fn wait_for_the_disk(batch: &[Box<dyn Queued>]) -> usize {
    let all = batch.iter().map(|task| task.durable());
    all.filter(|durable| *durable == Durable::Now).count()
}

/// Takes along what comes within a moment: where several waited for the disk the last time there
/// are soon more, and a commit and a wait are what costs most. Whoever asks in this time wakes
/// nobody.
fn gather(jobs: &mut mpsc::Receiver<Box<dyn Queued>>, batch: &mut Vec<Box<dyn Queued>>) {
    std::thread::sleep(GATHER);
    while batch.len() < BATCH
        && let Ok(job) = jobs.try_recv()
    {
        batch.push(job);
    }
}

/// From now on, outside of a transaction.
fn make_commits(conn: &Connection, durable: Durable) -> Result<(), Fault> {
    Ok(conn.execute_batch(match durable {
        Durable::Now => "PRAGMA synchronous = FULL",
        Durable::Later | Durable::Apart => "PRAGMA synchronous = NORMAL",
    })?)
}

fn refuse(tasks: impl IntoIterator<Item = Box<dyn Queued>>, error: &StoreError) {
    for mut task in tasks {
        task.fail(error.clone());
        task.answer();
    }
}

fn commit(
    conn: &mut Connection,
    path: &Path,
    anchor: &mut Option<Anchor>,
    batch: Vec<Box<dyn Queued>>,
) {
    let mut done: Vec<Box<dyn Queued>> = Vec::with_capacity(batch.len());
    let mut waiting = batch.into_iter();
    while let Some(mut task) = waiting.next() {
        if conn.is_autocommit()
            && let Err(e) = execute(conn, "BEGIN IMMEDIATE")
        {
            refuse(
                std::iter::once(task).chain(waiting),
                &Fault::from(e).at(path),
            );
            return;
        }
        let result = one(conn, &mut *task);
        if let Err(fault) = result {
            let error = fault.at(path);
            task.fail(error.clone());
            // A full disk and the like undo the whole transaction: what came before is not kept
            // either.
            if conn.is_autocommit() {
                refuse(done.drain(..), &error);
            }
            task.answer();
        } else {
            done.push(task);
        }
    }
    if !conn.is_autocommit()
        && let Err(e) = execute(conn, "COMMIT")
    {
        let error = Fault::from(e).at(path);
        if !conn.is_autocommit()
            && let Err(e) = conn.execute_batch("ROLLBACK")
        {
            tracing::error!(error = %e, "the store could not undo a transaction");
        }
        for task in &mut done {
            task.fail(error.clone());
        }
    }
    // What went into a file that nobody will find is not kept.
    if let Some(Err(error)) = anchor.as_mut().map(Anchor::check) {
        done.iter_mut().for_each(|task| task.fail(error.clone()));
    }
    for task in done {
        task.answer();
    }
}

fn execute(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}

fn one(conn: &Connection, task: &mut dyn Queued) -> Result<(), Fault> {
    execute(conn, "SAVEPOINT job")?;
    let result = task.run(conn);
    if result.is_err() && !conn.is_autocommit() {
        execute(conn, "ROLLBACK TO job")?;
    }
    if !conn.is_autocommit() {
        execute(conn, "RELEASE job")?;
    }
    result
}
