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
    #[error("the reconcile loop of this workspace is led by {0}, so nothing was run here")]
    Led(String),
    #[error(
        "the leader of the reconcile loop is unknown, so nothing was run: check that the store in .flightdeck can be read and written"
    )]
    NoLeader,
    /// The plugin is a transformer.
    #[error("{plugin} is a transformer and has no schema: {}", NO_TRANSFORMERS)]
    NoSchema { plugin: PluginId },
}

impl From<WorkError> for EngineError {
    fn from(error: WorkError) -> Self {
        Self::refused(error)
    }
}
