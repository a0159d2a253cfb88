//! Orphaned plugin process: its flightdeck has ended without ending it.

use super::{PluginId, UnixMs};
use serde::{Deserialize, Serialize};

/// Plugin process whose flightdeck has ended, with its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanView {
    pub plugin: PluginId,
    /// Also the id of its process group.
    pub pid: u32,
    /// Recorded field 22 of `/proc/PID/stat`, in clock ticks since boot.
    pub start_time: u64,
    /// Recorded `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Current parent process; 0 if unknown.
    pub parent: u32,
    /// Recorded launch time.
    pub launched: UnixMs,
}
