//! Errors common to all commands of the engine: reasons why work is refused or fails.

use crate::error::EngineError;
use model::{NO_TRANSFORMERS, PluginId};

/// Reasons why work is refused or fails, common to all commands.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkError {
    /// The diagnostics were already emitted.
    #[error("the configuration is invalid")]
    Configuration,
    /// The diagnostics were already emitted.
    #[error("no stage was created; see the errors above")]
    NothingStaged,
    #[error("the workspace is open read-only, so this command cannot change it")]
    ReadOnly,
    /// The plugin is a transformer.
    #[error("{plugin} is a transformer and has no schema: {}", NO_TRANSFORMERS)]
    NoSchema { plugin: PluginId },
}

impl From<WorkError> for EngineError {
    fn from(error: WorkError) -> Self {
        Self::refused(error)
    }
}
