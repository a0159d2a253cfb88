//! What the engine answers: plain data, fit to be shown.

use super::{
    Action, DeployId, DeploySummary, DriftKind, Event, FailureClass, Latency, Later, LaunchAttempt,
    LogLine, MethodName, Operation, PluginFound, PluginId, UnixMs,
};
use serde::{Deserialize, Serialize};

/// The selection after a change of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    pub taken: Vec<String>,
    pub left: Vec<String>,
    /// What was pulled in or dropped along with it: the change, and the change that made it so.
    pub along: Vec<(String, String)>,
}

/// A plugin as the store remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginRow {
    pub id: PluginId,
    pub found: Option<PluginFound>,
    pub attempts: Vec<LaunchAttempt>,
}

/// One resource instance object in the state, fit to be shown: sensitive values are masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateRow {
    pub address: String,
    pub deposed: Option<String>,
    pub module: String,
    pub data: bool,
    pub resource_type: String,
    pub name: String,
    pub provider: String,
    pub tainted: bool,
    /// What the newest stage found of it in the world, where the state is still the one that it
    /// started from.
    pub drift: Option<DriftKind>,
    pub dependencies: Vec<String>,
    /// Addresses of the resources that depend on it.
    pub dependents: Vec<String>,
    /// Attributes flattened to leaves, as text.
    pub attributes: Later<Vec<(String, String)>>,
}

impl StateRow {
    /// The address; a left-over object has its key behind it.
    pub fn id(&self) -> String {
        match &self.deposed {
            Some(key) => format!("{} (deposed {key})", self.address),
            None => self.address.clone(),
        }
    }
}

/// Failures that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureGroup {
    pub fingerprint: String,
    pub class: FailureClass,
    pub summary: String,
    pub detail: String,
    pub count: u32,
    pub first: UnixMs,
    pub last: UnixMs,
    pub plugin: Option<PluginId>,
    pub addresses: Vec<String>,
    /// Newest first.
    pub deploys: Vec<DeployId>,
    /// What became of the same resource in the next deploy that touched it, in words.
    pub followed_by: Option<String>,
    /// Last log lines of the plugin at the newest of them.
    pub last_lines: Vec<String>,
    /// When each of them was logged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines_at: Vec<UnixMs>,
}

/// A remembered log line, with its number for following.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRow {
    pub id: i64,
    #[serde(flatten)]
    pub line: LogLine,
}

/// One deploy with all that is remembered of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployRecord {
    pub summary: DeploySummary,
    pub operations: Vec<Operation>,
    /// The events of that time, for replay.
    pub events: Vec<Event>,
}

/// How long a method of one plugin takes for one type of resource, from history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStat {
    pub plugin: PluginId,
    pub method: MethodName,
    /// Empty for a method that is about no resource.
    pub resource_type: String,
    /// What an apply does; `None` for other methods.
    pub action: Option<Action>,
    pub latency: Latency,
}
