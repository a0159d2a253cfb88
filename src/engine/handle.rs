//! The engine's handle: everything else holds a clone of it. Its methods are the verbs of the product.

use super::api::*;
use super::bus::{Bus, Subscription};
use super::error::EngineError;
use super::event::*;
use super::memory::Memory;
use super::plugin::record::{PluginId, UnixMs};
use super::settings::Settings;
use super::view::View;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// A running engine on one workspace. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    bus: Bus,
    memory: Memory,
    tasks: TaskTracker,
}

fn later<T>() -> Result<T, EngineError> {
    Err(EngineError::Refused("the engine cannot do this yet".to_owned()))
}

impl Engine {
    /// Opens the workspace's store and, with [`Access::ReadWrite`](super::settings::Access), takes its lock when it is first needed.
    pub async fn start(settings: Settings) -> Result<Self, EngineError> {
        let (bus, tasks) = (Bus::default(), TaskTracker::new());
        let memory = Memory::open(&settings, &bus, &tasks).await?;
        Ok(Self { shared: Arc::new(Shared { settings, bus, memory, tasks }) })
    }

    /// The settings it was started with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// What is seen now, and every event after it, with no gap.
    pub fn subscribe(&self) -> (View, Subscription) {
        self.shared.bus.subscribe()
    }

    /// Takes the workspace's lock and holds it until [`shutdown`](Self::shutdown) (the console does). A second holder is
    /// told who has it; the engine goes on read-only.
    pub async fn hold_lock(&self) -> Result<(), EngineError> {
        later()
    }

    /// Launches the plugins that the configuration and the state need, and fetches their schemas. Failures are in the
    /// events; with `strict` they are the answer too.
    pub async fn load_plugins(&self) -> Result<(), EngineError> {
        later()
    }

    /// Works out the changes.
    pub async fn stage(&self, _request: StageRequest) -> Result<StageSummary, EngineError> {
        later()
    }

    /// A stage that was worked out before; the newest where `None`.
    pub async fn staged(&self, _stage: Option<StageId>) -> Result<StageSummary, EngineError> {
        later()
    }

    /// Terraform's plan representation of a stage.
    pub async fn plan_json(&self, _stage: StageId) -> Result<serde_json::Value, EngineError> {
        later()
    }

    /// Narrows or widens what the next deploy of a stage applies; closed under dependency.
    pub async fn select(&self, _stage: StageId, _select: Select) -> Result<Selection, EngineError> {
        later()
    }

    /// Applies a stage's selection. Ends when the deploy has ended.
    pub async fn deploy(&self, _request: DeployRequest) -> Result<DeploySummary, EngineError> {
        later()
    }

    /// Goes one rung down the cancel ladder of the running deploy (or stage).
    pub fn cancel(&self, _rung: CancelRung) {}

    /// Starts, stops, restarts, enables or disables one plugin.
    pub async fn plugin(&self, _plugin: &PluginId, _command: PluginCommand) -> Result<(), EngineError> {
        later()
    }

    /// Deploys, newest first.
    pub async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, EngineError> {
        self.shared.memory.history(limit).await
    }

    /// One deploy with its operations and events.
    pub async fn deploy_record(&self, deploy: DeployId) -> Result<DeployRecord, EngineError> {
        self.shared.memory.deploy_record(deploy).await
    }

    /// Failures since then (all where `None`), grouped by fingerprint, newest first.
    pub async fn failures(&self, since: Option<UnixMs>) -> Result<Vec<FailureGroup>, EngineError> {
        self.shared.memory.failures(since).await
    }

    /// What plugins said, oldest first.
    pub async fn logs(&self, query: LogQuery) -> Result<Vec<LogRow>, EngineError> {
        self.shared.memory.logs(query).await
    }

    /// The state, for showing.
    pub async fn state_rows(&self) -> Result<Vec<StateRow>, EngineError> {
        self.shared.memory.state_rows().await
    }

    /// The state as state version 4. Reads the store alone.
    pub async fn export_state(&self) -> Result<serde_json::Value, EngineError> {
        self.shared.memory.export_state().await
    }

    /// Stops every plugin, writes what is not written, gives the lock back.
    pub async fn shutdown(&self) {
        self.shared.memory.flush().await;
        if self.shared.settings.access == super::settings::Access::ReadWrite
            && let Err(error) = self.shared.memory.unlock().await
        {
            tracing::warn!(%error, "the workspace's lock could not be given back");
        }
        self.shared.tasks.close();
    }
}
