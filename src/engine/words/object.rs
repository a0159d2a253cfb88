//! What is done with one object, step by step, for programs that follow each of them. Said only
//! where the engine was started to be followed ([`crate::engine::settings::Settings::follow`]):
//! operators see operations and calls, and nothing keeps these.

use super::Action;
use serde::{Deserialize, Serialize};

/// One step of what is done with an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectStep {
    /// Address of the instance; that of a left-over object goes without its key.
    pub address: String,
    pub work: ObjectWork,
    pub phase: ObjectPhase,
    /// The attribute by which people know the object, and its text; never a sensitive one.
    pub known_by: Option<(String, String)>,
}

/// What is done with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectWork {
    /// Read in the world, to see what became of it.
    Refresh,
    /// Created, updated, destroyed; or a data source read. A replacement is two of them.
    Apply(Action),
    /// One of its provisioners, by its kind.
    Provision(String),
    /// An ephemeral resource.
    Open,
    Renew,
    Close,
}

/// How far that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectPhase {
    Begun,
    /// What a provisioner says meanwhile.
    Said(String),
    Ended,
    Failed,
}
