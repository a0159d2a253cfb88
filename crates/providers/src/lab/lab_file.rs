//! The lab's world on disk: one JSON file that every lab process and the operator share, and, while
//! it is large and being changed, a journal beside it. What is on disk is the truth; in memory is
//! what was read last, brought up to date whenever it is used.
//!
//! - A small lab file is replaced with each change. A change of a large one is a line in the
//!   journal, which is folded into the lab file (one replacement, then the journal goes) once it is
//!   the longer of the two: a change costs the same however much there is. It is folded as well
//!   when a process has been quiet for a moment or ends, by the first change of a process that
//!   finds one, and by the first one after the lab file was edited by hand.
//! - Killed between the replacement and the removal, a process leaves a journal of an older serial
//!   than the lab file's, which counts for nothing.
//! - Changes hold the lock beside the file. Readers need none: the journal is read first, and
//!   counts if the lab file is still the same after that.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::LabError;
use super::cloud::{Change, Cloud, Entry};
use super::journal::Journal;
use super::parsed::Parsed;
use super::store::{LOCK_DEADLINE, SharedFile};

/// A lab file up to this length in bytes has no journal: everything a person would look through.
const SMALL: u64 = 64 << 10;
/// How long nothing has changed when a journal is folded for the sake of those who edit by hand.
const QUIET: Duration = Duration::from_millis(500);

/// The lab's file. Clones share what they have read.
#[derive(Clone, Debug)]
pub struct LabFile {
    file: SharedFile,
    journal: Journal,
    held: Arc<Held>,
    folds_when_quiet: bool,
}

#[derive(Debug, Default)]
struct Held {
    turn: Turn,
    /// Locked only while files are read and written, never while waiting for somebody else.
    seen: Mutex<Option<Seen>>,
    /// A thread waits for a quiet moment.
    waited_for: AtomicBool,
}

/// What was read last.
#[derive(Debug)]
struct Seen {
    /// The lab file's content with the journal's changes in it.
    base: Parsed<Cloud>,
    /// The lab file's own serial.
    serial: u64,
    /// How far the journal is in it; 0 where there is none that counts.
    journal: u64,
    /// The journal was found, or the lab file edited beside it: the next change folds it.
    fold: bool,
}

impl LabFile {
    /// The file at a path; it need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> LabFile {
        let file = SharedFile::new(path);
        LabFile {
            journal: Journal::new(file.beside(".journal")),
            file,
            held: Arc::default(),
            folds_when_quiet: false,
        }
    }

    /// The same, for a process that goes on after its changes: it folds what they left once it has
    /// been quiet for a moment.
    pub(super) fn folding_when_quiet(self) -> LabFile {
        LabFile {
            folds_when_quiet: true,
            ..self
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What `look` sees in the lab as it is now.
    ///
    /// # Errors
    /// When the files cannot be read, or are not the JSON that is expected.
    pub fn read<R>(&self, look: impl FnOnce(&Cloud) -> R) -> Result<R, LabError> {
        let mut held = self.seen();
        let seen = self.current(held.take())?;
        let seen = held.insert(seen);
        Ok(look(&seen.base.content))
    }

    /// Changes the lab under its lock, and counts the change. Nothing is written when `change`
    /// fails or changes nothing. Once this has answered, the change outlives the process.
    ///
    /// # Errors
    /// When the files cannot be locked, read or written, or when `change` fails.
    pub fn update<R, E: From<LabError>>(
        &self,
        change: impl FnOnce(&mut Change<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let _turn = self.turn()?;
        let _lock = self.file.lock()?;
        let mut held = self.seen();
        // Whatever fails from here on without a word of its own leaves nothing held: it is all read
        // again.
        let mut seen = self.current(held.take())?;
        let mut begun = Change::new(&mut seen.base.content);
        match change(&mut begun) {
            Ok(answer) => {
                if let Some(entry) = begun.end() {
                    self.write(&mut seen, &entry)?;
                }
                *held = Some(seen);
                Ok(answer)
            }
            Err(refused) => {
                begun.undo();
                *held = Some(seen);
                Err(refused)
            }
        }
    }

    /// Folds the journal into the lab file, if this process has used one.
    ///
    /// # Errors
    /// When the files cannot be locked, read or written. Nothing is lost then: the journal is still
    /// there.
    pub fn fold(&self) -> Result<(), LabError> {
        if self.seen().as_ref().is_none_or(|seen| seen.journal == 0) {
            return Ok(());
        }
        let _turn = self.turn()?;
        let _lock = self.file.lock()?;
        let mut held = self.seen();
        let mut seen = self.current(held.take())?;
        if seen.journal > 0 {
            self.replace(&mut seen)?;
        }
        *held = Some(seen);
        Ok(())
    }

    /// Brings what was read up to date.
    fn current(&self, held: Option<Seen>) -> Result<Seen, LabError> {
        let deadline = Instant::now() + LOCK_DEADLINE;
        let mut seen = match held {
            Some(seen) => seen,
            None => self.load(None)?,
        };
        loop {
            // The journal first: as long as the lab file is the same after that, no other journal
            // can have been begun.
            let lines = self.journal.read(seen.serial, seen.journal)?;
            if seen.base.is_current(self.path())?
                && let Some(lines) = lines
            {
                self.journal.apply(&lines, &mut seen.base.content)?;
                seen.journal = lines.end();
                return Ok(seen);
            }
            if Instant::now() >= deadline {
                return Err(LabError::Restless {
                    path: self.path().to_owned(),
                    waited_s: LOCK_DEADLINE.as_secs(),
                });
            }
            seen = self.load(Some(seen.serial))?;
        }
    }

    fn load(&self, serial_before: Option<u64>) -> Result<Seen, LabError> {
        let base: Parsed<Cloud> = Parsed::read(self.path())?;
        let serial = base.content.serial;
        // Another process that folds leaves another serial; a hand that edits leaves the same one.
        let fold = serial_before.is_none_or(|before| before == serial);
        Ok(Seen {
            base,
            serial,
            journal: 0,
            fold,
        })
    }

    fn write(&self, seen: &mut Seen, entry: &Entry) -> Result<(), LabError> {
        let folds = seen.journal > 0 && (seen.fold || seen.journal > seen.base.length());
        if seen.base.length() <= SMALL || folds {
            return self.replace(seen);
        }
        let Some(end) = self.journal.append(seen.serial, seen.journal, entry)? else {
            return self.replace(seen);
        };
        seen.journal = end;
        seen.fold = false;
        self.fold_when_quiet();
        Ok(())
    }

    fn replace(&self, seen: &mut Seen) -> Result<(), LabError> {
        let bytes = self.file.replace(&seen.base.content)?;
        // The change is made by now, and a journal that cannot be removed counts for nothing.
        let _left_over = self.journal.remove();
        seen.base.replaced(self.path(), bytes);
        seen.serial = seen.base.content.serial;
        seen.journal = 0;
        seen.fold = false;
        Ok(())
    }

    /// Leaves it to a thread, which ends with the folding.
    fn fold_when_quiet(&self) {
        if !self.folds_when_quiet || self.held.waited_for.swap(true, Ordering::AcqRel) {
            return;
        }
        let file = self.clone();
        let wait = move || {
            let mut before = 0;
            loop {
                std::thread::sleep(QUIET);
                let now = file.seen().as_ref().map_or(0, |seen| seen.journal);
                if now == before {
                    break;
                }
                before = now;
            }
            file.held.waited_for.store(false, Ordering::Release);
            if let Err(error) = file.fold() {
                sdk::log::warn(
                    "the lab's journal stays beside its file",
                    &[("reason", &error)],
                );
            }
        };
        if std::thread::Builder::new()
            .name("lab-fold".into())
            .spawn(wait)
            .is_err()
        {
            // Then it is folded at the end.
            self.held.waited_for.store(false, Ordering::Release);
        }
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        // Who panics has taken what was held, so that nothing half-changed is left in it.
        self.held
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self) -> Result<Taken<'_>, LabError> {
        let locked = || LabError::Locked {
            path: self.path().to_owned(),
            waited_s: LOCK_DEADLINE.as_secs(),
        };
        self.held.turn.take().ok_or_else(locked)
    }
}

/// Whose turn it is among the threads of this process. They would find the file locked by one
/// another, and would have to look again and again.
#[derive(Debug, Default)]
struct Turn {
    taken: Mutex<bool>,
    given_back: Condvar,
}

struct Taken<'a>(&'a Turn);

impl Turn {
    /// None when it has not been given back for too long.
    fn take(&self) -> Option<Taken<'_>> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .given_back
            .wait_timeout_while(taken, LOCK_DEADLINE, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return None;
        }
        *taken = true;
        Some(Taken(self))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
#[path = "lab_file_tests.rs"]
mod tests;
