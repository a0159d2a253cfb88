//! State of record: state managers, their locks, and the reconciliation with the store's copy.
//!
//! Each kind of backend implements [`StateManager`]. [`StateOfRecord`] combines a state manager
//! with the copy that the store commits together with each outcome. It reads the state under its
//! lock, reconciles it with the copy, and writes the copy back. A write that fails is repeated at
//! the next start.
//!
//! ```no_run
//! # use flightdeck_state::{StateError, backend::Settings};
//! # async fn example(settings: Settings) -> Result<(), StateError> {
//! let backend = settings.open("/srv/app".as_ref(), true)?;
//! let manager = backend.state_manager("default")?;
//! println!("{} bytes", manager.read().await?.len());
//! # Ok(())
//! # }
//! ```

pub mod backend;
mod binding;
mod compare;
mod comparison;
mod conflict;
mod encryption;
mod error;
mod file;
mod file_content;
mod file_encryption;
mod lock_info;
mod lock_registry;
mod lock_wait;
mod push;
mod reconcile_messages;
mod record;
mod shared;
#[cfg(test)]
mod tests;
mod unlocked;
mod unusable;

use backend::Settings;
pub use binding::{Binding, bind, binding, resolved, resolved_directory};
pub use conflict::ConflictChoice;
pub use encryption::convert_layout;
pub use error::{Cause, StateError};
pub use file::{FileBackup, FilePlace, LeftLock, check_lock};
pub use file_encryption::{CipherError, FileEncryption, UnknownMethod};
pub use lock_info::{PLAN, lock_info};
pub use lock_registry::{left_behind_errors, release_all};
pub use lock_wait::{LockWait, Locking};
pub use record::StateOfRecord;

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
pub trait StateManager: Send + Sync + 'static {
    /// Name of the location, for an operator. Different locations have different names.
    fn place(&self) -> String;

    /// Text that identifies the location without credentials, to compare it with another one;
    /// `None` for an unusable configuration.
    fn identity(&self) -> Option<String> {
        Some(self.place())
    }

    /// Layout in which the location stores a text.
    fn layout(&self) -> Spelling;

    /// Takes the lock. Does nothing if this state manager already has it.
    ///
    /// # Errors
    /// Another lock owner has it, or the location cannot be reached.
    async fn lock(&self, info: LockInfo) -> Result<(), StateError>;

    /// Releases the lock. Does nothing if this state manager does not have it.
    ///
    /// # Errors
    /// The lock cannot be released.
    async fn unlock(&self) -> Result<(), StateError>;

    /// Releases a lock whose request or release was cancelled midway. Does nothing without such a
    /// lock.
    ///
    /// # Errors
    /// The lock may still be taken; the error names it.
    async fn release_cancelled(&self, within: Duration) -> Result<(), StateError> {
        match tokio::time::timeout(within, self.unlock()).await {
            Ok(unlocked) => unlocked,
            Err(_) => Ok(()),
        }
    }

    /// Reads the text; empty if there is no state.
    ///
    /// # Errors
    /// The text cannot be read.
    async fn read(&self) -> Result<Vec<u8>, StateError>;

    /// Does the work that a write needs and that does not depend on the new text. Needs the lock.
    ///
    /// # Errors
    /// The present text cannot be backed up and must not be overwritten.
    async fn prepare_write(&self) -> Result<(), StateError> {
        Ok(())
    }

    /// Replaces the text. Needs the lock.
    ///
    /// # Errors
    /// The write failed; the location may have a partial text.
    async fn write(&self, text: String) -> Result<(), StateError>;

    /// Reads the text beside the state, for records of flightdeck that belong to it; empty without
    /// one. `None` if the location has no room for such a text.
    ///
    /// # Errors
    /// It cannot be read.
    async fn read_beside(&self) -> Result<Option<Vec<u8>>, StateError> {
        Ok(None)
    }

    /// Replaces the text beside the state, or deletes it if the new one is empty. Needs the lock.
    ///
    /// # Errors
    /// It cannot be written.
    async fn write_beside(&self, _text: String) -> Result<(), StateError> {
        Ok(())
    }

    /// Removes another owner's lock.
    ///
    /// # Errors
    /// There is no lock, its id differs, or it cannot be removed.
    async fn force_unlock(&self, id: &str) -> Result<(), StateError>;

    /// Deletes the state. Needs the lock.
    ///
    /// # Errors
    /// The state cannot be deleted.
    async fn delete(&self) -> Result<(), StateError>;
}

/// Location of a state, from the configuration and flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatePlace {
    /// File, relative to the workspace directory.
    File(PathBuf),
    /// Files named by flags.
    NamedFiles(FilePlace),
    /// State of a workspace in a backend; an empty name is the default workspace.
    In(Settings, String),
    /// Unusable configuration, with the reason.
    Refused(String),
}

impl StatePlace {
    /// Reads the state's text without a lock; empty if there is no state.
    ///
    /// # Errors
    /// The text cannot be read.
    pub async fn text(&self, dir: &Path) -> Result<Vec<u8>, StateError> {
        self.open(dir, true).read().await
    }

    /// Opens the state manager. If that fails, the result is one that answers every request with
    /// the error. Without `locks` it never takes the lock.
    fn open(&self, dir: &Path, locks: bool) -> Arc<dyn StateManager> {
        match self {
            Self::File(path) => Arc::new(file::StateFileManager::in_directory(
                dir,
                &FilePlace::at(path),
                locks,
            )),
            Self::NamedFiles(files) => {
                Arc::new(file::StateFileManager::in_directory(dir, files, locks))
            }
            Self::Refused(why) => {
                Arc::new(unusable::UnusableManager(StateError::Refused(why.clone())))
            }
            Self::In(settings, named) => settings
                .open(dir, locks)
                .and_then(|backend| backend.state_manager(named))
                .unwrap_or_else(|why| Arc::new(unusable::UnusableManager(why))),
        }
    }
}
