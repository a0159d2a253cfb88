//! What the store keeps, as plain records. Values are kept as JSON text as state version 4 has it;
//! the store does not interpret them.

pub use super::packed::Packed;
use crate::engine::words::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Events kept of one deploy; what comes after is counted, not kept.
pub const KEPT_EVENTS: u32 = 100_000;
/// Log lines kept in a workspace.
pub const KEPT_LINES: i64 = 100_000;

/// One object of a resource instance in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateObject {
    /// Whole instance address, `module.a["k"].aws_x.y[0]`, `data.x.y`.
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
    /// Whether it is to be forgotten instead of destroyed, as its configuration last said.
    #[serde(default)]
    pub skip_destroy: bool,
    /// Sorted config addresses.
    pub dependencies: Vec<String>,
    /// What its configuration needed itself, by instance as far as that was known; empty where that
    /// is not on record.
    #[serde(default)]
    pub needs: Vec<String>,
    pub identity: Option<String>,
    pub identity_version: i64,
    /// Fields of a state file that are not known here, as JSON text; empty where there are none.
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
    /// Fields of a state file that are not known here, as JSON text; empty where there are none.
    #[serde(default)]
    pub rest: String,
}

/// The whole state of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Rises with every change.
    pub serial: i64,
    /// A UUID, made with the store.
    pub lineage: String,
    /// In the order of address, current object first.
    pub objects: Vec<StateObject>,
    pub outputs: Vec<StateOutput>,
    /// Results of conditions, as a state file has them.
    #[serde(default)]
    pub check_results: Option<String>,
    /// Fields of a state file that are not known here, as JSON text; empty where there are none.
    #[serde(default)]
    pub rest: String,
}

/// Where the state of record lives, and how the store's copy stands to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeRecord {
    /// Where that is; empty as long as it was nowhere.
    pub place: String,
    /// Digest of what was last seen or written there; empty where there was nothing. While it is
    /// being written, those of what was sent since follow it.
    pub digest: String,
    /// The copy's serial that it has.
    pub serial: i64,
    /// Whether it was being written: what is there may be half of it.
    pub writing: bool,
}

/// A change of the state; a batch is one transaction and one serial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateEdit {
    /// Insert or replace the object with this address and deposed key.
    Put(Box<StateObject>),
    /// Remove; nothing happens where there is none.
    Remove {
        address: String,
        deposed: String,
    },
    /// Give an object another address.
    Move {
        from: String,
        to: String,
    },
    PutOutput(StateOutput),
    RemoveOutput {
        name: String,
    },
    /// Keep the object under a deposed key, the current place is free afterwards.
    Depose {
        address: String,
        key: String,
    },
    /// The deposed object becomes current again.
    Restore {
        address: String,
        key: String,
    },
    /// What conditions came to, as JSON; nothing where there are none.
    Checks(Option<String>),
}

/// A stage as it is kept. `detail` belongs to the engine's stage room; the store does not look into
/// it.
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
    pub summary: Packed,
    /// JSON of the engine's own record of the stage, sensitive values included.
    pub detail: Packed,
    /// JSON array of addresses left out.
    pub left: Vec<String>,
    /// Configuration files as they were: relative name and text. Kept once per digest.
    pub snapshot: Vec<(String, String)>,
}

/// The intent of an operation's step, committed before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub deploy: DeployId,
    /// Number of the operation in its deploy.
    pub index: u32,
    pub address: String,
    pub deposed: String,
    pub step: OperationStep,
    pub at: UnixMs,
    /// JSON for settling an unknown outcome: provider, type, prior id where known.
    pub detail: String,
}

/// The outcome of a step: committed together with the state edits that it made.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub deploy: DeployId,
    pub index: u32,
    pub step: OperationStep,
    pub at: UnixMs,
    pub ok: bool,
    /// Whether a destroy has failed with it, so that the next one runs all its commands again.
    pub starts_over: bool,
    pub edits: Vec<StateEdit>,
}

/// Ties a destroy-time provisioner to its object and its command, by digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestroyStepOf {
    /// The object in the state.
    pub object: String,
    /// The text of the provisioner block.
    pub command: String,
}

/// A destroy-time provisioner that ended well in a destroy that did not come to its end.
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
pub struct Settling {
    /// Numbers of the intents.
    pub intents: Vec<i64>,
    /// In words, for the record.
    pub how: String,
    /// Whether destroy-time provisioners among them have done their work.
    pub done: bool,
}

/// An operation whose intent is on record and whose outcome is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownOutcome {
    /// Number of the intent.
    pub id: i64,
    pub deploy: DeployId,
    pub address: String,
    pub deposed: String,
    pub step: OperationStep,
    pub at: UnixMs,
    pub detail: String,
}

impl UnknownOutcome {
    /// Whether it is not known if an object was made that the state does not have. Reading back
    /// cannot settle that.
    pub fn is_creation(&self) -> bool {
        self.step == OperationStep::Create
    }

    /// Whether it is not known what the command of a provisioner did. Reading back cannot settle
    /// that either.
    pub fn is_provisioner(&self) -> bool {
        self.step.is_provisioner()
    }

    /// Whether it is a provisioner's command of a destroy: its object is there, and no next deploy
    /// has to replace it.
    pub fn is_destroy_provisioner(&self) -> bool {
        let detail = || serde_json::from_str::<serde_json::Value>(&self.detail).ok();
        self.is_provisioner() && detail().is_some_and(|detail| detail["destroy"].is_object())
    }

    /// What it is beside the object of its operation, where it is: no state has anything of it, and
    /// only an operator can look.
    pub fn beside(&self) -> Option<&Deed> {
        self.step.beside()
    }

    /// `create in deploy #3`.
    pub fn text(&self) -> String {
        format!("{} in deploy #{}", self.step, self.deploy)
    }

    /// The id of the object, where it was known before the call.
    pub fn object_id(&self) -> Option<String> {
        let detail: serde_json::Value = serde_json::from_str(&self.detail).ok()?;
        detail.get("id")?.as_str().map(str::to_owned)
    }
}

/// A deploy that is on record as running.
#[derive(Debug, Clone)]
pub struct Begun {
    pub deploy: DeployId,
    /// The state that it found.
    pub state: Arc<State>,
}

/// A deploy that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDeploy {
    pub stage: StageId,
    pub mode: StageMode,
    pub began: UnixMs,
    pub who: String,
    pub counts: Counts,
    pub config_digest: String,
    /// Their `deploy` is set to the new number.
    pub operations: Vec<Operation>,
}

/// One finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSample {
    pub plugin: PluginId,
    pub method: MethodName,
    /// Empty where no resource is meant.
    pub resource_type: Arc<str>,
    /// What an apply does; `None` for other methods.
    pub action: Option<Action>,
    pub took_ms: u64,
    pub ok: bool,
}

/// The lock is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acquired {
    /// Who held it before and died with it.
    pub taken_over: Option<LockHolder>,
}
