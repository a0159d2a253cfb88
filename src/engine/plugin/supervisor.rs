//! One task for each plugin process, which alone owns its state, and the handle to it, in the manner of systemctl:
//! start, stop, restart, disable, watch. All supervisors of an engine are made by one [`Plugins`].

use super::board::Board;
use super::incident::Incident;
use super::launch::{Body, Connection, LaunchContext, Running, launch};
use super::logs::now_ms;
use super::record::{LogLine, PluginFound, PluginId, PluginObserver, PluginState, UnixMs};
use super::settings::{PluginSettings, Start, backoff_after};
use super::usage::Meter;
use proto::plugin::Empty;
use proto::plugin::grpc_controller_client::GrpcControllerClient;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Orders that may wait for a supervisor.
const ORDERS: usize = 64;
/// Incidents of one plugin that are kept.
const INCIDENTS: usize = 16;

/// Why a plugin cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PluginError {
    #[error("the plugin {plugin} was given up after {attempts} launches: {why}")]
    GaveUp { plugin: PluginId, attempts: u32, why: String },
    #[error("the plugin {plugin} cannot be used: {why}")]
    Incompatible { plugin: PluginId, why: String },
    #[error("the plugin {plugin} cannot be had: {why}")]
    Rejected { plugin: PluginId, why: String },
    #[error("the plugin {plugin} is disabled; enable it to use it")]
    Disabled { plugin: PluginId },
    #[error("the plugin {plugin} was stopped before it was ready")]
    Stopped { plugin: PluginId },
    #[error("the plugin {plugin} is not supervised any more")]
    Gone { plugin: PluginId },
}

type Ticket = oneshot::Sender<Result<Connection, PluginError>>;
type Done = oneshot::Sender<()>;

/// What is ordered, with the channel for the answer.
enum Order {
    /// Somebody needs it: start it unless it has failed for good.
    Demand(Ticket),
    /// An operator wants it: start it whatever was before.
    Start(Ticket),
    Restart(Ticket),
    Stop(Done),
    Kill(Done),
    Disable(Done),
    Enable(Done),
}

/// The handle to one plugin. Cheap to clone.
#[derive(Clone)]
pub struct Plugin {
    board: Arc<Board>,
    orders: mpsc::Sender<Order>,
    incidents: watch::Receiver<VecDeque<Arc<Incident>>>,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("id", &self.board.id).field("state", &self.state()).finish_non_exhaustive()
    }
}

impl Plugin {
    /// Its name among the plugins of the engine.
    #[must_use]
    pub fn id(&self) -> &PluginId {
        &self.board.id
    }

    /// What it is and where it was found; the dialect once it is known.
    #[must_use]
    pub fn found(&self) -> PluginFound {
        self.board.found.borrow().clone()
    }

    #[must_use]
    pub fn state(&self) -> PluginState {
        self.board.current()
    }

    /// The state, and every change of it.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<PluginState> {
        self.board.state.subscribe()
    }

    /// The newest log lines, at most `count` (some hundred are kept), oldest first.
    #[must_use]
    pub fn last_lines(&self, count: usize) -> Vec<LogLine> {
        self.board.logs.last(count)
    }

    /// A connection to the plugin, which is launched if it does not run, and waited for. Bounded by launches, their
    /// deadlines and the pauses between them.
    ///
    /// # Errors
    /// It failed for good (now or before), is disabled, or was stopped meanwhile.
    pub async fn ready(&self) -> Result<Connection, PluginError> {
        self.connect(Order::Demand).await
    }

    /// As [`Plugin::ready`], and tries anew a plugin that had failed for good.
    ///
    /// # Errors
    /// As [`Plugin::ready`].
    pub async fn start(&self) -> Result<Connection, PluginError> {
        self.connect(Order::Start).await
    }

    /// Stops it if it runs, and starts it with a fresh count of launches.
    ///
    /// # Errors
    /// As [`Plugin::ready`].
    pub async fn restart(&self) -> Result<Connection, PluginError> {
        self.connect(Order::Restart).await
    }

    /// Asks the process to end, kills it where it does not, and returns when it is gone. The next demand starts it again.
    pub async fn stop(&self) {
        self.tell(Order::Stop).await;
    }

    /// Kills the process and its group without asking, and returns when it is gone.
    pub async fn kill(&self) {
        self.tell(Order::Kill).await;
    }

    /// Stops it, and refuses every demand until it is enabled.
    pub async fn disable(&self) {
        self.tell(Order::Disable).await;
    }

    /// Takes back [`Plugin::disable`]. Starts nothing.
    pub async fn enable(&self) {
        self.tell(Order::Enable).await;
    }

    /// The death of the process with that generation, waited for `within`: a call that lost its connection usually
    /// knows before the process is gone.
    pub async fn incident(&self, generation: u64, within: Duration) -> Option<Arc<Incident>> {
        let mut incidents = self.incidents.clone();
        let of = |all: &VecDeque<Arc<Incident>>| all.iter().find(|i| i.generation == generation).cloned();
        let seen = timeout(within, incidents.wait_for(|all| of(all).is_some())).await.ok()?.ok()?;
        of(&seen)
    }

    async fn connect(&self, order: fn(Ticket) -> Order) -> Result<Connection, PluginError> {
        let gone = || PluginError::Gone { plugin: self.board.id.clone() };
        let (ticket, answer) = oneshot::channel();
        self.orders.send(order(ticket)).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    async fn tell(&self, order: fn(Done) -> Order) {
        let (done, answer) = oneshot::channel();
        // A supervisor that is gone has stopped its process: there is nothing left to do.
        if self.orders.send(order(done)).await.is_ok() {
            answer.await.ok();
        }
    }
}

/// All plugins of an engine: makes their supervisors, owns their tasks, ends them.
#[derive(Clone)]
pub struct Plugins {
    shared: Arc<Shared>,
}

struct Shared {
    settings: PluginSettings,
    observer: Arc<dyn PluginObserver>,
    tracker: TaskTracker,
    cancel: CancellationToken,
    meter: Arc<Meter>,
    plugins: Mutex<Vec<Plugin>>,
}

impl Plugins {
    /// Starts with no plugin. Needs a runtime.
    #[must_use]
    pub fn start(settings: PluginSettings, observer: Arc<dyn PluginObserver>) -> Self {
        let (tracker, cancel, meter) = (TaskTracker::new(), CancellationToken::new(), Arc::new(Meter::default()));
        tracker.spawn(Arc::clone(&meter).run(Arc::clone(&observer), settings.usage_every, cancel.clone()));
        Self { shared: Arc::new(Shared { settings, observer, tracker, cancel, meter, plugins: Mutex::default() }) }
    }

    fn plugins(&self) -> MutexGuard<'_, Vec<Plugin>> {
        self.shared.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings that plugins get where none of their own are given.
    #[must_use]
    pub fn settings(&self) -> &PluginSettings {
        &self.shared.settings
    }

    /// Takes a plugin under supervision. Launches nothing yet.
    pub fn add(&self, id: PluginId, found: PluginFound, start: Start) -> Plugin {
        self.add_with(id, found, start, self.shared.settings.clone())
    }

    /// As [`Plugins::add`], with settings of its own.
    pub fn add_with(&self, id: PluginId, found: PluginFound, start: Start, settings: PluginSettings) -> Plugin {
        self.supervise(id, found, Some(start), settings)
    }

    /// Lists a plugin that cannot be had, so that it is seen and demands for it are answered with the reason.
    pub fn add_rejected(&self, id: PluginId, found: PluginFound, why: String) -> Plugin {
        let plugin = self.supervise(id, found, None, self.shared.settings.clone());
        plugin.board.set(PluginState::Rejected { why });
        plugin
    }

    fn supervise(&self, id: PluginId, found: PluginFound, start: Option<Start>, settings: PluginSettings) -> Plugin {
        let shared = &self.shared;
        let board = Board::new(id, found, Arc::clone(&shared.observer));
        let (orders, receiver) = mpsc::channel(ORDERS);
        let (incidents_sender, incidents) = watch::channel(VecDeque::new());
        let supervisor = Supervisor {
            context: start.map(|start| {
                let (board, tracker) = (Arc::clone(&board), shared.tracker.clone());
                Arc::new(LaunchContext { board, settings: settings.clone(), start, tracker })
            }),
            board: Arc::clone(&board),
            settings,
            orders: receiver,
            cancel: shared.cancel.child_token(),
            meter: Arc::clone(&shared.meter),
            incidents: incidents_sender,
            waiters: Vec::new(),
            generation: 0,
            crashes: VecDeque::new(),
        };
        shared.tracker.spawn(supervisor.run());
        let plugin = Plugin { board, orders, incidents };
        self.plugins().push(plugin.clone());
        plugin
    }

    /// Every plugin, in the order of adding.
    #[must_use]
    pub fn list(&self) -> Vec<Plugin> {
        self.plugins().clone()
    }

    /// One plugin by its id.
    #[must_use]
    pub fn get(&self, id: &PluginId) -> Option<Plugin> {
        self.plugins().iter().find(|p| p.id() == id).cloned()
    }

    /// Stops a plugin and forgets it; handles that are left get [`PluginError::Gone`].
    pub async fn remove(&self, id: &PluginId) {
        let found = {
            let mut plugins = self.plugins();
            plugins.iter().position(|p| p.id() == id).map(|at| plugins.remove(at))
        };
        if let Some(plugin) = found {
            plugin.disable().await;
        }
    }

    /// Stops all plugins, all at once, and returns when every process is gone. Nothing can be started afterwards.
    pub async fn shutdown(&self) {
        self.shared.cancel.cancel();
        self.shared.tracker.close();
        self.shared.tracker.wait().await;
        self.plugins().clear();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

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

struct Supervisor {
    context: Option<Arc<LaunchContext>>,
    board: Arc<Board>,
    settings: PluginSettings,
    orders: mpsc::Receiver<Order>,
    cancel: CancellationToken,
    meter: Arc<Meter>,
    incidents: watch::Sender<VecDeque<Arc<Incident>>>,
    /// Those who wait for the plugin to be ready.
    waiters: Vec<Ticket>,
    generation: u64,
    crashes: VecDeque<Instant>,
}

impl Supervisor {
    async fn run(mut self) {
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
        self.answer_all(&Err(PluginError::Gone { plugin: self.board.id.clone() }));
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
            PluginState::GaveUp { why } => PluginError::GaveUp { plugin, attempts: self.settings.launch.attempts, why },
            PluginState::Incompatible { why } => PluginError::Incompatible { plugin, why },
            PluginState::Rejected { why } => PluginError::Rejected { plugin, why },
            PluginState::Disabled => PluginError::Disabled { plugin },
            _ => return None,
        })
    }

    async fn idle(&mut self) -> Next {
        let Some(order) = self.order().await else { return Next::End };
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

    /// Launches until the plugin is ready, the limit is reached, or something says that more launches are useless.
    async fn launches(&mut self, first: u32) -> Next {
        let limit = self.settings.launch.attempts.max(1);
        let mut number = first;
        loop {
            let why = match self.one_launch(number, limit).await {
                Ok(next) => return next,
                Err(why) => why,
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
        let error = self.refusal().unwrap_or_else(|| PluginError::Gone { plugin: self.board.id.clone() });
        self.answer_all(&Err(error));
        Next::Idle
    }

    /// One launch, and the life of the process if it comes up. The error is why another launch is worth a try.
    async fn one_launch(&mut self, number: u32, limit: u32) -> Result<Next, String> {
        let Some(context) = self.context.clone() else { return Ok(Next::Idle) };
        self.board.set(PluginState::Launching { attempt: number, limit });
        self.generation += 1;
        let stop = CancellationToken::new();
        // On the heap: the longest-lived future of the supervisor need not be part of its every state.
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
            (Ok(running), None) => Ok(self.ready(running).await),
            (Err(failure), None) if failure.is_retryable() => Err(failure.to_string()),
            (Err(failure), None) => Ok(self.fail(PluginState::Incompatible { why: failure.to_string() })),
        }
    }

    /// An order that comes while the plugin is on its way up.
    fn while_not_ready(&mut self, order: Option<Order>, done: &mut Vec<Done>) -> Option<Interrupt> {
        match order {
            None => return Some(Interrupt::End),
            Some(Order::Demand(ticket) | Order::Start(ticket) | Order::Restart(ticket)) => self.waiters.push(ticket),
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
            Interrupt::Stop | Interrupt::End => (PluginState::Stopped, PluginError::Stopped { plugin }),
        };
        self.board.set(state);
        self.answer_all(&Err(error));
        for ack in done {
            ack.send(()).ok();
        }
        if interrupt == Interrupt::End { Next::End } else { Next::Idle }
    }

    /// Waits before the next launch. `Ok(true)` when an operator wants it now, with a fresh count.
    async fn pause(&mut self, why: &str, number: u32, limit: u32) -> Result<bool, Next> {
        let pause = backoff_after(&self.settings.launch, number);
        let until = now_ms() + UnixMs::try_from(pause.as_millis()).unwrap_or(UnixMs::MAX / 2);
        self.board.set(PluginState::Backoff { until, attempt: number, limit, why: why.to_owned() });
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
        match self.pause(&why, number, self.settings.launch.attempts.max(1)).await {
            Ok(_) => Next::Launch,
            Err(next) => next,
        }
    }

    /// The life of a process that can be called.
    async fn ready(&mut self, mut running: Running) -> Next {
        if let Some(pid) = running.connection.pid {
            self.meter.watch(pid, self.board.id.clone());
        }
        self.board.set(PluginState::Ready { since: now_ms() });
        self.answer_all(&Ok(running.connection.clone()));
        loop {
            // The end of the process first, so that nobody is handed a connection that is known to be dead.
            let order = tokio::select! { biased;
                exit = running.body.ended() => return self.crashed(running, exit).await,
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

    /// Ends the process: asked to, and killed after the grace; or killed at once. It is gone and waited for afterwards.
    /// A process of somebody else is left alone.
    async fn end_process(&mut self, running: &mut Running, ask: bool) {
        self.board.set(PluginState::Draining);
        if let Body::Own { process, .. } = &mut running.body {
            let channel = running.connection.channel.clone();
            // Plugins end inside the handler of this call, so whatever comes back means that it was asked.
            let asked = async move { GrpcControllerClient::new(channel).shutdown(Empty {}).await.ok() };
            if ask {
                let polite = async { tokio::join!(asked, process.wait()) };
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
        running.body.hear_out().await;
        running.connection.ended().cancel();
    }

    async fn crashed(&mut self, mut running: Running, exit: super::failure::Exit) -> Next {
        // First hear it out: the reason is in its last lines.
        running.body.hear_out().await;
        let pid = running.connection.pid.unwrap_or_default();
        let incident = Arc::new(Incident::of(&self.board, running.connection.generation, pid, exit));
        self.board.observer.event(incident.event());
        self.incidents.send_modify(|all| {
            if all.len() == INCIDENTS {
                all.pop_front();
            }
            all.push_back(Arc::clone(&incident));
        });
        self.after_end(&mut running).await;
        let why = incident.text.clone();
        self.board.set(PluginState::Crashed { code: exit.code, signal: exit.signal, why: why.clone() });
        let window = self.settings.crash_window;
        self.crashes.retain(|at| at.elapsed() <= window);
        self.crashes.push_back(Instant::now());
        if !self.settings.relaunch_after_crash {
            return Next::Idle;
        }
        if self.crashes.len() >= self.settings.crash_limit.max(1) {
            let why = format!("died {} times within {} s while it was in use; the last time: {why}", self.crashes.len(), window.as_secs());
            return self.fail(PluginState::GaveUp { why });
        }
        Next::Relaunch { why, number: running.number }
    }
}
