//! Transformer plugins. No configuration uses them, so only commands that list all plugins wait for
//! them.

use super::command::{Operations, Switches};
use crate::error::EngineError;
use crate::provider_resolution;
use futures_util::future::join_all;
use plugin::Plugin;

impl Operations {
    /// Launches the transformers on the plugin path without waiting for their registration.
    ///
    /// # Errors
    /// The search failed.
    pub async fn launch_transformers(&self) -> Result<Vec<Plugin>, EngineError> {
        let settings = self.settings.clone();
        let found =
            tokio::task::spawn_blocking(move || provider_resolution::transformers(&settings)).await;
        let found = found.map_err(EngineError::task("failed to search for transformers"))?;
        Ok(self.pool.launch_transformers(found).await)
    }

    /// Launches every needed plugin and every transformer, and waits until each is ready or has
    /// failed. The result covers only the needed plugins.
    pub async fn try_plugins(&self) -> Result<(), EngineError> {
        let command = self.begin().await;
        // Launched first, because a provider with the same id must get the second name.
        let launched = self.launch_transformers().await;
        let seen = async { wait_until_ready(&launched?, &command).await };
        // Concurrently, because a failure of one must not stop the other.
        let (loaded, seen) = tokio::join!(self.load_all(&command), seen);
        loaded.and(seen)
    }
}

/// Waits until each is ready or has failed.
async fn wait_until_ready(all: &[Plugin], switches: &Switches) -> Result<(), EngineError> {
    tokio::select! { biased; // who gives up waits no more
        () = switches.stop.cancelled() => Err(EngineError::Cancelled),
        // A failure is reported by the plugin's events.
        _ = join_all(all.iter().map(Plugin::ready)) => Ok(()),
    }
}
