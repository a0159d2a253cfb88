//! Manual state changes, lock owners and workspace plugins.

use super::UnixMs;
pub use lang::config::DEFAULT_WORKSPACE;
use serde::{Deserialize, Serialize};

/// Kind of a manual state change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateChangeKind {
    /// An existing object was imported.
    Imported,
    /// An object was removed from the state without destroying it.
    Forgotten,
    /// An unknown outcome was settled; the state had no object for it.
    Settled,
    /// An object was marked for replacement by the next deploy.
    Tainted,
    /// The mark for replacement was removed.
    Untainted,
    /// An object got another address.
    Renamed,
    /// An object was assigned to another provider.
    Reassigned,
    /// The whole state was replaced.
    Pushed,
}

impl StateChangeKind {
    /// Returns the word for a table cell.
    pub fn label(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Forgotten => "forgotten",
            Self::Tainted => "tainted",
            Self::Untainted => "untainted",
            Self::Settled => "settled",
            Self::Renamed => "renamed",
            Self::Reassigned => "reassigned",
            Self::Pushed => "pushed",
        }
    }
}

/// Recorded manual state change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// Named differently from the time of the event that carries it.
    #[serde(rename = "changed_at")]
    pub at: UnixMs,
    pub what: StateChangeKind,
    pub address: String,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    /// Id under which it was imported; for a forgotten object its `id`, if it is not sensitive.
    pub id: Option<String>,
    /// Provider configuration, as in state version 4; `None` if there was no object.
    pub provider: Option<String>,
    /// New address; for a reassigned object the new provider configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Unknown outcomes that it settled: `create in deploy #3`.
    pub settled: Vec<String>,
    pub who: String,
    pub host: String,
    /// Serial of the state afterwards.
    pub serial: i64,
}

/// Root output in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputValue {
    pub name: String,
    /// JSON text.
    pub value: String,
    /// JSON text of the type.
    pub ty: String,
    pub sensitive: bool,
}

/// Lock owner of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    pub who: String,
    pub host: String,
    pub pid: u32,
    /// Start time of the process (field 22 of its stat), to recognize a reused pid.
    pub start_time: u64,
    pub boot_id: String,
    /// Pid namespace; empty if unknown.
    #[serde(default)]
    pub pid_namespace: String,
    /// True if it also holds the system's lock on the store, which ends with the process.
    #[serde(default)]
    pub leased: bool,
    pub since: UnixMs,
    pub reason: String,
}

/// Untrusted workspace plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspacePlugin {
    /// Provider address that it claims.
    pub address: String,
    pub executable: String,
    /// Digest of all files of its package.
    pub digest: String,
    /// True if other files at the same place were trusted.
    pub changed: bool,
}

impl WorkspacePlugin {
    /// Returns the reason and the remedy.
    pub fn why(&self) -> String {
        let asked = if self.changed {
            "its files have changed since you trusted it"
        } else {
            "you have not trusted it"
        };
        format!(
            "the provider {} is shipped in the workspace, and {asked}\n  executable: {}\n  digest: {}\nThe provider would run with all your \
             permissions. If you trust it, run flightdeck once with --trust-workspace; the decision applies to exactly these \
             files. Otherwise remove it, or install the provider with `flightdeck init`.",
            self.address, self.executable, self.digest
        )
    }
}
