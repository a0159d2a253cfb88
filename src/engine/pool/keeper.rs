//! One task for the whole pool that looks after processes: those that nobody uses are ended, those
//! that are worn or whose file has changed are replaced, those that are too few get company.

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
    /// Keeps the programs that serve: a file that changes is taken later.
    pub fn pin(&self) -> Pinned {
        self.shared.plugins.programs().pin()
    }

    /// Looks after the processes from now on, until the plugins are ended.
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
                let Some(pool) = of(&weak) else { return };
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

    /// Replaces the processes whose file has changed, and waits for that: what begins now is worked
    /// out with the programs that are there now. One whose successor does not come up goes on, and
    /// it is said. A plugin that had failed for good is tried anew where its file is another one.
    pub async fn take_changed(&self) {
        let limits = &self.shared.settings.service.renew;
        let all = self.processes().into_iter().map(|process| async move {
            if let Some(due) = process.due(limits).await
                && due.is_changed()
                && process.claim()
            {
                process.renew(due).await;
            } else if process.has_failed_as_another().await {
                // Why it fails again is on its board.
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
    /// Whether nobody has used it for so long: then nobody begins to any more, without starting it
    /// again.
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
        *current = None;
        drop(current);
        if self.is_mate() {
            self.lane.close();
        }
        true
    }
}
