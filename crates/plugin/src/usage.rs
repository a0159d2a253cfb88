//! Measures CPU and memory of the plugin processes at an interval, in one task for all of them.
//! Reading `/proc` runs on a blocking thread.

use crate::PluginObserver;
use model::mutex::lock;
use model::{PluginEvent, PluginId, Usage};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// Processes to measure, with the last measurements.
#[derive(Default)]
pub(super) struct Meter {
    watched: Mutex<HashMap<u32, PluginId>>,
    measurements: Mutex<HashMap<u32, Usage>>,
}

impl Meter {
    fn lock_watched(&self) -> MutexGuard<'_, HashMap<u32, PluginId>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self, pid: u32, plugin: PluginId) {
        self.lock_watched().insert(pid, plugin);
    }

    pub(super) fn forget(&self, pid: u32) {
        self.lock_watched().remove(&pid);
        lock(&self.measurements).remove(&pid);
    }

    /// Returns the last measurement of a process.
    pub(super) fn last_measurement(&self, pid: u32) -> Option<Usage> {
        lock(&self.measurements).get(&pid).copied()
    }

    /// Measures and reports until `cancel`.
    pub(super) async fn run(
        self: Arc<Self>,
        observer: Arc<dyn PluginObserver>,
        every: Duration,
        cancel: CancellationToken,
    ) {
        // Without usage data, the memory limit has no effect, but plugins still work.
        let Ok(mut system) = System::new() else {
            return;
        };
        let mut tick = tokio::time::interval(every.max(Duration::from_millis(50)));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // Check the cancellation first.
            tokio::select! { biased;
                () = cancel.cancelled() => return,
                _ = tick.tick() => {}
            }
            let watched = self.lock_watched().clone();
            if watched.is_empty() {
                continue;
            }
            let pids: Vec<Pid> = watched.keys().map(|pid| Pid::from_u32(*pid)).collect();
            // The measurements move to the blocking thread and back, because CPU usage is a
            // difference between two of them.
            let look = tokio::task::spawn_blocking(move || {
                let kind = ProcessRefreshKind::nothing()
                    .with_cpu()
                    .with_memory()
                    .without_tasks();
                system.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, kind);
                system
            });
            let Ok(looked) = look.await else { return };
            system = looked;
            for (pid, plugin) in watched {
                // The process may have ended in the meantime.
                let Some(process) = system.process(Pid::from_u32(pid)) else {
                    continue;
                };
                let usage = Usage {
                    pid,
                    cpu_percent: process.cpu_usage(),
                    rss_bytes: process.memory(),
                };
                // `forget` may have been called during the measurement; do not add the pid again.
                if self.lock_watched().contains_key(&pid) {
                    lock(&self.measurements).insert(pid, usage);
                }
                observer.event(PluginEvent::Usage { plugin, usage });
            }
        }
    }
}
