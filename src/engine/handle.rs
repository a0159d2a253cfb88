//! The engine's handle: everything else holds a clone of it. Its methods are the verbs of the
//! product.

mod around;
mod event_log;
mod measured;
mod state;
mod transformers;

use super::bus::{Bus, Subscription};
use super::calls::{Calls, Deadlines};
use super::error::{EngineError, NotThere};
use super::memory::Memory;
use super::metrics::Served;
use super::mutex::lock;
use super::pool::{Pool, PoolSettings};
use super::provider::ProviderSchema;
use super::provider::dialect::Dialects;
use super::settings::Settings;
use super::stage::keep::StageFile;
use super::traces::Traces;
use super::view::View;
use super::words::*;
pub use super::work::Evaluator;
use super::work::{StateInFile, Work};
use std::sync::{Arc, Mutex};
use tokio_util::task::TaskTracker;

/// A running engine on one workspace. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    bus: Bus,
    memory: Arc<Memory>,
    tasks: TaskTracker,
    work: Arc<Work>,
    served: Mutex<Option<Served>>,
    traces: Mutex<Option<Traces>>,
}

impl Engine {
    /// Opens the workspace's store. The workspace's lock is taken when something first changes it.
    ///
    /// # Errors
    /// When the store cannot be opened, or the workspace is no directory.
    pub async fn start(settings: Settings) -> Result<Self, EngineError> {
        Self::speaking(Dialects::of_workspace(&settings), settings).await
    }

    /// As [`Engine::start`], with dialects that are not all ours.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub async fn speaking(dialects: Dialects, settings: Settings) -> Result<Self, EngineError> {
        if !settings.workspace.is_dir() {
            return Err(NotThere::Directory(settings.workspace).into());
        }
        super::room::watch(settings.memory);
        let (bus, tasks) = (Bus::followed(settings.follow), TaskTracker::new());
        event_log::start(&bus);
        let traces = settings.traces.as_ref();
        let traces = traces.map(|to| Traces::start(to, &bus)).transpose();
        let traces = traces.map_err(EngineError::because)?;
        let found = around::said_of_home(&settings, &bus);
        let place = (found.place, found.encryption);
        let memory = Memory::open(&settings, place, &bus, &tasks).await?;
        memory.encrypts_plans(found.plans);
        let memory = Arc::new(memory);
        let history = memory.store().latencies().await?;
        let mut deadlines = Deadlines::default();
        deadlines.set_line(settings.service.wait);
        let calls = Calls::new(Arc::new(bus.clone()), deadlines, history);
        calls.set_retries(settings.retry.clone());
        let plugins = super::source::plugins(&settings, &bus);
        let pool_settings = PoolSettings {
            slots: settings.slots,
            service: settings.service.clone(),
            dialects,
            ..PoolSettings::new(&settings.workspace)
        };
        let pool = Pool::new(pool_settings, plugins, calls, Arc::new(bus.clone()));
        pool.decrypts(found.others);
        let work = Arc::new(Work::new(
            settings.clone(),
            bus.clone(),
            memory.clone(),
            pool,
        ));
        if let Some(holder) = memory.store().holder().await? {
            let ours = false;
            bus.emit(EventKind::Lock {
                holder: Some(holder),
                ours,
            });
        }
        work.list_unknown().await?;
        Ok(Self {
            shared: Arc::new(Shared {
                settings,
                bus,
                memory,
                tasks,
                work,
                served: Mutex::default(),
                traces: Mutex::new(traces),
            }),
        })
    }

    /// The settings it was started with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The stage of this name.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn stage_named(&self, name: &str) -> Result<Option<StageId>, EngineError> {
        let found = self.shared.memory.store().stage_named(name).await?;
        Ok(found.map(|stage| stage.id))
    }

    /// What is seen now, and every event after it, with no gap.
    pub fn subscribe(&self) -> (View, Subscription) {
        self.shared.bus.subscribe()
    }

    /// Says, in a notice and as a list, which plugin processes of this workspace have lost their
    /// flightdeck; one that only reads says nothing. The list is kept up until it is empty.
    pub async fn tell_orphans(&self) {
        self.shared.work.tell_rescue_file().await;
        self.shared.work.tell_orphans().await;
        let work = self.shared.work.clone();
        self.shared.tasks.spawn(work.follow_orphans());
    }

    /// Warns where the state is read without the store, which this user may not open.
    pub fn tell_unread_store(&self) {
        self.shared.work.tell_unread_store();
    }

    /// Looks again for those: some were ended.
    pub async fn look_for_orphans(&self) {
        self.shared.work.look_for_orphans().await;
    }

    /// Takes the workspace's lock and holds it until [`shutdown`](Self::shutdown) (the console
    /// does). A second holder is told who has it; the engine goes on read-only.
    ///
    /// # Errors
    /// [`EngineError::Locked`] where somebody else has it.
    pub async fn hold_lock(&self) -> Result<(), EngineError> {
        self.shared.work.lock().await
    }

    /// Launches the plugins that the configuration and the state need, and fetches their schemas.
    /// Failures are in the events; with `strict` they are the answer too.
    ///
    /// # Errors
    /// Errors of the configuration; with `strict`, a plugin that did not register.
    pub async fn load_plugins(&self) -> Result<(), EngineError> {
        self.shared.work.load_plugins().await
    }

    /// Which providers the configuration and the state need. Launches none.
    ///
    /// # Errors
    /// Errors of the configuration; the state cannot be read.
    pub async fn required_providers(
        &self,
        request: StageRequest,
    ) -> Result<RequiredProviders, EngineError> {
        self.shared.work.required_providers(request).await
    }

    /// What expressions can be worked out over: the configuration, its variables and the state as
    /// they are now. What is wrong with the configuration is in the events.
    ///
    /// # Errors
    /// The configuration cannot be read, a plugin did not register.
    pub async fn evaluator(&self, request: StageRequest) -> Result<Evaluator, EngineError> {
        Box::pin(self.shared.work.evaluator(request)).await
    }

    /// Variables that need a value and have none: of a request, or of a stage that is to be
    /// deployed with its flags.
    ///
    /// # Errors
    /// There is no such stage, or it cannot be read any more.
    pub async fn unset_variables(
        &self,
        request: StageRequest,
        stage: Option<StageId>,
    ) -> Result<Vec<UnsetVariable>, EngineError> {
        self.shared.work.unset_variables(request, stage).await
    }

    /// A graph as a text that programs draw (DOT).
    ///
    /// # Errors
    /// Errors of the configuration, a plugin that did not register, a stage that does not fit.
    pub async fn draw(
        &self,
        what: DrawnGraph,
        request: StageRequest,
    ) -> Result<String, EngineError> {
        Box::pin(self.shared.work.draw(what, request)).await
    }

    /// Says what is wrong with the configuration whatever its variables are and whatever is in the
    /// state; in the events.
    ///
    /// # Errors
    /// Errors of the configuration, a plugin that did not register, cancellation.
    pub async fn validate(&self, request: StageRequest) -> Result<(), EngineError> {
        Box::pin(self.shared.work.validate(request)).await
    }

    /// Plugins that the workspace itself brings and that nobody has said yes to; they are not
    /// launched.
    ///
    /// # Errors
    /// Errors of the configuration, plugins that cannot be looked for.
    pub async fn untrusted_plugins(&self) -> Result<Vec<WorkspacePlugin>, EngineError> {
        self.shared.work.untrusted().await
    }

    /// Remembers a yes for these very plugins, by their digests, in the user's own data directory.
    ///
    /// # Errors
    /// It cannot be kept.
    pub async fn trust_plugins(&self, plugins: Vec<WorkspacePlugin>) -> Result<(), EngineError> {
        self.shared.work.give_trust(plugins).await
    }

    /// The next stage or deploy is the last that is asked for: plugins stop as soon as it needs
    /// them no more, beside what it has to keep. Nothing can be launched afterwards.
    pub fn nothing_follows(&self) {
        self.shared.work.nothing_follows();
    }

    /// Works out the changes.
    ///
    /// # Errors
    /// Errors of the configuration and of plans, a plugin that did not register, a held lock,
    /// cancellation.
    pub async fn stage(&self, request: StageRequest) -> Result<Arc<StageSummary>, EngineError> {
        Box::pin(self.shared.work.stage(request)).await
    }

    /// A stage that was worked out before; the newest where `None`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub async fn staged(&self, stage: Option<StageId>) -> Result<Arc<StageSummary>, EngineError> {
        self.shared.work.staged(stage).await
    }

    /// Terraform's plan representation of a stage.
    ///
    /// # Errors
    /// There is no such stage, or it cannot be read any more.
    pub async fn plan_json(&self, stage: StageId) -> Result<serde_json::Value, EngineError> {
        Box::pin(self.shared.work.plan_json(stage)).await
    }

    /// The plan representation of what was worked out before the newest staging failed, where
    /// somebody follows each step; told once.
    pub fn errored_plan(&self) -> Option<serde_json::Value> {
        self.shared.work.errored_plan()
    }

    /// A stage as the text of a file of its own, which holds sensitive values.
    ///
    /// # Errors
    /// There is no such stage, or it cannot be read any more.
    pub async fn stage_file(&self, stage: StageId) -> Result<String, EngineError> {
        Box::pin(self.shared.work.stage_file(stage)).await
    }

    /// The stage in a file's text, which is decrypted as the configuration says.
    ///
    /// # Errors
    /// The text is none of a stage, or is encrypted in another way.
    pub async fn stage_in_file(&self, text: String) -> Result<StageFile, EngineError> {
        self.shared.work.opened(text).await
    }

    /// What the text of a state file says; `name` is what it is called in errors.
    ///
    /// # Errors
    /// It is none, or encrypted in another way than the configuration says.
    pub async fn state_in_file(
        &self,
        name: &str,
        text: String,
    ) -> Result<StateInFile, EngineError> {
        self.shared.work.state_in_file(name, text).await
    }

    /// Takes in a stage from a file's text; the answer is its number here, to be deployed by.
    ///
    /// # Errors
    /// The text is none of a stage, or it cannot be kept.
    pub async fn take_in_stage(&self, text: String) -> Result<StageId, EngineError> {
        self.shared.work.take_in_stage(text).await
    }

    /// Narrows or widens what the next deploy of a stage applies; closed under dependency.
    ///
    /// # Errors
    /// There is no such stage or change.
    pub async fn select(&self, stage: StageId, select: Select) -> Result<Selection, EngineError> {
        Box::pin(self.shared.work.select(stage, select)).await
    }

    /// Compares a stage with the workspace as it is now: configuration, state, plugins, files.
    /// Launches nothing.
    ///
    /// # Errors
    /// The stage is stale, or this cannot be found out.
    pub async fn check_stage(&self, stage: StageId) -> Result<(), EngineError> {
        Box::pin(self.shared.work.check_stage(stage)).await
    }

    /// Applies a stage's selection. Ends when the deploy has ended; failures of operations are in
    /// the answer.
    ///
    /// # Errors
    /// The stage is stale, the workspace is held, the store cannot be written.
    pub async fn deploy(&self, request: DeployRequest) -> Result<DeploySummary, EngineError> {
        Box::pin(self.shared.work.deploy(request)).await
    }

    /// Goes one rung down the cancel ladder of the running deploy (or stage). The answer: whether
    /// anything runs that heeds it; what does not, such as reading the state, may be dropped.
    pub fn cancel(&self, rung: CancelRung) -> bool {
        self.shared.work.cancel(rung, &self.shared.tasks)
    }

    /// How many replacements of the running deploy have begun and not ended.
    pub fn replacing(&self) -> usize {
        self.shared.bus.with_view(|v| {
            v.deploy
                .iter()
                .flat_map(|d| &d.operations)
                .filter(|o| o.is_replacing())
                .count()
        })
    }

    /// Starts, stops, restarts, enables or disables one plugin.
    ///
    /// # Errors
    /// There is no such plugin, or it did not come up.
    pub async fn plugin(
        &self,
        plugin: &PluginId,
        command: PluginCommand,
    ) -> Result<(), EngineError> {
        self.shared.work.plugin(plugin, command).await
    }

    /// The schema of a plugin.
    ///
    /// # Errors
    /// There is no such plugin, or it did not come up.
    pub async fn schema(&self, plugin: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        self.shared.work.schema(plugin).await
    }

    /// As [`schema`](Self::schema), with the plugin's texts about its types: labels, summaries,
    /// descriptions, examples.
    ///
    /// # Errors
    /// As [`schema`](Self::schema).
    pub async fn documented(&self, plugin: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        self.shared.work.documented(plugin).await
    }

    /// Lists every provider that is installed, whether the configuration needs it or not, and
    /// launches none. Each is in the events.
    ///
    /// # Errors
    /// The places where providers are installed cannot be told.
    pub async fn find_installed(&self) -> Result<Vec<PluginId>, EngineError> {
        Box::pin(self.shared.work.find_installed()).await
    }

    /// Deploys, newest first.
    pub async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, EngineError> {
        self.shared.memory.history(limit).await
    }

    /// One deploy with its operations and events.
    pub async fn deploy_record(&self, deploy: DeployId) -> Result<DeployRecord, EngineError> {
        self.shared.memory.deploy_record(deploy).await
    }

    /// Failures since then (all where `None`), grouped by fingerprint, newest first.
    pub async fn failures(&self, since: Option<UnixMs>) -> Result<Vec<FailureGroup>, EngineError> {
        self.shared.memory.failures(since).await
    }

    /// What plugins said, oldest first.
    pub async fn logs(&self, query: LogQuery) -> Result<Vec<LogRow>, EngineError> {
        self.shared.memory.logs(query).await
    }

    /// What was begun and has no end on record, in words and by address: one warning each, oldest
    /// first.
    pub async fn unknown_outcomes(&self) -> Result<Vec<Diagnostic>, EngineError> {
        Ok(self
            .shared
            .memory
            .store()
            .unknown_outcomes()
            .await?
            .iter()
            .map(super::work::unknown_outcome)
            .collect())
    }

    /// Stops every plugin, writes what is not written, gives the lock back. A deploy that runs
    /// starts nothing more and is waited for.
    pub async fn shutdown(&self) {
        self.shared.work.shutdown().await;
        // Until here, so that the end can be read too.
        drop(lock(&self.shared.served).take());
        let traces = lock(&self.shared.traces).take();
        if let Some(traces) = traces {
            traces.end().await;
        }
        self.shared.tasks.close();
    }
}
