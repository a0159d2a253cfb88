//! What an earlier flightdeck may have left running, said when one begins to work.

use super::Work;
use crate::engine::plugin::orphans;
use crate::engine::settings::Access;
use crate::engine::words::EventKind;

/// So many are named.
const NAMED: usize = 3;

impl Work {
    /// Says which plugin processes of this workspace have lost their flightdeck; one that only reads
    /// says nothing.
    pub async fn tell_orphans(&self) {
        if self.settings.access == Access::ReadOnly {
            return;
        }
        // What cannot be read is told by whatever needs it.
        let rows = self.memory.store().plugins().await.unwrap_or_default();
        let look = move || -> Vec<(String, u32)> {
            let each = |row| orphans::of(row).into_iter().map(|o| o.process.pid);
            let all = rows.iter();
            all.flat_map(|row| each(row).map(|pid| (row.id.to_string(), pid)))
                .collect()
        };
        let Ok(all) = tokio::task::spawn_blocking(look).await else {
            return;
        };
        if all.is_empty() {
            return;
        }
        let named = all.iter().take(NAMED);
        let named: Vec<String> = named
            .map(|(plugin, pid)| format!("{plugin} (process {pid})"))
            .collect();
        let more = match all.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "{}{more} still runs, and the flightdeck that launched it is gone; `flightdeck doctor` says how that is known, `flightdeck doctor --fix` ends it",
            named.join(", ")
        );
        self.bus.emit(EventKind::Notice { text });
    }
}
