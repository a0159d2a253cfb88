//! What things are called by: numbers and names that are the same in events, in the store and on
//! every screen.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Number of a stage in its workspace, counted from 1.
pub type StageId = i64;
/// Number of a deploy in its workspace, counted from 1.
pub type DeployId = i64;
/// Number of a call in this engine, counted from 1.
pub type CallId = u64;

/// One plugin process slot of this engine: a provider configuration's process, across its launches.
/// Stable for the life of the engine; the text is shown to people (`hashicorp/aws`,
/// `hashicorp/aws#2` for a second configuration).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PluginId(pub Arc<str>);

/// The name of what is part of flightdeck itself and never a process.
pub const BUILTIN_PLUGIN: &str = "builtin/terraform";

impl PluginId {
    /// Whether it is the one that is part of flightdeck itself.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        *self.0 == *BUILTIN_PLUGIN
    }

    /// The plugin without the number of its process: what is told of one process is told of all
    /// that serve the same.
    #[must_use]
    pub fn base(&self) -> Self {
        Self(self.0.split('#').next().unwrap_or_default().into())
    }
}

impl fmt::Display for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
