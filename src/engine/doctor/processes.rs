//! Check for plugin processes that outlived their flightdeck, found by recorded pid, start time and
//! boot.

use super::finding::{Area, Findings, Fix};
use model::PluginRow;
use model::settings::{Access, Settings};
use plugin::orphans::{self, Orphan};
use store::Store;
use workspace::store_location;

pub(super) async fn examine(settings: &Settings, found: &mut Findings) {
    let mut running = 0;
    // Every workspace and environment of the directory may have launched plugins.
    for dir in store_location::all(&settings.workspace) {
        // The check of the store reports its errors.
        let opened = tokio::task::spawn_blocking(move || Store::open(dir, Access::ReadOnly));
        let Ok(Ok(store)) = opened.await else {
            continue;
        };
        let rows = store.plugins().await.unwrap_or_default();
        running += rows.iter().map(|row| of_plugin(row, found)).sum::<usize>();
    }
    if running == 0 {
        found.add_ok(Area::Processes, "no orphaned plugin process");
    }
}

/// Reports the processes of one plugin; returns their number.
fn of_plugin(row: &PluginRow, found: &mut Findings) -> usize {
    let all = orphans::of(row);
    let count = all.len();
    for Orphan {
        process, parent, ..
    } in all
    {
        let pid = process.pid;
        found.warning(
            Area::Processes,
            format!(
                "orphaned plugin: {} still runs as process {pid}, and the flightdeck process that launched it has ended. Pid and start time match the recorded launch; the parent process is {parent}",
                row.id
            ),
        );
        found.remedy(format!(
            "end it and its child processes with `kill -- -{pid}`"
        ));
        found.fix(Fix::Stop { process });
    }
    count
}

#[cfg(test)]
pub(super) fn findings_of(row: &PluginRow) -> Vec<super::Finding> {
    let mut found = Findings::default();
    of_plugin(row, &mut found);
    found.into_vec()
}
