//! Plugin processes without the flightdeck that launched them.

use super::{PluginId, UnixMs};
use serde::{Deserialize, Serialize};

/// A process of a plugin that runs, and whose flightdeck is gone; with what it is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanView {
    pub plugin: PluginId,
    /// Leads its own process group, which has the same number.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`, in clock ticks since boot, as on record.
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id`: the boot that this is of.
    pub boot_id: String,
    /// Whose child it is now; 0 where nobody says.
    pub parent: u32,
    /// When it was launched, by the record.
    pub launched: UnixMs,
}
