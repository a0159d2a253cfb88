//! Why a piece of work is not begun, or comes to nothing.

use crate::engine::error::EngineError;
use crate::engine::words::{NO_TRANSFORMERS, PluginId};

/// Why a piece of work is not begun, or comes to nothing, whatever it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkError {
    /// What is wrong with it was told before.
    #[error("the configuration cannot be used")]
    Configuration,
    /// The same.
    #[error("nothing could be staged")]
    NothingStaged,
    #[error("the workspace is open for reading only")]
    ReadOnly,
    /// It is a transformer.
    #[error("{plugin} has no schema: {}", NO_TRANSFORMERS)]
    NoSchema { plugin: PluginId },
}

impl From<WorkError> for EngineError {
    fn from(error: WorkError) -> Self {
        Self::because(error)
    }
}
