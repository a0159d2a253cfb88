//! Why a provider that is meant is not launched.

use crate::engine::plugin::find::NotFound;
use crate::engine::trust::TrustError;
use crate::engine::words::WorkspacePlugin;

/// Why a provider that is meant is not launched.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotLaunched {
    #[error("it is part of the engine")]
    Bundled,
    /// The workspace itself brings it.
    #[error("{}", .0.why())]
    Untrusted(Box<WorkspacePlugin>),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    NotFound(#[from] NotFound),
}
