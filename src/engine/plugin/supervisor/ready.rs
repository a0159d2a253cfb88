//! The life of a process that can be called, and its end: asked for, or a crash.

use super::{Interrupt, Next, Supervisor};
use crate::engine::plugin::handle::Order;
use crate::engine::plugin::incident::{End, Incident};
use crate::engine::plugin::launch::{Body, Running, SETTLE};
use crate::engine::plugin::life::Farewell;
use crate::engine::settings::CrashSettings;
use crate::engine::words::{PluginState, now_ms};
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

/// Incidents of one plugin that are kept.
const INCIDENTS: usize = 16;

impl Supervisor {
    /// The life of a process that can be called.
    pub(super) async fn ready(&mut self, mut running: Running) -> Next {
        if let Some(pid) = running.connection.pid {
            self.meter.watch(pid, self.board.id.clone());
        }
        self.board.set(PluginState::Ready { since: now_ms() });
        self.answer_all(&Ok(running.connection.clone()));
        let lost = running.connection.way().lost();
        loop {
            // The end of the process first, so that nobody is handed a connection that is known to
            // be dead.
            let order = tokio::select! { biased;
                exit = running.body.ended() => return self.crashed(running, End::Exited(exit)).await,
                () = lost.cancelled() => return self.cut_off(running).await,
                order = self.order() => order,
            };
            match order {
                Some(Order::Demand(ticket) | Order::Start(ticket)) => {
                    ticket.send(Ok(running.connection.clone())).ok();
                }
                Some(Order::Enable(done)) => {
                    done.send(()).ok();
                }
                Some(Order::Restart(ticket)) => {
                    self.waiters.push(ticket);
                    self.crashes.clear();
                    self.end_process(&mut running, true).await;
                    return Next::Launch;
                }
                Some(Order::Stop(done)) => {
                    self.end_process(&mut running, true).await;
                    return self.broken_off(Interrupt::Stop, vec![done]);
                }
                Some(Order::Kill(done)) => {
                    self.end_process(&mut running, false).await;
                    return self.broken_off(Interrupt::Stop, vec![done]);
                }
                Some(Order::Disable(done)) => {
                    self.end_process(&mut running, true).await;
                    return self.broken_off(Interrupt::Disable, vec![done]);
                }
                None => {
                    self.end_process(&mut running, true).await;
                    return self.broken_off(Interrupt::End, Vec::new());
                }
            }
        }
    }

    /// Ends the process: asked to, and killed after the grace; or killed at once. It is gone and
    /// waited for afterwards. A process of somebody else is left alone.
    pub(super) async fn end_process(&mut self, running: &mut Running, ask: bool) {
        self.board.set(PluginState::Draining);
        if let Body::Own { process, .. } = &mut running.body {
            if ask {
                let polite = async {
                    match running.connection.way().farewell() {
                        Farewell::Terminate => process.terminate(),
                        Farewell::Call(call) => return tokio::join!(call, process.wait()).1,
                    }
                    process.wait().await
                };
                timeout(self.settings.launch.grace, polite).await.ok();
            }
            // Already over where it was polite.
            process.kill().await;
        }
        self.after_end(running).await;
    }

    async fn after_end(&self, running: &mut Running) {
        if let Some(pid) = running.connection.pid {
            self.meter.forget(pid);
        }
        running.body.hear_out(&self.board.logs).await;
        running.connection.ended().cancel();
    }

    /// The connection is over, and no other will be made: a process that cannot be called is of no
    /// use. Most have just ended, and it shows in a moment.
    async fn cut_off(&mut self, mut running: Running) -> Next {
        if let Ok(exit) = timeout(SETTLE, running.body.ended()).await {
            return self.crashed(running, End::Exited(exit)).await;
        }
        let ended = match &mut running.body {
            Body::Own { process, .. } => {
                process.kill().await;
                true
            }
            Body::Attached { .. } => false,
        };
        self.crashed(running, End::CutOff { ended }).await
    }

    async fn crashed(&mut self, mut running: Running, end: End) -> Next {
        // First hear it out: the reason is in its last lines.
        running.body.hear_out(&self.board.logs).await;
        let pid = running.connection.pid.unwrap_or_default();
        let incident = Arc::new(Incident::of(
            &self.board,
            running.connection.generation,
            pid,
            end,
        ));
        self.board.observer.event(incident.event());
        self.incidents.send_modify(|all| {
            if all.len() == INCIDENTS {
                all.pop_front();
            }
            all.push_back(Arc::clone(&incident));
        });
        self.after_end(&mut running).await;
        let why = incident.text.clone();
        self.board.set(PluginState::Crashed {
            code: incident.exit.code,
            signal: incident.exit.signal,
            why: why.clone(),
        });
        let CrashSettings { limit, window } = self.settings.crashes;
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
                "died {times} while it was in use, and is not launched again by itself; the last time: {why}"
            );
            return self.fail(PluginState::GaveUp { why });
        }
        Next::Relaunch {
            why,
            number: running.number,
        }
    }
}
