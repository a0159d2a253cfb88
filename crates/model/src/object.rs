//! Event for each step of work on one object, for programs that follow a run. Emitted only if
//! [`crate::settings::Settings::follow`] is set; neither shown to operators nor stored.

use super::Action;
use serde::{Deserialize, Serialize};

/// Step of work on one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectStep {
    /// Address of the instance, without the key of a deposed object.
    pub address: String,
    pub work: ObjectWork,
    pub phase: ObjectPhase,
    /// Attribute that identifies the object to operators, with its text; never sensitive.
    pub known_by: Option<(String, String)>,
}

/// Kind of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectWork {
    /// Read, to detect drift.
    Refresh,
    /// Create, update, destroy, or the read of a data source. A replacement is two of them.
    Apply(Action),
    /// Provisioner, by kind.
    Provision(String),
    /// Ephemeral resource.
    Open,
    Renew,
    Close,
}

/// Progress of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectPhase {
    Begun,
    /// Output of a provisioner.
    Said(String),
    Ended,
    Failed,
}
