//! One task for each plugin process, which alone owns its state: launches, pauses, life, crash,
//! end. Orders come from handles.

use super::board::Board;
use super::connection::Connection;
use super::executable::FileIdentity;
use super::failure::StartFailure;
use super::handle::{Done, Order, PluginError, Ticket};
use super::incident::{End, Incident};
use super::launch::{Body, LaunchContext, Running, SETTLE, launch};
use super::life::Farewell;
use super::settings::{PluginSettings, Start, backoff_after};
use super::usage::Meter;
use crate::engine::words::{PluginState, UnixMs, now_ms};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Orders that may wait for a supervisor.
pub(super) const ORDERS: usize = 64;
/// Incidents of one plugin that are kept.
const INCIDENTS: usize = 16;

/// What the supervisor does next.
enum Next {
    Idle,
    Launch,
    /// Launch after a pause, which began with a crash.
    Relaunch {
        why: String,
        number: u32,
    },
    End,
}

/// Why launching or running is broken off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    Stop,
    Disable,
    End,
}

async fn file_of(context: &LaunchContext) -> Option<FileIdentity> {
    match &context.start {
        Start::Spawn(spec) => FileIdentity::of(&spec.executable).await,
        Start::Attach(_) => None,
    }
}

/// Owns one plugin's process and state.
pub(super) struct Supervisor {
    pub(super) context: Option<Arc<LaunchContext>>,
    pub(super) board: Arc<Board>,
    pub(super) settings: PluginSettings,
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) cancel: CancellationToken,
    pub(super) meter: Arc<Meter>,
    pub(super) incidents: watch::Sender<VecDeque<Arc<Incident>>>,
    /// Those who wait for the plugin to be ready.
    pub(super) waiters: Vec<Ticket>,
    pub(super) generation: u64,
    /// What the process that came up last was executed from.
    pub(super) file: Option<FileIdentity>,
    pub(super) crashes: VecDeque<Instant>,
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let mut next = Next::Idle;
        // Ends with the cancellation or the last handle.
        loop {
            next = match next {
                Next::Idle => self.idle().await,
                Next::Launch => self.launches(1).await,
                Next::Relaunch { why, number } => self.relaunch(why, number).await,
                Next::End => break,
            };
        }
        if !self.board.current().is_failed() && self.board.current() != PluginState::Stopped {
            self.board.set(PluginState::Stopped);
        }
        self.answer_all(&Err(PluginError::Gone {
            plugin: self.board.id.clone(),
        }));
    }

    /// The next order; `None` at the end of the supervision.
    async fn order(&mut self) -> Option<Order> {
        tokio::select! { biased; // the end comes before what is ordered
            () = self.cancel.cancelled() => None,
            order = self.orders.recv() => order,
        }
    }

    fn answer_all(&mut self, answer: &Result<Connection, PluginError>) {
        for waiter in self.waiters.drain(..) {
            // One who does not wait any more is no harm.
            waiter.send(answer.clone()).ok();
        }
    }

    /// The error of a state in which only an operator can help.
    fn refusal(&self) -> Option<PluginError> {
        let plugin = self.board.id.clone();
        Some(match self.board.current() {
            PluginState::GaveUp { why } => PluginError::GaveUp {
                plugin,
                attempts: self.settings.launch.attempts,
                why,
            },
            PluginState::Incompatible { why } => PluginError::Incompatible { plugin, why },
            PluginState::Rejected { why } => PluginError::Rejected { plugin, why },
            PluginState::Disabled => PluginError::Disabled { plugin },
            _ => return None,
        })
    }

    async fn idle(&mut self) -> Next {
        let Some(order) = self.order().await else {
            return Next::End;
        };
        match order {
            Order::Demand(ticket) => match self.refusal() {
                Some(error) => {
                    ticket.send(Err(error)).ok();
                    Next::Idle
                }
                None => {
                    self.waiters.push(ticket);
                    Next::Launch
                }
            },
            Order::Start(ticket) | Order::Restart(ticket) => match self.refusal() {
                Some(error @ (PluginError::Disabled { .. } | PluginError::Rejected { .. })) => {
                    ticket.send(Err(error)).ok();
                    Next::Idle
                }
                _ => {
                    self.waiters.push(ticket);
                    self.crashes.clear();
                    Next::Launch
                }
            },
            Order::Stop(done) | Order::Kill(done) => {
                if self.refusal().is_none() {
                    self.board.set(PluginState::Stopped);
                }
                done.send(()).ok();
                Next::Idle
            }
            Order::Disable(done) => {
                if !matches!(self.refusal(), Some(PluginError::Rejected { .. })) {
                    self.board.set(PluginState::Disabled);
                }
                done.send(()).ok();
                Next::Idle
            }
            Order::Enable(done) => {
                if self.board.current() == PluginState::Disabled {
                    self.board.set(PluginState::Discovered);
                }
                done.send(()).ok();
                Next::Idle
            }
        }
    }

    /// Launches until the plugin is ready, the limit is reached, or something says that more
    /// launches are useless.
    async fn launches(&mut self, first: u32) -> Next {
        let limit = self.settings.launch.attempts.max(1);
        let mut number = first;
        loop {
            let why = match self.one_launch(number, limit).await {
                Ok(next) => return next,
                Err(failure) => failure.to_string(),
            };
            if number >= limit {
                return self.fail(PluginState::GaveUp { why });
            }
            match self.pause(&why, number, limit).await {
                Ok(true) => number = 1,
                Ok(false) => number += 1,
                Err(next) => return next,
            }
        }
    }

    fn fail(&mut self, state: PluginState) -> Next {
        self.board.set(state);
        let error = self.refusal().unwrap_or_else(|| PluginError::Gone {
            plugin: self.board.id.clone(),
        });
        self.answer_all(&Err(error));
        Next::Idle
    }

    /// One launch, and the life of the process if it comes up. The error is why another launch is
    /// worth a try.
    async fn one_launch(&mut self, number: u32, limit: u32) -> Result<Next, StartFailure> {
        let Some(context) = self.context.clone() else {
            return Ok(Next::Idle);
        };
        self.board.set(PluginState::Launching {
            attempt: number,
            limit,
        });
        self.generation += 1;
        let file = file_of(&context).await;
        let stop = CancellationToken::new();
        // On the heap: the longest-lived future of the supervisor need not be part of its every
        // state.
        let mut launch = Box::pin(launch(context, number, self.generation, stop.clone()));
        let mut interrupt = None;
        let mut done = Vec::new();
        let outcome = loop {
            tokio::select! { biased; // orders first: they may end the launch
                order = self.order(), if interrupt != Some(Interrupt::End) => {
                    if let Some(broken_off) = self.while_not_ready(order, &mut done) {
                        interrupt = Some(broken_off);
                        stop.cancel();
                    }
                }
                outcome = &mut launch => break outcome,
            }
        };
        drop(launch);
        match (outcome, interrupt) {
            (Ok(mut running), Some(interrupt)) => {
                self.end_process(&mut running, true).await;
                Ok(self.broken_off(interrupt, done))
            }
            (Err(_), Some(interrupt)) => Ok(self.broken_off(interrupt, done)),
            (Ok(running), None) => {
                self.file = file;
                Ok(self.ready(running).await)
            }
            (Err(failure), None) if failure.is_retryable() => Err(failure),
            (Err(failure), None) => Ok(self.fail(PluginState::Incompatible {
                why: failure.to_string(),
            })),
        }
    }

    /// An order that comes while the plugin is on its way up.
    fn while_not_ready(&mut self, order: Option<Order>, done: &mut Vec<Done>) -> Option<Interrupt> {
        match order {
            None => return Some(Interrupt::End),
            Some(Order::Demand(ticket) | Order::Start(ticket) | Order::Restart(ticket)) => {
                self.waiters.push(ticket)
            }
            Some(Order::Enable(ack)) => {
                ack.send(()).ok();
            }
            Some(Order::Stop(ack) | Order::Kill(ack)) => {
                done.push(ack);
                return Some(Interrupt::Stop);
            }
            Some(Order::Disable(ack)) => {
                done.push(ack);
                return Some(Interrupt::Disable);
            }
        }
        None
    }

    fn broken_off(&mut self, interrupt: Interrupt, done: Vec<Done>) -> Next {
        let plugin = self.board.id.clone();
        let (state, error) = match interrupt {
            Interrupt::Disable => (PluginState::Disabled, PluginError::Disabled { plugin }),
            Interrupt::Stop | Interrupt::End => {
                (PluginState::Stopped, PluginError::Stopped { plugin })
            }
        };
        self.board.set(state);
        self.answer_all(&Err(error));
        for ack in done {
            ack.send(()).ok();
        }
        if interrupt == Interrupt::End {
            Next::End
        } else {
            Next::Idle
        }
    }

    /// Waits before the next launch. `Ok(true)` when an operator wants it now, with a fresh count.
    async fn pause(&mut self, why: &str, number: u32, limit: u32) -> Result<bool, Next> {
        let pause = backoff_after(&self.settings.launch, number);
        let until = now_ms() + UnixMs::try_from(pause.as_millis()).unwrap_or(UnixMs::MAX / 2);
        self.board.set(PluginState::Backoff {
            until,
            attempt: number,
            limit,
            why: why.to_owned(),
        });
        let over = tokio::time::sleep(pause);
        tokio::pin!(over);
        let mut done = Vec::new();
        loop {
            tokio::select! { biased; // orders first: they may end the pause
                order = self.order() => {
                    let now = matches!(order, Some(Order::Start(_) | Order::Restart(_)));
                    if let Some(interrupt) = self.while_not_ready(order, &mut done) {
                        return Err(self.broken_off(interrupt, done));
                    }
                    if now {
                        return Ok(true);
                    }
                }
                () = &mut over => return Ok(false),
            }
        }
    }

    async fn relaunch(&mut self, why: String, number: u32) -> Next {
        match self
            .pause(&why, number, self.settings.launch.attempts.max(1))
            .await
        {
            Ok(true) => Next::Launch,
            Ok(false) => match self.replaced().await {
                Some(why) => self.fail(PluginState::Incompatible { why }),
                None => Next::Launch,
            },
            Err(next) => next,
        }
    }

    /// Another program in the place of the one that crashed is not what was staged with; an
    /// operator may still start it.
    async fn replaced(&self) -> Option<String> {
        let context = self.context.as_deref()?;
        let Start::Spawn(spec) = &context.start else {
            return None;
        };
        let same = self.file.is_none() || self.file == file_of(context).await;
        let path = spec.executable.display();
        (!same).then(|| {
            format!("{path} was replaced while it was in use; stage again to use the new one (in the console, start the plugin first)")
        })
    }

    /// The life of a process that can be called.
    async fn ready(&mut self, mut running: Running) -> Next {
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
    async fn end_process(&mut self, running: &mut Running, ask: bool) {
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
        let window = self.settings.crash_window;
        self.crashes.retain(|at| at.elapsed() <= window);
        self.crashes.push_back(Instant::now());
        if !self.settings.relaunch_after_crash {
            return Next::Idle;
        }
        if self.crashes.len() >= self.settings.crash_limit.max(1) {
            let why = format!(
                "died {} times within {} s while it was in use; the last time: {why}",
                self.crashes.len(),
                window.as_secs()
            );
            return self.fail(PluginState::GaveUp { why });
        }
        Next::Relaunch {
            why,
            number: running.number,
        }
    }
}
