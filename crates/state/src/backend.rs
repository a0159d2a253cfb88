//! Backends: storage of the states of all workspaces of a directory. [`Settings`] has the
//! arguments, [`Backend`] is the opened backend.

mod azurerm;
mod duration;
mod error;
mod gcs;
mod http;
mod http_client;
mod http_error;
mod kind;
mod local;
mod metadata;
mod pg;
mod redirect;
mod s3;
mod schema;
mod settings;
#[cfg(test)]
mod tests;
mod token;
mod values;

pub use duration::duration;
pub use kind::BackendKind;
pub use metadata::BackendMetadata;
pub use settings::{Settings, SettingsError};

use super::lock_registry::tracked;
use super::unlocked::Unlocked;
use super::{StateError, StateManager};
use async_trait::async_trait;
use statefile::LockInfo;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use store::records::State;
use store::version4;
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
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError>;

    /// Names of the workspaces besides the default one, sorted.
    ///
    /// # Errors
    /// They cannot be listed.
    async fn workspaces(&self) -> Result<Vec<String>, StateError>;

    /// Creates a workspace with an empty state. Does nothing if it exists.
    ///
    /// # Errors
    /// The state cannot be locked, read or written.
    async fn create(&self, named: &str, info: LockInfo) -> Result<(), StateError> {
        let home = self.state_manager(named)?;
        home.lock(info).await?;
        let made = create_initial_state(&*home).await;
        StateError::combine_with_unlock(made, home.unlock().await)
    }

    /// Deletes a workspace and its state. The caller checks its content first.
    ///
    /// # Errors
    /// The state cannot be locked or deleted.
    async fn delete(&self, named: &str, info: LockInfo) -> Result<(), StateError> {
        let home = self.state_manager(named)?;
        home.lock(info).await?;
        let deleted = home.delete().await;
        // A later workspace of this name must not find the records of this one.
        if deleted.is_ok()
            && let Err(error) = home.write_beside(String::new()).await
        {
            tracing::warn!(%error, "the text beside a deleted state may remain");
        }
        StateError::combine_with_unlock(deleted, home.unlock().await)
    }
}

/// Backend whose locks are released if a command is cancelled.
struct Tracked<B>(B);

#[async_trait]
impl<B: Backend> Backend for Tracked<B> {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        self.0.state_manager(named).map(tracked)
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        self.0.workspaces().await
    }
}

async fn create_initial_state(home: &dyn StateManager) -> Result<(), StateError> {
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
    pub fn open(&self, dir: &Path, locks: bool) -> Result<Arc<dyn Backend>, StateError> {
        let variables = |name: &str| std::env::var(name).ok();
        // The local backend implements the option itself.
        if self.kind() == BackendKind::Local {
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
    ) -> Result<Arc<dyn Backend>, StateError> {
        let values = Values::new(self, variables);
        let kind = self.kind();
        match kind {
            // The system releases a file's lock when its process ends.
            BackendKind::Local => Ok(Arc::new(local::Local::new(dir, &values, true))),
            BackendKind::Http => boxed_backend(kind, http::Http::new(&values)),
            BackendKind::S3 => boxed_backend(kind, s3::S3::new(&values, dir)),
            BackendKind::Pg => boxed_backend(kind, pg::Pg::new(&values)),
            BackendKind::Gcs => boxed_backend(kind, gcs::Gcs::new(&values)),
            BackendKind::Azurerm => boxed_backend(kind, azurerm::Azure::new(&values)),
        }
    }
}

/// Returns true if the server may have carried out a failed request, by the causes of the error:
/// only the answer is missing.
pub(super) fn may_have_succeeded(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<http_client::WebError>() {
            return error.may_have_succeeded();
        }
        cause = error.source();
    }
    false
}

fn boxed_backend<B: Backend, E: Error + Send + Sync + 'static>(
    kind: BackendKind,
    made: Result<B, E>,
) -> Result<Arc<dyn Backend>, StateError> {
    match made {
        Ok(backend) => Ok(Arc::new(Tracked(backend))),
        Err(why) => Err(StateError::Backend {
            kind,
            source: Arc::new(why),
        }),
    }
}
