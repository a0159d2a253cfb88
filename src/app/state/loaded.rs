//! What was asked of the engine and has come.

use crate::app::schema::SchemaRow;
use crate::engine::doctor::Finding;
use crate::engine::view::DeployView;
use crate::engine::words::{DeployRecord, DeploySummary, FailureGroup, PluginId, StateRow, UnixMs};
use std::collections::{BTreeMap, VecDeque};

/// How a change came to be taken or left without being asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Along {
    /// Whether it was pulled in; else it was dropped.
    pub pulled_in: bool,
    /// The change that made it so.
    pub by: String,
}

/// An old deploy, played again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub record: DeployRecord,
    /// Events folded in, from 0 to all.
    pub cursor: usize,
    pub view: DeployView,
    /// The time that the replay stands at.
    pub at: UnixMs,
}

/// Samples for the charts of the Calls screen, one a second, newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    pub waiting: VecDeque<u64>,
    pub running: VecDeque<u64>,
    pub finished: VecDeque<u64>,
    /// Calls that finished since the last sample.
    pub finished_now: u64,
}

/// What was asked of the engine and has come; `None` while it is under way.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub schemas: BTreeMap<PluginId, Vec<SchemaRow>>,
    pub history: Option<Vec<DeploySummary>>,
    pub failures: Option<Vec<FailureGroup>>,
    pub replay: Option<Replay>,
    /// The newest deploy on record, until there is one of our own.
    pub last: Option<DeployView>,
    pub state_rows: Option<Vec<StateRow>>,
    /// The directory's workspaces, the default one first.
    pub workspaces: Option<Vec<String>>,
    /// What is wrong with the machine and the workspace, and what is not.
    pub findings: Option<Vec<Finding>>,
}
