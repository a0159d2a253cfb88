//! Plugin processes of an earlier flightdeck that are still running: reported at the start, and
//! watched while there are any.

use super::Operations;
use model::mutex::lock;
use model::{EventKind, OrphanView};
use plugin::orphans;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of named processes.
const MAX_LISTED: usize = 3;
/// Interval between checks of known processes.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

impl Operations {
    /// Reports plugin processes of this workspace whose flightdeck has ended, as a notice and a
    /// list. A read-only engine reports nothing.
    pub async fn report_orphans(&self) {
        let all = self.look_for_orphans().await;
        if all.is_empty() {
            return;
        }
        let named = all.iter().take(MAX_LISTED);
        let named: Vec<String> = named
            .map(|orphan| format!("{} (process {})", orphan.plugin, orphan.pid))
            .collect();
        let more = match all.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "orphaned plugin processes of an earlier flightdeck still run: {}{more}; run `flightdeck doctor` for details, or `flightdeck doctor --fix` to end them",
            named.join(", ")
        );
        self.bus.emit(EventKind::Notice { text });
    }

    /// Finds such processes and emits the list if it changed.
    pub async fn look_for_orphans(&self) -> Vec<OrphanView> {
        if !self.settings.access.can_write() {
            return Vec::new();
        }
        // Other readers of the store report its errors.
        let rows = self.memory.store().plugins().await.unwrap_or_default();
        let look = move || -> Vec<OrphanView> {
            let of = |row| orphans::of(row).into_iter().map(move |o| (row, o));
            let all = rows.iter().flat_map(of);
            all.map(|(row, orphan)| orphan.view(&row.id)).collect()
        };
        let all = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        let known = std::mem::replace(&mut *lock(&self.orphans), all.clone());
        if known != all {
            let orphans = all.clone();
            self.bus.emit(EventKind::Orphans { orphans });
        }
        all
    }

    /// Repeats the search while there are such processes, so that none is listed after its end.
    pub async fn poll_orphans(self: Arc<Self>) {
        // Ends with the last process or with the engine.
        loop {
            tokio::select! { biased; // the end comes first
                () = self.shutdown.cancelled() => return,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
            if self.look_for_orphans().await.is_empty() {
                return;
            }
        }
    }
}
