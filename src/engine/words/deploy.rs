//! Deploys as wholes, and the ladder that ends them early.

use super::{Counts, DeployId, Operation, OperationCounts, StageId, StageMode, UnixMs};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployStarted {
    pub deploy: DeployId,
    pub stage: StageId,
    pub mode: StageMode,
    pub who: String,
    pub host: String,
    pub operations: Vec<Operation>,
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
    /// The word for a table cell.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One deploy, as History lists it.
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

/// The rungs of the cancel ladder, from soft to hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelRung {
    /// No new operation starts.
    StopStarting,
    /// Plugins are asked to stop what they do.
    AskPlugins,
    /// Plugins are killed; what they were doing has an unknown outcome.
    KillPlugins,
}
