//! Supervisor: one task per plugin that alone owns its process and state, from launch to end.
//! Handles send it orders.

mod launching;
mod ready;
mod replacement;

use super::connection::Connection;
use super::handle::{Done, Order, PluginError, Ticket};
use super::incident::Incidents;
use super::launch::LaunchContext;
use super::programs::PinnedExecutables;
use super::settings::PluginSettings;
use super::status::PluginStatus;
use super::usage::Meter;
use model::PluginState;
use replacement::Outgoing;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Maximum number of orders that wait for a supervisor.
pub(super) const ORDER_QUEUE: usize = 64;

/// Next step of the supervisor.
enum Next {
    Idle,
    Launch,
    /// Launch after the pause that follows a crash.
    Relaunch {
        why: String,
        number: u32,
    },
    End,
}

/// Reason to cancel a launch or end a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    Stop,
    Disable,
    End,
}

/// Owner of one plugin's process and state.
pub(super) struct Supervisor {
    pub(super) context: Option<Arc<LaunchContext>>,
    pub(super) board: Arc<PluginStatus>,
    pub(super) settings: PluginSettings,
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) cancel: CancellationToken,
    pub(super) meter: Arc<Meter>,
    pub(super) programs: PinnedExecutables,
    pub(super) incidents: Incidents,
    /// Callers that wait for the plugin to be ready.
    pub(super) waiters: Vec<Ticket>,
    pub(super) generation: u64,
    /// Replaced processes with their remaining calls.
    pub(super) draining: Vec<Outgoing>,
    pub(super) crashes: VecDeque<Instant>,
    /// Number of launches made when the total time ran out; `None` if it did not.
    pub(super) launches_at_timeout: Option<u32>,
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let mut next = Next::Idle;
        // Ends on cancellation or when the last handle is dropped.
        loop {
            next = match next {
                Next::Idle => self.idle().await,
                Next::Launch => self.launches(1).await,
                Next::Relaunch { why, number } => self.relaunch(why, number).await,
                Next::End => break,
            };
        }
        // Replaced processes may still run, even if the plugin itself has stopped.
        self.end_draining(true).await;
        // A final failure stays visible after the end.
        if !self.board.current().is_failed() && self.board.current() != PluginState::Stopped {
            self.board.set(PluginState::Stopped);
        }
        self.answer_waiters(&Err(PluginError::Gone {
            plugin: self.board.id.clone(),
        }));
    }

    /// Receives the next order; `None` at the end of the supervision.
    async fn order(&mut self) -> Option<Order> {
        // The cancellation goes first: no order may start a process after it.
        tokio::select! { biased;
            () = self.cancel.cancelled() => None,
            order = self.orders.recv() => order,
        }
    }

    fn answer_waiters(&mut self, answer: &Result<Connection, PluginError>) {
        for waiter in self.waiters.drain(..) {
            // The receiver is gone if the caller has stopped waiting.
            waiter.send(answer.clone()).ok();
        }
    }

    /// Returns the error of a state that only an operator can resolve.
    fn unavailable_error(&self) -> Option<PluginError> {
        let plugin = self.board.id.clone();
        Some(match self.board.current() {
            PluginState::GaveUp { why } => PluginError::GaveUp {
                plugin,
                attempts: self
                    .launches_at_timeout
                    .unwrap_or(self.settings.launch.attempts),
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
            Order::Demand(ticket) => match self.unavailable_error() {
                Some(error) => {
                    ticket.send(Err(error)).ok();
                    Next::Idle
                }
                None => {
                    self.waiters.push(ticket);
                    Next::Launch
                }
            },
            Order::Start(ticket) | Order::Restart(ticket) => match self.unavailable_error() {
                Some(error @ (PluginError::Disabled { .. } | PluginError::Rejected { .. })) => {
                    ticket.send(Err(error)).ok();
                    Next::Idle
                }
                _ => {
                    self.waiters.push(ticket);
                    // An operator's start resets the crash limit, unlike a demand.
                    self.crashes.clear();
                    Next::Launch
                }
            },
            order @ (Order::Stop(_) | Order::Kill(_)) => {
                self.end_draining(matches!(order, Order::Stop(_))).await;
                let (Order::Stop(done) | Order::Kill(done)) = order else {
                    return Next::Idle;
                };
                // Keep the state of a final failure: it explains more than "stopped".
                if self.unavailable_error().is_none() {
                    self.board.set(PluginState::Stopped);
                }
                done.send(()).ok();
                Next::Idle
            }
            Order::Disable(done) => {
                self.end_draining(true).await;
                if !matches!(self.unavailable_error(), Some(PluginError::Rejected { .. })) {
                    self.board.set(PluginState::Disabled);
                }
                done.send(()).ok();
                Next::Idle
            }
            Order::Idle(_, done) => {
                done.send(()).ok();
                Next::Idle
            }
            Order::Replace(order) => {
                order.reject();
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

    fn fail(&mut self, state: PluginState) -> Next {
        self.board.set(state);
        // Derived from the state just set, so later demands get the same error.
        let error = self
            .unavailable_error()
            .unwrap_or_else(|| PluginError::Gone {
                plugin: self.board.id.clone(),
            });
        self.answer_waiters(&Err(error));
        Next::Idle
    }

    fn end_interrupted_launch(&mut self, interrupt: Interrupt, done: Vec<Done>) -> Next {
        let plugin = self.board.id.clone();
        let (state, error) = match interrupt {
            Interrupt::Disable => (PluginState::Disabled, PluginError::Disabled { plugin }),
            Interrupt::Stop | Interrupt::End => {
                (PluginState::Stopped, PluginError::Stopped { plugin })
            }
        };
        // Set the state before the answers, so that callers who wake up see it.
        self.board.set(state);
        self.answer_waiters(&Err(error));
        for ack in done {
            ack.send(()).ok();
        }
        if interrupt == Interrupt::End {
            Next::End
        } else {
            Next::Idle
        }
    }
}
