//! Writer thread, which owns the writing connection. Commits all queued jobs in one transaction,
//! each in its own savepoint, and answers after the commit. Syncs only if a job asks for it, and at
//! the end: with a write-ahead log, a sync makes all earlier commits durable too.

use super::fault::{Fault, Job};
use super::file_check::Anchor;
use crate::error::StoreError;
use rusqlite::Connection;
use rusqlite::hooks::Wal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Maximum number of queued jobs; senders wait beyond that.
pub(super) const QUEUE: usize = 4_096;
/// Maximum number of jobs in one transaction, so that the first does not wait for all of a flood.
const BATCH: usize = 1_024;

/// Number of log pages that triggers a checkpoint: SQLite's default.
const LOG: i32 = 1_000;

/// Time to gather jobs for one commit if several wait for the disk. Each waits a little longer, and
/// all together finish sooner because commits are saved.
const BATCH_DELAY: Duration = Duration::from_micros(1_500);

/// Time at which a job survives a power loss. An answered job always survives the end of this
/// process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    /// When it is answered.
    Now,
    /// With the next `Now` job, at the latest when the store is closed.
    Later,
    /// Up to the job, which runs outside of any transaction.
    OutsideTransaction,
}

/// A job in two halves: its writes, and its answer after the commit.
pub(super) trait Queued: Send {
    fn durable(&self) -> Durable;
    fn run(&mut self, conn: &Connection) -> Result<(), Fault>;
    fn fail(&mut self, error: StoreError);
    fn send_answer(self: Box<Self>);
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

    fn send_answer(self: Box<Self>) {
        // The caller may have been cancelled; the write stays.
        drop(
            self.reply
                .send(self.result.unwrap_or(Err(StoreError::Closed))),
        );
    }
}

/// Job without a waiting caller; only its failure is reported.
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

    fn send_answer(self: Box<Self>) {
        if let (Some(error), Some(failed)) = (self.error, self.failed) {
            failed(error);
        }
    }
}

/// Creates a job without an answer; `failed` is called on the writer thread.
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

/// Creates a job and the receiver of its answer.
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

/// Runs the thread until every sender is dropped; then runs `last` and closes the connection.
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
    // Setting of a newly opened connection.
    let mut commits_are = Durable::Now;
    let mut many_wait = false;
    while jobs.blocking_recv_many(&mut batch, BATCH) > 0 {
        // Waiting pays only if the last batch with a sync had several jobs.
        if many_wait {
            collect_batch(&mut jobs, &mut batch);
        }
        let waiting = wait_for_the_disk(&batch);
        if waiting > 0 {
            many_wait = waiting > 1;
        }
        // Jobs outside of a transaction run after the commit of the others.
        let (apart, batch): (Vec<_>, Vec<_>) = std::mem::take(&mut batch)
            .into_iter()
            .partition(|task| task.durable() == Durable::OutsideTransaction);
        let wanted = match waiting {
            0 => Durable::Later,
            _ => Durable::Now,
        };
        // The setting is changed only if the batch needs another one.
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
            task.send_answer();
        }
        commits.fetch_add(1, Ordering::Relaxed);
        // After the answers, so that no caller waits for the checkpoint.
        if logged.load(Ordering::Relaxed) >= LOG {
            empty_log(&conn);
        }
    }
    // Commits since the last sync must survive too.
    if let Err(e) = make_commits(&conn, Durable::Now) {
        tracing::error!(error = ?e, "cannot sync the store at the end");
    }
    last(&conn);
}

/// Counts the log's pages at every commit. SQLite's automatic checkpoint would run inside a commit,
/// for which a caller waits.
fn count_log(conn: &mut Connection) -> Arc<AtomicI32> {
    let logged = Arc::<AtomicI32>::default();
    let counts = logged.clone();
    let count = move |_: &mut Wal, pages| {
        counts.store(pages, Ordering::Relaxed);
        Ok(())
    };
    if let Err(e) = conn.wal_hook(Some(count)) {
        tracing::warn!(error = %e, "cannot measure the store's log; SQLite checkpoints it within commits");
    }
    logged
}

/// Copies the log into the database, as far as no reader needs it; the next commit starts a new
/// log.
fn empty_log(conn: &Connection) {
    let emptied = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(e) = emptied {
        tracing::warn!(error = %e, "cannot checkpoint the store's log yet");
    }
}

/// Number of jobs that are answered only when they are on disk.
fn wait_for_the_disk(batch: &[Box<dyn Queued>]) -> usize {
    let all = batch.iter().map(|task| task.durable());
    all.filter(|durable| *durable == Durable::Now).count()
}

/// Adds jobs that arrive within [`BATCH_DELAY`]. If several waited for the disk last time, more
/// will arrive soon, and a commit with a sync is the most expensive part. Senders wake no thread
/// meanwhile.
fn collect_batch(jobs: &mut mpsc::Receiver<Box<dyn Queued>>, batch: &mut Vec<Box<dyn Queued>>) {
    std::thread::sleep(BATCH_DELAY);
    while batch.len() < BATCH
        && let Ok(job) = jobs.try_recv()
    {
        batch.push(job);
    }
}

/// Sets the durability of commits from now on. Must run outside of a transaction.
fn make_commits(conn: &Connection, durable: Durable) -> Result<(), Fault> {
    Ok(conn.execute_batch(match durable {
        Durable::Now => "PRAGMA synchronous = FULL",
        Durable::Later | Durable::OutsideTransaction => "PRAGMA synchronous = NORMAL",
    })?)
}

fn refuse(tasks: impl IntoIterator<Item = Box<dyn Queued>>, error: &StoreError) {
    for mut task in tasks {
        task.fail(error.clone());
        task.send_answer();
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
        // Also true after SQLite rolled the whole transaction back.
        if conn.is_autocommit()
            && let Err(e) = execute(conn, "BEGIN IMMEDIATE")
        {
            refuse(
                std::iter::once(task).chain(waiting),
                &Fault::from(e).at(path),
            );
            return;
        }
        let result = run_task(conn, &mut *task);
        if let Err(fault) = result {
            let error = fault.at(path);
            task.fail(error.clone());
            // Errors such as a full disk roll back the whole transaction, so earlier jobs of the
            // batch are lost too.
            if conn.is_autocommit() {
                refuse(done.drain(..), &error);
            }
            task.send_answer();
        } else {
            done.push(task);
        }
    }
    if !conn.is_autocommit()
        && let Err(e) = execute(conn, "COMMIT")
    {
        let error = Fault::from(e).at(path);
        // A failed commit can leave the transaction open.
        if !conn.is_autocommit()
            && let Err(e) = conn.execute_batch("ROLLBACK")
        {
            tracing::error!(error = %e, "cannot roll back a transaction of the store");
        }
        for task in &mut done {
            task.fail(error.clone());
        }
    }
    // A commit to a removed or replaced file is lost, so it counts as failed.
    if let Some(Err(error)) = anchor.as_mut().map(Anchor::check) {
        done.iter_mut().for_each(|task| task.fail(error.clone()));
    }
    for task in done {
        task.send_answer();
    }
}

fn execute(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}

fn run_task(conn: &Connection, task: &mut dyn Queued) -> Result<(), Fault> {
    execute(conn, "SAVEPOINT job")?;
    let result = task.run(conn);
    // Undoes this job alone.
    if result.is_err() && !conn.is_autocommit() {
        execute(conn, "ROLLBACK TO job")?;
    }
    if !conn.is_autocommit() {
        execute(conn, "RELEASE job")?;
    }
    result
}
