//! Lock of a workspace's store without a running engine, which would ask for the lock itself.

use crate::error::EngineError;
use model::LockHolder;
use model::lock_owner::this_process;
use model::settings::{Access, Settings};
use store::Store;
use workspace::store_location;

/// Lock of a workspace's store, to release it for its owner.
pub struct StoredLock {
    store: Store,
}

impl StoredLock {
    /// Opens the store of the workspace.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub async fn open(settings: &Settings) -> Result<Self, EngineError> {
        let directory = store_location::configured(settings).await;
        let store = Store::open(directory, Access::ReadWrite)?;
        Ok(Self { store })
    }

    /// Returns the owner; `None` if the workspace is not locked.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn owner(&self) -> Result<Option<LockHolder>, EngineError> {
        Ok(self.store.lock_owner().await?)
    }

    /// Releases the lock, and records it with the reason of this process. Returns the former owner;
    /// `None` if the owner has released it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn release(&self, reason: &str) -> Result<Option<LockHolder>, EngineError> {
        Ok(self.store.force_unlock(this_process(reason)).await?)
    }
}
