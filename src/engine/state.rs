//! State of record: state managers, their locks, and the reconciliation with the store's copy.
//!
//! Each kind of backend implements [`Home`]. [`StateOfRecord`] combines a state manager with the
//! copy that the store commits together with each outcome. It reads the state under its lock,
//! reconciles it with the copy, and writes the copy back. A write that fails is repeated at the
//! next start.

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

/// Layout of a state's text in its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Indented, for people.
    Indented,
    /// On one line.
    Line,
}

/// State manager: locks, reads, writes and deletes one state. It handles text only and does not
/// parse it.
#[async_trait]
pub trait Home: Send + Sync + 'static {
    /// Name of the location, for an operator. Different locations have different names.
    fn place(&self) -> String;

    /// Layout in which the location stores a text.
    fn spelling(&self) -> Spelling;

    /// Takes the lock. Does nothing if this state manager already has it.
    ///
    /// # Errors
    /// Another lock owner has it, or the location cannot be reached.
    async fn lock(&self, info: LockInfo) -> Result<(), HomeError>;

    /// Releases the lock. Does nothing if this state manager does not have it.
    ///
    /// # Errors
    /// The lock cannot be released.
    async fn unlock(&self) -> Result<(), HomeError>;

    /// Releases a lock whose request or release was cancelled midway. Does nothing without such a
    /// lock.
    ///
    /// # Errors
    /// The lock may still be taken; the error names it.
    async fn give_back(&self, within: Duration) -> Result<(), HomeError> {
        match tokio::time::timeout(within, self.unlock()).await {
            Ok(unlocked) => unlocked,
            Err(_) => Ok(()),
        }
    }

    /// Reads the text; empty if there is no state.
    ///
    /// # Errors
    /// The text cannot be read.
    async fn read(&self) -> Result<Vec<u8>, HomeError>;

    /// Does the work that a write needs and that does not depend on the new text. Needs the lock.
    ///
    /// # Errors
    /// The present text cannot be backed up and must not be overwritten.
    async fn prepare(&self) -> Result<(), HomeError> {
        Ok(())
    }

    /// Replaces the text. Needs the lock.
    ///
    /// # Errors
    /// The write failed; the location may have a partial text.
    async fn write(&self, text: String) -> Result<(), HomeError>;

    /// Removes another owner's lock.
    ///
    /// # Errors
    /// There is no lock, its id differs, or it cannot be removed.
    async fn force_unlock(&self, id: &str) -> Result<(), HomeError>;

    /// Deletes the state. Needs the lock.
    ///
    /// # Errors
    /// The state cannot be deleted.
    async fn delete(&self) -> Result<(), HomeError>;
}

/// Location of a state, from the configuration and flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// File, relative to the workspace directory.
    File(PathBuf),
    /// Files named by flags.
    Named(FilePlace),
    /// State of a workspace in a backend; an empty name is the default workspace.
    In(Settings, String),
    /// Unusable configuration, with the reason.
    Refused(String),
}

impl Place {
    /// Reads the state's text without a lock; empty if there is no state.
    ///
    /// # Errors
    /// The text cannot be read.
    pub async fn text(&self, dir: &Path) -> Result<Vec<u8>, HomeError> {
        self.open(dir, true).read().await
    }

    /// Opens the state manager. If that fails, the result is one that answers every request with
    /// the error. Without `locks` it never takes the lock.
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
