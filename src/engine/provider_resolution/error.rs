//! Reasons why a provider is not launched.

use crate::engine::model::WorkspacePlugin;
use crate::engine::plugin::find::NotFound;
use crate::engine::trust::TrustError;

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
