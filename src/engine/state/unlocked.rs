//! Wraps a backend for `-lock=false`: its states are read and written without locks.

use super::backend::Backend;
use super::{Home, HomeError, Spelling};
use async_trait::async_trait;
use statefile::LockInfo;
use std::sync::Arc;

/// Backend whose locks are never taken.
pub(super) struct Unlocked(pub(super) Arc<dyn Backend>);

#[async_trait]
impl Backend for Unlocked {
    fn home(&self, named: &str) -> Result<Arc<dyn Home>, HomeError> {
        Ok(Arc::new(UnlockedHome(self.0.home(named)?)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, HomeError> {
        self.0.workspaces().await
    }
}

struct UnlockedHome(Arc<dyn Home>);

#[async_trait]
impl Home for UnlockedHome {
    fn place(&self) -> String {
        self.0.place()
    }

    fn spelling(&self) -> Spelling {
        self.0.spelling()
    }

    async fn lock(&self, _: LockInfo) -> Result<(), HomeError> {
        Ok(())
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        Ok(())
    }

    async fn read(&self) -> Result<Vec<u8>, HomeError> {
        self.0.read().await
    }

    async fn prepare(&self) -> Result<(), HomeError> {
        self.0.prepare().await
    }

    async fn write(&self, text: String) -> Result<(), HomeError> {
        self.0.write(text).await
    }

    async fn force_unlock(&self, id: &str) -> Result<(), HomeError> {
        self.0.force_unlock(id).await
    }

    async fn delete(&self) -> Result<(), HomeError> {
        self.0.delete().await
    }
}
