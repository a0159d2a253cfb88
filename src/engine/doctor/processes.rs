//! Plugin processes that outlived whoever launched them, told by the record of launches: number,
//! start time and boot.

use super::finding::{Area, Findings, Mend};
use crate::engine::process::{ProcessIdentity, booted_at, parent};
use crate::engine::settings::{Access, Settings};
use crate::engine::store::Store;
use crate::engine::words::PluginRow;
use crate::engine::workspace::home;
use std::path::{Path, PathBuf};

/// A clock may have been set a little since.
const CLOCK_MS: i64 = 5_000;

pub(super) async fn examine(settings: &Settings, found: &mut Findings) {
    let mut running = 0;
    for dir in stores(&settings.workspace) {
        if !dir.join(".flightdeck").join("flightdeck.db").is_file() {
            continue;
        }
        // What cannot be read is told where the record is looked at.
        let opened = tokio::task::spawn_blocking(move || Store::open(&dir, Access::ReadOnly));
        let Ok(Ok(store)) = opened.await else {
            continue;
        };
        let rows = store.plugins().await.unwrap_or_default();
        running += rows.iter().map(|row| of_plugin(row, found)).sum::<usize>();
    }
    if running == 0 {
        found.fine(
            Area::Processes,
            "no plugin process is left without its owner",
        );
    }
}

/// Directories that may have a store: of the workspace itself, and of those with a name.
fn stores(workspace: &Path) -> Vec<PathBuf> {
    let mut all = vec![home::store_dir(workspace, "")];
    let named = workspace.join(".flightdeck").join("workspaces");
    let names = std::fs::read_dir(named).into_iter().flatten().flatten();
    all.extend(names.map(|entry| entry.path()));
    all
}

/// Tells of the processes of one plugin; the answer is how many.
fn of_plugin(row: &PluginRow, found: &mut Findings) -> usize {
    let mut count = 0;
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
        // A flightdeck that lives is still its parent.
        let parent = parent(pid).unwrap_or(0);
        if is_ours(parent) {
            continue;
        }
        count += 1;
        found.warning(
            Area::Processes,
            format!(
                "{} still runs as process {pid}, and the flightdeck that launched it is gone: number and start time are those on record, its parent is {parent}",
                row.id
            ),
        );
        found.remedy(format!("end it and what it has started, `kill -- -{pid}`"));
        found.fix(Mend::Stop { process });
    }
    count
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

#[cfg(test)]
pub(super) fn told_of(row: &PluginRow) -> Vec<super::Finding> {
    let mut found = Findings::default();
    of_plugin(row, &mut found);
    found.into_vec()
}
