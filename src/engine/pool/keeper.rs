//! Maintenance task of the pool: ends idle processes, replaces those that passed a limit or whose
//! file has changed, and adds processes if calls wait.

use super::handle::{Pool, Shared};
use super::process::Process;
use super::renewal::in_words;
use crate::engine::mutex::lock;
use crate::engine::plugin::{Pinned, Start};
use crate::engine::words::PluginState;
use futures_util::future::join_all;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

impl Pool {
    /// Pins the current executables: changed files are used only after the pin is dropped.
    pub fn pin(&self) -> Pinned {
        self.shared.plugins.programs().pin()
    }

    /// Starts the maintenance task, which ends with the plugins or the pool.
    pub(super) fn keep(&self) {
        let (weak, ending) = (Arc::downgrade(&self.shared), self.shared.plugins.ending());
        let presses = self.shared.presses.clone();
        let mut tick = interval(
            self.shared
                .settings
                .look_every
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
                pool.processes().iter().for_each(|p| pool.grow(p));
                if !pressed {
                    pool.look().await;
                }
            }
        });
    }

    async fn look(&self) {
        let service = &self.shared.settings.service;
        for process in self.processes() {
            let programs = self.shared.plugins.programs();
            // A dialect whose plugins call each other gets no idle ends during a run, because
            // another plugin may still need this one.
            let may_be_asked = programs.are_pinned() && process.dialect.ask_each_other();
            if let Some(limit) = service.idle.filter(|_| !may_be_asked)
                && process.give_up_idle(limit)
            {
                let why = format!(
                    "ended after {} without a call; starts again when needed",
                    in_words(limit)
                );
                let plugin = process.plugin.clone();
                self.shared
                    .plugins
                    // In a task of its own: the end of one process must not delay the others.
                    .spawn(async move { plugin.rest(why).await });
                continue;
            }
            if let Some(due) = process.look(&service.renew, programs).await {
                self.shared
                    .plugins
                    .spawn(async move { process.renew(due).await });
            }
        }
    }

    /// Replaces the processes whose file has changed, and waits for it, so that the next run plans
    /// with the current executables. If a new process does not start, the old one continues and the
    /// failure is reported. A plugin that had failed for good is retried if its file has changed.
    pub async fn take_changed(&self) {
        let limits = &self.shared.settings.service.renew;
        let all = self.processes().into_iter().map(|process| async move {
            if let Some(due) = process.due(limits).await
                && due.is_changed()
                && process.claim()
            {
                process.renew(due).await;
            } else if process.has_failed_as_another().await {
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

impl Process {
    /// Clears the current launch if it has been idle for this long; returns true if so. New calls
    /// then launch the process again.
    fn give_up_idle(&self, limit: Duration) -> bool {
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
        if self.is_mate() {
            self.lane.close();
        }
        true
    }
}
