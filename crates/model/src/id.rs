//! Ids that are the same in events, in the store and on every screen.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Number of a stage in its workspace, from 1.
pub type StageId = i64;
/// Number of a deploy in its workspace, from 1.
pub type DeployId = i64;
/// Number of a call in this engine, from 1.
pub type CallId = u64;

/// Id of the plugin process that serves one provider configuration, across its launches. Stable
/// for the life of the engine. Shown as `hashicorp/aws`, or `hashicorp/aws#2` for a second
/// configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PluginId(pub Arc<str>);

/// Id of the builtin provider, which has no process.
pub const BUILTIN_PLUGIN: &str = "builtin/terraform";

impl PluginId {
    /// Returns true for the builtin provider.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        *self.0 == *BUILTIN_PLUGIN
    }

    /// Returns the id without the process number, for data that concerns all processes of a plugin.
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
