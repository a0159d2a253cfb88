//! State manager for an unusable configuration: it answers every request with the error of that
//! configuration.

use super::{Spelling, StateError, StateManager};
use async_trait::async_trait;
use statefile::LockInfo;

pub(super) struct UnusableManager(pub(super) StateError);

#[async_trait]
impl StateManager for UnusableManager {
    fn place(&self) -> String {
        "no place".to_owned()
    }

    fn identity(&self) -> Option<String> {
        None
    }

    fn layout(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, _: LockInfo) -> Result<(), StateError> {
        Err(self.0.clone())
    }

    async fn unlock(&self) -> Result<(), StateError> {
        Ok(())
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        Err(self.0.clone())
    }

    async fn write(&self, _: String) -> Result<(), StateError> {
        Err(self.0.clone())
    }

    async fn force_unlock(&self, _: &str) -> Result<(), StateError> {
        Err(self.0.clone())
    }

    async fn delete(&self) -> Result<(), StateError> {
        Err(self.0.clone())
    }
}
