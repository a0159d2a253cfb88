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
    /// Plugins are killed; running operations have unknown outcomes.
    KillPlugins,
}
