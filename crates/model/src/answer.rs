//! Answers of the engine to requests: selections, recorded plugins, state rows and history. Plain
//! data for display; sensitive values are masked.

use super::{
    Action, DeployId, DeploySummary, DriftKind, Event, FailureClass, Latency, LaunchAttempt, Lazy,
    LogLine, MethodName, ObjectType, Observation, Operation, OperationState, PluginFound, PluginId,
    UnixMs,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Selection after a request to change it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    pub taken: Vec<String>,
    pub left: Vec<String>,
    /// Changes selected or deselected along, each with the change that caused it.
    pub along: Vec<(String, String)>,
}

/// Selection that was saved under a name, for other stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSelection {
    pub name: String,
    pub at: UnixMs,
    /// Addresses of the selected changes.
    pub addresses: Vec<String>,
}

impl SavedSelection {
    /// Returns the saved addresses that are not selected after this selection was loaded, because
    /// the stage has no change of them.
    pub fn missing(&self, loaded: &Selection) -> Vec<&str> {
        let taken: BTreeSet<&String> = loaded.taken.iter().collect();
        let missing = self.addresses.iter().filter(|a| !taken.contains(a));
        missing.map(String::as_str).collect()
    }
}

/// Plugin as recorded in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginRow {
    pub id: PluginId,
    pub found: Option<PluginFound>,
    pub attempts: Vec<LaunchAttempt>,
}

/// Object of a resource instance in the state, for display: sensitive values are masked.
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
    /// Drift that the newest stage found, if the state has not changed since.
    pub drift: Option<DriftKind>,
    /// Settings of its type, if it has any.
    #[serde(skip)]
    pub of_type: Option<ObjectType>,
    /// Facts from the newest read of the object; `None` if it was never read.
    pub observation: Option<Observation>,
    /// Resources that it depends on, directly or through others, each within the module instance
    /// that encloses both.
    pub dependencies: Vec<String>,
    /// Dependent resources, in the same way.
    pub dependents: Vec<String>,
    /// Number of objects of `dependencies`.
    pub dependency_count: usize,
    /// Number of objects that depend on it.
    pub dependent_count: usize,
    /// Attributes flattened to leaves, as text.
    pub attributes: Lazy<Vec<(String, String)>>,
}

impl StateRow {
    /// Returns the address, with the key of a deposed object.
    pub fn id(&self) -> String {
        match &self.deposed {
            Some(key) => format!("{} (deposed {key})", self.address),
            None => self.address.clone(),
        }
    }
}

/// Output in the state, for display: a sensitive value is masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputRow {
    pub name: String,
    /// Rendered as an expression.
    pub value: String,
    pub sensitive: bool,
}

/// Similar failures.
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
    /// Outcome of the same resource in the next deploy that touched it, as text.
    pub followed_by: Option<String>,
    /// Deploy by which each of the resources has succeeded since; `None` while one has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solved_in: Option<DeployId>,
    /// The newest failures of the group, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newest: Vec<GroupedFailure>,
    /// Last log lines of the plugin at the newest failure.
    pub last_lines: Vec<String>,
    /// Times of these lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines_at: Vec<UnixMs>,
}

/// One failure of a group, and the next outcome of its resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupedFailure {
    pub at: UnixMs,
    pub deploy: DeployId,
    pub address: Option<String>,
    /// Unknown for a failure that belongs to no operation.
    pub action: Option<Action>,
    pub took_ms: Option<u64>,
    /// Next deploy that changed the resource, and how that ended.
    pub next: Option<(DeployId, OperationState)>,
}

/// Stored log line, with its number for following.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRow {
    pub id: i64,
    #[serde(flatten)]
    pub line: LogLine,
}

/// One deploy with all its records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployRecord {
    pub summary: DeploySummary,
    pub operations: Vec<Operation>,
    /// Events of the deploy, for replay.
    pub events: Vec<Event>,
}

/// Usual duration of a plugin's method for one resource type, from history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStat {
    pub plugin: PluginId,
    pub method: MethodName,
    /// Empty for a method without a resource.
    pub resource_type: String,
    /// Action of an apply; `None` for other methods.
    pub action: Option<Action>,
    pub latency: Latency,
}
