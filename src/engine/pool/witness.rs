//! What a supervisor knows of a process that cannot be called, as calls are told it.

use crate::engine::calls::ProviderError;
use crate::engine::plugin::{Connection, Plugin, PluginError};
use crate::engine::provider::dialect::{Death, Obituary};
use crate::engine::words::PluginId;
use async_trait::async_trait;
use std::time::Duration;

/// How long a process whose connection broke may take to be seen as ended.
const SEEN_TO_END: Duration = Duration::from_secs(3);

/// Why a plugin cannot be called.
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
        PluginError::Incompatible { why, .. } => of("cannot be used", why),
        PluginError::Rejected { why, .. } => of("cannot be had", why),
        PluginError::Disabled { .. } => of("is disabled", "enable it to use it".to_owned()),
        PluginError::Stopped { .. } => of("was stopped", "start it to use it".to_owned()),
        PluginError::Gone { .. } => of(
            "is gone",
            "flightdeck is ending, or another version has taken its place".to_owned(),
        ),
    }
}

/// Knows what became of one launch.
pub(super) struct Witness {
    pub(super) plugin: Plugin,
    pub(super) connection: Connection,
}

#[async_trait]
impl Obituary for Witness {
    async fn death(&self) -> Option<Death> {
        // The supervisor hears the process out first: its last words belong to the incident.
        tokio::time::timeout(SEEN_TO_END, self.connection.ended().cancelled())
            .await
            .ok()?;
        match self
            .plugin
            .incident(self.connection.generation, Duration::ZERO)
            .await
        {
            Some(incident) => Some(Death::Crashed {
                incident: incident.id.clone(),
                text: incident.text.clone(),
            }),
            None => Some(Death::Ended),
        }
    }
}
