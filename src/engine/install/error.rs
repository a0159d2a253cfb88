//! Errors of an installation: files that cannot be written, named providers that the configuration
//! does not need, and unreadable states.

use crate::error::EngineError;
use model::visible::one_line;
use state::StateError;
use statefile::ReadError;
use statefile::encryption::EncryptionError;
use std::path::{Path, PathBuf};

/// Reasons why installation files cannot be written or a named provider is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum InstallError {
    #[error(
        "the configuration needs other providers or versions than the lock file has, but --lockfile=readonly forbids changing it. Run `flightdeck init` without that flag, then commit the lock file"
    )]
    LockfileReadOnly,
    #[error("cannot write the lock file {}: {source}", path.display())]
    Lockfile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "cannot write {}, which records the directories of --plugin-dir: {source}", path.display()
    )]
    PluginDirs {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A named provider that the configuration does not need.
    #[error(
        "the configuration does not need the provider {}; run `flightdeck providers` to list required providers", one_line(.0)
    )]
    Unneeded(String),
}

impl InstallError {
    /// Returns the error of writing a lock file.
    pub(super) fn lockfile(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Lockfile { path, source }
    }
}

impl From<InstallError> for EngineError {
    fn from(error: InstallError) -> Self {
        Self::refused(error)
    }
}

/// Reasons why the state's providers cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StateProvidersError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Encryption(#[from] EncryptionError),
    #[error(transparent)]
    Unreadable(#[from] ReadError),
}
