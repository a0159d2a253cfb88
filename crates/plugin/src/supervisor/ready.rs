//! Ready state of a plugin, up to its end by an order or a crash.

use super::replacement::{end_of_lost_connection, part, wait_for_replacement};
use super::{Interrupt, Next, Supervisor};
use crate::handle::Order;
use crate::incident::{End, Incident};
use crate::launch::Running;
use model::settings::CrashSettings;
use model::{PluginState, now_ms};
use std::time::Instant;

impl Supervisor {
    /// Serves until the process ends.
    pub(super) async fn serve(&mut self, mut running: Running) -> Next {
        if let Some(pid) = running.connection.pid {
            self.meter.watch(pid, self.board.id.clone());
        }
        self.board.set(PluginState::Ready { since: now_ms() });
        // After the state event, so that callers see the plugin as ready.
        self.answer_waiters(&Ok(running.connection.clone()));
        let mut beside = None;
        loop {
            // Read in each iteration, because a replacement changes the connection.
            let lost = running.connection.raw_link().lost_token();
            // Check for the end of the process first, so that no caller receives a dead connection.
            let order = tokio::select! { biased;
                exit = running.body.wait_for_exit() => {
                    // The plugin is launched again anyway, so cancel a pending replacement.
                    self.cancel_replacement(beside).await;
                    return self.crashed(running, End::Exited(exit)).await;
                }
                () = lost.cancelled() => {
                    self.cancel_replacement(beside).await;
                    let end = end_of_lost_connection(&mut running.body).await;
                    return self.crashed(running, end).await;
                }
                came = wait_for_replacement(&mut beside) => {
                    self.finish_replacement(&mut running, beside.take(), came);
                    continue;
                }
                order = self.order() => order,
            };
            let order = match order {
                Some(Order::Demand(ticket) | Order::Start(ticket)) => {
                    ticket.send(Ok(running.connection.clone())).ok();
                    continue;
                }
                Some(Order::Enable(done)) => {
                    done.send(()).ok();
                    continue;
                }
                Some(Order::Replace(order)) => {
                    self.begin_replacement(order, &mut beside);
                    continue;
                }
                order => order,
            };
            self.cancel_replacement(beside).await;
            return self.end_serving(running, order).await;
        }
    }

    /// Ends the serving process and the replaced ones on an order.
    async fn end_serving(&mut self, mut running: Running, order: Option<Order>) -> Next {
        self.end_process(&mut running, !matches!(order, Some(Order::Kill(_))))
            .await;
        match order {
            Some(Order::Restart(ticket)) => {
                self.waiters.push(ticket);
                // A restart by the operator resets the crash limit.
                self.crashes.clear();
                Next::Launch
            }
            Some(Order::Idle(why, done)) => {
                self.board.set(PluginState::Idle { why });
                done.send(()).ok();
                Next::Idle
            }
            Some(Order::Disable(done)) => {
                self.end_interrupted_launch(Interrupt::Disable, vec![done])
            }
            Some(Order::Stop(done) | Order::Kill(done)) => {
                self.end_interrupted_launch(Interrupt::Stop, vec![done])
            }
            _ => self.end_interrupted_launch(Interrupt::End, Vec::new()),
        }
    }

    /// Ends the process and the ones it has replaced: asks them and kills them after the grace
    /// period, or kills them at once. Returns after they are reaped.
    pub(super) async fn end_process(&mut self, running: &mut Running, ask: bool) {
        self.board.set(PluginState::Draining);
        let grace = self.settings.launch.grace;
        // In parallel, so that one grace period bounds all of them.
        tokio::join!(part(running, ask, grace), self.end_draining(ask));
        if let Some(pid) = running.connection.pid {
            self.meter.forget(pid);
        }
    }

    async fn crashed(&mut self, mut running: Running, end: End) -> Next {
        // Read the remaining output first: the reason is in its last lines.
        running.body.read_remaining(&running.logs).await;
        // Recorded before `ended` is cancelled: calls look it up when they wake up.
        let incident = Incident::record(&self.board, &self.incidents, &running, end);
        if let Some(pid) = running.connection.pid {
            self.meter.forget(pid);
        }
        running.connection.end_token().cancel();
        let why = incident.text.clone();
        self.board.set(PluginState::Crashed {
            code: incident.exit.code,
            signal: incident.exit.signal,
            why: why.clone(),
        });
        let CrashSettings { limit, window } = self.settings.crashes;
        // Only crashes within the window count towards the limit.
        self.crashes.retain(|at| at.elapsed() <= window);
        self.crashes.push_back(Instant::now());
        if !self.settings.relaunch_after_crash {
            return Next::Idle;
        }
        if self.crashes.len() >= limit.max(1) as usize {
            let times = match self.crashes.len() {
                1 => "once".to_owned(),
                times => format!("{times} times within {} s", window.as_secs()),
            };
            let why = format!(
                "the plugin crashed {times} and is not relaunched automatically; last crash: {why}"
            );
            return self.fail(PluginState::GaveUp { why });
        }
        Next::Relaunch {
            why,
            number: running.number,
        }
    }
}
