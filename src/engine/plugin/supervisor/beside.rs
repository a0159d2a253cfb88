//! Another process beside the one that serves: it comes up, is made fit for calls, and takes the
//! old one's place, which keeps the calls that it has and is ended after them. Both belong to the
//! supervisor; the old one is looked after by a task of its own, which the supervisor ends.

use super::Supervisor;
use super::launching::file_of;
use crate::engine::plugin::board::Board;
use crate::engine::plugin::executable::FileIdentity;
use crate::engine::plugin::handle::{Fit, NotReplaced, Replacement};
use crate::engine::plugin::incident::{End, Incident, Incidents};
use crate::engine::plugin::launch::{Body, LaunchContext, Running, SETTLE, launch};
use crate::engine::plugin::life::Farewell;
use crate::engine::plugin::logs::Logs;
use crate::engine::plugin::usage::Meter;
use crate::engine::words::{Leaving, LogLevel, PluginEvent, PluginState, now_ms};
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often it is looked at what a process that was replaced still has to do.
const LOOK: Duration = Duration::from_millis(250);

/// A process that is on its way to the place of the one that serves.
pub(super) struct Beside {
    why: String,
    context: Arc<LaunchContext>,
    stop: CancellationToken,
    coming: Pin<Box<dyn Future<Output = Result<Came, NotReplaced>> + Send>>,
    done: oneshot::Sender<Result<(), NotReplaced>>,
}

/// One that came up and has the calls from now on.
pub(super) struct Came {
    running: Running,
    file: Option<FileIdentity>,
    /// Those of the old one that are left.
    users: TaskTracker,
}

/// A process that was replaced, as its supervisor holds it.
pub(in crate::engine::plugin) struct Outgoing {
    /// Whether it is to be ended now: asked to, or killed.
    end: watch::Sender<Option<bool>>,
    task: JoinHandle<()>,
}

impl Replacement {
    /// There is nothing to be replaced.
    pub(super) fn refused(self) {
        self.done.send(Err(NotReplaced::NotRunning)).ok();
    }
}

/// What becomes of the process beside; never where there is none. May be dropped and called again.
pub(super) async fn came(beside: &mut Option<Beside>) -> Result<Came, NotReplaced> {
    match beside {
        Some(beside) => beside.coming.as_mut().await,
        None => pending().await,
    }
}

/// Ends a process: asked to, and killed after the grace; or killed at once. It is gone, waited for
/// and heard out afterwards. A process of somebody else is left alone.
pub(super) async fn part(running: &mut Running, ask: bool, grace: Duration) {
    if let Body::Own { process, .. } = &mut running.body {
        if ask {
            let polite = async {
                match running.connection.way().farewell() {
                    Farewell::Terminate => process.terminate(),
                    Farewell::Call(call) => return tokio::join!(call, process.wait()).1,
                }
                process.wait().await
            };
            timeout(grace, polite).await.ok();
        }
        // Already over where it was polite.
        process.kill().await;
    }
    running.body.hear_out(&running.logs).await;
    running.connection.ended().cancel();
}

/// The connection is over, and no other will be made: a process that cannot be called is of no use.
/// Most have just ended, and it shows in a moment.
pub(super) async fn severed(body: &mut Body) -> End {
    if let Ok(exit) = timeout(SETTLE, body.ended()).await {
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

/// Comes up, and is made fit. Whatever the error, the process is gone afterwards.
async fn coming(
    context: Arc<LaunchContext>,
    generation: u64,
    stop: CancellationToken,
    fit: Fit,
) -> Result<Came, NotReplaced> {
    let (file, grace) = (file_of(&context).await, context.settings.launch.grace);
    let mut running = launch(context, 1, generation, stop.clone()).await?;
    let mut fit = fit(running.connection.clone());
    let fitted = tokio::select! { biased; // what makes it useless goes before it
        () = stop.cancelled() => Err(NotReplaced::Stopped),
        exit = running.body.ended() => Err(NotReplaced::Died(exit)),
        fitted = &mut fit => fitted,
    };
    drop(fit);
    match fitted {
        Ok(users) => Ok(Came {
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
    /// Begins to bring up another process; one at a time.
    pub(super) fn begin_beside(&mut self, order: Replacement, beside: &mut Option<Beside>) {
        let Some(context) = self.context.as_deref().filter(|_| beside.is_none()) else {
            order.done.send(Err(NotReplaced::UnderWay)).ok();
            return;
        };
        let context = Arc::new(LaunchContext {
            logs: Logs::new(self.board.id.clone(), Arc::clone(&self.board.observer)),
            beside: true,
            ..context.clone()
        });
        self.generation += 1;
        let stop = CancellationToken::new();
        let coming = coming(context.clone(), self.generation, stop.clone(), order.fit);
        *beside = Some(Beside {
            why: order.why,
            context,
            stop,
            coming: Box::pin(coming),
            done: order.done,
        });
    }

    /// The process beside has come up, or has not.
    pub(super) fn take_over(
        &mut self,
        running: &mut Running,
        beside: Option<Beside>,
        came: Result<Came, NotReplaced>,
    ) {
        let Some(beside) = beside else { return };
        let came = match came {
            Ok(came) => came,
            Err(why) => {
                beside.done.send(Err(why)).ok();
                return;
            }
        };
        let old = std::mem::replace(running, came.running);
        running.logs.follow_on(&old.logs);
        self.board.hears(&running.logs);
        self.board.executed(came.file);
        self.context = Some(Arc::new(LaunchContext {
            beside: false,
            ..(*beside.context).clone()
        }));
        if let Some(pid) = running.connection.pid {
            self.meter.watch(pid, self.board.id.clone());
        }
        self.let_go(old, running.connection.pid, beside.why, came.users);
        self.board.set(PluginState::Ready { since: now_ms() });
        beside.done.send(Ok(())).ok();
    }

    /// Hands the old process to a task that ends it after its calls.
    fn let_go(&mut self, old: Running, pid: Option<u32>, why: String, users: TaskTracker) {
        let leaving = Leaving {
            generation: old.connection.generation,
            pid: old.connection.pid,
            since: now_ms(),
            why,
            calls: users.len() as u64,
            overdue: false,
        };
        let named = |pid: Option<u32>| pid.map_or_else(|| "one".to_owned(), |p| p.to_string());
        self.board.note(
            LogLevel::Info,
            format!(
                "process {} takes the place of {}, which has {} left: {}",
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
        self.outgoing.retain(|o| !o.task.is_finished());
        let (end, ends) = watch::channel(None);
        let watcher = Watcher {
            board: Arc::clone(&self.board),
            meter: Arc::clone(&self.meter),
            incidents: self.incidents.clone(),
            grace: self.settings.launch.grace,
            drain: self.settings.drain,
            leaving,
            users,
        };
        if let Some(context) = &self.context {
            let task = context.tracker.spawn(watcher.run(old, ends));
            self.outgoing.push(Outgoing { end, task });
        }
    }

    /// Gives up the process that is on its way up. It is gone afterwards.
    pub(super) async fn call_off(&mut self, beside: Option<Beside>) {
        let Some(beside) = beside else { return };
        beside.stop.cancel();
        if let Ok(mut came) = beside.coming.await {
            part(&mut came.running, true, self.settings.launch.grace).await;
        }
        beside.done.send(Err(NotReplaced::Stopped)).ok();
    }

    /// Ends the processes that were replaced and still have calls.
    pub(super) async fn end_outgoing(&mut self, ask: bool) {
        let all = std::mem::take(&mut self.outgoing);
        for one in &all {
            one.end.send_replace(Some(ask));
        }
        for one in all {
            // Each is bounded by the grace.
            one.task.await.ok();
        }
    }
}

/// `1 call`, `2 calls`.
fn calls(n: u64) -> String {
    match n {
        0 => "no call".to_owned(),
        1 => "1 call".to_owned(),
        n => format!("{n} calls"),
    }
}

/// Looks after a process that was replaced.
struct Watcher {
    board: Arc<Board>,
    meter: Arc<Meter>,
    incidents: Incidents,
    grace: Duration,
    /// After so long with calls left it is said; it is let be.
    drain: Duration,
    leaving: Leaving,
    users: TaskTracker,
}

impl Watcher {
    async fn run(mut self, mut old: Running, mut ends: watch::Receiver<Option<bool>>) {
        let lost = old.connection.way().lost();
        let overdue = Instant::now() + self.drain;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Ends with the process, its last call, or the supervisor's word.
        let how = loop {
            tokio::select! { biased; // its end goes before what is to become of it
                exit = old.body.ended() => break self.died(&mut old, End::Exited(exit)).await,
                () = lost.cancelled() => {
                    let end = severed(&mut old.body).await;
                    break self.died(&mut old, end).await;
                }
                ordered = ends.changed() => {
                    // A supervisor that is gone has ended what it had.
                    let ask = ordered.ok().and_then(|()| *ends.borrow()).unwrap_or(true);
                    part(&mut old, ask, self.grace).await;
                    break "was ended with the plugin".to_owned();
                }
                () = self.users.wait() => {
                    part(&mut old, true, self.grace).await;
                    break "has ended after its last call".to_owned();
                }
                _ = look.tick() => self.look(Instant::now() >= overdue),
            }
        };
        if let Some(pid) = self.leaving.pid {
            self.meter.forget(pid);
            self.board
                .note(LogLevel::Info, format!("process {pid}, replaced, {how}"));
        }
        self.board.observer.event(PluginEvent::Left {
            plugin: self.board.id.clone(),
            generation: self.leaving.generation,
            how,
        });
    }

    /// Says what it still has to do, where that has changed.
    fn look(&mut self, overdue: bool) {
        let now = Leaving {
            calls: self.users.len() as u64,
            overdue,
            ..self.leaving.clone()
        };
        if now == self.leaving {
            return;
        }
        if overdue && !self.leaving.overdue {
            let pid = now.pid.unwrap_or_default();
            self.board.note(
                LogLevel::Warn,
                format!(
                    "process {pid} was replaced {} s ago and still has {}; it is ended when they are over",
                    self.drain.as_secs(),
                    calls(now.calls)
                ),
            );
        }
        self.leaving = now.clone();
        self.board.observer.event(PluginEvent::Leaves {
            plugin: self.board.id.clone(),
            leaving: now,
        });
    }

    /// It ended by itself: the calls that it had are lost, and point to one incident.
    async fn died(&self, old: &mut Running, end: End) -> String {
        old.body.hear_out(&old.logs).await;
        let incident = Incident::happens(&self.board, &self.incidents, old, end);
        old.connection.ended().cancel();
        incident.text.clone()
    }
}
