//! Set of all plugins of one engine: creates their supervisors, owns the tasks and ends them
//! together.

use super::find::HashCache;
use super::handle::Plugin;
use super::launch::LaunchContext;
use super::lifecycle::Lifecycle;
use super::programs::PinnedExecutables;
use super::settings::{PluginSettings, Start};
use super::status::PluginStatus;
use super::supervisor::{ORDER_QUEUE, Supervisor};
use super::usage::Meter;
use crate::PluginObserver;
use model::{PluginFound, PluginId, PluginState};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Handle to all plugins of an engine. Cheap to clone.
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
    programs: PinnedExecutables,
    hashes: Arc<HashCache>,
    plugins: Mutex<Vec<Plugin>>,
}

impl Plugins {
    /// Creates an empty set. Must be called within a runtime.
    #[must_use]
    pub fn start(settings: PluginSettings, observer: Arc<dyn PluginObserver>) -> Self {
        let (tracker, cancel, meter) = (
            TaskTracker::new(),
            CancellationToken::new(),
            Arc::new(Meter::default()),
        );
        tracker.spawn(Arc::clone(&meter).run(
            Arc::clone(&observer),
            settings.usage_every,
            cancel.clone(),
        ));
        let hashes = match &settings.digest_cache {
            Some(file) => HashCache::open(file.clone()),
            None => HashCache::in_memory(),
        };
        Self {
            shared: Arc::new(Shared {
                hashes: Arc::new(hashes),
                settings,
                observer,
                tracker,
                cancel,
                meter,
                programs: PinnedExecutables::default(),
                plugins: Mutex::default(),
            }),
        }
    }

    fn plugins(&self) -> MutexGuard<'_, Vec<Plugin>> {
        self.shared
            .plugins
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the settings of plugins that have none of their own.
    #[must_use]
    pub fn settings(&self) -> &PluginSettings {
        &self.shared.settings
    }

    /// Returns the executables whose contents are pinned during stages and deploys.
    #[must_use]
    pub fn programs(&self) -> &PinnedExecutables {
        &self.shared.programs
    }

    /// Returns the cache of file digests.
    pub fn hashes(&self) -> &Arc<HashCache> {
        &self.shared.hashes
    }

    /// Adds a plugin and starts its supervisor, without launching a process. `lifecycle` is that
    /// of its dialect.
    pub fn add(
        &self,
        id: PluginId,
        found: PluginFound,
        start: Start,
        lifecycle: Arc<dyn Lifecycle>,
    ) -> Plugin {
        self.add_with(id, found, start, lifecycle, self.shared.settings.clone())
    }

    /// Adds a plugin as [`Plugins::add`] does, with its own settings.
    pub fn add_with(
        &self,
        id: PluginId,
        found: PluginFound,
        start: Start,
        lifecycle: Arc<dyn Lifecycle>,
        settings: PluginSettings,
    ) -> Plugin {
        self.supervise(id, found, Some((start, lifecycle)), settings)
    }

    /// Lists a plugin that was not found or is not trusted. Every demand for it fails with the
    /// reason.
    pub fn add_rejected(&self, id: PluginId, found: PluginFound, why: String) -> Plugin {
        let plugin = self.supervise(id, found, None, self.shared.settings.clone());
        plugin.board.set(PluginState::Rejected { why });
        plugin
    }

    fn supervise(
        &self,
        id: PluginId,
        found: PluginFound,
        start: Option<(Start, Arc<dyn Lifecycle>)>,
        settings: PluginSettings,
    ) -> Plugin {
        let shared = &self.shared;
        let board = PluginStatus::new(id, found, Arc::clone(&shared.observer));
        let (orders, receiver) = mpsc::channel(ORDER_QUEUE);
        let (incidents_sender, incidents) = watch::channel(VecDeque::new());
        let executable = match &start {
            Some((Start::Spawn(spec), _)) => Some(spec.executable.clone()),
            _ => None,
        };
        let supervisor = Supervisor {
            context: start.map(|(start, lifecycle)| {
                let (board, tracker) = (Arc::clone(&board), shared.tracker.clone());
                let board_logs = board.logs();
                Arc::new(LaunchContext {
                    lifecycle,
                    board,
                    settings: settings.clone(),
                    start,
                    tracker,
                    logs: board_logs,
                    programs: shared.programs.clone(),
                    hashes: Arc::clone(&shared.hashes),
                    is_additional: false,
                })
            }),
            board: Arc::clone(&board),
            settings,
            orders: receiver,
            // A child, so that one plugin can end without the others.
            cancel: shared.cancel.child_token(),
            meter: Arc::clone(&shared.meter),
            programs: shared.programs.clone(),
            incidents: incidents_sender,
            waiters: Vec::new(),
            generation: 0,
            draining: Vec::new(),
            crashes: VecDeque::new(),
            launches_at_timeout: None,
        };
        shared.tracker.spawn(supervisor.run());
        let plugin = Plugin {
            board,
            orders,
            incidents,
            meter: Arc::clone(&shared.meter),
            hashes: Arc::clone(&shared.hashes),
            executable,
        };
        self.plugins().push(plugin.clone());
        plugin
    }

    /// Runs a task that [`Plugins::shutdown`] waits for. The task must end when
    /// [`Plugins::stop_token`] is cancelled.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.shared.tracker.spawn(task);
    }

    /// Returns a token that is cancelled when all plugins are stopped.
    pub fn stop_token(&self) -> CancellationToken {
        self.shared.cancel.clone()
    }

    /// Returns all plugins, in the order they were added.
    #[must_use]
    pub fn list(&self) -> Vec<Plugin> {
        self.plugins().clone()
    }

    /// Returns the plugin with this id.
    #[must_use]
    pub fn get(&self, id: &PluginId) -> Option<Plugin> {
        self.plugins().iter().find(|p| p.id() == id).cloned()
    }

    /// Stops and removes a plugin. Remaining handles get
    /// [`PluginError::Disabled`](super::PluginError::Disabled).
    pub async fn remove(&self, id: &PluginId) {
        let found = {
            let mut plugins = self.plugins();
            plugins
                .iter()
                .position(|p| p.id() == id)
                .map(|at| plugins.remove(at))
        };
        if let Some(plugin) = found {
            // Disabled rather than stopped: a remaining handle must not launch it again.
            plugin.disable().await;
        }
    }

    /// Starts to stop all plugins at once, without waiting. Nothing can be launched afterwards.
    pub fn stop(&self) {
        self.shared.cancel.cancel();
    }

    /// Stops all plugins at once, and returns when every process has ended. Nothing can be launched
    /// afterwards.
    pub async fn shutdown(&self) {
        self.stop();
        // `wait` returns only after the tracker is closed.
        self.shared.tracker.close();
        self.shared.tracker.wait().await;
        self.plugins().clear();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The last handle is gone, so nobody could stop the plugins later.
        self.cancel.cancel();
    }
}
