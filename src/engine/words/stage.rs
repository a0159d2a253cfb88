//! Stages: what would change, as it is shown.

use super::{Action, CommandView, Counts, DriftKind, DriftView, StageId, UnixMs};
use serde::{Deserialize, Serialize};

/// How a stage was asked for.
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
    /// How many resource instances are in sight (configuration and state); 0 while unknown.
    pub resources: u32,
}

/// One change as it is shown; values are already masked where sensitive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeView {
    /// Address of the resource instance; with ` (deposed KEY)` for a deposed object. Unique in a
    /// stage.
    pub address: String,
    pub previous_address: Option<String>,
    pub resource_type: String,
    pub provider: String,
    pub action: Action,
    /// `replace_because_tainted` and the like, as the plan representation has them.
    pub action_reason: Option<String>,
    /// In words: what caused the change.
    pub why: String,
    pub attributes: Vec<AttributeChange>,
    /// Resources, as declared, that it depends on and that have changes in this stage.
    pub needs: Vec<String>,
    pub drifted: bool,
    /// What its provisioners would run, here and elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandView>,
}

impl ChangeView {
    /// Whether applying it changes the world or the state: an object that only moves to another
    /// address does.
    pub fn does_something(&self) -> bool {
        self.action != Action::NoOp || self.previous_address.is_some()
    }
}

/// One attribute's before and after, flattened to leaves: `tags["name"]`, `rule[0].port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeChange {
    pub path: String,
    /// Rendered as an expression; `None` where there is no value.
    pub before: Option<String>,
    /// `None` where there is no value afterwards; `(known after apply)` where `unknown`.
    pub after: Option<String>,
    pub unknown: bool,
    pub sensitive: bool,
    pub forces_replacement: bool,
    pub changed: bool,
}

/// One output's change as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputView {
    pub name: String,
    pub action: Action,
    pub before: Option<String>,
    pub after: Option<String>,
    pub sensitive: bool,
    /// Addresses of the instances that it rests on, or of resources where it rests on all their
    /// instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

impl OutputView {
    /// Whether it stays as it is where these changes are left out.
    pub fn stays<'l>(&self, left: impl IntoIterator<Item = &'l String>) -> bool {
        let mut left = left.into_iter();
        left.any(|address| self.needs.iter().any(|need| names(need, address)))
    }
}

/// Whether an address of an instance, or of a resource for all its instances, names this instance.
pub fn names(need: &str, address: &str) -> bool {
    address
        .strip_prefix(need)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// The result of staging, ready to be looked at and narrowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageSummary {
    pub stage: StageId,
    pub mode: StageMode,
    /// Named apart from the time of the event that carries it.
    #[serde(rename = "staged_at")]
    pub at: UnixMs,
    pub took_ms: u64,
    pub counts: Counts,
    /// In the order of dependencies; no-ops too.
    pub changes: Vec<ChangeView>,
    /// Addresses of changes that are left out: of a new stage those that came along with what the
    /// targets need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    pub outputs: Vec<OutputView>,
    /// What refreshing found of the world that is not as the state has it.
    pub drift: Vec<DriftView>,
}

impl StageSummary {
    /// What was found of the current object of an address.
    pub fn drift_of(&self, address: &str) -> Option<&DriftView> {
        self.drift.iter().find(|d| d.address == address)
    }

    /// How many were found so.
    pub fn drifted(&self, what: DriftKind) -> usize {
        self.drift.iter().filter(|d| d.what == what).count()
    }
}
