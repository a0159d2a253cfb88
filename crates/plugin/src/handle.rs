//! Handle to one plugin, with the commands of systemctl: start, stop, restart, disable, enable. It
//! keeps no state; it sends orders to the supervisor, which owns the process.

use super::connection::Connection;
use super::executable::FileIdentity;
use super::failure::{Exit, StartFailure};
use super::find::HashCache;
use super::incident::Incident;
use super::status::PluginStatus;
use super::usage::Meter;
use calls::ProviderError;
use model::{LogLevel, LogLine, PluginEvent, PluginFound, PluginId, PluginState, Renewal, Usage};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Reason why a plugin cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PluginError {
    #[error("the plugin {plugin} was given up after {attempts} launches: {why}")]
    GaveUp {
        plugin: PluginId,
        attempts: u32,
        why: String,
    },
    #[error("the plugin {plugin} cannot be used: {why}")]
    Incompatible { plugin: PluginId, why: String },
    #[error("the plugin {plugin} is not available: {why}")]
    Rejected { plugin: PluginId, why: String },
    #[error("the plugin {plugin} is disabled; enable it on the Plugins screen of the console")]
    Disabled { plugin: PluginId },
    #[error("the plugin {plugin} was stopped before it was ready")]
    Stopped { plugin: PluginId },
    #[error(
        "flightdeck no longer runs the plugin {plugin}: flightdeck is shutting down, or another version has replaced the plugin"
    )]
    Gone { plugin: PluginId },
}

/// Reason why the serving process was not replaced; it continues to serve.
#[derive(Debug, Error)]
pub enum NotReplaced {
    #[error("the plugin is not running")]
    NotRunning,
    #[error("another replacement process is already starting")]
    UnderWay,
    #[error("the plugin was stopped during the replacement")]
    Stopped,
    #[error("flightdeck no longer runs the plugin")]
    Gone,
    #[error(transparent)]
    Launch(#[from] StartFailure),
    #[error("the new process ended before its first call: {0}")]
    Died(Exit),
    /// A call of the configuration of the new process failed.
    #[error(transparent)]
    Call(#[from] ProviderError),
    /// The deadline passed, given as text.
    #[error("the new process was not ready for calls within {0}")]
    Late(String),
    /// An open resource, such as an ephemeral one, cannot move to another process.
    #[error("the current process has opened a resource that cannot move to another process")]
    InUse,
}

pub(super) type Ticket = oneshot::Sender<Result<Connection, PluginError>>;
pub(super) type Done = oneshot::Sender<()>;

/// Order to a supervisor, with a channel for the answer.
pub(super) enum Order {
    /// Start for a caller, unless the plugin has failed for good.
    Demand(Ticket),
    /// Start for the operator, even after a final failure.
    Start(Ticket),
    Restart(Ticket),
    Stop(Done),
    Kill(Done),
    Disable(Done),
    Enable(Done),
    /// End the idle process, for a displayed reason, until the next demand.
    Idle(String, Done),
    /// Replace the serving process with a new one.
    Replace(Replacement),
}

/// Configures a new process and redirects calls to it. The result tracks the remaining calls of the
/// old process, which gets no new ones. On error, the old process continues to serve.
pub type Fit = Box<
    dyn FnOnce(Connection) -> Pin<Box<dyn Future<Output = Result<TaskTracker, NotReplaced>> + Send>>
        + Send,
>;

/// Request to replace the serving process.
pub(super) struct Replacement {
    /// Reason, for display.
    pub(super) why: String,
    pub(super) configure: Fit,
    pub(super) done: oneshot::Sender<Result<(), NotReplaced>>,
}

/// Handle to one plugin. Cheap to clone.
#[derive(Clone)]
pub struct Plugin {
    pub(super) board: Arc<PluginStatus>,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) incidents: watch::Receiver<VecDeque<Arc<Incident>>>,
    pub(super) meter: Arc<Meter>,
    pub(super) hashes: Arc<HashCache>,
    /// Path of the executable; `None` if flightdeck does not launch it.
    pub(super) executable: Option<PathBuf>,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("id", &self.board.id)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Plugin {
    /// Returns the id of the plugin within the engine.
    #[must_use]
    pub fn id(&self) -> &PluginId {
        &self.board.id
    }

    /// Returns the plugin's description and origin; the dialect is set once known.
    #[must_use]
    pub fn description(&self) -> PluginFound {
        self.board.description.borrow().clone()
    }

    #[must_use]
    pub fn state(&self) -> PluginState {
        self.board.current()
    }

    /// Subscribes to the state and all its changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<PluginState> {
        self.board.state.subscribe()
    }

    /// Returns the newest log lines, at most `count` (some hundred are kept), oldest first.
    #[must_use]
    pub fn last_lines(&self, count: usize) -> Vec<LogLine> {
        self.board.logs().last(count)
    }

    /// Returns the incident with this id, if it is among the newest ones.
    #[must_use]
    pub fn incident_named(&self, id: &str) -> Option<Arc<Incident>> {
        self.incidents.borrow().iter().find(|i| i.id == id).cloned()
    }

    /// Waits, at most `within`, until all output written so far is in the log.
    pub async fn wait_until_logged(&self, within: Duration) {
        self.board.logs().pipes.wait_until_drained(within).await;
    }

    /// Returns a connection to the plugin, launching it if it does not run. Bounded by the number
    /// of launches, their deadlines and the pauses between them.
    ///
    /// # Errors
    /// The plugin failed for good (now or before), is disabled, or was stopped in the meantime.
    pub async fn ready(&self) -> Result<Connection, PluginError> {
        self.connect(Order::Demand).await
    }

    /// Connects as [`Plugin::ready`] does, and retries a plugin that had failed for good.
    ///
    /// # Errors
    /// As [`Plugin::ready`].
    pub async fn start(&self) -> Result<Connection, PluginError> {
        self.connect(Order::Start).await
    }

    /// Stops the plugin if it runs, and starts it with a reset launch counter.
    ///
    /// # Errors
    /// As [`Plugin::ready`].
    pub async fn restart(&self) -> Result<Connection, PluginError> {
        self.connect(Order::Restart).await
    }

    /// Asks the process to end, kills it after the grace period, and returns when it has ended. The
    /// next demand starts it again.
    pub async fn stop(&self) {
        self.send_order(Order::Stop).await;
    }

    /// Kills the process and its group without asking, and returns when it has ended.
    pub async fn kill(&self) {
        self.send_order(Order::Kill).await;
    }

    /// Stops the plugin, and rejects every demand until it is enabled.
    pub async fn disable(&self) {
        self.send_order(Order::Disable).await;
    }

    /// Reverts [`Plugin::disable`]. Launches nothing.
    pub async fn enable(&self) {
        self.send_order(Order::Enable).await;
    }

    /// Ends the idle process and reports the reason; the next demand starts it again.
    pub async fn end_idle(&self, why: String) {
        self.send_order(|done| Order::Idle(why, done)).await;
    }

    /// Launches one process beside the serving one, and redirects calls to it once `fit` has
    /// succeeded. The old process ends after its remaining calls, which may be after this returns.
    ///
    /// # Errors
    /// The replacement failed; the old process continues to serve.
    pub async fn replace(&self, why: String, fit: Fit) -> Result<(), NotReplaced> {
        let (done, answer) = oneshot::channel();
        let order = Order::Replace(Replacement {
            why,
            configure: fit,
            done,
        });
        let sent = self.orders.send(order).await;
        sent.map_err(|_| NotReplaced::Gone)?;
        answer.await.unwrap_or(Err(NotReplaced::Gone))
    }

    /// Returns the current file of the executable if its contents differ from those of the serving
    /// process.
    pub async fn changed_file(&self) -> Option<FileIdentity> {
        let (known, now) = self.files().await?;
        (!now.is_same_program(&known)).then_some(now)
    }

    /// Returns true if the file has changed in any way since it was executed, including its mode.
    pub async fn file_is_touched(&self) -> bool {
        self.files().await.is_some_and(|(known, now)| known != now)
    }

    async fn files(&self) -> Option<(FileIdentity, FileIdentity)> {
        let (path, known) = (self.executable.as_ref()?, self.board.file()?);
        Some((known, FileIdentity::of(path, &self.hashes).await?))
    }

    /// Returns the last measured resource usage of a process of the plugin.
    pub fn usage(&self, pid: u32) -> Option<Usage> {
        self.meter.last_measurement(pid)
    }

    /// Reports the progress of a replacement; `None` clears it.
    pub fn report_replacement(&self, renewal: Option<Renewal>) {
        let plugin = self.board.id.clone();
        self.board
            .observer
            .event(PluginEvent::Renewal { plugin, renewal });
    }

    /// Adds a line of the engine to the plugin's log.
    pub fn log_engine_line(&self, level: LogLevel, text: String) {
        self.board.log_engine_line(level, text);
    }

    /// Returns the incident of the process with this generation, waiting at most `within`: a call
    /// usually loses its connection before the exit of the process is recorded.
    pub async fn incident(&self, generation: u64, within: Duration) -> Option<Arc<Incident>> {
        let mut incidents = self.incidents.clone();
        let of = |all: &VecDeque<Arc<Incident>>| {
            all.iter().find(|i| i.generation == generation).cloned()
        };
        // `wait_for` also checks the current value, so an incident recorded before the call is
        // found.
        let seen = timeout(within, incidents.wait_for(|all| of(all).is_some()))
            .await
            .ok()?
            .ok()?;
        of(&seen)
    }

    async fn connect(&self, order: fn(Ticket) -> Order) -> Result<Connection, PluginError> {
        let gone = || PluginError::Gone {
            plugin: self.board.id.clone(),
        };
        let (ticket, answer) = oneshot::channel();
        self.orders.send(order(ticket)).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    async fn send_order(&self, order: impl FnOnce(Done) -> Order) {
        let (done, answer) = oneshot::channel();
        // A supervisor that has ended has also stopped its process, so the order is done.
        if self.orders.send(order(done)).await.is_ok() {
            answer.await.ok();
        }
    }
}
