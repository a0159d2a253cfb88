//! The state lives in the store of the workspace: the copy that comes with each outcome is the
//! state of record itself.

use super::{Home, HomeError};
use crate::engine::store::Store;
use crate::engine::store::model::{Acquired, State};
use crate::engine::words::LockHolder;
use async_trait::async_trait;

pub(super) struct Stored(pub(super) Store);

#[async_trait]
impl Home for Stored {
    fn place(&self) -> String {
        self.0.path().display().to_string()
    }

    async fn lock(&self, by: LockHolder) -> Result<Acquired, HomeError> {
        Ok(self.0.acquire_lock(by).await?)
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        Ok(self.0.release_lock().await?)
    }

    async fn break_lock(&self, by: LockHolder) -> Result<Option<LockHolder>, HomeError> {
        Ok(self.0.force_unlock(by).await?)
    }

    async fn holder(&self) -> Result<Option<LockHolder>, HomeError> {
        Ok(self.0.holder().await?)
    }

    async fn read(&self) -> Result<State, HomeError> {
        Ok(self.0.state().await?)
    }

    /// It is there since its outcome was.
    async fn write(&self, _: &Store) -> Result<(), HomeError> {
        Ok(())
    }
}
