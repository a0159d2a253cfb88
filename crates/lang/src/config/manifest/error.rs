//! Errors of the module manifest.

use dependency::VersionError;

/// Reasons why the manifest cannot be used, worded to follow a colon.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not a manifest.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The version of a module is not valid.
    #[error("module {module:?}: {source}")]
    Version {
        /// The names of the calls down to it, joined by dots.
        module: String,
        /// Reason.
        source: VersionError,
    },
    /// Two entries have the same key.
    #[error("it lists the module {0:?} twice")]
    Twice(String),
}
