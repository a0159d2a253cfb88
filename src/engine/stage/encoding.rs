//! Encoding of stages for the store. Values are msgpack with a separate list of their marks; each
//! type is stored once. Ephemeral values are never stored: if the configuration of a resource
//! contains one, it is evaluated again when the stage is deployed.

mod error;
mod file;
mod inputs;
mod read;
mod write;

pub use error::StageCodecError;
pub use file::{StageFile, plan_digest, plan_keys};
pub use inputs::{input_record, stored_configuration};
pub use read::{StoredRequest, restore, stored_request};
pub use write::record;

use super::change::{Importing, StateOrigin};
use super::checked::Checked;
use super::conditions::Statuses;
use super::external_inputs::InputDigest;
use super::managed::Reason;
use super::relevant::Relevant;
use super::sealing::RecordedSecrets;
use model::{Action, CommandView, DriftAspect, GroupPlan, StageRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::records::StateEdit;

/// Version of the detail's layout; other versions are refused.
const LAYOUT: u32 = 4;

/// Deserialized form; serialized as `write::Written`.
#[derive(Deserialize)]
struct Detail {
    request: StageRequest,
    origin: StateOrigin,
    took_ms: u64,
    /// Types of values, without duplicates.
    types: Vec<Json>,
    changes: Vec<KeptChange>,
    outputs: Vec<KeptOutput>,
    drift: Vec<KeptDrift>,
    #[serde(default)]
    groups: Vec<GroupPlan>,
    edits: Vec<StateEdit>,
    /// JSON of the edits, encrypted; then `edits` is empty.
    #[serde(default)]
    sealed_edits: Option<String>,
    #[serde(default)]
    secrets: RecordedSecrets,
    statuses: Statuses,
    #[serde(default)]
    checked: Checked,
    #[serde(default)]
    connected_modules: Vec<Vec<String>>,
    #[serde(default)]
    relevant: Vec<Relevant>,
    variables: BTreeMap<String, StoredValue>,
    overridden: BTreeMap<String, Vec<StoredValue>>,
    /// By the text of the lookup.
    sights: BTreeMap<String, InputDigest>,
}

/// Value: index of its type, base64 of its msgpack, and its marks by path.
#[derive(Serialize, Deserialize)]
struct StoredValue(usize, String, #[serde(default)] Vec<(Json, Vec<KeptMark>)>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptMark {
    Sensitive,
    Ephemeral,
    Deprecated(String),
    Custom(i64),
    Named(String),
    /// Not a mark: the value at the path, encrypted. The value has an unknown part there.
    Sealed(String),
}

#[derive(Serialize, Deserialize)]
struct KeptChange {
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deposed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    provider: String,
    action: Action,
    reason: Option<Reason>,
    before: StoredValue,
    /// `None` if equal to `before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<StoredValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<StoredValue>,
    private: String,
    prior_private: String,
    replace_paths: Vec<Json>,
    schema_version: i64,
    dependencies: Arc<BTreeSet<String>>,
    prior_dependencies: BTreeSet<String>,
    needs: BTreeSet<String>,
    prior_needs: Option<BTreeSet<String>>,
    create_before_destroy: bool,
    skip_destroy: bool,
    tainted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    importing: Option<Importing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity_before: Option<StoredValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity_after: Option<StoredValue>,
    drifted: bool,
    deferred_read: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandView>,
}

#[derive(Serialize, Deserialize)]
struct KeptOutput {
    name: String,
    action: Action,
    before: Option<StoredValue>,
    after: Option<StoredValue>,
    #[serde(default)]
    null: bool,
    sensitive: bool,
    needs: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
struct KeptDrift {
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deposed: Option<String>,
    previous: Option<String>,
    provider: String,
    action: Action,
    before: StoredValue,
    after: StoredValue,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aspects: Vec<DriftAspect>,
}

#[cfg(test)]
mod tests;
