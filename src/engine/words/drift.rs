//! What refreshing found of the world that is not as the state has it.

use super::AttributeChange;
use serde::{Deserialize, Serialize};

/// How the world, or the address, of an object differs from the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    Changed,
    Gone,
    /// At another address, and as it was.
    Moved,
}

impl DriftKind {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Moved => "moved",
        }
    }

    /// What a refresh-only deploy makes of it.
    pub fn accepted(self) -> &'static str {
        match self {
            Self::Changed => "the state takes it over",
            Self::Gone => "the state forgets it",
            Self::Moved => "the state has it at its new address",
        }
    }
}

/// One object that is not as the state has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DriftRead")]
pub struct DriftView {
    /// With the deposed key of a left-over object.
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_address: Option<String>,
    pub resource_type: String,
    pub provider: String,
    pub what: DriftKind,
    /// From what the state has to what is there.
    pub attributes: Vec<AttributeChange>,
}

/// Old records have addresses alone.
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
    },
}

impl From<DriftRead> for DriftView {
    fn from(read: DriftRead) -> Self {
        match read {
            DriftRead::Address(address) => Self {
                address,
                previous_address: None,
                resource_type: String::new(),
                provider: String::new(),
                what: DriftKind::Changed,
                attributes: Vec::new(),
            },
            DriftRead::Whole {
                address,
                previous_address,
                resource_type,
                provider,
                what,
                attributes,
            } => Self {
                address,
                previous_address,
                resource_type,
                provider,
                what,
                attributes,
            },
        }
    }
}
