//! What a pool is told when it is made.

use crate::engine::provider::dialect::Dialects;
use crate::engine::settings::ServiceSettings;
use std::path::PathBuf;
use std::time::Duration;

/// What a pool needs to know.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Calls at a time to one process; at least one.
    pub slots: u32,
    pub service: ServiceSettings,
    /// How often it is looked at who is idle, and who is to be replaced.
    pub look_every: Duration,
    /// How long to wait for a plugin to be ready; `None` for as long as its launches and the pauses
    /// between them may take.
    pub ready_within: Option<Duration>,
    /// Against which the builtin provider resolves paths.
    pub workspace: PathBuf,
    /// What is spoken with plugins.
    pub dialects: Dialects,
}

impl PoolSettings {
    /// Ten slots a process, the time that launches may take, and all of our dialects.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            slots: 10,
            service: ServiceSettings::default(),
            look_every: Duration::from_secs(2),
            ready_within: None,
            workspace: workspace.into(),
            dialects: Dialects::default(),
        }
    }
}
