//! Deploys as reported and listed, and the cancel ladder: the rungs by which running work is ended,
//! from soft to hard ([`CancelRung`]).

use super::{Counts, DeployId, Operation, OperationCounts, StageId, StageMode, UnixMs};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployStarted {
    pub deploy: DeployId,
    pub stage: StageId,
    pub mode: StageMode,
    pub who: String,
    pub host: String,
    /// Maximum number of operations that run at the same time; 0 in records of earlier versions.
    #[serde(default)]
    pub parallelism: u32,
    pub operations: Vec<Operation>,
}

/// Healthy members out of those that a health check included: the ones that were changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthyCount {
    pub healthy: u32,
    pub checked: u32,
}

impl HealthyCount {
    /// Returns a text such as `1 of 2 healthy`.
    pub fn text(self) -> String {
        format!("{} of {} healthy", self.healthy, self.checked)
    }
}

/// Progress of the rollout of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutProgress {
    pub group: String,
    pub deploy: DeployId,
    /// State as text, such as `waiting for health`.
    pub state: String,
    /// Number of the batch in progress, from 1.
    pub batch: u32,
    pub batches: u32,
    /// Members that need nothing more, and all members that change.
    pub done: u32,
    pub total: u32,
    /// Healthy polls out of those required, such as `●●○ 2/3`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub health: Option<String>,
    /// Results of the last health check.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub healthy: Option<HealthyCount>,
    /// Reason of the state, or why a member is not healthy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeployOutcome {
    Running,
    Succeeded,
    Failed,
    Cancelled,
    /// flightdeck ended before the deploy did.
    Interrupted,
}

impl DeployOutcome {
    /// Returns the word for a table cell.
    pub fn label(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Deploy as listed in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploySummary {
    pub deploy: DeployId,
    pub stage: StageId,
    pub mode: StageMode,
    pub began: UnixMs,
    pub ended: Option<UnixMs>,
    pub who: String,
    pub host: String,
    pub outcome: DeployOutcome,
    pub operations: OperationCounts,
    pub counts: Counts,
    pub config_digest: String,
}

/// Rungs of the cancel ladder, from soft to hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelRung {
    /// No new operation starts.
    StopStarting,
    /// Plugins are asked to stop.
    AskPlugins,
    /// The same, and commands of provisioners and groups are ended. A cancelled job goes here.
    EndCommands,
    /// Plugins are killed; running operations have unknown outcomes.
    KillPlugins,
}
