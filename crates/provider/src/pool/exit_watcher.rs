//! Converts the reason why a process is unavailable, as its supervisor recorded it, into the error
//! of a call.

use crate::dialect::{ExitReporter, ProcessEnd};
use async_trait::async_trait;
use calls::ProviderError;
use model::PluginId;
use plugin::{Connection, Plugin, PluginError};
use std::time::Duration;

/// Maximum time between a broken connection and the recorded exit of the process.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Converts the reason why a plugin cannot be called into the error of a call.
pub(super) fn blocked(error: PluginError, plugin: PluginId) -> ProviderError {
    let of = |state: &str, why: String| ProviderError::Blocked {
        plugin: plugin.clone(),
        state: state.to_owned(),
        why,
    };
    match error {
        PluginError::GaveUp { attempts, why, .. } => {
            of(&format!("was given up after {attempts} launches"), why)
        }
        PluginError::Incompatible { why, .. } => of("is incompatible", why),
        PluginError::Rejected { why, .. } => of("is not available", why),
        PluginError::Disabled { .. } => of(
            "is disabled",
            "enable it on the Plugins screen of the console".to_owned(),
        ),
        PluginError::Stopped { .. } => of(
            "was stopped",
            "start it on the Plugins screen of the console".to_owned(),
        ),
        PluginError::Gone { .. } => of(
            "has ended",
            "flightdeck is shutting down, or another version has replaced it".to_owned(),
        ),
    }
}

/// Reports the end of one launch to its adapter.
pub(super) struct ExitWatcher {
    pub(super) plugin: Plugin,
    pub(super) connection: Connection,
}

#[async_trait]
impl ExitReporter for ExitWatcher {
    async fn process_end(&self) -> Option<ProcessEnd> {
        // The supervisor reads the remaining output first, because it is part of the incident.
        tokio::time::timeout(EXIT_TIMEOUT, self.connection.end_token().cancelled())
            .await
            .ok()?;
        match self
            .plugin
            .incident(self.connection.generation, Duration::ZERO)
            .await
        {
            Some(incident) => Some(ProcessEnd::Crashed {
                incident: incident.id.clone(),
                text: incident.text.clone(),
            }),
            // It ended without an incident, so it was stopped by an order.
            None => Some(ProcessEnd::Ended),
        }
    }
}
