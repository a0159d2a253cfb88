//! Calls to plugins: in line, sent, answered, and how long they take.

use super::CallId;
use crate::engine::plugin::record::PluginId;
use serde::{Deserialize, Serialize};

/// A call waits for a slot. Said again when what it waits for changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQueued {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: String,
    pub resource: Option<String>,
    /// What it waits for, in words: `slot of hashicorp/aws, held by aws_db_instance.main (ApplyResourceChange)`.
    pub waits_for: String,
    /// The call that holds what it waits for, where one can be named.
    pub blocker: Option<CallId>,
}

/// A call got its slot and was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    pub call: CallId,
    pub plugin: PluginId,
    /// From 1; 0 for a call that takes no slot (`StopProvider`).
    pub slot: u32,
    pub slots: u32,
    pub method: String,
    pub resource: Option<String>,
    pub deadline_ms: Option<u64>,
    /// How long such a call usually takes, from history.
    pub usual: Option<Latency>,
    pub queued_ms: u64,
}

/// A call was answered, or will not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFinished {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: String,
    pub resource: Option<String>,
    /// The type of that resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// What an apply does: `create`, `update`, `destroy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// From when it was sent; the time in line before is not in it.
    pub took_ms: u64,
    pub outcome: CallOutcome,
    /// The error in words.
    pub error: Option<String>,
    /// How such calls go by now; of one that was cancelled nothing is measured. What is kept of a deploy goes without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Ok,
    /// Answered with error diagnostics, or a gRPC error.
    Error,
    Deadline,
    Cancelled,
    /// The plugin died under it.
    Crashed,
}

/// Durations of calls in milliseconds: the percentiles and the longest of those that went well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub errors: u64,
    pub p50_ms: u64,
    pub p95_ms: u64,
    pub max_ms: u64,
}

impl Latency {
    /// Whether any call went well: how long one takes is not known otherwise.
    pub fn is_known(&self) -> bool {
        self.count > self.errors
    }
}

/// How the last thousand calls of a plugin went: those of one method, and those of all its methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    pub method: Latency,
    pub plugin: Latency,
}
