//! Observations of objects: existence, readiness and drift, as separate facts with their times.

use super::UnixMs;
use serde::{Deserialize, Serialize};

/// Readiness of an object, as the overlay of its type evaluates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    Creating,
    Available,
    Unavailable,
    Deleting,
    /// The expression could not be evaluated, or its value is unknown.
    Unknown,
}

impl Readiness {
    /// Returns the word for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Available => "available",
            Self::Unavailable => "unavailable",
            Self::Deleting => "deleting",
            Self::Unknown => "unknown",
        }
    }
}

/// Kind of difference between an object and its record in the state. One comparison can have
/// several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftAspect {
    /// The provider chose a value for an optional attribute that had none.
    LateInitialised,
    /// An attribute that the provider sets has changed.
    StatusChanged,
    /// Tags, labels, annotations or other metadata have changed.
    MetadataChanged,
    /// An attribute that the configuration sets has changed: the object needs an update.
    UpdateNeeded,
}

impl DriftAspect {
    /// Returns the words for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::LateInitialised => "late-initialised",
            Self::StatusChanged => "status changed",
            Self::MetadataChanged => "metadata changed",
            Self::UpdateNeeded => "update needed",
        }
    }
}

/// Facts about one object from the newest read of it. Existence, readiness and drift are
/// independent of each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub address: String,
    /// Key of a deposed object; `None` for the current one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deposed: Option<String>,
    pub resource_type: String,
    /// Time of the read.
    pub at: UnixMs,
    pub exists: bool,
    /// `None` if the type has no expression for it.
    pub readiness: Option<Readiness>,
    /// Text of the attribute with the status; never sensitive.
    pub status: Option<String>,
    /// Time since which the readiness is the same. The store derives it from the observation before
    /// and ignores the given one.
    pub since: UnixMs,
    /// Sorted and without duplicates; empty without drift.
    pub drift: Vec<DriftAspect>,
}

/// Change of the facts about one object, or its first observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservationChange {
    /// The facts since the change.
    pub observation: Observation,
    /// Operation that read the object: `stage #3`, `deploy #4` or `reconcile`.
    pub cause: String,
}
