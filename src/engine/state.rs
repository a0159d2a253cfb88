//! The state of record: the one room that knows where it lives. [`Home`] is the seam, with a file
//! in here for each kind of place.
//!
//! The store keeps what was meant and what came of it, and in one transaction with each outcome its
//! own copy of the state. [`StateOfRecord`] holds the two together: what is worked on is what is at
//! home, under its lock; what the store has come to know is brought home, and what could not be is
//! brought there at the next start.

pub mod backend;
mod ciphers;
mod compare;
mod error;
mod file;
mod file_content;
mod held;
mod look;
mod nowhere;
mod ours;
mod patience;
mod push;
mod record;
mod sealed;
mod settle;
#[cfg(test)]
mod tests;
mod told;
mod unlocked;

use backend::Settings;
pub use ciphers::{CipherError, Ciphers, UnknownMethod};
pub use error::{Cause, HomeError};
pub use file::{FileBackup, FilePlace, LeftLock, left_lock};
pub use held::{give_back_all, left_behind};
pub use ours::lock_info;
pub use patience::{Locking, Patience};
pub use record::StateOfRecord;
pub use sealed::respelt;
pub use settle::Settled;

use async_trait::async_trait;
use statefile::LockInfo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How a place wants the text of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// For people to look into.
    Indented,
    /// On one line.
    Line,
}

/// A place where a state of record lives. What is there is a text; what that says is read above.
#[async_trait]
pub trait Home: Send + Sync + 'static {
    /// Where that is, for an operator; another place has another name.
    fn place(&self) -> String;

    /// How it wants a text.
    fn spelling(&self) -> Spelling;

    /// Takes its lock; nothing happens where it is ours.
    ///
    /// # Errors
    /// Somebody else has it.
    async fn lock(&self, info: LockInfo) -> Result<(), HomeError>;

    /// Gives the lock back; nothing happens where it is not ours.
    ///
    /// # Errors
    /// It cannot be given back.
    async fn unlock(&self) -> Result<(), HomeError>;

    /// Gives back a lock whose request or release was dropped halfway; nothing happens where there
    /// is none.
    ///
    /// # Errors
    /// It may stay locked; the error names the lock.
    async fn give_back(&self, within: Duration) -> Result<(), HomeError> {
        match tokio::time::timeout(within, self.unlock()).await {
            Ok(unlocked) => unlocked,
            Err(_) => Ok(()),
        }
    }

    /// What is there; nothing where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    async fn read(&self) -> Result<Vec<u8>, HomeError>;

    /// Does what can be done before the text is there that will be put in its place. The lock must
    /// be ours.
    ///
    /// # Errors
    /// What is there cannot be kept, and must not be written over.
    async fn prepare(&self) -> Result<(), HomeError> {
        Ok(())
    }

    /// Puts a text there. The lock must be ours.
    ///
    /// # Errors
    /// It cannot be written; what is there may be half of it.
    async fn write(&self, text: String) -> Result<(), HomeError>;

    /// Takes the lock away from whoever has it.
    ///
    /// # Errors
    /// It is not locked, the lock has another id, or it cannot be taken away.
    async fn force_unlock(&self, id: &str) -> Result<(), HomeError>;

    /// Removes what is there. The lock must be ours.
    ///
    /// # Errors
    /// It cannot be removed.
    async fn delete(&self) -> Result<(), HomeError>;
}

/// Where a configuration says that its state lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file, seen from the workspace's directory.
    File(PathBuf),
    /// Files that flags name.
    Named(FilePlace),
    /// A workspace's in a backend; the name of the default one is empty.
    In(Settings, String),
    /// None: what is said of it cannot be used.
    Refused(String),
}

impl Place {
    /// What is there, as it is; nothing where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn text(&self, dir: &Path) -> Result<Vec<u8>, HomeError> {
        self.open(dir, true).read().await
    }

    /// The home that this is; one that cannot be says so whatever it is asked. Without `locks` its
    /// lock is not taken.
    fn open(&self, dir: &Path, locks: bool) -> Arc<dyn Home> {
        match self {
            Self::File(path) => Arc::new(file::InFile::of(dir, &FilePlace::at(path), locks)),
            Self::Named(files) => Arc::new(file::InFile::of(dir, files, locks)),
            Self::Refused(why) => Arc::new(nowhere::Nowhere(HomeError::Refused(why.clone()))),
            Self::In(settings, named) => settings
                .open(dir, locks)
                .and_then(|backend| backend.home(named))
                .unwrap_or_else(|why| Arc::new(nowhere::Nowhere(why))),
        }
    }
}
