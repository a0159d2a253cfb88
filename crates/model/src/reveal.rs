//! Request for one sensitive value, and its answer. The answer goes to the operator's screen only:
//! it is no event, and is neither stored nor logged.

use super::StageId;
use std::fmt;

/// Place of a sensitive value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SensitivePlace {
    /// Attribute of a change, by its index and path in the summary of the stage.
    Change {
        stage: StageId,
        address: String,
        index: usize,
        path: String,
    },
    /// Output of a stage.
    StageOutput { stage: StageId, name: String },
    /// Attribute of an object in the state; `id` is its address with the deposed key.
    State { id: String, path: String },
    /// Output in the state.
    StateOutput { name: String },
}

impl fmt::Display for SensitivePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change { address, path, .. } => write!(f, "{address}: {path}"),
            Self::State { id, path } => write!(f, "{id}: {path}"),
            Self::StageOutput { name, .. } | Self::StateOutput { name } => {
                write!(f, "output {name}")
            }
        }
    }
}

/// A sensitive value in clear.
#[derive(Clone, PartialEq, Eq)]
pub struct Revealed {
    /// Texts with their names: `before`, `after`, or the path of a part.
    pub texts: Vec<(String, String)>,
}

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Messages and states of the console may be logged.
        f.write_str("Revealed(…)")
    }
}
