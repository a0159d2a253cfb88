//! Why something failed, and of what nobody knows how it ended.

use super::{DeployId, MethodName, OperationStep, PluginId, UnixMs};
use serde::{Deserialize, Serialize};

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// Equal for failures that are the same but for names, numbers and ids.
    pub fingerprint: String,
    pub summary: String,
    pub detail: String,
    pub address: Option<String>,
    pub plugin: Option<PluginId>,
    pub method: Option<MethodName>,
    /// The crash that took the call down.
    pub incident: Option<String>,
    /// What the plugin logged since the operation began, at most 100 lines: the last ones, of a
    /// panic the first.
    pub last_lines: Vec<String>,
    /// When each of them was logged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines_at: Vec<UnixMs>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    Unexpected,
    Transient,
    BadInput,
    /// Whoever we work as may not do that.
    Denied,
    PluginCrashed,
    Deadline,
    Cancelled,
    InconsistentResult,
}

impl FailureClass {
    /// The class in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unexpected => "unexpected",
            Self::Transient => "transient",
            Self::BadInput => "bad input",
            Self::Denied => "denied",
            Self::PluginCrashed => "plugin crashed",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::InconsistentResult => "inconsistent result",
        }
    }
}

/// An operation that an earlier deploy began and whose end is not on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// Number of what was intended, in its workspace.
    #[serde(default)]
    pub intent: i64,
    pub deploy: DeployId,
    pub address: String,
    /// Key of the deposed object that it was about; `None` for the current one.
    pub deposed: Option<String>,
    /// What was begun.
    pub step: OperationStep,
    pub begun_at: UnixMs,
    /// Whether an object may be there that the state does not have. Reading back cannot settle
    /// that.
    pub creation: bool,
    /// Whether it is a provisioner's command: what it has done is done, and whether the object is
    /// as it should be is not known.
    pub provisioner: bool,
    /// Whether that provisioner is one of a destroy: its object is still there as it was.
    #[serde(default)]
    pub destroy_time: bool,
    /// The id of the object, where it was known before the call.
    pub id: Option<String>,
    /// What is known, and how it is settled, in words.
    pub detail: String,
}

/// The name of what was asked for beside an object, by the number of its intent.
pub fn beside_name(address: &str, intent: i64) -> String {
    format!("{address} (beside {intent})")
}

impl Unknown {
    /// As `state forget` and lists name it.
    pub fn name(&self) -> String {
        if self.step.beside().is_some() {
            return beside_name(&self.address, self.intent);
        }
        self.deposed.as_ref().map_or_else(
            || self.address.clone(),
            |key| format!("{} (deposed {key})", self.address),
        )
    }
}
