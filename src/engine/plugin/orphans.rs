//! Plugin processes that outlived whoever launched them, told by the record of launches: number,
//! start time and boot. Reads `/proc`, ends nothing.

use crate::engine::process::{ProcessIdentity, booted_at, parent};
use crate::engine::words::{OrphanView, PluginId, PluginRow, UnixMs};

/// A clock may have been set a little since.
const CLOCK_MS: i64 = 5_000;

/// A process of a plugin without the flightdeck that launched it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub process: ProcessIdentity,
    /// Whose child it is now; 0 where nobody says.
    pub parent: u32,
    /// When it was launched, by the record.
    pub launched: UnixMs,
}

impl Orphan {
    /// As it is told to others.
    #[must_use]
    pub fn view(self, plugin: &PluginId) -> OrphanView {
        let ProcessIdentity {
            pid,
            start_time,
            boot_id,
        } = self.process;
        OrphanView {
            plugin: plugin.clone(),
            pid,
            start_time,
            boot_id,
            parent: self.parent,
            launched: self.launched,
        }
    }
}

/// Those of one plugin.
#[must_use]
pub fn of(row: &PluginRow) -> Vec<Orphan> {
    let mut all = Vec::new();
    for attempt in &row.attempts {
        let (Some(pid), Some(start_time)) = (attempt.pid, attempt.start_time) else {
            continue;
        };
        let Some(process) = ProcessIdentity::of(pid) else {
            continue;
        };
        let this_boot = booted_at().is_some_and(|boot| attempt.began + CLOCK_MS >= boot);
        if process.start_time != start_time || !this_boot || !process.is_running() {
            continue;
        }
        // A flightdeck that lives is still its parent. As process 1 it only adopts processes.
        let parent = parent(pid).unwrap_or(0);
        if parent == 1 || !is_ours(parent) {
            all.push(Orphan {
                process,
                parent,
                launched: attempt.began,
            });
        }
    }
    all
}

/// Whether a process is a flightdeck: it has this program, or one of its name.
fn is_ours(pid: u32) -> bool {
    let Ok(program) = std::fs::read_link(format!("/proc/{pid}/exe")) else {
        return false;
    };
    let same = std::env::current_exe().is_ok_and(|own| own == program);
    // One that was replaced by a newer one is "… (deleted)".
    same || program
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("flightdeck"))
}
