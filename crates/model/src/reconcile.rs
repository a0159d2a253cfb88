//! Reconcile loop of groups and objects: its runs and its leader, as shown to operators.

use super::{DeployId, StageId, UnixMs, now_ms};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Options of the reconcile loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReconcileOptions {
    /// Names of the groups; all for none.
    pub groups: Vec<String>,
    /// Time between two runs, in place of the one that each group declares.
    pub every: Option<Duration>,
    /// Run each group once, and end.
    pub once: bool,
    /// Start with a run of each group, whenever its next one is due.
    pub at_once: bool,
}

/// Name of the run for objects that belong to no group and have no policy of their own.
pub const OBJECTS_RUN: &str = "objects outside of groups";
/// Start of the name of a run for the objects of one type.
pub const TYPE_RUN: &str = "type ";
/// Start of the name of a run for the objects of one provider.
pub const PROVIDER_RUN: &str = "provider ";

/// Returns true for the name of a run that reads objects outside of groups.
pub fn is_look(name: &str) -> bool {
    // Names of groups contain no spaces.
    name == OBJECTS_RUN || name.starts_with(TYPE_RUN) || name.starts_with(PROVIDER_RUN)
}

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReconcileOutcome {
    /// No drift.
    InSync,
    /// Drift was found, and nothing was changed.
    Drifted,
    /// Members were created or updated.
    Repaired,
    /// The repair needs an approval.
    AwaitsApproval,
    /// The run failed.
    Failed,
}

impl ReconcileOutcome {
    /// Returns the word for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::InSync => "in sync",
            Self::Drifted => "drift found",
            Self::Repaired => "repaired",
            Self::AwaitsApproval => "awaits approval",
            Self::Failed => "failed",
        }
    }
}

/// Run of the reconcile loop for one group, or for objects outside of groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconcileRun {
    /// Name of the group, or of a run for objects outside of groups: [`TYPE_RUN`] with a resource
    /// type, [`PROVIDER_RUN`] with an address, or [`OBJECTS_RUN`].
    pub group: String,
    /// Begin. Named differently from the time of the event that carries it.
    pub began: UnixMs,
    /// `observe` or `enforce`.
    pub mode: String,
    pub outcome: ReconcileOutcome,
    pub drift: Vec<MemberDrift>,
    /// Stage that needs an approval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stage: Option<StageId>,
    /// Deploy that repaired members.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deploy: Option<DeployId>,
    /// Reason of a failure, or why nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Time of the next run.
    pub next: UnixMs,
}

impl ReconcileRun {
    /// Creates a run that begins now. Until it succeeds, it counts as failed.
    pub fn new(group: &str, mode: &str) -> Self {
        Self {
            group: group.to_owned(),
            began: now_ms(),
            mode: mode.to_owned(),
            outcome: ReconcileOutcome::Failed,
            drift: Vec::new(),
            stage: None,
            deploy: None,
            reason: None,
            next: 0,
        }
    }

    /// Returns the subject of the run for display: `group workers`, `type aws_instance`,
    /// `provider hashicorp/aws` or `objects outside of groups`.
    pub fn subject(&self) -> String {
        match is_look(&self.group) {
            true => self.group.clone(),
            false => format!("group {}", self.group),
        }
    }

    /// Returns the result as text, such as `awaits approval: 2 missing, 1 outdated`.
    pub fn summary(&self) -> String {
        let mut kinds: Vec<(&str, usize)> = Vec::new();
        for drift in &self.drift {
            match kinds.iter_mut().find(|(kind, _)| *kind == drift.kind) {
                Some((_, n)) => *n += 1,
                None => kinds.push((&drift.kind, 1)),
            }
        }
        let kinds: Vec<String> = kinds
            .iter()
            .map(|(kind, n)| format!("{n} {}", kind_text(kind)))
            .collect();
        match kinds.is_empty() {
            true => self.outcome.label().to_owned(),
            false => format!("{}: {}", self.outcome.label(), kinds.join(", ")),
        }
    }
}

/// Word for a kind of drift, after a number of members.
fn kind_text(kind: &str) -> &str {
    match kind {
        "outdated_hash" => "outdated",
        "unknown_member" => "unknown",
        "attribute_drift" => "changed outside",
        "orphaned_attachment" => "orphaned",
        other => other,
    }
}

/// Drift of one member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberDrift {
    /// `missing`, `outdated_hash`, `unknown_member`, `attribute_drift` or `orphaned_attachment`.
    pub kind: String,
    /// Key of the member, or address of a dedicated resource without one.
    pub member: String,
    /// Attributes that were changed outside of flightdeck.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attributes: Vec<String>,
    /// `report`, `repair` or `ask_approval`.
    pub response: String,
}

/// Reconcile loop of one group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconcileView {
    /// `observe`, `enforce` or `paused`.
    pub mode: String,
    /// Declared time between two runs.
    pub every_s: u64,
    /// Newest run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<ReconcileRun>,
    /// Process that leads the loop of the workspace; none if its lock lease has expired.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leader: Option<String>,
}
