//! Watches the configuration and the work of other processes on the workspace, for a console.

use super::Operations;
use std::sync::Arc;
use std::time::Duration;

/// Interval between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

impl Operations {
    /// Shows the lock owner, the work of other processes and changed files until this engine ends.
    pub async fn watch(self: Arc<Self>) {
        loop {
            tokio::select! { biased; // the end comes first
                () = self.shutdown.cancelled() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            if let Err(error) = self.look_at_others().await {
                // The next command reports an unusable store.
                tracing::debug!(%error, "cannot look at the work of other processes");
            }
            if let Err(error) = self.look_at_files().await {
                tracing::debug!(%error, "cannot look at the configuration");
            }
        }
    }
}
