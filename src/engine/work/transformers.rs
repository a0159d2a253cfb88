//! Transformers: no configuration needs one, so nothing waits for them but who asks to see all
//! plugins.

use super::verb::{Switches, Work};
use crate::engine::error::EngineError;
use crate::engine::plugin::Plugin;
use crate::engine::source;
use futures_util::future::join_all;

impl Work {
    /// Has the transformers launched that lie on the plugin path; they are up later, or have
    /// failed.
    ///
    /// # Errors
    /// They cannot be looked for.
    pub async fn launch_transformers(&self) -> Result<Vec<Plugin>, EngineError> {
        let settings = self.settings.clone();
        let found = tokio::task::spawn_blocking(move || source::transformers(&settings)).await;
        let found = found.map_err(EngineError::task("transformers could not be looked for"))?;
        Ok(self.pool.launch_transformers(found).await)
    }

    /// Launches every plugin that the configuration declares or the state needs and every
    /// transformer, and waits until each is up or has failed. The answer is of the former alone.
    pub async fn try_plugins(&self) -> Result<(), EngineError> {
        let _turn = self.turn.lock().await;
        let switches = self.begin();
        // They have their names before any provider of this id gets one, whichever is up first.
        let launched = self.launch_transformers().await;
        let seen = async { see(&launched?, &switches).await };
        let (loaded, seen) = tokio::join!(self.load_all(&switches), seen);
        self.end();
        loaded.and(seen)
    }
}

/// Waits until each of them is up or has failed.
async fn see(all: &[Plugin], switches: &Switches) -> Result<(), EngineError> {
    tokio::select! { biased; // who gives up waits no more
        () = switches.stop.cancelled() => Err(EngineError::Cancelled),
        // One that has failed says so by itself.
        _ = join_all(all.iter().map(Plugin::ready)) => Ok(()),
    }
}
