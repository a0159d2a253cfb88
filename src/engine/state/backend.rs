//! Backends: where a configuration may say that the states of its workspaces live. [`Settings`] is
//! what it says, [`Backend`] the place that this comes to.

mod azurerm;
mod duration;
mod error;
mod gcs;
mod http;
mod http_error;
mod local;
mod pg;
mod record;
mod redirect;
mod s3;
mod schema;
mod settings;
#[cfg(test)]
mod tests;
mod token;
mod values;
mod web;

pub use duration::duration;
pub use record::Record;
pub use settings::{Settings, SettingsError};

use super::held::tracked;
use super::unlocked::Unlocked;
use super::{Home, HomeError};
use crate::engine::store::model::State;
use crate::engine::store::version4;
use async_trait::async_trait;
use statefile::LockInfo;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use values::Values;

/// What the environment says under a name.
type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// The states of all workspaces of a directory.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Where the state of a workspace lives; the name of the default one is empty.
    ///
    /// # Errors
    /// It has no other than the default one.
    fn home(&self, named: &str) -> Result<Arc<dyn Home>, HomeError>;

    /// The names of the workspaces that are there, besides the default one, sorted.
    ///
    /// # Errors
    /// They cannot be told.
    async fn workspaces(&self) -> Result<Vec<String>, HomeError>;

    /// Makes a workspace: a state without anything in it. Nothing happens where it is there.
    ///
    /// # Errors
    /// It cannot be locked, read or written.
    async fn create(&self, named: &str, info: LockInfo) -> Result<(), HomeError> {
        let home = self.home(named)?;
        home.lock(info).await?;
        let made = begin(&*home).await;
        HomeError::with_unlocked(made, home.unlock().await)
    }

    /// Takes a workspace away, with its state. What is in it is for the caller to look at.
    ///
    /// # Errors
    /// It cannot be locked or removed.
    async fn delete(&self, named: &str, info: LockInfo) -> Result<(), HomeError> {
        let home = self.home(named)?;
        home.lock(info).await?;
        let deleted = home.delete().await;
        HomeError::with_unlocked(deleted, home.unlock().await)
    }
}

/// A backend whose locks do not stay behind when a command is dropped.
struct Tracked<B>(B);

#[async_trait]
impl<B: Backend> Backend for Tracked<B> {
    fn home(&self, named: &str) -> Result<Arc<dyn Home>, HomeError> {
        self.0.home(named).map(tracked)
    }

    async fn workspaces(&self) -> Result<Vec<String>, HomeError> {
        self.0.workspaces().await
    }
}

async fn begin(home: &dyn Home) -> Result<(), HomeError> {
    if !home.read().await?.is_empty() {
        return Ok(());
    }
    let state = State {
        serial: 1,
        lineage: uuid::Uuid::new_v4().to_string(),
        ..State::default()
    };
    home.write(version4(&state).to_line()).await
}

impl Settings {
    /// The place that this comes to for a workspace's directory, with what the environment of this
    /// process says. Without `locks` its locks are not taken.
    ///
    /// # Errors
    /// Something that it needs is not said, or is none.
    pub fn open(&self, dir: &Path, locks: bool) -> Result<Arc<dyn Backend>, HomeError> {
        let variables = |name: &str| std::env::var(name).ok();
        // The files of a local one have locks of their own.
        if self.kind() == "local" {
            let local = local::Local::new(dir, &Values::new(self, &variables), locks);
            return Ok(Arc::new(local));
        }
        let backend = self.open_with(dir, &variables)?;
        match locks {
            true => Ok(backend),
            false => Ok(Arc::new(Unlocked(backend))),
        }
    }

    fn open_with(
        &self,
        dir: &Path,
        variables: Variables<'_>,
    ) -> Result<Arc<dyn Backend>, HomeError> {
        let values = Values::new(self, variables);
        let kind = self.kind();
        match kind {
            // The system takes the lock of a file back.
            "local" => Ok(Arc::new(local::Local::new(dir, &values, true))),
            "http" => opened(kind, http::Http::new(&values)),
            "s3" => opened(kind, s3::S3::new(&values, dir)),
            "pg" => opened(kind, pg::Pg::new(&values)),
            "gcs" => opened(kind, gcs::Gcs::new(&values)),
            "azurerm" => opened(kind, azurerm::Azure::new(&values)),
            // Settings are of none else.
            other => Err(unusable(kind, Unknown(other.to_owned()))),
        }
    }
}

/// Returns true if the server may have carried out a failed request, by the causes of the error:
/// only the answer is missing.
pub(super) fn may_be_done(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<web::WebError>() {
            return error.may_be_done();
        }
        cause = error.source();
    }
    false
}

#[derive(Debug, thiserror::Error)]
#[error("there is no backend {0:?}")]
struct Unknown(String);

fn opened<B: Backend, E: Error + Send + Sync + 'static>(
    kind: &str,
    made: Result<B, E>,
) -> Result<Arc<dyn Backend>, HomeError> {
    match made {
        Ok(backend) => Ok(Arc::new(Tracked(backend))),
        Err(why) => Err(unusable(kind, why)),
    }
}

fn unusable(kind: &str, why: impl Error + Send + Sync + 'static) -> HomeError {
    HomeError::Backend {
        kind: kind.to_owned(),
        source: Arc::new(why),
    }
}
