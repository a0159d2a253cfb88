//! Maintenance task of the pool: ends idle processes, replaces those that passed a limit or whose
//! file has changed, and adds processes if calls wait.

use super::handle::{Pool, Shared};
use super::process::PooledProcess;
use super::replacement::format_duration;
use futures_util::future::join_all;
use model::PluginState;
use model::mutex::lock;
use plugin::{Pin, Start};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

impl Pool {
    /// Pins the current executables: changed files are used only after the pin is dropped.
    pub fn pin(&self) -> Pin {
        self.shared.plugins.programs().pin()
    }

    /// Starts the maintenance task, which ends with the plugins or the pool.
    pub(super) fn start_maintenance(&self) {
        let (weak, ending) = (
            Arc::downgrade(&self.shared),
            self.shared.plugins.stop_token(),
        );
        let presses = self.shared.on_wait.clone();
        let mut tick = interval(
            self.shared
                .settings
                .maintenance_interval
                .max(Duration::from_millis(1)),
        );
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.shared.plugins.spawn(async move {
            // Ends with the plugins or the pool.
            loop {
                let pressed = tokio::select! { biased; // the end comes first
                    () = ending.cancelled() => return,
                    () = presses.notified() => true,
                    _ = tick.tick() => false,
                };
                // A strong reference would keep the pool alive for ever.
                let Some(pool) = of(&weak) else { return };
                // On every tick too: a start that failed is repeated only after a pause.
                pool.processes().iter().for_each(|p| pool.start_replica(p));
                if !pressed {
                    pool.maintain().await;
                }
            }
        });
    }

    async fn maintain(&self) {
        let service = &self.shared.settings.service;
        for process in self.processes() {
            let programs = self.shared.plugins.programs();
            // A dialect whose plugins call each other gets no idle ends during a run, because
            // another plugin may still need this one.
            let may_be_asked = programs.are_pinned() && process.dialect.plugins_call_each_other();
            if let Some(limit) = service.idle_timeout.filter(|_| !may_be_asked)
                && process.release_idle(limit)
            {
                let why = format!(
                    "ended after {} without a call; starts again when needed",
                    format_duration(limit)
                );
                let plugin = process.plugin.clone();
                self.shared
                    .plugins
                    // In a task of its own: the end of one process must not delay the others.
                    .spawn(async move { plugin.end_idle(why).await });
                continue;
            }
            if let Some(due) = process.check_replacement(&service.renew, programs).await {
                self.shared
                    .plugins
                    .spawn(async move { process.renew(due).await });
            }
        }
    }

    /// Replaces the processes whose file has changed, and waits for it, so that the next run plans
    /// with the current executables. If a new process does not start, the old one continues and the
    /// failure is reported. A plugin that had failed for good is retried if its file has changed.
    pub async fn replace_changed(&self) {
        let limits = &self.shared.settings.service.renew;
        let all = self.processes().into_iter().map(|process| async move {
            if let Some(due) = process.replacement_due(limits).await
                && due.is_file_changed()
                && process.try_claim()
            {
                process.renew(due).await;
            } else if process.has_failed_with_old_file().await {
                // The reason of a new failure is part of the plugin's state.
                process.plugin.start().await.ok();
            }
        });
        join_all(all).await;
    }
}

fn of(weak: &Weak<Shared>) -> Option<Pool> {
    weak.upgrade().map(|shared| Pool { shared })
}

impl PooledProcess {
    /// Clears the current launch if it has been idle for this long; returns true if so. New calls
    /// then launch the process again.
    fn release_idle(&self, limit: Duration) -> bool {
        let is_own = matches!(self.start, Some(Start::Spawn(_)));
        if !is_own || !matches!(self.state(), PluginState::Ready { .. }) {
            return false;
        }
        let mut current = lock(&self.current);
        let idle = current.as_ref().and_then(|c| c.idle());
        if idle.is_none_or(|idle| idle < limit) {
            return false;
        }
        // Cleared under the lock, so that no call takes a lease on a process that is about to end.
        *current = None;
        drop(current);
        if self.is_replica() {
            self.lane.close();
        }
        true
    }
}
