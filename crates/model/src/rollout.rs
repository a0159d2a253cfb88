//! Groups and their rollouts, as shown to operators.

use super::{DeployId, ReconcileView, UnixMs, VariableFlag};
use serde::{Deserialize, Serialize};

/// A declared group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupView {
    pub group: String,
    /// Address of the resource whose instances are the members.
    pub instance: String,
    /// Instances in the state, by key.
    pub members: Vec<GroupMember>,
    /// Addresses of the resources that all members share.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub global: Vec<String>,
    /// Newest rollout.
    pub rollout: Option<RolloutView>,
    #[serde(default)]
    pub reconcile: ReconcileView,
}

/// A member of a group with its objects in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMember {
    pub key: String,
    pub address: String,
    /// Addresses of its dedicated resources.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub dedicated: Vec<String>,
    /// Hash of its configuration, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hash: Option<String>,
}

/// A rollout of a group in one deploy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutView {
    pub rollout: i64,
    pub group: String,
    pub deploy: DeployId,
    /// State as text, such as `paused (unhealthy)`.
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    pub began: UnixMs,
    pub updated: UnixMs,
    /// Number of the batch in progress or of the next one, from 1.
    pub batch: u32,
    pub batches: u32,
    /// Changes of the state, oldest first.
    pub transitions: Vec<RolloutTransition>,
    /// In the order of the batches.
    pub members: Vec<RolloutMember>,
}

impl RolloutView {
    /// Counts the members that need nothing more.
    pub fn done(&self) -> usize {
        self.members.iter().filter(|member| member.is_over).count()
    }
}

/// Change of the state of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutTransition {
    pub at: UnixMs,
    /// State from then on, as text.
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// Part of one member in a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutMember {
    pub key: String,
    /// `remove`, `update` or `add`.
    pub phase: String,
    /// Number of its batch, from 1.
    pub batch: u32,
    /// State as text, such as `done` or `drain failed`.
    pub state: String,
    /// True if the member needs nothing more.
    pub is_over: bool,
    /// Remark, such as the reason why it is not healthy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    pub actions: Vec<RolloutAction>,
    /// Hash of the configuration before the rollout, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub old_hash: Option<String>,
    /// Hash of the configuration that the rollout brings; absent for a removal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub new_hash: Option<String>,
}

impl RolloutMember {
    /// Returns the short hashes of the configuration before and after, such as `ab12cd3 → ef45gh6`.
    pub fn hashes(&self) -> Option<String> {
        hash_change(self.old_hash.as_deref(), self.new_hash.as_deref())
    }
}

/// Returns short hashes of the configuration of a member: one if they are equal, or if only one is
/// known.
pub fn hash_change(old: Option<&str>, new: Option<&str>) -> Option<String> {
    /// Length of a short hash.
    const SHORT: usize = 7;
    let short = |hash: &str| hash.chars().take(SHORT).collect::<String>();
    match (old, new) {
        (Some(old), Some(new)) if old != new => Some(format!("{} → {}", short(old), short(new))),
        (old, new) => new.or(old).map(short),
    }
}

/// One action on a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutAction {
    /// `drain`, `replace`, `create` or `destroy`.
    pub action: String,
    pub began: UnixMs,
    pub ended: Option<UnixMs>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
}

/// Request of an operator about a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RolloutVerb {
    /// Begin nothing more.
    Pause,
    /// Continue a paused rollout.
    Resume,
    /// End it, and leave the other members unchanged.
    Abort,
    /// Exclude a member.
    Skip,
    /// Repeat the change of a member.
    Retry,
    /// End it in favour of another configuration.
    Supersede,
    /// End it in favour of the configuration before it.
    RollBack,
}

impl RolloutVerb {
    /// Returns the word of commands and records.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Abort => "abort",
            Self::Skip => "skip",
            Self::Retry => "retry",
            Self::Supersede => "supersede",
            Self::RollBack => "roll back",
        }
    }

    /// Parses the word of a record.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [
            Self::Pause,
            Self::Resume,
            Self::Abort,
            Self::Skip,
            Self::Retry,
            Self::Supersede,
            Self::RollBack,
        ];
        all.into_iter().find(|verb| verb.label() == text)
    }
}

/// Answer to a request that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutAnswer {
    /// The rollout after the request.
    pub rollout: RolloutView,
    /// Running deploy that accepted it. `None` if no process runs the rollout.
    pub deploy: Option<DeployId>,
    /// For a resume without a running deploy: the addresses that the new stage must replace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stage: Option<Vec<String>>,
}

/// A commit of a group's specification, or its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCommitView {
    pub group: String,
    /// Hash of the configuration of a member.
    pub hash: String,
    /// Number of members.
    pub size: usize,
    /// InfraKit's sentence about the plan.
    pub text: String,
    /// Plan with batches, such as `rolling update of 3 instances in 3 batches`.
    pub plan: String,
    /// False if the group is as the specification says.
    pub changes: bool,
    /// Files that the commit writes.
    pub written: Vec<String>,
    /// Files that it removes.
    pub removed: Vec<String>,
    /// True if the declarations are in the configuration; otherwise the next stage takes them in.
    pub taken: bool,
}

/// Import of existing resources as a member of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupImport {
    /// Name of the file with the specification, for diagnostics.
    pub file: String,
    /// Text of the specification.
    pub spec: String,
    /// Key of the member; by default the first that the group lacks.
    pub member: Option<String>,
    pub resources: Vec<ImportedResource>,
    /// Variable flags in the given order.
    pub variables: Vec<VariableFlag>,
}

/// A resource to import into a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedResource {
    /// Resource type.
    pub kind: String,
    /// Name in the specification; needed if several resources have the type.
    pub name: Option<String>,
    /// Id at the provider.
    pub id: String,
    /// Arguments of the specification that the declaration leaves out.
    pub exclude: Vec<String>,
}

/// Result of an import into a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupImportView {
    pub group: String,
    /// Key of the member.
    pub member: String,
    /// Addresses of the imported objects; empty if all were imported before.
    pub imported: Vec<String>,
    /// Files with their declarations.
    pub files: Vec<String>,
}

/// Expression that decides the size of a group of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSize {
    pub group: String,
    /// Address of the resource.
    pub instance: String,
    /// `count` or `for_each`.
    pub argument: String,
    pub expression: String,
    /// File and line of the expression.
    pub place: String,
    /// Repetitions of the modules around it, which multiply the number.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub multiplied_by: Vec<String>,
    /// The only variable of the expression, if the root module has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variable: Option<String>,
    /// File that assigns the variable.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub assigned: Option<String>,
}

/// Block of a group in a file of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupBlock {
    pub file: String,
    pub text: String,
}

/// Changes of a stage that resume a rollout; the others are deselected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeSelection {
    pub group: String,
    /// Selected changes.
    pub selected: Vec<String>,
    /// Changes of skipped members.
    pub skipped: Vec<String>,
    /// Number of other changes that are not selected, because they do not belong to the group.
    pub others: usize,
}
