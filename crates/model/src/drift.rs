//! Drift: differences between the real objects and the state, in the form for display.

use super::{AttributeChange, DriftAspect};
use serde::{Deserialize, Serialize};

/// Difference between an object, or its address, and the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    Changed,
    Gone,
    /// Unchanged, but at another address.
    Moved,
}

impl DriftKind {
    /// Returns the word for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Gone => "deleted",
            Self::Moved => "moved",
        }
    }

    /// Returns the effect of a refresh-only deploy.
    pub fn refresh_effect(self) -> &'static str {
        match self {
            Self::Changed => "the state is updated",
            Self::Gone => "it is removed from the state",
            Self::Moved => "the state records the new address",
        }
    }
}

/// Object with drift.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DriftRead")]
pub struct DriftView {
    /// Address, with the key of a deposed object.
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_address: Option<String>,
    pub resource_type: String,
    pub provider: String,
    pub what: DriftKind,
    /// Changes from the state's value to the current one.
    pub attributes: Vec<AttributeChange>,
    /// Kinds of these changes, sorted; empty for a deleted or moved object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aspects: Vec<DriftAspect>,
}

/// Old records contain addresses only.
#[derive(Deserialize)]
#[serde(untagged)]
enum DriftRead {
    Address(String),
    Whole {
        address: String,
        #[serde(default)]
        previous_address: Option<String>,
        resource_type: String,
        provider: String,
        what: DriftKind,
        attributes: Vec<AttributeChange>,
        #[serde(default)]
        aspects: Vec<DriftAspect>,
    },
}

impl From<DriftRead> for DriftView {
    fn from(read: DriftRead) -> Self {
        match read {
            // Such a record does not tell the kind of drift.
            DriftRead::Address(address) => Self {
                address,
                previous_address: None,
                resource_type: String::new(),
                provider: String::new(),
                what: DriftKind::Changed,
                attributes: Vec::new(),
                aspects: Vec::new(),
            },
            DriftRead::Whole {
                address,
                previous_address,
                resource_type,
                provider,
                what,
                attributes,
                aspects,
            } => Self {
                address,
                previous_address,
                resource_type,
                provider,
                what,
                attributes,
                aspects,
            },
        }
    }
}
