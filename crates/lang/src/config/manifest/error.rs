//! Why the manifest of the installed modules cannot be used.

use crate::config::version::VersionError;

/// Why the manifest of the installed modules cannot be used, in words that go after a colon.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is no manifest.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A module has a version that is none.
    #[error("module {module:?}: {source}")]
    Version {
        /// The names of the calls down to it, joined by dots.
        module: String,
        /// Why it is none.
        source: VersionError,
    },
    /// A module of these names is there more than once.
    #[error("it has the module {0:?} twice")]
    Twice(String),
}
