//! Settings of a pool of provider processes: slots, maintenance interval, time limits.

use crate::dialect::Dialects;
use model::settings::ServiceSettings;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a pool.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Maximum number of concurrent calls to one process; at least one.
    pub slots: u32,
    pub service: ServiceSettings,
    /// Interval of the maintenance task.
    pub maintenance_interval: Duration,
    /// Maximum time to wait for a plugin to be ready; `None` is the time that its launches and the
    /// pauses between them may take.
    pub ready_timeout: Option<Duration>,
    /// Directory against which the builtin provider resolves paths.
    pub workspace: PathBuf,
    /// Plugin dialects.
    pub dialects: Dialects,
}

impl PoolSettings {
    /// Ten slots per process, the time that launches may take, and all built-in dialects.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            slots: 10,
            service: ServiceSettings::default(),
            maintenance_interval: Duration::from_secs(2),
            ready_timeout: None,
            workspace: workspace.into(),
            dialects: Dialects::default(),
        }
    }
}
