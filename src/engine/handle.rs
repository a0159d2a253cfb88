//! Handle to the engine, held by the front ends. Its methods are the commands of the product.

mod event_log;
mod groups;
mod metrics;
mod plugins;
mod state;
mod stored_lock;
#[cfg(test)]
mod tests;
mod transformers;
mod workspaces;

use super::error::{EngineError, NotFound};
pub use super::operations::{ConformRequest, Evaluator};
use super::operations::{Operations, StateInFile};
use super::stage::encoding::StageFile;
use super::workspace_store::WorkspaceStore;
use calls::{Calls, Deadlines};
use model::bus::{Bus, Subscription};
use model::mutex::lock;
use model::settings::Settings;
use model::view::View;
use model::*;
use provider::ProviderSchema;
use provider::dialect::Dialects;
use provider::pool::{Pool, PoolSettings};
use std::sync::{Arc, Mutex};
use telemetry::metrics::Served;
use telemetry::traces::Traces;
use tokio_util::task::TaskTracker;

pub use stored_lock::StoredLock;

/// A running engine on one workspace. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    bus: Bus,
    memory: Arc<WorkspaceStore>,
    tasks: TaskTracker,
    operations: Arc<Operations>,
    metrics_server: Mutex<Option<Served>>,
    traces: Mutex<Option<Traces>>,
}

impl Engine {
    /// Opens the workspace's store. Each command that changes something takes the workspace lock
    /// and releases it.
    ///
    /// # Errors
    /// The store cannot be opened, or the workspace is not a directory.
    pub async fn start(settings: Settings) -> Result<Self, EngineError> {
        Self::start_with_dialects(Dialects::of_workspace(&settings), settings).await
    }

    /// Like [`Engine::start`], with additional dialects.
    ///
    /// # Errors
    /// See [`Engine::start`].
    pub async fn start_with_dialects(
        dialects: Dialects,
        settings: Settings,
    ) -> Result<Self, EngineError> {
        if !settings.workspace.is_dir() {
            return Err(NotFound::Directory(settings.workspace).into());
        }
        // Before anything is evaluated, because evaluation relies on the measurement.
        super::memory_limit::start_measuring(settings.memory);
        let (bus, tasks) = (
            Bus::with_object_steps(settings.object_steps),
            TaskTracker::new(),
        );
        // Before the store is opened, so that its events are logged.
        event_log::start(&bus);
        let traces = settings.traces.as_ref();
        let traces = traces.map(|to| Traces::start(to, &bus)).transpose();
        let traces = traces.map_err(EngineError::refused)?;
        let (state, plans, remote_states) = workspaces::configured_state(&settings, &bus);
        let memory = WorkspaceStore::open(&settings, state, &bus, &tasks).await?;
        memory.encrypts_plans(plans);
        let memory = Arc::new(memory);
        // Latencies of earlier runs give usual durations from the start.
        let history = memory.store().latencies().await?;
        let mut deadlines = Deadlines::default();
        deadlines.set_line(settings.service.wait_timeout);
        let calls = Calls::new(Arc::new(bus.clone()), deadlines, history);
        calls.set_retries(settings.retry.clone());
        let plugins = super::provider_resolution::plugins(&settings, &bus);
        let pool_settings = PoolSettings {
            slots: settings.slots,
            service: settings.service.clone(),
            dialects,
            ..PoolSettings::new(&settings.workspace)
        };
        let pool = Pool::new(pool_settings, plugins, calls, Arc::new(bus.clone()));
        pool.decrypts(remote_states);
        let work = Arc::new(Operations::new(
            settings.clone(),
            bus.clone(),
            memory.clone(),
            pool,
        ));
        // Shows a foreign lock from the start.
        if let Some(holder) = memory.store().lock_owner().await? {
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
                operations: work,
                metrics_server: Mutex::default(),
                traces: Mutex::new(traces),
            }),
        })
    }

    /// Settings of the engine.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Number of the stage with this name.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn stage_named(&self, name: &str) -> Result<Option<StageId>, EngineError> {
        let found = self.shared.memory.store().stage_named(name).await?;
        Ok(found.map(|stage| stage.id))
    }

    /// Current view, and a subscription to all later events without a gap.
    pub fn subscribe(&self) -> (View, Subscription) {
        self.shared.bus.subscribe()
    }

    /// Reports an unused rescue file, and plugin processes of this workspace whose flightdeck has
    /// ended. A read-only engine reports no processes. The list is updated until it is empty.
    pub async fn report_orphans(&self) {
        self.shared.operations.report_rescue_file().await;
        self.shared.operations.report_orphans().await;
        let work = self.shared.operations.clone();
        self.shared.tasks.spawn(work.poll_orphans());
    }

    /// Warns if the state is read without the store, which this user may not open.
    pub fn warn_unread_store(&self) {
        self.shared.operations.warn_unread_store();
    }

    /// Updates the list of such processes after some were ended.
    pub async fn look_for_orphans(&self) {
        self.shared.operations.look_for_orphans().await;
    }

    /// Watches the work of other processes until [`shutdown`](Self::shutdown), for a console:
    /// reports the lock owner, and changes of the state and the history, as events. Also runs the
    /// reconcile loop.
    pub fn watch_workspace(&self) {
        let work = self.shared.operations.clone();
        self.shared.tasks.spawn(work.watch());
        if self.shared.settings.access.can_write() {
            let work = self.shared.operations.clone();
            let looping = work.reconcile_until_shutdown();
            self.shared.tasks.spawn(looping);
        }
    }

    /// Runs the reconcile loop of groups until it is cancelled, or once. Runs are events.
    ///
    /// # Errors
    /// No group has one of the names, another process leads a loop that runs once, or the loop was
    /// cancelled.
    pub async fn reconcile(&self, options: ReconcileOptions) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.reconcile(options)).await
    }

    /// Reads all objects outside of groups once, and records their existence, readiness and drift.
    /// Objects of a type with a policy have a run of their own.
    ///
    /// # Errors
    /// The configuration or the state cannot be read, or another command has cancelled the look.
    pub async fn look_at_all(&self) -> Result<Vec<ReconcileRun>, EngineError> {
        Box::pin(self.shared.operations.look_at_all()).await
    }

    /// Launches the plugins that the configuration and the state need, and fetches their schemas.
    /// Failures are events; with `strict` they are also the result.
    ///
    /// # Errors
    /// Errors of the configuration; with `strict`, a plugin that did not register.
    pub async fn load_plugins(&self) -> Result<(), EngineError> {
        self.shared.operations.load_plugins().await
    }

    /// Providers that the configuration and the state need. Launches none.
    ///
    /// # Errors
    /// Errors of the configuration; the state cannot be read.
    pub async fn required_providers(
        &self,
        request: StageRequest,
    ) -> Result<RequiredProviders, EngineError> {
        self.shared.operations.required_providers(request).await
    }

    /// Evaluator of expressions over the present configuration, variables and state. Diagnostics
    /// are events.
    ///
    /// # Errors
    /// The configuration cannot be read, or a plugin did not register.
    pub async fn evaluator(&self, request: StageRequest) -> Result<Evaluator, EngineError> {
        Box::pin(self.shared.operations.evaluator(request)).await
    }

    /// Variables without a value: for a request, or for deploying a stage with the request's flags.
    ///
    /// # Errors
    /// There is no such stage, or it is not readable any more.
    pub async fn unset_variables(
        &self,
        request: StageRequest,
        stage: Option<StageId>,
    ) -> Result<Vec<UnsetVariable>, EngineError> {
        self.shared.operations.unset_variables(request, stage).await
    }

    /// Root variables of the configuration, with the values that a request gives them.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub async fn root_variables(
        &self,
        request: StageRequest,
    ) -> Result<RootVariables, EngineError> {
        self.shared.operations.root_variables(request).await
    }

    /// File and line of a declaration; `None` if the configuration does not contain it.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub async fn place_of(&self, of: Declared) -> Result<Option<FileLine>, EngineError> {
        self.shared.operations.place_of(of).await
    }

    /// Settings of the resource types that have any: of one type, or of all.
    ///
    /// # Errors
    /// The configuration is invalid, or a provider cannot be launched.
    pub async fn resource_types(&self, name: Option<String>) -> Result<Vec<TypeView>, EngineError> {
        Box::pin(self.shared.operations.resource_types(name)).await
    }

    /// Renders a graph in DOT.
    ///
    /// # Errors
    /// Errors of the configuration, a plugin that did not register, a stale stage.
    pub async fn render_graph(
        &self,
        what: DrawnGraph,
        request: StageRequest,
    ) -> Result<String, EngineError> {
        Box::pin(self.shared.operations.render_graph(what, request)).await
    }

    /// Validates the configuration for any values of variables and any state. Diagnostics are
    /// events.
    ///
    /// # Errors
    /// Errors of the configuration, a plugin that did not register, cancellation.
    pub async fn validate(&self, request: StageRequest) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.validate(request)).await
    }

    /// Workspace plugins without trust; they are not launched.
    ///
    /// # Errors
    /// Errors of the configuration, a failed search.
    pub async fn untrusted_plugins(&self) -> Result<Vec<WorkspacePlugin>, EngineError> {
        self.shared.operations.untrusted_plugins().await
    }

    /// Trusts plugins by their digests, in the user's data directory.
    ///
    /// # Errors
    /// The decision cannot be saved.
    pub async fn trust_plugins(&self, plugins: Vec<WorkspacePlugin>) -> Result<(), EngineError> {
        self.shared.operations.give_trust(plugins).await
    }

    /// Declares that the next stage or deploy is the last. Plugins stop as soon as it does not need
    /// them, while it stores its results. Nothing can be launched afterwards.
    pub fn declare_last_command(&self) {
        self.shared.operations.declare_last_command();
    }

    /// Computes a stage.
    ///
    /// # Errors
    /// Errors of the configuration and of plans, a plugin that did not register, a held lock,
    /// cancellation.
    pub async fn stage(&self, request: StageRequest) -> Result<Arc<StageSummary>, EngineError> {
        Box::pin(self.shared.operations.stage(request)).await
    }

    /// A stored stage; the newest for `None`.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub async fn stored_stage(
        &self,
        stage: Option<StageId>,
    ) -> Result<Arc<StageSummary>, EngineError> {
        self.shared.operations.stage_summary(stage).await
    }

    /// Opens the newest stored stage for a console, unless this engine has planned one, or the
    /// stage was deployed or changes nothing. Emits it with its difference from the workspace, if
    /// any.
    ///
    /// # Errors
    /// The stage cannot be read, or a plugin that it needs did not register.
    pub async fn open_newest_stage(&self) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.open_newest_stage()).await
    }

    /// Stage in OpenTofu's JSON plan format.
    ///
    /// # Errors
    /// There is no such stage, or it is not readable any more.
    pub async fn plan_json(&self, stage: StageId) -> Result<serde_json::Value, EngineError> {
        Box::pin(self.shared.operations.plan_json(stage)).await
    }

    /// Partial plan of the newest failed staging, if a client follows each step; returned once.
    pub fn errored_plan(&self) -> Option<serde_json::Value> {
        self.shared.operations.errored_plan()
    }

    /// Stage as a plan file, which has sensitive values.
    ///
    /// # Errors
    /// There is no such stage, or it is not readable any more.
    pub async fn stage_file(&self, stage: StageId) -> Result<String, EngineError> {
        Box::pin(self.shared.operations.stage_file(stage)).await
    }

    /// Reads a plan file, decrypted by the configuration's methods.
    ///
    /// # Errors
    /// The text is not a plan file, or is encrypted in another way.
    pub async fn stage_in_file(&self, text: String) -> Result<StageFile, EngineError> {
        self.shared.operations.read_plan_file(text).await
    }

    /// Reads a state file; `name` is used in errors.
    ///
    /// # Errors
    /// The text is not a state, or is encrypted in another way than configured.
    pub async fn state_in_file(
        &self,
        name: &str,
        text: String,
    ) -> Result<StateInFile, EngineError> {
        self.shared.operations.state_in_file(name, text).await
    }

    /// Adds the stage of a plan file to the store; returns its number for a deploy. Warns of a file
    /// without a known signature, unless its digest is known to be the right one.
    ///
    /// # Errors
    /// The text is not a plan file, or it cannot be stored.
    pub async fn import_stage(
        &self,
        text: String,
        is_digest_known: bool,
    ) -> Result<StageId, EngineError> {
        let operations = &self.shared.operations;
        operations.import_stage(text, is_digest_known).await
    }

    /// Changes the selection of a stage; the result is closed under dependency.
    ///
    /// # Errors
    /// There is no such stage or change.
    pub async fn select(&self, stage: StageId, select: Select) -> Result<Selection, EngineError> {
        Box::pin(self.shared.operations.select(stage, select)).await
    }

    /// Saves the selection of a stage under a name, and replaces a saved one with this name.
    ///
    /// # Errors
    /// An invalid name, no such stage, or the store cannot be written.
    pub async fn save_selection(
        &self,
        stage: StageId,
        name: &str,
    ) -> Result<SavedSelection, EngineError> {
        Box::pin(self.shared.operations.save_selection(stage, name)).await
    }

    /// Saved selections of the workspace, by name.
    pub async fn saved_selections(&self) -> Result<Vec<SavedSelection>, EngineError> {
        self.shared.operations.saved_selections().await
    }

    /// The saved selection with a name.
    ///
    /// # Errors
    /// No selection has this name, or the store cannot be read.
    pub async fn saved_selection(&self, name: &str) -> Result<SavedSelection, EngineError> {
        self.shared.operations.saved_selection(name).await
    }

    /// Deletes a saved selection.
    ///
    /// # Errors
    /// No selection has this name, or the store cannot be written.
    pub async fn delete_selection(&self, name: &str) -> Result<(), EngineError> {
        self.shared.operations.delete_selection(name).await
    }

    /// Compares a stage with the present configuration, state, plugins and files. Launches nothing.
    ///
    /// # Errors
    /// The stage is stale, or the comparison failed.
    pub async fn check_stage(&self, stage: StageId) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.check_stage(stage)).await
    }

    /// Deploys a stage's selection. Returns when the deploy has ended; failures of operations are
    /// in the result.
    ///
    /// # Errors
    /// The stage is stale, the workspace is locked, or the store cannot be written.
    pub async fn deploy(&self, request: DeployRequest) -> Result<DeploySummary, EngineError> {
        Box::pin(self.shared.operations.deploy(request)).await
    }

    /// Goes to a rung of the cancel ladder of the running deploy or stage. Returns true if running
    /// work reacts to it; other work, such as reading the state, may be dropped.
    pub fn cancel(&self, rung: CancelRung) -> bool {
        self.shared.operations.cancel(rung, &self.shared.tasks)
    }

    /// Ends the wait for the answer of a running call. Its operation fails with an unknown outcome,
    /// and other work goes on. Returns false if the call does not run.
    pub fn give_up_call(&self, call: CallId) -> bool {
        self.shared.operations.give_up_call(call)
    }

    /// Returns true if the running command only destroys what it has created.
    pub fn is_cleaning_up(&self) -> bool {
        self.shared.operations.is_cleaning_up()
    }

    /// Number of replacements in progress in the running deploy.
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
    /// There is no such plugin, or it did not start.
    pub async fn plugin(
        &self,
        plugin: &PluginId,
        command: PluginCommand,
    ) -> Result<(), EngineError> {
        self.shared.operations.plugin(plugin, command).await
    }

    /// Schema of a plugin.
    ///
    /// # Errors
    /// There is no such plugin, or it did not start.
    pub async fn schema(&self, plugin: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        self.shared.operations.schema(plugin).await
    }

    /// Like [`schema`](Self::schema), with the plugin's documentation of its types: labels,
    /// summaries, descriptions, examples.
    ///
    /// # Errors
    /// See [`schema`](Self::schema).
    pub async fn documented(&self, plugin: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        self.shared.operations.documented(plugin).await
    }

    /// Lists every installed provider, needed or not, and launches none. Each is reported as an
    /// event.
    ///
    /// # Errors
    /// The installation directories cannot be determined.
    pub async fn find_installed(&self) -> Result<Vec<PluginId>, EngineError> {
        Box::pin(self.shared.operations.find_installed()).await
    }

    /// Deploys, newest first.
    pub async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, EngineError> {
        self.shared.memory.history(limit).await
    }

    /// One deploy with its operations and events.
    pub async fn deploy_record(&self, deploy: DeployId) -> Result<DeployRecord, EngineError> {
        self.shared.memory.deploy_record(deploy).await
    }

    /// Differences between two deploys: configuration, operations and durations.
    ///
    /// # Errors
    /// One of them is not recorded.
    pub async fn compare_deploys(
        &self,
        before: DeployId,
        after: DeployId,
    ) -> Result<DeployComparison, EngineError> {
        self.shared.memory.compare_deploys(before, after).await
    }

    /// Configuration files that differ between the disk and a deploy; those that only the deploy
    /// has are new. `None` if the files on disk have errors.
    ///
    /// # Errors
    /// There is no such deploy, or its configuration is not stored.
    pub async fn configuration_difference(
        &self,
        deploy: DeployId,
    ) -> Result<Option<Vec<FileDifference>>, EngineError> {
        self.shared
            .operations
            .configuration_difference(deploy)
            .await
    }

    /// Operations of a deploy, in their order.
    pub async fn operations(&self, deploy: DeployId) -> Result<Vec<Operation>, EngineError> {
        self.shared.memory.operations(deploy).await
    }

    /// Failures since a time (all for `None`), grouped by fingerprint, newest first.
    pub async fn failures(&self, since: Option<UnixMs>) -> Result<Vec<FailureGroup>, EngineError> {
        self.shared.memory.failures(since).await
    }

    /// Log lines of plugins and the engine, oldest first.
    pub async fn logs(&self, query: LogQuery) -> Result<Vec<LogRow>, EngineError> {
        self.shared.memory.logs(query).await
    }

    /// Unknown outcomes as warnings, oldest first.
    pub async fn unknown_outcomes(&self) -> Result<Vec<Diagnostic>, EngineError> {
        Ok(self
            .shared
            .memory
            .store()
            .unknown_outcomes()
            .await?
            .iter()
            .map(super::operations::unknown_outcome)
            .collect())
    }

    /// Stops every plugin, finishes all writes and releases the lock. A running deploy starts
    /// nothing more and is waited for.
    pub async fn shutdown(&self) {
        self.shared.operations.shutdown().await;
        // Metrics stay available until here, so that the end is visible in them.
        drop(lock(&self.shared.metrics_server).take());
        let traces = lock(&self.shared.traces).take();
        if let Some(traces) = traces {
            traces.flush().await;
        }
        self.shared.tasks.close();
    }
}
