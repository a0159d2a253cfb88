//! Registry of lanes (one for each plugin process), with the call numbers and settings that all
//! lanes share.

use super::deadlines::Deadlines;
use super::kind::Kind;
use super::lane::Lane;
use super::method::Method;
use model::bus::EventSink;
use model::mutex::lock;
use model::secrets::Secrets;
use model::settings::RetrySettings;
use model::{CallId, CallStat, Latency, PluginId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// State that all lanes share.
pub(super) struct Shared {
    pub(super) sink: Arc<dyn EventSink>,
    pub(super) secrets: Secrets,
    pub(super) next: AtomicU64,
    deadlines: RwLock<Deadlines>,
    pub(super) retries: RwLock<RetrySettings>,
    /// Running calls that an operator can give up.
    pub(super) running: Mutex<BTreeMap<CallId, CancellationToken>>,
}

/// Registry of the lanes of all plugin processes. Cheap to clone.
#[derive(Clone)]
pub struct Calls {
    pub(super) shared: Arc<Shared>,
    lanes: Arc<Mutex<BTreeMap<PluginId, Arc<Lane>>>>,
    pub(super) history: Arc<Mutex<Vec<CallStat>>>,
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calls")
            .field("lanes", &lock(&self.lanes).keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Calls {
    /// Creates a registry that reports to `sink`; `history` has the latencies of earlier runs.
    pub fn new(sink: Arc<dyn EventSink>, deadlines: Deadlines, history: Vec<CallStat>) -> Self {
        let secrets = sink.secrets();
        let (next, deadlines, retries) =
            (AtomicU64::new(1), RwLock::new(deadlines), RwLock::default());
        Self {
            shared: Arc::new(Shared {
                sink,
                secrets,
                next,
                deadlines,
                retries,
                running: Mutex::default(),
            }),
            lanes: Arc::default(),
            history: Arc::new(Mutex::new(history)),
        }
    }

    /// Returns the lane of a plugin, creating it with this many slots (at least one). It outlives
    /// the plugin's process, so that waiting calls keep their position during a relaunch.
    pub fn lane(&self, plugin: &PluginId, slots: u32) -> Arc<Lane> {
        let mut lanes = lock(&self.lanes);
        // A lane of a former mate shares its leader's line, so it is not reused.
        if let Some(lane) = lanes.get(plugin).filter(|l| !l.shares_line()) {
            return lane.clone();
        }
        let history = self.history_of(plugin);
        let lane = Lane::new(self.shared.clone(), plugin.clone(), slots.max(1), &history);
        lanes.insert(plugin.clone(), lane.clone());
        lane
    }

    /// Creates the lane of an additional process, whose line is shared with `first`: a call in line
    /// gets a slot of either. The lane is closed until it is opened.
    pub fn additional_lane(&self, plugin: &PluginId, first: &Lane) -> Arc<Lane> {
        let history = self.history_of(plugin);
        let lane = first.additional(plugin.clone(), &history);
        lock(&self.lanes).insert(plugin.clone(), lane.clone());
        lane
    }

    fn history_of(&self, plugin: &PluginId) -> Vec<CallStat> {
        let history = lock(&self.history);
        // All processes of a plugin share its history.
        let of = |h: &&CallStat| h.plugin == plugin.base();
        history.iter().filter(of).cloned().collect()
    }

    /// Returns the values to redact in answers of plugins.
    pub fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// Returns the receiver of events.
    pub fn sink(&self) -> &dyn EventSink {
        self.shared.sink.as_ref()
    }

    /// Returns the usual latency of such calls to a plugin, over this run and earlier ones.
    pub fn usual_latency(&self, plugin: &PluginId, kind: &Kind) -> Option<Latency> {
        if let Some(lane) = lock(&self.lanes).get(plugin).cloned() {
            return lane.usual_latency(kind);
        }
        let history = lock(&self.history);
        let known = history
            .iter()
            .find(|h| h.plugin == plugin.base() && Kind::from_stat(h).as_ref() == Some(kind))?;
        Some(known.latency).filter(Latency::is_known)
    }

    /// Ends the wait for the answer of a running call, whose outcome is then unknown. Returns false
    /// if the call does not run.
    pub fn give_up(&self, call: CallId) -> bool {
        let running = lock(&self.shared.running);
        let Some(wait) = running.get(&call) else {
            return false;
        };
        wait.cancel();
        true
    }

    /// Sets the deadlines; running calls keep theirs.
    pub fn set_deadlines(&self, deadlines: Deadlines) {
        *self
            .shared
            .deadlines
            .write()
            .unwrap_or_else(PoisonError::into_inner) = deadlines;
    }

    /// Sets the retries; calls in progress keep the settings they began with.
    pub fn set_retries(&self, retries: RetrySettings) {
        *self
            .shared
            .retries
            .write()
            .unwrap_or_else(PoisonError::into_inner) = retries;
    }
}

impl Shared {
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn deadline(&self, method: Method) -> Option<Duration> {
        self.deadlines().get(method)
    }

    /// Returns the time for which a line may not move.
    pub(super) fn line(&self) -> Duration {
        self.deadlines().line()
    }

    fn deadlines(&self) -> RwLockReadGuard<'_, Deadlines> {
        self.deadlines
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
