//! Wraps a backend for `-lock=false`: its states are read and written without locks.

use super::backend::Backend;
use super::{Spelling, StateError, StateManager};
use async_trait::async_trait;
use statefile::LockInfo;
use std::sync::Arc;

/// Backend whose locks are never taken.
pub(super) struct Unlocked(pub(super) Arc<dyn Backend>);

#[async_trait]
impl Backend for Unlocked {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        Ok(Arc::new(UnlockedManager(self.0.state_manager(named)?)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        self.0.workspaces().await
    }
}

struct UnlockedManager(Arc<dyn StateManager>);

#[async_trait]
impl StateManager for UnlockedManager {
    fn place(&self) -> String {
        self.0.place()
    }

    fn identity(&self) -> Option<String> {
        self.0.identity()
    }

    fn layout(&self) -> Spelling {
        self.0.layout()
    }

    async fn lock(&self, _: LockInfo) -> Result<(), StateError> {
        Ok(())
    }

    async fn unlock(&self) -> Result<(), StateError> {
        Ok(())
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        self.0.read().await
    }

    async fn prepare_write(&self) -> Result<(), StateError> {
        self.0.prepare_write().await
    }

    async fn write(&self, text: String) -> Result<(), StateError> {
        self.0.write(text).await
    }

    async fn read_beside(&self) -> Result<Option<Vec<u8>>, StateError> {
        self.0.read_beside().await
    }

    async fn write_beside(&self, text: String) -> Result<(), StateError> {
        self.0.write_beside(text).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), StateError> {
        self.0.force_unlock(id).await
    }

    async fn delete(&self) -> Result<(), StateError> {
        self.0.delete().await
    }
}
