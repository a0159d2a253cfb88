//! Reasons why a provider is not launched.

use model::WorkspacePlugin;
use plugin::find::NotFound;
use plugin::trust::TrustError;

/// Reason why a provider is not launched.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotLaunched {
    #[error("the provider is part of flightdeck")]
    Bundled,
    /// The workspace ships it and it is not trusted.
    #[error("{}", .0.why())]
    Untrusted(Box<WorkspacePlugin>),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    NotFound(#[from] NotFound),
}
