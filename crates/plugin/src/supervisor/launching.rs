//! Launches of a plugin up to the ready state: attempts, pauses between them, and orders that
//! arrive in the meantime.

use super::{Interrupt, Next, Supervisor};
use crate::executable::FileIdentity;
use crate::failure::StartFailure;
use crate::handle::{Done, Order};
use crate::launch::{LaunchContext, launch};
use crate::settings::{Start, backoff_after};
use model::settings::LaunchSettings;
use model::{PluginState, UnixMs, now_ms, seconds};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

pub(super) async fn file_of(context: &LaunchContext) -> Option<FileIdentity> {
    match &context.start {
        Start::Spawn(spec) => FileIdentity::of(&spec.executable, &context.hashes).await,
        Start::Attach(_) => None,
    }
}

/// Time limit of all launches of a plugin together.
struct TotalTime {
    began: Instant,
    limit: Option<Duration>,
}

impl TotalTime {
    fn begin(settings: &LaunchSettings) -> Self {
        Self {
            began: Instant::now(),
            limit: settings.total,
        }
    }

    /// Returns the limit if a launch after this pause would begin past it.
    fn exceeded_after(&self, pause: Duration) -> Option<Duration> {
        self.limit
            .filter(|total| self.began.elapsed() + pause >= *total)
    }

    /// Limits the deadlines of a launch to the remaining time.
    fn limits(&self, context: &LaunchContext) -> Arc<LaunchContext> {
        let mut context = context.clone();
        if let Some(total) = self.limit {
            let left = total.saturating_sub(self.began.elapsed());
            let launch = &mut context.settings.launch;
            launch.deadline = launch.deadline.min(left);
            launch.registration_deadline = launch.registration_deadline.min(left);
        }
        Arc::new(context)
    }
}

impl Supervisor {
    /// Launches until the plugin is ready, the attempts are used up, or a failure is final.
    pub(super) async fn launches(&mut self, first: u32) -> Next {
        let limit = self.settings.launch.attempts.max(1);
        let mut number = first;
        self.launches_at_timeout = None;
        let mut time = TotalTime::begin(&self.settings.launch);
        loop {
            let why = match self.launch_once(number, limit, &time).await {
                Ok(next) => return next,
                Err(failure) => failure.to_string(),
            };
            // The limit is checked before the pause, so the last failure is reported at once.
            if number >= limit {
                return self.fail(PluginState::GaveUp { why });
            }
            if let Some(total) = time.exceeded_after(backoff_after(&self.settings.launch, number)) {
                let why = format!(
                    "{why}; there is no further launch, because the time limit for all launches together is {} (FLIGHTDECK_LAUNCH_TOTAL_MS)",
                    seconds(total)
                );
                // The error then states the launches made, not the configured limit.
                self.launches_at_timeout = Some(number);
                return self.fail(PluginState::GaveUp { why });
            }
            match self.pause(&why, number, limit).await {
                Ok(true) => {
                    // An order of the operator during the pause resets both the counter and the
                    // total time.
                    number = 1;
                    time = TotalTime::begin(&self.settings.launch);
                }
                Ok(false) => number += 1,
                Err(next) => return next,
            }
        }
    }

    /// Makes one launch, and serves while the process is ready. The error is a failure that another
    /// launch may resolve.
    async fn launch_once(
        &mut self,
        number: u32,
        limit: u32,
        time: &TotalTime,
    ) -> Result<Next, StartFailure> {
        let Some(context) = self.context.as_deref().map(|context| time.limits(context)) else {
            return Ok(Next::Idle);
        };
        self.board.set(PluginState::Launching {
            attempt: number,
            limit,
        });
        // Each attempt has its own generation, so an incident names exactly one process.
        self.generation += 1;
        // Read before the launch: the recorded file may then be older than the one executed, never
        // newer, so a change is never missed.
        self.board.executed(file_of(&context).await);
        let stop = CancellationToken::new();
        // Boxed, because this long-lived future would otherwise enlarge every state of the
        // supervisor.
        let mut launch = Box::pin(launch(context, number, self.generation, stop.clone()));
        let mut interrupt = None;
        let mut done = Vec::new();
        let outcome = loop {
            // Orders first, because they may cancel the launch.
            tokio::select! { biased;
                order = self.order(), if interrupt != Some(Interrupt::End) => {
                    if let Some(broken_off) = self.handle_early_order(order, &mut done) {
                        interrupt = Some(broken_off);
                        stop.cancel();
                    }
                }
                outcome = &mut launch => break outcome,
            }
        };
        drop(launch);
        match (outcome, interrupt) {
            // The process became ready just before it was cancelled; it must still be ended.
            (Ok(mut running), Some(interrupt)) => {
                self.end_process(&mut running, true).await;
                Ok(self.end_interrupted_launch(interrupt, done))
            }
            (Err(_), Some(interrupt)) => Ok(self.end_interrupted_launch(interrupt, done)),
            (Ok(running), None) => Ok(self.serve(running).await),
            (Err(failure), None) if failure.is_retryable() => Err(failure),
            (Err(failure), None) => Ok(self.fail(PluginState::Incompatible {
                why: failure.to_string(),
            })),
        }
    }

    /// Handles an order that arrives before the plugin is ready.
    fn handle_early_order(
        &mut self,
        order: Option<Order>,
        done: &mut Vec<Done>,
    ) -> Option<Interrupt> {
        match order {
            None => return Some(Interrupt::End),
            Some(Order::Demand(ticket) | Order::Start(ticket) | Order::Restart(ticket)) => {
                // The launch in progress answers these demands too.
                self.waiters.push(ticket)
            }
            Some(Order::Enable(ack) | Order::Idle(_, ack)) => {
                ack.send(()).ok();
            }
            Some(Order::Replace(order)) => order.reject(),
            Some(Order::Stop(ack) | Order::Kill(ack)) => {
                done.push(ack);
                // Acknowledged only after the process has ended.
                return Some(Interrupt::Stop);
            }
            Some(Order::Disable(ack)) => {
                done.push(ack);
                return Some(Interrupt::Disable);
            }
        }
        None
    }

    /// Waits before the next launch. `Ok(true)` if an operator orders a launch now, with a reset
    /// counter.
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
            // Orders first, because they may end the pause.
            tokio::select! { biased;
                order = self.order() => {
                    let now = matches!(order, Some(Order::Start(_) | Order::Restart(_)));
                    if let Some(interrupt) = self.handle_early_order(order, &mut done) {
                        return Err(self.end_interrupted_launch(interrupt, done));
                    }
                    if now {
                        return Ok(true);
                    }
                }
                () = &mut over => return Ok(false),
            }
        }
    }

    pub(super) async fn relaunch(&mut self, why: String, number: u32) -> Next {
        match self
            .pause(&why, number, self.settings.launch.attempts.max(1))
            .await
        {
            Ok(true) => Next::Launch,
            // Checked after the pause, because the file may have changed during it.
            Ok(false) => match self.relaunch_obstacle().await {
                Some(why) => self.fail(PluginState::Incompatible { why }),
                None => Next::Launch,
            },
            Err(next) => next,
        }
    }

    /// Returns the reason not to relaunch now: during a stage or deploy, a crashed process must not
    /// be replaced by one with other contents. Later runs and operators may launch it.
    async fn relaunch_obstacle(&self) -> Option<String> {
        if !self.programs.are_pinned() {
            return None;
        }
        let context = self.context.as_deref()?;
        let Start::Spawn(spec) = &context.start else {
            return None;
        };
        let known = self.board.file()?;
        let now = file_of(context).await;
        let same = now.is_some_and(|now| now.is_same_program(&known));
        (!same).then(|| StartFailure::Replaced(spec.executable.clone()).to_string())
    }
}
