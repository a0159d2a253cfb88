//! Records of the store. Values are JSON text in the form of state version 4, which the store does
//! not interpret.

pub use super::compressed::CompressedJson;
use model::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of stored events of one deploy; further ones are only counted.
pub const MAX_EVENTS: u32 = 100_000;
/// Maximum number of stored log lines of a workspace.
pub const MAX_LOG_LINES: i64 = 1_000_000;

/// Rollout of a group. Its content belongs to the engine; the store only keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutRecord {
    /// `None` until it is stored.
    pub id: Option<i64>,
    /// Name of the group.
    pub name: String,
    /// Deploy that runs it.
    pub deploy: DeployId,
    /// State as text.
    pub state: String,
    pub began: UnixMs,
    pub updated: UnixMs,
    /// JSON without the steps.
    pub header: String,
    /// JSON of steps, by position.
    pub steps: Vec<(u32, String)>,
    /// Members whose configuration changes with these steps; a read record has none.
    pub members: Vec<MemberHash>,
}

/// Hash of the configuration of a group's member.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberHash {
    /// Key of the member.
    pub member: String,
    /// `None` if the member no longer exists.
    pub hash: Option<String>,
}

/// Request of an operator about a rollout, with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutRequestRecord {
    pub id: i64,
    /// Id of the rollout.
    pub rollout: i64,
    pub verb: String,
    /// Key of the member, for requests about one.
    pub member: Option<String>,
    pub who: String,
    pub requested: UnixMs,
    /// Time of the answer.
    pub answered: Option<UnixMs>,
    /// Reason of a refusal.
    pub refusal: Option<String>,
}

/// Committed specification of a group. Its content belongs to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCommitRecord {
    /// `None` until it is stored.
    pub id: Option<i64>,
    /// Name of the group.
    pub name: String,
    pub committed: UnixMs,
    pub who: String,
    /// Hash of the configuration of a member.
    pub hash: String,
    /// Text of the specification.
    pub spec: String,
    /// JSON: members, and files that flightdeck wrote.
    pub content: String,
    /// Time at which its files replaced those of the commit before.
    pub taken: Option<UnixMs>,
    /// Time from which flightdeck no longer manages the group.
    pub freed: Option<UnixMs>,
}

/// One object of a resource instance in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateObject {
    /// Absolute instance address, `module.a["k"].aws_x.y[0]`, `data.x.y`.
    pub address: String,
    /// Key of a deposed object (8 hex digits); empty for the current one.
    pub deposed: String,
    /// Provider configuration address, as state version 4 writes it:
    /// `module.x.provider["host/ns/type"].alias`.
    pub provider: String,
    pub schema_version: i64,
    /// JSON object text.
    pub attributes: String,
    /// JSON text: array of paths, as state version 4 has `sensitive_attributes`.
    pub sensitive: String,
    pub private: Vec<u8>,
    pub tainted: bool,
    pub create_before_destroy: bool,
    /// Forget the object instead of destroying it, by its last configuration.
    #[serde(default)]
    pub skip_destroy: bool,
    /// Sorted config addresses.
    pub dependencies: Vec<String>,
    /// Direct dependencies of its configuration, by instance if known; empty if not recorded.
    #[serde(default)]
    pub needs: Vec<String>,
    pub identity: Option<String>,
    pub identity_version: i64,
    /// Unknown fields of a state file, as JSON text; empty if there are none.
    #[serde(default)]
    pub rest: String,
}

/// One root output in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateOutput {
    pub name: String,
    /// JSON text of the value.
    pub value: String,
    /// JSON text of the type.
    pub ty: String,
    pub sensitive: bool,
    /// Unknown fields of a state file, as JSON text; empty if there are none.
    #[serde(default)]
    pub rest: String,
}

/// The complete state of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Rises with every batch of edits.
    pub serial: i64,
    /// UUID, created with the store.
    pub lineage: String,
    /// Ordered by address, current object first.
    pub objects: Vec<StateObject>,
    pub outputs: Vec<StateOutput>,
    /// Check results, in a state file's form.
    #[serde(default)]
    pub check_results: Option<String>,
    /// Unknown fields of a state file, as JSON text; empty if there are none.
    #[serde(default)]
    pub rest: String,
}

/// Record of the state's location in the backend: the version last seen, and unfinished writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendVersion {
    /// Name of the location; empty if the state was never written.
    pub place: String,
    /// Digest of the text last seen there; empty if there was none. Digests of unconfirmed writes
    /// follow it, separated by spaces.
    pub digest: String,
    /// Serial of the copy that was last written there.
    pub serial: i64,
    /// A write is in progress, so the text there may be partial.
    pub writing: bool,
}

/// Edit of the state; a batch is one transaction and one serial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateEdit {
    /// Inserts or replaces the object with this address and deposed key.
    Put(Box<StateObject>),
    /// Removes an object; does nothing if it is missing.
    Remove {
        address: String,
        deposed: String,
    },
    /// Gives an object another address.
    Move {
        from: String,
        to: String,
    },
    PutOutput(StateOutput),
    RemoveOutput {
        name: String,
    },
    /// Moves the current object to a deposed key.
    Depose {
        address: String,
        key: String,
    },
    /// Makes a deposed object current again.
    Restore {
        address: String,
        key: String,
    },
    /// Check results as JSON, if there are any.
    Checks(Option<String>),
}

/// A stored stage. The `stage` layer owns the format of `detail`; the store does not interpret it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    pub id: StageId,
    pub name: Option<String>,
    pub at: UnixMs,
    pub mode: StageMode,
    pub config_digest: String,
    pub plugins_digest: String,
    pub state_serial: i64,
    pub counts: Counts,
    /// JSON of [`StageSummary`].
    pub summary: CompressedJson,
    /// JSON of the engine's record of the stage, including sensitive values.
    pub detail: CompressedJson,
    /// JSON array of deselected addresses.
    pub left: Vec<String>,
    /// Configuration files at the time of the stage: relative name and text. Stored once for each
    /// digest.
    pub snapshot: Vec<(String, String)>,
    /// JSON of the engine's record of its other inputs; `None` if an older version planned the
    /// stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<CompressedJson>,
}

/// Intent of an operation's step, committed before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub deploy: DeployId,
    /// Index of the operation in its deploy.
    pub index: u32,
    pub address: String,
    pub deposed: String,
    pub step: OperationStep,
    pub at: UnixMs,
    /// JSON for settling an unknown outcome: provider, type, and the id if known.
    pub detail: String,
}

/// Identity of an intent in all checkouts of a state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IntentKey {
    pub address: String,
    /// Key of a deposed object; empty for the current one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deposed: String,
    /// Step in the form of [`OperationStep`]'s text.
    pub step: String,
    pub at: UnixMs,
}

/// An unknown outcome for other checkouts of the same state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedOutcome {
    #[serde(flatten)]
    pub key: IntentKey,
    /// Facts for settling it, as in [`Intent::detail`].
    pub detail: serde_json::Value,
    pub deploy: SharedDeploy,
}

/// Deploy of a shared outcome.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedDeploy {
    pub who: String,
    pub host: String,
    pub began: UnixMs,
}

/// Outcome of a step, committed together with its state edits.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub deploy: DeployId,
    pub index: u32,
    pub step: OperationStep,
    pub at: UnixMs,
    pub ok: bool,
    /// A destroy failed, so the next one runs all its provisioners again.
    pub starts_over: bool,
    pub edits: Vec<StateEdit>,
}

/// Digests that tie a destroy-time provisioner to its object and command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestroyStepOf {
    /// Digest of the object in the state.
    pub object: String,
    /// Digest of the provisioner block.
    pub command: String,
}

/// A destroy-time provisioner that succeeded in a destroy that did not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestroyStep {
    pub address: String,
    pub deploy: DeployId,
    pub step: OperationStep,
    pub ended: UnixMs,
    pub of: DestroyStepOf,
}

/// Unknown outcomes that an operator settles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settlement {
    /// Ids of the intents.
    pub intents: Vec<i64>,
    /// Description, for the record.
    pub description: String,
    /// Destroy-time provisioners among them have run.
    pub done: bool,
}

/// Operation step without a recorded outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownOutcome {
    /// Id of the intent.
    pub id: i64,
    pub deploy: DeployId,
    pub address: String,
    pub deposed: String,
    pub step: OperationStep,
    pub at: UnixMs,
    pub detail: String,
}

impl UnknownOutcome {
    /// Returns its identity in all checkouts of the state.
    pub fn key(&self) -> IntentKey {
        IntentKey {
            address: self.address.clone(),
            deposed: self.deposed.clone(),
            step: self.step.to_string(),
            at: self.at,
        }
    }

    /// Is it unknown whether an object was created? Reading back cannot settle that, because the
    /// state has no id.
    pub fn is_creation(&self) -> bool {
        self.step == OperationStep::Create
    }

    /// Is it unknown whether a provisioner's command ran? Reading back cannot settle that either.
    pub fn is_provisioner(&self) -> bool {
        self.step.is_provisioner()
    }

    /// Is it a destroy-time provisioner? Its object still exists, and no later deploy has to
    /// replace it.
    pub fn is_destroy_provisioner(&self) -> bool {
        let detail = || serde_json::from_str::<serde_json::Value>(&self.detail).ok();
        self.is_provisioner() && detail().is_some_and(|detail| detail["destroy"].is_object())
    }

    /// Side effect of the step outside its object, if it is one. No state covers it, so only an
    /// operator can check it.
    pub fn requested_call(&self) -> Option<&SideEffect> {
        self.step.requested_call()
    }

    /// `create in deploy #3`.
    pub fn text(&self) -> String {
        format!("{} in deploy #{}", self.step, self.deploy)
    }

    /// Id of the object, if it was known before the call.
    pub fn object_id(&self) -> Option<String> {
        Some(self.text_of("id")).filter(|id| !id.is_empty())
    }

    /// Returns a text of the intent's detail, such as the `type` or the `provider`; empty if it has
    /// none.
    pub fn text_of(&self, name: &str) -> String {
        let text = self.parsed_detail()[name].as_str().map(str::to_owned);
        text.unwrap_or_default()
    }

    /// Returns the values that identify the object, by attribute, as far as they were known.
    pub fn values(&self) -> BTreeMap<String, String> {
        serde_json::from_value(self.parsed_detail()["values"].take()).unwrap_or_default()
    }

    fn parsed_detail(&self) -> serde_json::Value {
        serde_json::from_str(&self.detail).unwrap_or_default()
    }
}

/// A deploy that was recorded as running.
#[derive(Debug, Clone)]
pub struct StartedDeploy {
    pub deploy: DeployId,
    /// State at the deploy's begin.
    pub state: Arc<State>,
}

/// A deploy to record.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDeploy {
    pub stage: StageId,
    pub mode: StageMode,
    pub began: UnixMs,
    pub user: String,
    pub counts: Counts,
    pub config_digest: String,
    /// `deploy` of each is set to the new number.
    pub operations: Vec<Operation>,
    /// Fencing token, if the reconcile loop makes the deploy.
    pub fencing_token: Option<i64>,
}

/// One finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSample {
    pub plugin: PluginId,
    pub method: MethodName,
    /// Empty if no resource is involved.
    pub resource_type: Arc<str>,
    /// Action of an apply; `None` for other methods.
    pub action: Option<Action>,
    pub took_ms: u64,
    pub ok: bool,
}

/// Revision of the stored workspace. It differs after another process has changed the state, or has
/// begun or ended a deploy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Revision {
    pub lineage: String,
    pub serial: i64,
    /// The newest deploy.
    pub deploy: Option<DeployId>,
    /// Newest end of a deploy.
    pub ended: Option<UnixMs>,
}

/// Lock lease of the leader of the reconcile loop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeaderLease {
    /// Process that leads, as text; empty after a release.
    pub owner: String,
    /// Fencing token.
    pub token: i64,
    pub expires: UnixMs,
}

/// Result of taking the workspace lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acquired {
    /// Former owner whose process had ended.
    pub former_owner: Option<LockHolder>,
}
