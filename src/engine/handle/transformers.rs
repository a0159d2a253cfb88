//! Transformers among the plugins of an engine.

use super::Engine;
use crate::engine::error::EngineError;

impl Engine {
    /// Has every transformer of the plugin path launched, and supervised from then on. Does not
    /// wait for them: no configuration can use one. How each comes up is in the events.
    ///
    /// # Errors
    /// They cannot be looked for.
    pub async fn launch_transformers(&self) -> Result<(), EngineError> {
        self.shared.work.launch_transformers().await.map(drop)
    }

    /// As [`load_plugins`](Self::load_plugins), with the transformers beside them, which are waited
    /// for too. What becomes of a transformer is in the events alone, `strict` or not.
    ///
    /// # Errors
    /// As [`load_plugins`](Self::load_plugins).
    pub async fn try_plugins(&self) -> Result<(), EngineError> {
        Box::pin(self.shared.work.try_plugins()).await
    }
}
