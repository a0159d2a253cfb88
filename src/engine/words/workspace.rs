//! What is done to a workspace apart from deploys, by hand, and by whom; and what it brings along.

use super::UnixMs;
use serde::{Deserialize, Serialize};

/// What an operator did to the state by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateChangeKind {
    /// An object that was there already was taken in.
    Imported,
    /// An object was let go of; it was not destroyed.
    Forgotten,
    /// Nothing of it was in the state; what was unknown of it is settled.
    Settled,
    /// An object is to be replaced by the next deploy.
    Tainted,
    /// An object is not to be replaced any more.
    Untainted,
    /// An object has another address.
    Renamed,
    /// An object belongs to another provider.
    Reassigned,
    /// The whole state was put into the place of what was there.
    Pushed,
}

impl StateChangeKind {
    /// The word for a table cell.
    pub fn word(self) -> &'static str {
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

/// A change of the state by hand, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// Named apart from the time of the event that carries it.
    #[serde(rename = "changed_at")]
    pub at: UnixMs,
    pub what: StateChangeKind,
    pub address: String,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    /// The id that it was imported under; of a forgotten object its `id`, where it has one that is
    /// not sensitive.
    pub id: Option<String>,
    /// The provider configuration, as state version 4 writes it; `None` where there was no object.
    pub provider: Option<String>,
    /// The address that it has now; of a reassigned object, its provider configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Unknown outcomes that it settled: `create in deploy #3`.
    pub settled: Vec<String>,
    pub who: String,
    pub host: String,
    /// The state's serial afterwards.
    pub serial: i64,
}

/// An output of the root module, as the state has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputValue {
    pub name: String,
    /// JSON text.
    pub value: String,
    /// JSON text of the type.
    pub ty: String,
    pub sensitive: bool,
}

/// Who holds a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    pub who: String,
    pub host: String,
    pub pid: u32,
    /// Start time of the process (field 22 of its stat), so that a recycled pid is not taken for
    /// it.
    pub start_time: u64,
    pub boot_id: String,
    /// The namespace of its pid; empty where it was not known.
    #[serde(default)]
    pub pid_namespace: String,
    /// Whether it holds the system's lock on the store too, which ends with the process.
    #[serde(default)]
    pub leased: bool,
    pub since: UnixMs,
    pub reason: String,
}

/// A plugin that the workspace itself brings, and that nobody has said yes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspacePlugin {
    /// The provider that it says it is.
    pub address: String,
    pub executable: String,
    /// Of all files of its package.
    pub digest: String,
    /// Whether there was a yes for other files at the same place.
    pub changed: bool,
}

impl WorkspacePlugin {
    /// What it is, and what to do, for whoever can give flags.
    pub fn why(&self) -> String {
        let asked = if self.changed {
            "it is not what a yes was given for before"
        } else {
            "no yes was given for it"
        };
        format!(
            "the provider {} comes with the workspace's own files, and {asked}\n  executable: {}\n  digest: {}\nIt would run with all that you \
             may do. If you trust it, add --trust-workspace-plugins once, which is remembered for these very files; else take it away, or \
             install the provider with the `init` of your tool.",
            self.address, self.executable, self.digest
        )
    }
}
