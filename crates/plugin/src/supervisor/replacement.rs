//! Replacement of the serving process: a new process is launched beside it, configured, and then
//! gets all new calls. The old process keeps its calls and ends after them. The supervisor owns
//! both; a separate task watches the old one.

use super::Supervisor;
use super::launching::file_of;
use crate::executable::FileIdentity;
use crate::handle::{Fit, NotReplaced, Replacement};
use crate::incident::{End, Incident, Incidents};
use crate::launch::{Body, EXIT_GRACE, LaunchContext, Running, launch};
use crate::lifecycle::EndRequest;
use crate::logs::Logs;
use crate::status::PluginStatus;
use crate::usage::Meter;
use model::{DrainingProcess, LogLevel, PluginEvent, PluginState, now_ms};
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Interval at which the remaining calls of a replaced process are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Replacement process that is being launched.
pub(super) struct Replacing {
    why: String,
    context: Arc<LaunchContext>,
    stop: CancellationToken,
    startup: Pin<Box<dyn Future<Output = Result<Started, NotReplaced>> + Send>>,
    done: oneshot::Sender<Result<(), NotReplaced>>,
}

/// Replacement process that is ready and gets all new calls.
pub(super) struct Started {
    running: Running,
    file: Option<FileIdentity>,
    /// Remaining calls of the old process.
    users: TaskTracker,
}

/// Handle of the supervisor to a replaced process.
pub(crate) struct Outgoing {
    /// Order to end now: `true` asks the process, `false` kills it.
    end_order: watch::Sender<Option<bool>>,
    task: JoinHandle<()>,
}

impl Replacement {
    /// Rejects the request, because no process is serving.
    pub(super) fn reject(self) {
        self.done.send(Err(NotReplaced::NotRunning)).ok();
    }
}

/// Waits for the replacement process; forever without one. Cancel-safe.
pub(super) async fn wait_for_replacement(
    beside: &mut Option<Replacing>,
) -> Result<Started, NotReplaced> {
    match beside {
        Some(beside) => beside.startup.as_mut().await,
        None => pending().await,
    }
}

/// Ends a process: asks it and kills it after the grace period, or kills it at once. Afterwards it
/// is reaped and its output is read. A process started by others is left running.
pub(super) async fn part(running: &mut Running, ask: bool, grace: Duration) {
    if let Body::Own { process, .. } = &mut running.body {
        if ask {
            // The call and the exit are awaited together: a plugin may exit without answering it.
            let polite = async {
                match running.connection.raw_link().farewell() {
                    EndRequest::Terminate => process.terminate(),
                    EndRequest::Call(call) => return tokio::join!(call, process.wait()).1,
                }
                process.wait().await
            };
            timeout(grace, polite).await.ok();
        }
        // No-op if the process has ended within the grace period.
        process.kill().await;
    }
    running.body.read_remaining(&running.logs).await;
    // Last, so that the log is complete when users of the connection wake up.
    running.connection.end_token().cancel();
}

/// Handles a lost connection. It is not re-established, so a process that does not end within a
/// short time is killed; most have just ended.
pub(super) async fn end_of_lost_connection(body: &mut Body) -> End {
    if let Ok(exit) = timeout(EXIT_GRACE, body.wait_for_exit()).await {
        return End::Exited(exit);
    }
    let ended = match body {
        Body::Own { process, .. } => {
            process.kill().await;
            true
        }
        Body::Attached { .. } => false,
    };
    End::CutOff { ended }
}

/// Launches and configures the replacement. After an error, the process has ended.
async fn launch_replacement(
    context: Arc<LaunchContext>,
    generation: u64,
    stop: CancellationToken,
    fit: Fit,
) -> Result<Started, NotReplaced> {
    let (file, grace) = (file_of(&context).await, context.settings.launch.grace);
    let mut running = launch(context, 1, generation, stop.clone()).await?;
    let mut fit = fit(running.connection.clone());
    // A stop or an exit makes the result of `fit` useless, so check these first.
    let fitted = tokio::select! { biased;
        () = stop.cancelled() => Err(NotReplaced::Stopped),
        exit = running.body.wait_for_exit() => Err(NotReplaced::Died(exit)),
        fitted = &mut fit => fitted,
    };
    // Releases the locks that an unfinished `fit` still holds.
    drop(fit);
    match fitted {
        Ok(users) => Ok(Started {
            running,
            file,
            users,
        }),
        Err(why) => {
            part(&mut running, true, grace).await;
            Err(why)
        }
    }
}

impl Supervisor {
    /// Starts the launch of a replacement; one at a time.
    pub(super) fn begin_replacement(&mut self, order: Replacement, beside: &mut Option<Replacing>) {
        let Some(context) = self.context.as_deref().filter(|_| beside.is_none()) else {
            order.done.send(Err(NotReplaced::UnderWay)).ok();
            return;
        };
        let context = Arc::new(LaunchContext {
            logs: Logs::new(self.board.id.clone(), Arc::clone(&self.board.observer)),
            is_additional: true,
            ..context.clone()
        });
        // Both processes are alive, so incidents need to tell them apart.
        self.generation += 1;
        // A separate token, because cancelling the replacement must not affect the serving process.
        let stop = CancellationToken::new();
        let coming = launch_replacement(
            context.clone(),
            self.generation,
            stop.clone(),
            order.configure,
        );
        *beside = Some(Replacing {
            why: order.why,
            context,
            stop,
            startup: Box::pin(coming),
            done: order.done,
        });
    }

    /// Completes the replacement, or reports why it failed.
    pub(super) fn finish_replacement(
        &mut self,
        running: &mut Running,
        beside: Option<Replacing>,
        came: Result<Started, NotReplaced>,
    ) {
        let Some(beside) = beside else { return };
        let came = match came {
            Ok(came) => came,
            Err(why) => {
                beside.done.send(Err(why)).ok();
                return;
            }
        };
        // From here on the supervisor watches the new process; the old one gets its own watcher.
        let old = std::mem::replace(running, came.running);
        // Publish log and file before the ready state, so that observers of that state see the new
        // ones.
        running.logs.prepend_replaced(&old.logs);
        self.board.replace_logs(&running.logs);
        self.board.executed(came.file);
        // Later relaunches write to the log of the new process.
        self.context = Some(Arc::new(LaunchContext {
            is_additional: false,
            ..(*beside.context).clone()
        }));
        if let Some(pid) = running.connection.pid {
            self.meter.watch(pid, self.board.id.clone());
        }
        self.drain(old, running.connection.pid, beside.why, came.users);
        self.board.set(PluginState::Ready { since: now_ms() });
        beside.done.send(Ok(())).ok();
    }

    /// Passes the old process to a task that ends it after its calls.
    fn drain(&mut self, old: Running, pid: Option<u32>, why: String, users: TaskTracker) {
        let leaving = DrainingProcess {
            generation: old.connection.generation,
            pid: old.connection.pid,
            since: now_ms(),
            why,
            calls: users.len() as u64,
            overdue: false,
        };
        let named = |pid: Option<u32>| pid.map_or_else(|| "one".to_owned(), |p| p.to_string());
        self.board.log_engine_line(
            LogLevel::Info,
            format!(
                "process {} replaces {}, which has {} left: {}",
                named(pid),
                named(leaving.pid),
                calls(leaving.calls),
                leaving.why
            ),
        );
        self.board.observer.event(PluginEvent::Replaced {
            plugin: self.board.id.clone(),
            pid,
            leaving: leaving.clone(),
        });
        // Bounds the list, because replacements may recur for days.
        self.draining.retain(|o| !o.task.is_finished());
        let (end, ends) = watch::channel(None);
        let watcher = Watcher {
            board: Arc::clone(&self.board),
            meter: Arc::clone(&self.meter),
            incidents: self.incidents.clone(),
            grace: self.settings.launch.grace,
            drain: self.settings.drain,
            draining: leaving,
            users,
        };
        if let Some(context) = &self.context {
            let task = context.tracker.spawn(watcher.run(old, ends));
            self.draining.push(Outgoing {
                end_order: end,
                task,
            });
        }
    }

    /// Cancels the replacement. Its process has ended afterwards.
    pub(super) async fn cancel_replacement(&mut self, beside: Option<Replacing>) {
        let Some(beside) = beside else { return };
        beside.stop.cancel();
        // It may have become ready before it noticed the cancellation.
        if let Ok(mut came) = beside.startup.await {
            part(&mut came.running, true, self.settings.launch.grace).await;
        }
        beside.done.send(Err(NotReplaced::Stopped)).ok();
    }

    /// Ends the replaced processes that still have calls.
    pub(super) async fn end_draining(&mut self, ask: bool) {
        let all = std::mem::take(&mut self.draining);
        for one in &all {
            // Order all of them first, so that they end in parallel.
            one.end_order.send_replace(Some(ask));
        }
        for one in all {
            // Bounded by the grace period.
            one.task.await.ok();
        }
    }
}

/// Formats the number of calls: `1 call`, `2 calls`.
fn calls(n: u64) -> String {
    match n {
        0 => "no calls".to_owned(),
        1 => "1 call".to_owned(),
        n => format!("{n} calls"),
    }
}

/// Task that watches a replaced process until it ends.
struct Watcher {
    board: Arc<PluginStatus>,
    meter: Arc<Meter>,
    incidents: Incidents,
    grace: Duration,
    /// Time after which remaining calls are reported; the process is not killed for them.
    drain: Duration,
    draining: DrainingProcess,
    users: TaskTracker,
}

impl Watcher {
    async fn run(mut self, mut old: Running, mut ends: watch::Receiver<Option<bool>>) {
        let lost = old.connection.raw_link().lost_token();
        let overdue = Instant::now() + self.drain;
        let mut look = interval(CHECK_INTERVAL);
        // After a suspend, one check is enough.
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Ends with the process, with its last call, or on the supervisor's order.
        let how = loop {
            // Check for its end before orders and the end of its calls.
            tokio::select! { biased;
                exit = old.body.wait_for_exit() => break self.record_crash(&mut old, End::Exited(exit)).await,
                () = lost.cancelled() => {
                    let end = end_of_lost_connection(&mut old.body).await;
                    break self.record_crash(&mut old, end).await;
                }
                ordered = ends.changed() => {
                    // A supervisor that has gone counts as an order to end.
                    let ask = ordered.ok().and_then(|()| *ends.borrow()).unwrap_or(true);
                    part(&mut old, ask, self.grace).await;
                    break "stopped with the plugin".to_owned();
                }
                () = self.users.wait() => {
                    part(&mut old, true, self.grace).await;
                    break "stopped after its last call".to_owned();
                }
                _ = look.tick() => self.report_remaining_calls(Instant::now() >= overdue),
            }
        };
        if let Some(pid) = self.draining.pid {
            self.meter.forget(pid);
            self.board
                .log_engine_line(LogLevel::Info, format!("replaced process {pid}: {how}"));
        }
        self.board.observer.event(PluginEvent::Left {
            plugin: self.board.id.clone(),
            generation: self.draining.generation,
            how,
        });
    }

    /// Reports the remaining calls if they have changed.
    fn report_remaining_calls(&mut self, overdue: bool) {
        let now = DrainingProcess {
            calls: self.users.len() as u64,
            overdue,
            ..self.draining.clone()
        };
        // Avoids an event per check while nothing changes.
        if now == self.draining {
            return;
        }
        // Reported once; its calls may have side effects, so it is not killed.
        if overdue && !self.draining.overdue {
            let pid = now.pid.unwrap_or_default();
            self.board.log_engine_line(
                LogLevel::Warn,
                format!(
                    "process {pid} was replaced {} s ago and still has {}; it is stopped when they end",
                    self.drain.as_secs(),
                    calls(now.calls)
                ),
            );
        }
        self.draining = now.clone();
        self.board.observer.event(PluginEvent::Leaves {
            plugin: self.board.id.clone(),
            leaving: now,
        });
    }

    /// Records an incident for the crash; the calls that it interrupted refer to it.
    async fn record_crash(&self, old: &mut Running, end: End) -> String {
        old.body.read_remaining(&old.logs).await;
        let incident = Incident::record(&self.board, &self.incidents, old, end);
        old.connection.end_token().cancel();
        incident.text.clone()
    }
}
