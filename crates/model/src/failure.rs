//! Failures of operations, and unknown outcomes of earlier deploys.

use super::{DeployId, MethodName, OperationStep, PluginId, UnixMs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Failure of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// Equal for failures that differ only in names, numbers and ids.
    pub fingerprint: String,
    pub summary: String,
    pub detail: String,
    pub address: Option<String>,
    pub plugin: Option<PluginId>,
    pub method: Option<MethodName>,
    /// Crash that interrupted the call.
    pub incident: Option<String>,
    /// Log lines of the plugin since the operation began, at most 100: the last ones, or the first
    /// ones of a panic.
    pub last_lines: Vec<String>,
    /// Times of these lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines_at: Vec<UnixMs>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    Unexpected,
    Transient,
    BadInput,
    /// Missing permissions.
    Denied,
    PluginCrashed,
    Deadline,
    Cancelled,
    InconsistentResult,
    /// The object was applied, but did not become ready in time.
    NotReady,
}

impl FailureClass {
    /// Returns the class as text.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unexpected => "unexpected",
            Self::Transient => "transient",
            Self::BadInput => "bad input",
            Self::Denied => "denied",
            Self::PluginCrashed => "plugin crashed",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::InconsistentResult => "inconsistent result",
            Self::NotReady => "not ready",
        }
    }
}

/// Operation of an earlier deploy without a recorded outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// Number of the intent in its workspace.
    #[serde(default)]
    pub intent: i64,
    pub deploy: DeployId,
    pub address: String,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    /// Step that was started.
    pub step: OperationStep,
    pub begun_at: UnixMs,
    /// True if an object may exist that the state does not have. Reading cannot settle that.
    pub creation: bool,
    /// True for a provisioner: its effects are unknown and cannot be read back.
    pub provisioner: bool,
    /// True for a destroy provisioner: its object still exists.
    #[serde(default)]
    pub destroy_time: bool,
    /// Resource type, and full address of the provider; empty for records of older versions.
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub provider: String,
    /// Id of the object, if known before the call.
    pub id: Option<String>,
    /// Other known values that identify the object, by attribute.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Known facts and remedy, as text.
    pub detail: String,
}

/// Returns the name of a call that an operation requested, by the number of its intent.
pub fn requested_call_name(address: &str, intent: i64) -> String {
    format!("{address} (beside {intent})")
}

impl Unknown {
    /// Returns a line with all that identifies the object: `create of lab_thing.a (lab_thing of
    /// provider["flightdeck.internal/bundled/lab"]): name = "a"`.
    pub fn line(&self) -> String {
        let of = match (self.kind.as_str(), self.provider.as_str()) {
            ("", _) | (_, "") => String::new(),
            (kind, provider) => format!(" ({kind} of {provider})"),
        };
        let id = self.id.iter().map(|id| ("id", id));
        let values = self
            .values
            .iter()
            .map(|(name, value)| (name.as_str(), value));
        let values: Vec<String> = id
            .chain(values)
            .map(|(name, value)| format!("{name} = {value:?}"))
            .collect();
        let known = match values.is_empty() {
            true => String::new(),
            false => format!(": {}", values.join(", ")),
        };
        format!("{} of {}{of}{known}", self.step, self.name())
    }

    /// Returns the name for lists and `state forget`.
    pub fn name(&self) -> String {
        // Requested calls share the address of their operation; the intent makes the name unique.
        if self.step.requested_call().is_some() {
            return requested_call_name(&self.address, self.intent);
        }
        // The same form as `Change::id`, so that one name identifies the object everywhere.
        self.deposed.as_ref().map_or_else(
            || self.address.clone(),
            |key| format!("{} (deposed {key})", self.address),
        )
    }
}
