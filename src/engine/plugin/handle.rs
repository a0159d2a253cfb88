//! The handle to one plugin, in the manner of systemctl: start, stop, restart, disable, watch.
//! Holds no state of its own; orders go to the supervisor, which owns the process.

use super::board::Board;
use super::connection::Connection;
use super::executable::FileIdentity;
use super::failure::{Exit, StartFailure};
use super::find::HashCache;
use super::incident::Incident;
use super::usage::Meter;
use crate::engine::calls::ProviderError;
use crate::engine::words::{
    LogLevel, LogLine, PluginEvent, PluginFound, PluginId, PluginState, Renewal, Usage,
};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Why a plugin cannot be called.
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
    #[error("the plugin {plugin} cannot be had: {why}")]
    Rejected { plugin: PluginId, why: String },
    #[error("the plugin {plugin} is disabled; enable it to use it")]
    Disabled { plugin: PluginId },
    #[error("the plugin {plugin} was stopped before it was ready")]
    Stopped { plugin: PluginId },
    #[error("the plugin {plugin} is not supervised any more")]
    Gone { plugin: PluginId },
}

/// Why no other process has taken the place of the one that serves, which goes on.
#[derive(Debug, Error)]
pub(in crate::engine) enum NotReplaced {
    #[error("it does not run")]
    NotRunning,
    #[error("another process is on its way up already")]
    UnderWay,
    #[error("the plugin was stopped meanwhile")]
    Stopped,
    #[error("the plugin is not supervised any more")]
    Gone,
    #[error(transparent)]
    Launch(#[from] StartFailure),
    #[error("it died before its first call: {0}")]
    Died(Exit),
    /// A call that makes it fit for others.
    #[error(transparent)]
    Call(#[from] ProviderError),
    /// After so long, in words.
    #[error("it was not ready for calls within {0}")]
    Late(String),
    /// What is open there cannot go over to another process.
    #[error("something was opened in the one that serves meanwhile")]
    InUse,
}

pub(super) type Ticket = oneshot::Sender<Result<Connection, PluginError>>;
pub(super) type Done = oneshot::Sender<()>;

/// What is ordered, with the channel for the answer.
pub(super) enum Order {
    /// Somebody needs it: start it unless it has failed for good.
    Demand(Ticket),
    /// An operator wants it: start it whatever was before.
    Start(Ticket),
    Restart(Ticket),
    Stop(Done),
    Kill(Done),
    Disable(Done),
    Enable(Done),
    /// Nobody uses it: end it, for a reason that is shown, until somebody does.
    Rest(String, Done),
    /// Another process takes the place of the one that serves.
    Replace(Replacement),
}

/// Makes a process that came up ready for calls, and has them go to it from then on. The answer
/// counts the calls that are left with the process in whose place it has come, and takes no more of
/// them; the error is why the old one goes on.
pub(in crate::engine) type Fit = Box<
    dyn FnOnce(Connection) -> Pin<Box<dyn Future<Output = Result<TaskTracker, NotReplaced>> + Send>>
        + Send,
>;

/// How another process takes the place of the one that serves.
pub(super) struct Replacement {
    /// For people.
    pub(super) why: String,
    pub(super) fit: Fit,
    pub(super) done: oneshot::Sender<Result<(), NotReplaced>>,
}

/// The handle to one plugin. Cheap to clone.
#[derive(Clone)]
pub struct Plugin {
    pub(super) board: Arc<Board>,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) incidents: watch::Receiver<VecDeque<Arc<Incident>>>,
    pub(super) meter: Arc<Meter>,
    /// What it is executed from; `None` where we do not do that.
    pub(super) hashes: Arc<HashCache>,
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
        self.board.logs().last(count)
    }

    /// The death that an incident names, among the newest ones.
    #[must_use]
    pub fn incident_named(&self, id: &str) -> Option<Arc<Incident>> {
        self.incidents.borrow().iter().find(|i| i.id == id).cloned()
    }

    /// Waits, no longer than `within`, until all that the process has written so far is among its
    /// log lines.
    pub async fn heard(&self, within: Duration) {
        self.board.logs().hearing.quiet(within).await;
    }

    /// A connection to the plugin, which is launched if it does not run, and waited for. Bounded by
    /// launches, their deadlines and the pauses between them.
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

    /// Asks the process to end, kills it where it does not, and returns when it is gone. The next
    /// demand starts it again.
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

    /// Ends the process as nobody uses it, which is said so; the next demand starts it again.
    pub(in crate::engine) async fn rest(&self, why: String) {
        self.tell(|done| Order::Rest(why, done)).await;
    }

    /// Launches another process beside the one that serves, once, and has it take its place as soon
    /// as it is `fit`. What is left with the old one is waited for, and then the old one is ended;
    /// that goes on after this has returned.
    ///
    /// # Errors
    /// Why it has not come to that; the old one goes on.
    pub(in crate::engine) async fn replace(
        &self,
        why: String,
        fit: Fit,
    ) -> Result<(), NotReplaced> {
        let (done, answer) = oneshot::channel();
        let order = Order::Replace(Replacement { why, fit, done });
        let sent = self.orders.send(order).await;
        sent.map_err(|_| NotReplaced::Gone)?;
        answer.await.unwrap_or(Err(NotReplaced::Gone))
    }

    /// The file that would be executed now, where its contents are not those of the process that
    /// serves.
    pub(in crate::engine) async fn other_file(&self) -> Option<FileIdentity> {
        let (known, now) = self.files().await?;
        (!now.is_same_program(&known)).then_some(now)
    }

    /// Whether anything about the file has changed since it was executed, its mode included.
    pub(in crate::engine) async fn file_is_touched(&self) -> bool {
        self.files().await.is_some_and(|(known, now)| known != now)
    }

    async fn files(&self) -> Option<(FileIdentity, FileIdentity)> {
        let (path, known) = (self.executable.as_ref()?, self.board.file()?);
        Some((known, FileIdentity::of(path, &self.hashes).await?))
    }

    /// What a process of it took of the machine when it was looked at last.
    pub(in crate::engine) fn usage(&self, pid: u32) -> Option<Usage> {
        self.meter.of(pid)
    }

    /// Says how it stands with its replacement; nothing where there is none.
    pub(in crate::engine) fn say_renewal(&self, renewal: Option<Renewal>) {
        let plugin = self.board.id.clone();
        self.board
            .observer
            .event(PluginEvent::Renewal { plugin, renewal });
    }

    /// A line of ours among its own.
    pub(in crate::engine) fn note(&self, level: LogLevel, text: String) {
        self.board.note(level, text);
    }

    /// The death of the process with that generation, waited for `within`: a call that lost its
    /// connection usually knows before the process is gone.
    pub async fn incident(&self, generation: u64, within: Duration) -> Option<Arc<Incident>> {
        let mut incidents = self.incidents.clone();
        let of = |all: &VecDeque<Arc<Incident>>| {
            all.iter().find(|i| i.generation == generation).cloned()
        };
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

    async fn tell(&self, order: impl FnOnce(Done) -> Order) {
        let (done, answer) = oneshot::channel();
        // A supervisor that is gone has stopped its process: there is nothing left to do.
        if self.orders.send(order(done)).await.is_ok() {
            answer.await.ok();
        }
    }
}
