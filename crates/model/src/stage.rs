//! Stage for display: mode, progress, changes and outputs, with sensitive values masked.

use super::secrets::MASK;
use super::{Action, CommandView, Counts, DeployId, DriftKind, DriftView, StageId, UnixMs};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Reason of a change that only follows from the mode of its stage.
pub const DESTROY_MODE: &str = "destroy mode";

/// Mode of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageMode {
    #[default]
    Normal,
    Destroy,
    RefreshOnly,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageStarted {
    pub stage: StageId,
    pub mode: StageMode,
    /// Expected number of resource instances (configuration and state); 0 while unknown.
    pub resources: u32,
}

/// Change for display; sensitive values are masked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeView {
    /// Address of the resource instance, with ` (deposed KEY)` for a deposed object. Unique in a
    /// stage.
    pub address: String,
    pub previous_address: Option<String>,
    /// Key by which an existing object is imported, such as `id "i-1"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    pub resource_type: String,
    pub provider: String,
    pub action: Action,
    /// Reason in the plan representation, such as `replace_because_tainted`.
    pub action_reason: Option<String>,
    /// Reason as text.
    pub why: String,
    pub attributes: Vec<AttributeChange>,
    /// Resources, as declared, that it depends on and that change in this stage.
    pub needs: Vec<String>,
    pub drifted: bool,
    /// Commands of its provisioners, local and remote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandView>,
}

impl ChangeView {
    /// Returns true if the change affects an object or the state, including a pure move.
    pub fn has_effect(&self) -> bool {
        self.is_selectable() || self.previous_address.is_some()
    }

    /// Returns true if a deploy has an operation for the change. A pure move is an edit of the
    /// state that every deploy of the stage makes.
    pub fn is_selectable(&self) -> bool {
        self.action != Action::NoOp || self.import.is_some()
    }

    /// Returns the word for a table cell: that of the action, `import` or `move`.
    pub fn label(&self) -> &'static str {
        match (self.action, &self.import, &self.previous_address) {
            (Action::NoOp, Some(_), _) => "import",
            (Action::NoOp, None, Some(_)) => "move",
            (action, ..) => action.label(),
        }
    }

    /// Returns the symbol: that of the action, `←` for an import, `→` for a move.
    pub fn sign(&self) -> &'static str {
        match (self.action, &self.import, &self.previous_address) {
            (Action::NoOp, Some(_), _) => "←",
            (Action::NoOp, None, Some(_)) => "→",
            (action, ..) => action.sign(),
        }
    }
}

/// Change of one attribute, flattened to leaves: `tags["name"]`, `rule[0].port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeChange {
    pub path: String,
    /// Path before the change, if it differs because elements of a list were added or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_path: Option<String>,
    /// Rendered as an expression; `None` without a value.
    pub before: Option<String>,
    /// `None` without a value; `(known after apply)` if `unknown`.
    pub after: Option<String>,
    pub unknown: bool,
    pub sensitive: bool,
    pub forces_replacement: bool,
    pub changed: bool,
}

/// Change of an output for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputView {
    pub name: String,
    pub action: Action,
    pub before: Option<String>,
    pub after: Option<String>,
    pub sensitive: bool,
    /// Addresses of instances that it depends on, or of resources if it depends on all their
    /// instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

impl OutputView {
    /// Returns true if the output stays unchanged when these changes are deselected.
    pub fn is_unchanged_without<'l>(&self, left: impl IntoIterator<Item = &'l String>) -> bool {
        let mut left = left.into_iter();
        // An output that needs a deselected change is not evaluated, so it keeps its value.
        left.any(|address| self.needs.iter().any(|need| names(need, address)))
    }
}

/// Returns true if the address of an instance or resource covers this instance.
pub fn names(need: &str, address: &str) -> bool {
    address
        .strip_prefix(need)
        // The bracket keeps `a.b` from covering `a.bc`.
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// Result of staging, for display and selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageSummary {
    pub stage: StageId,
    pub mode: StageMode,
    /// Deploy whose configuration is staged; `None` for the files on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_of: Option<DeployId>,
    /// Named differently from the time of the event that carries it.
    #[serde(rename = "staged_at")]
    pub at: UnixMs,
    pub took_ms: u64,
    pub counts: Counts,
    /// In dependency order, including no-ops.
    pub changes: Vec<ChangeView>,
    /// Addresses of deselected changes. In a new stage these were planned along with needs of
    /// targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    pub outputs: Vec<OutputView>,
    /// Drift that the refresh found.
    pub drift: Vec<DriftView>,
    /// Groups whose instances change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupPlan>,
    /// References to the values of variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretOrigin>,
    /// Edits of the state that no change, output or accepted drift shows. Every deploy of the stage
    /// makes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_edits: Vec<StateEditView>,
}

/// Edits of the state of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateEditView {
    pub what: StateEditKind,
    /// Addresses of the records, `FROM → TO` for moves. One row for each would hide the changes.
    pub addresses: Vec<String>,
}

/// Kind of an edit of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateEditKind {
    /// Records of objects get another address.
    Moved,
    /// Records are removed, because their objects no longer exist or are data sources.
    Removed,
    /// Records of objects are written as the provider returned them.
    Refreshed,
    /// Records of data sources are written as they were read.
    Read,
    /// Operations without a recorded outcome are settled, because their objects were read.
    Settled,
}

impl StateEditKind {
    /// Returns the word for a table cell.
    pub fn label(self) -> &'static str {
        match self {
            Self::Moved => "move",
            Self::Removed => "remove",
            Self::Refreshed | Self::Read => "refresh",
            Self::Settled => "settle",
        }
    }

    /// Returns the edited records in the singular.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Moved | Self::Removed | Self::Refreshed => "record of an object",
            Self::Read => "record of a data source",
            Self::Settled => "unknown outcome",
        }
    }

    /// Returns the edited records in the plural.
    pub fn nouns(self) -> &'static str {
        match self {
            Self::Moved | Self::Removed | Self::Refreshed => "records of objects",
            Self::Read => "records of data sources",
            Self::Settled => "unknown outcomes",
        }
    }
}

impl StateEditView {
    /// Describes the edit with its count: `refresh 2 records of data sources`.
    pub fn text(&self) -> String {
        let n = self.addresses.len();
        let noun = match n {
            1 => self.what.noun(),
            _ => self.what.nouns(),
        };
        format!("{} {n} {noun}", self.what.label())
    }
}

/// Reference to the value of a root variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretOrigin {
    pub variable: String,
    /// The reference as written, such as `env:DB_PASSWORD`.
    pub from: String,
}

impl std::fmt::Display for SecretOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "secret {} from {}", self.variable, self.from)
    }
}

/// Text in the place of a hidden value: the reference, if the value is that of a secret.
pub fn hidden_text(side: Option<&str>) -> &str {
    side.filter(|text| text.starts_with("(secret "))
        .unwrap_or(MASK)
}

/// Planned rollout of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPlan {
    pub group: String,
    /// Plan as text, such as `rolling update of 3 instances in 3 batches`.
    pub plan: String,
    /// Hash of the configuration that each changed member gets, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hashes: BTreeMap<String, String>,
}

impl StageSummary {
    /// Returns true if a deploy of the stage would change anything.
    pub fn has_changes(&self) -> bool {
        // Outputs, moves and accepted drift change the state without a change of an object.
        self.counts.changes() > 0
            || self.outputs.iter().any(|o| o.action != Action::NoOp)
            || self.moves().next().is_some()
            || (self.mode == StageMode::RefreshOnly && !self.drift.is_empty())
    }

    /// Returns the changes whose objects get another address, also those with an action.
    pub fn moves(&self) -> impl Iterator<Item = &ChangeView> {
        self.changes.iter().filter(|c| c.previous_address.is_some())
    }

    /// Returns the outputs that change if these changes are deselected.
    pub fn changed_outputs<'s>(
        &'s self,
        left: &'s BTreeSet<String>,
    ) -> impl Iterator<Item = &'s OutputView> {
        // A part of a destruction leaves all outputs unchanged.
        let all_kept = self.mode == StageMode::Destroy && !left.is_empty();
        self.outputs
            .iter()
            .filter(move |o| o.action != Action::NoOp && !all_kept && !o.is_unchanged_without(left))
    }

    /// Returns the number of edits of the state beside changes, outputs and accepted drift.
    pub fn state_edit_count(&self) -> usize {
        self.state_edits.iter().map(|e| e.addresses.len()).sum()
    }

    /// Returns the drift of the current object of an address.
    pub fn drift_of(&self, address: &str) -> Option<&DriftView> {
        self.drift.iter().find(|d| d.address == address)
    }

    /// Counts drift of a kind.
    pub fn drifted(&self, what: DriftKind) -> usize {
        self.drift.iter().filter(|d| d.what == what).count()
    }
}
