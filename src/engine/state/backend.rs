//! Backends: storage of the states of all workspaces of a directory. [`Settings`] has the
//! arguments, [`Backend`] is the opened backend.

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

/// Looks up an environment variable.
type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// States of all workspaces of a directory.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// State manager of a workspace; an empty name is the default workspace.
    ///
    /// # Errors
    /// The backend has only the default workspace.
    fn home(&self, named: &str) -> Result<Arc<dyn Home>, HomeError>;

    /// Names of the workspaces besides the default one, sorted.
    ///
    /// # Errors
    /// They cannot be listed.
    async fn workspaces(&self) -> Result<Vec<String>, HomeError>;

    /// Creates a workspace with an empty state. Does nothing if it exists.
    ///
    /// # Errors
    /// The state cannot be locked, read or written.
    async fn create(&self, named: &str, info: LockInfo) -> Result<(), HomeError> {
        let home = self.home(named)?;
        home.lock(info).await?;
        let made = begin(&*home).await;
        HomeError::with_unlocked(made, home.unlock().await)
    }

    /// Deletes a workspace and its state. The caller checks its content first.
    ///
    /// # Errors
    /// The state cannot be locked or deleted.
    async fn delete(&self, named: &str, info: LockInfo) -> Result<(), HomeError> {
        let home = self.home(named)?;
        home.lock(info).await?;
        let deleted = home.delete().await;
        HomeError::with_unlocked(deleted, home.unlock().await)
    }
}

/// Backend whose locks are released if a command is cancelled.
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
    /// Opens the backend for a workspace directory, with this process's environment. Without
    /// `locks` its locks are never taken.
    ///
    /// # Errors
    /// A required argument is missing or invalid.
    pub fn open(&self, dir: &Path, locks: bool) -> Result<Arc<dyn Backend>, HomeError> {
        let variables = |name: &str| std::env::var(name).ok();
        // The local backend implements the option itself.
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
            // The system releases a file's lock when its process ends.
            "local" => Ok(Arc::new(local::Local::new(dir, &values, true))),
            "http" => opened(kind, http::Http::new(&values)),
            "s3" => opened(kind, s3::S3::new(&values, dir)),
            "pg" => opened(kind, pg::Pg::new(&values)),
            "gcs" => opened(kind, gcs::Gcs::new(&values)),
            "azurerm" => opened(kind, azurerm::Azure::new(&values)),
            // Settings exist only for supported backends.
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
#[error("unknown backend {0:?}")]
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
