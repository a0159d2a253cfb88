//! Finds plugin processes that outlived the flightdeck process that launched them, by pid, start
//! time and boot in the records of launches. Reads `/proc`; ends nothing.

use model::process::{ProcessIdentity, booted_at, parent};
use model::{OrphanView, PluginId, PluginRow, UnixMs};

/// Tolerance for adjustments of the clock since the launch.
const CLOCK_MS: i64 = 5_000;

/// Plugin process whose launching flightdeck process has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub process: ProcessIdentity,
    /// Pid of its current parent; 0 if unknown.
    pub parent: u32,
    /// Time of its launch, from the record.
    pub launched: UnixMs,
}

impl Orphan {
    /// Converts it to its form in events and output.
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

/// Returns the orphans of one plugin.
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
        // Start times count from boot, so a record of an earlier boot may match another process.
        let this_boot = booted_at().is_some_and(|boot| attempt.began + CLOCK_MS >= boot);
        if process.start_time != start_time || !this_boot || !process.is_running() {
            continue;
        }
        // A running flightdeck is still the parent. As process 1 it merely adopts orphans.
        let parent = parent(pid).unwrap_or(0);
        if parent == 1 || !is_flightdeck(parent) {
            all.push(Orphan {
                process,
                parent,
                launched: attempt.began,
            });
        }
    }
    all
}

/// Returns true if a process is a flightdeck: it runs this executable, or one of that name.
fn is_flightdeck(pid: u32) -> bool {
    let Ok(program) = std::fs::read_link(format!("/proc/{pid}/exe")) else {
        return false;
    };
    let same = std::env::current_exe().is_ok_and(|own| own == program);
    // The name of a replaced executable ends in "(deleted)".
    same || program
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("flightdeck"))
}
