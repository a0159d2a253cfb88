//! Storage of the lab: one JSON file that all lab processes and the operator share, with a journal
//! beside it while the file is large and changes. The files are authoritative; memory holds the
//! last read contents, which are updated before each use.
//!
//! - A small lab file is replaced by each change. A change of a large one appends a line to the
//!   journal. Once the journal is longer than the file, it is folded into it: the file is replaced,
//!   then the journal is removed. So the cost of a change does not depend on the size of the lab.
//!   Folding also happens when a process is idle for a moment or ends, at the first change of a
//!   process that finds a journal, and at the first change after a manual edit.
//! - A process killed between replacement and removal leaves a journal for an older serial, which
//!   is ignored.
//! - Changes hold the lock beside the file. Readers need no lock: they read the journal first, and
//!   it is valid if the lab file is unchanged afterwards.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::LabError;
use super::cloud::{Change, Cloud, Entry};
use super::journal::Journal;
use super::parsed::Parsed;
use super::store::{LOCK_DEADLINE, SharedFile};

/// Maximum length in bytes of a lab file without a journal; a person can still read such a file.
const MAX_UNJOURNALED: u64 = 64 << 10;
/// Idle time after which a journal is folded, so that the file can be edited by hand.
const IDLE_TIME: Duration = Duration::from_millis(500);

/// File of the lab. Clones share the contents that were read.
#[derive(Clone, Debug)]
pub struct LabFile {
    file: SharedFile,
    journal: Journal,
    shared: Arc<Held>,
    folds_when_idle: bool,
}

#[derive(Debug, Default)]
struct Held {
    queue: ThreadQueue,
    /// Held only while files are read and written, never while waiting for another process.
    cached: Mutex<Option<FileVersion>>,
    /// True while a thread waits for idle time.
    is_waiting: AtomicBool,
}

/// Last read contents.
#[derive(Debug)]
struct FileVersion {
    /// Contents of the lab file, with the journal's changes applied.
    base: Parsed<Cloud>,
    /// Serial of the lab file itself.
    serial: u64,
    /// Offset up to which the journal is applied; 0 without a valid journal.
    journal: u64,
    /// Set if the journal was found at the start, or the lab file was edited: the next change folds
    /// it.
    fold_next: bool,
}

impl LabFile {
    /// Creates the handle of the file at a path; the file need not exist.
    pub fn new(path: impl Into<PathBuf>) -> LabFile {
        let file = SharedFile::new(path);
        LabFile {
            journal: Journal::new(file.sibling_path(".journal")),
            file,
            shared: Arc::default(),
            folds_when_idle: false,
        }
    }

    /// Enables folding after idle time, for a process that continues to run after its changes.
    pub(super) fn with_idle_folding(self) -> LabFile {
        LabFile {
            folds_when_idle: true,
            ..self
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Calls `look` with the current contents.
    ///
    /// # Errors
    /// The files cannot be read, or do not have the expected content.
    pub fn read<R>(&self, look: impl FnOnce(&Cloud) -> R) -> Result<R, LabError> {
        let mut held = self.lock_cached();
        let seen = self.current(held.take())?;
        let seen = held.insert(seen);
        Ok(look(&seen.base.content))
    }

    /// Changes the lab under its lock. Nothing is written if `change` fails or changes nothing.
    /// After this returned, the change survives the end of the process.
    ///
    /// # Errors
    /// The files cannot be locked, read or written, or `change` fails.
    pub fn update<R, E: From<LabError>>(
        &self,
        change: impl FnOnce(&mut Change<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        // Threads first queue among themselves, then one of them competes for the file lock.
        let _turn = self.acquire_turn()?;
        let _lock = self.file.lock()?;
        let mut held = self.lock_cached();
        // The cache is empty from here on, so any early return makes the next call read the files
        // again.
        let mut seen = self.current(held.take())?;
        let mut begun = Change::new(&mut seen.base.content);
        match change(&mut begun) {
            Ok(answer) => {
                if let Some(entry) = begun.finish() {
                    self.write(&mut seen, &entry)?;
                }
                *held = Some(seen);
                Ok(answer)
            }
            Err(refused) => {
                begun.revert();
                *held = Some(seen);
                Err(refused)
            }
        }
    }

    /// Folds the journal into the lab file, if this process used one.
    ///
    /// # Errors
    /// The files cannot be locked, read or written. No change is lost, because the journal still
    /// exists.
    pub fn fold_journal(&self) -> Result<(), LabError> {
        // Without a journal there is no reason to wait for the lock.
        if self
            .lock_cached()
            .as_ref()
            .is_none_or(|seen| seen.journal == 0)
        {
            return Ok(());
        }
        let _turn = self.acquire_turn()?;
        let _lock = self.file.lock()?;
        let mut held = self.lock_cached();
        let mut seen = self.current(held.take())?;
        if seen.journal > 0 {
            self.replace(&mut seen)?;
        }
        *held = Some(seen);
        Ok(())
    }

    /// Updates the cached contents from the files.
    fn current(&self, held: Option<FileVersion>) -> Result<FileVersion, LabError> {
        // Another program can replace the file at each attempt, so the loop needs a limit.
        let deadline = Instant::now() + LOCK_DEADLINE;
        let mut seen = match held {
            Some(seen) => seen,
            None => self.load(None)?,
        };
        loop {
            // The journal is read first: if the lab file is unchanged afterwards, no other journal
            // can have been started in between.
            let lines = self.journal.read(seen.serial, seen.journal)?;
            if seen.base.is_current(self.path())?
                && let Some(lines) = lines
            {
                self.journal.apply(&lines, &mut seen.base.content)?;
                seen.journal = lines.end_offset();
                return Ok(seen);
            }
            if Instant::now() >= deadline {
                return Err(LabError::ReplacedRepeatedly {
                    path: self.path().to_owned(),
                    waited_s: LOCK_DEADLINE.as_secs(),
                });
            }
            seen = self.load(Some(seen.serial))?;
        }
    }

    fn load(&self, serial_before: Option<u64>) -> Result<FileVersion, LabError> {
        let base: Parsed<Cloud> = Parsed::read(self.path())?;
        let serial = base.content.serial;
        // A fold by another process changes the serial; a manual edit keeps it.
        let fold = serial_before.is_none_or(|before| before == serial);
        Ok(FileVersion {
            base,
            serial,
            journal: 0,
            fold_next: fold,
        })
    }

    fn write(&self, seen: &mut FileVersion, entry: &Entry) -> Result<(), LabError> {
        // A journal of another process, or beside an edited file, is folded early, so that a person
        // who edits the lab file sees all objects in it.
        let folds = seen.journal > 0 && (seen.fold_next || seen.journal > seen.base.length());
        if seen.base.length() <= MAX_UNJOURNALED || folds {
            return self.replace(seen);
        }
        // An incomplete line is in the way; replacing the file makes the whole journal invalid.
        let Some(end) = self.journal.append(seen.serial, seen.journal, entry)? else {
            return self.replace(seen);
        };
        seen.journal = end;
        seen.fold_next = false;
        self.start_idle_folding();
        Ok(())
    }

    fn replace(&self, seen: &mut FileVersion) -> Result<(), LabError> {
        let bytes = self.file.replace(&seen.base.content)?;
        // The change is durable now, and a journal that cannot be removed is ignored because of its
        // serial.
        let _left_over = self.journal.remove();
        seen.base.record_replaced(self.path(), bytes);
        seen.serial = seen.base.content.serial;
        seen.journal = 0;
        seen.fold_next = false;
        Ok(())
    }

    /// Starts a thread that folds the journal after idle time.
    fn start_idle_folding(&self) {
        // One waiting thread is enough: it waits as long as changes arrive.
        if !self.folds_when_idle || self.shared.is_waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let file = self.clone();
        let wait = move || {
            let mut before = 0;
            loop {
                std::thread::sleep(IDLE_TIME);
                let now = file.lock_cached().as_ref().map_or(0, |seen| seen.journal);
                // No change during the last interval.
                if now == before {
                    break;
                }
                before = now;
            }
            // Reset before the fold, so that a change during it starts a new thread.
            file.shared.is_waiting.store(false, Ordering::Release);
            if let Err(error) = file.fold_journal() {
                sdk::log::warn(
                    "cannot merge the lab's journal into its file",
                    &[("reason", &error)],
                );
            }
        };
        if std::thread::Builder::new()
            .name("lab-fold".into())
            .spawn(wait)
            .is_err()
        {
            // The journal is then folded when the process ends.
            self.shared.is_waiting.store(false, Ordering::Release);
        }
    }

    fn lock_cached(&self) -> MutexGuard<'_, Option<FileVersion>> {
        // A panic happens only while the cache is taken out, so the lock never guards partial
        // contents.
        self.shared
            .cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn acquire_turn(&self) -> Result<QueueHead<'_>, LabError> {
        let locked = || LabError::Locked {
            path: self.path().to_owned(),
            waited_s: LOCK_DEADLINE.as_secs(),
        };
        self.shared.queue.acquire().ok_or_else(locked)
    }
}

/// Queue of this process's threads. Without it they would compete for the file lock by polling.
#[derive(Debug, Default)]
struct ThreadQueue {
    acquired: Mutex<bool>,
    released: Condvar,
}

struct QueueHead<'a>(&'a ThreadQueue);

impl ThreadQueue {
    /// Waits to be first; `None` after the deadline.
    fn acquire(&self) -> Option<QueueHead<'_>> {
        let taken = self.acquired.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .released
            .wait_timeout_while(taken, LOCK_DEADLINE, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return None;
        }
        *taken = true;
        Some(QueueHead(self))
    }
}

impl Drop for QueueHead<'_> {
    fn drop(&mut self) {
        *self
            .0
            .acquired
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = false;
        self.0.released.notify_one();
    }
}

#[cfg(test)]
#[path = "lab_file_tests.rs"]
mod tests;
