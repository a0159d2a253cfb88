//! State manager for an unusable configuration: it answers every request with the error of that
//! configuration.

use super::{Home, HomeError, Spelling};
use async_trait::async_trait;
use statefile::LockInfo;

pub(super) struct Nowhere(pub(super) HomeError);

#[async_trait]
impl Home for Nowhere {
    fn place(&self) -> String {
        "no place".to_owned()
    }

    fn spelling(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, _: LockInfo) -> Result<(), HomeError> {
        Err(self.0.clone())
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        Ok(())
    }

    async fn read(&self) -> Result<Vec<u8>, HomeError> {
        Err(self.0.clone())
    }

    async fn write(&self, _: String) -> Result<(), HomeError> {
        Err(self.0.clone())
    }

    async fn force_unlock(&self, _: &str) -> Result<(), HomeError> {
        Err(self.0.clone())
    }

    async fn delete(&self) -> Result<(), HomeError> {
        Err(self.0.clone())
    }
}
