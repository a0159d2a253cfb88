//! Engine methods that launch transformer plugins.

use super::Engine;
use crate::error::EngineError;

impl Engine {
    /// Launches and supervises every transformer on the plugin path. Does not wait, because no
    /// configuration uses one. Results are events.
    ///
    /// # Errors
    /// The search failed.
    pub async fn launch_transformers(&self) -> Result<(), EngineError> {
        self.shared.operations.launch_transformers().await.map(drop)
    }

    /// Like [`load_plugins`](Self::load_plugins), and also launches the transformers and waits for
    /// them. The result of a transformer is an event only, even with `strict`.
    ///
    /// # Errors
    /// See [`load_plugins`](Self::load_plugins).
    pub async fn try_plugins(&self) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.try_plugins()).await
    }
}
