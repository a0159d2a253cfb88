//! What the engine does on demand: load, stage, select, deploy, cancel. One piece of work at a time; owns the newest stage
//! and the switches that end what runs.

use super::api::*;
use super::bus::{Bus, now_ms};
use super::deploy::record::Recorder;
use super::deploy::run::Deploying;
use super::deploy::steps;
use super::error::EngineError;
use super::event::*;
use super::memory::Memory;
use super::plugin::find::HashCache;
use super::plugin::record::PluginId;
use super::pool::Pool;
use super::provider::{CallContext, Method, ProviderError, ProviderSchema};
use super::settings::{Access, Settings};
use super::source::{self, Pooled, Sought};
use super::stage::change::{Change, Digests, Stage};
use super::stage::nodes::{Nodes, Sources};
use super::stage::prior::PriorState;
use super::stage::scope::{Phase, Surroundings};
use super::stage::staging::{self, Order};
use super::stage::values::Values;
use super::stage::walk::{Walk, lock};
use super::stage::{keep, plan_json, select, show};
use super::store::model::State;
use super::store::{NewDeploy, this_process};
use super::told::{tell, tell_all};
use super::workspace::load::{self, Loaded};
use super::workspace::provider_addr::{BUILTIN, ConfigKey};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// How often plugins are asked to stop while something still runs, and how many times at most: an hour of it.
const ASK_EVERY: std::time::Duration = std::time::Duration::from_secs(1);
const ASKS: u32 = 3_600;
/// At most this often progress is told while staging.
const PROGRESS_EVERY_MS: i64 = 50;

/// A stage with what it was made from.
struct Staged {
    stage: Stage,
    loaded: Arc<Loaded>,
    root: Arc<lang::config::Module>,
    schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
}

/// The switches of what runs now.
#[derive(Clone, Default)]
struct Switches {
    /// Ends a staging; keeps a deploy from starting anything more.
    stop: CancellationToken,
    /// Drops what waits for a plugin; set when plugins are killed.
    kill: CancellationToken,
}

/// The engine's hands.
pub struct Work {
    settings: Settings,
    bus: Bus,
    memory: Arc<Memory>,
    pool: Pool,
    hashes: Arc<HashCache>,
    /// One stage or deploy at a time.
    turn: tokio::sync::Mutex<()>,
    newest: Mutex<Option<Arc<Staged>>>,
    switches: Mutex<Option<Switches>>,
    locks: tokio::sync::Mutex<u32>,
}

impl Work {
    /// Hands over a workspace whose memory and plugins are there.
    pub fn new(settings: Settings, bus: Bus, memory: Arc<Memory>, pool: Pool) -> Self {
        Self {
            settings,
            bus,
            memory,
            pool,
            hashes: Arc::new(HashCache::default()),
            turn: tokio::sync::Mutex::default(),
            newest: Mutex::default(),
            switches: Mutex::default(),
            locks: tokio::sync::Mutex::default(),
        }
    }

    /// Takes the workspace's lock; nested uses share it.
    pub async fn lock(&self) -> Result<(), EngineError> {
        if self.settings.access == Access::ReadOnly {
            return Err(EngineError::Refused("the workspace is open for reading only".to_owned()));
        }
        let mut held = self.locks.lock().await;
        if *held == 0 {
            match self.memory.lock(&self.settings.reason).await {
                Ok(taken_over) => {
                    if let Some(text) = taken_over {
                        self.bus.emit(EventKind::Notice { text });
                    }
                    self.bus.emit(EventKind::Lock { holder: Some(this_process(&self.settings.reason)), ours: true });
                    self.say_unknown().await?;
                }
                Err(EngineError::Locked(holder)) => {
                    self.bus.emit(EventKind::Lock { holder: Some((*holder).clone()), ours: false });
                    return Err(EngineError::Locked(holder));
                }
                Err(error) => return Err(error),
            }
        }
        *held += 1;
        Ok(())
    }

    /// Gives one use of the lock back; the last one gives the lock back.
    pub async fn unlock(&self) {
        let mut held = self.locks.lock().await;
        if *held == 0 {
            return;
        }
        *held -= 1;
        if *held == 0 {
            if let Err(error) = self.memory.unlock().await {
                self.bus.emit(EventKind::Notice { text: format!("the lock could not be given back: {error}") });
            }
            self.bus.emit(EventKind::Lock { holder: None, ours: false });
        }
    }

    /// Names what an earlier run left with an unknown outcome.
    async fn say_unknown(&self) -> Result<(), EngineError> {
        for unknown in self.memory.store().unknown_outcomes().await? {
            let text = format!(
                "unknown outcome: {} of {} in deploy #{} was begun and its end is not on record; look whether the object is there",
                unknown.step, unknown.address, unknown.deploy
            );
            self.diagnose(Diagnostic {
                severity: Severity::Warning,
                summary: "Unknown outcome".to_owned(),
                detail: text,
                address: Some(unknown.address),
                range: None,
                snippet: None,
            });
        }
        Ok(())
    }

    fn diagnose(&self, diagnostic: Diagnostic) {
        self.bus.emit(EventKind::Diagnostic(diagnostic));
    }

    /// Tells diagnostics; the error for the caller where there is one among them.
    fn tell(&self, diags: Vec<Diagnostic>) -> Result<(), EngineError> {
        for d in &diags {
            self.diagnose(d.clone());
        }
        if diags.iter().any(|d| d.severity == Severity::Error) { Err(EngineError::Diagnostics(diags)) } else { Ok(()) }
    }

    fn begin(&self) -> Switches {
        let switches = Switches::default();
        *lock(&self.switches) = Some(switches.clone());
        switches
    }

    fn end(&self) {
        *lock(&self.switches) = None;
    }

    async fn read(&self, request: &StageRequest) -> Result<Loaded, EngineError> {
        let (dir, request) = (self.settings.workspace.clone(), request.clone());
        let read = tokio::task::spawn_blocking(move || load::load(&dir, &request)).await;
        match read.map_err(|e| EngineError::Refused(format!("the configuration could not be read: {e}")))? {
            Ok((loaded, warnings)) => {
                self.tell(tell_all(warnings.iter(), &loaded.sources))?;
                Ok(loaded)
            }
            Err((sources, diags)) => {
                self.tell(tell_all(diags.iter(), &sources))?;
                Err(EngineError::Refused("the configuration cannot be used".to_owned()))
            }
        }
    }

    async fn seek(&self, loaded: &Loaded, state: &State) -> Result<Sought, EngineError> {
        let in_state: BTreeSet<String> =
            state.objects.iter().filter_map(|o| Some(ConfigKey::parse(&o.provider)?.address.to_string())).collect();
        let (root, dir, bundled, cache) =
            (loaded.root.clone(), self.settings.workspace.clone(), self.settings.bundled_environment.clone(), self.hashes.clone());
        let sought = tokio::task::spawn_blocking(move || source::seek(&root, &in_state, dir, &bundled, &cache)).await;
        let sought = sought.map_err(|e| EngineError::Refused(format!("plugins could not be looked for: {e}")))?;
        self.tell(sought.problems.clone())?;
        source::declare(&self.pool, &sought).await;
        Ok(sought)
    }

    /// Launches every plugin that the configuration declares or the state needs.
    pub async fn load_plugins(&self) -> Result<(), EngineError> {
        let _turn = self.turn.lock().await;
        let loaded = self.read(&StageRequest::default()).await?;
        let state = self.memory.store().state().await?;
        let sought = self.seek(&loaded, &state).await?;
        let addresses: BTreeSet<Arc<str>> = sought.found.values().cloned().chain(sought.missing.keys().cloned()).collect();
        let (_, bad) = source::schemas(&self.pool, &addresses, &CallContext::default()).await;
        match bad.into_values().next() {
            Some(error) if self.settings.strict => Err(EngineError::Plugin(error.to_string())),
            _ => Ok(()),
        }
    }

    /// Works out a stage.
    pub async fn stage(&self, request: StageRequest) -> Result<StageSummary, EngineError> {
        let _turn = self.turn.lock().await;
        self.lock().await?;
        let switches = self.begin();
        let result = self.stage_locked(request, &switches).await;
        self.end();
        self.unlock().await;
        if let Err(error) = &result {
            let errors = error.diagnostics().iter().filter(|d| d.severity == Severity::Error).count();
            self.bus.emit(EventKind::StageFailed {
                stage: None,
                errors: u32::try_from(errors).unwrap_or(u32::MAX),
                text: error.to_string(),
            });
        }
        result
    }

    async fn stage_locked(&self, request: StageRequest, switches: &Switches) -> Result<StageSummary, EngineError> {
        let store = self.memory.store();
        let id = store.next_stage_id().await?;
        self.bus.emit(EventKind::StageStarted(StageStarted { stage: id, mode: request.mode, resources: 0 }));
        let state = store.state().await?;
        let loaded = Arc::new(self.read(&request).await?);
        let (root, schemas, sought) = self.providers(&loaded, &state, switches).await?;
        self.tell(tell_all(loaded.value_errors.iter(), &loaded.sources))?;
        let pooled = Pooled { pool: self.pool.clone() };
        let last = std::sync::atomic::AtomicI64::new(0);
        let progress = |done: u32, total: u32, now: &str| {
            let at = now_ms();
            let before = last.load(std::sync::atomic::Ordering::Relaxed);
            if at - before >= PROGRESS_EVERY_MS || done == total {
                last.store(at, std::sync::atomic::Ordering::Relaxed);
                self.bus.emit(EventKind::StageProgress { stage: id, done, total, now: now.to_owned() });
            }
        };
        let order = Order {
            id,
            request,
            root: root.clone(),
            dir: loaded.dir.clone(),
            sources: loaded.sources.clone(),
            schemas: schemas.clone(),
            state,
            given: loaded.given.clone(),
            digests: Digests {
                config: loaded.config_digest.clone(),
                variables: loaded.variables_digest.clone(),
                plugins: sought.digest.clone(),
            },
            providers: &pooled,
            cancel: switches.stop.clone(),
            parallelism: self.settings.parallelism,
            progress: &progress,
        };
        let name = order.request.name.clone();
        let (stage, diags) = staging::stage(order).await;
        if switches.stop.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        self.tell(tell_all(diags.iter(), &loaded.sources))?;
        let Some(stage) = stage else { return Err(EngineError::Refused("nothing could be staged".to_owned())) };
        let summary = show::summary(&stage);
        let record = keep::record(&stage, &summary, loaded.snapshot.clone(), name).map_err(EngineError::Store)?;
        store.put_stage(record).await?;
        *lock(&self.newest) = Some(Arc::new(Staged { stage, loaded, root, schemas }));
        self.bus.emit(EventKind::Staged(summary.clone()));
        Ok(summary)
    }

    /// The providers that a configuration and a state use: found, launched, their schemas fetched.
    async fn providers(
        &self,
        loaded: &Loaded,
        state: &State,
        switches: &Switches,
    ) -> Result<(Arc<lang::config::Module>, HashMap<Arc<str>, Arc<ProviderSchema>>, Sought), EngineError> {
        let sought = self.seek(loaded, state).await?;
        let mut used = load::used(&loaded.root);
        used.extend(load::used_by_calls(&loaded.root, &loaded.snapshot));
        used.extend(state.objects.iter().filter_map(|o| Some(ConfigKey::parse(&o.provider)?.address)));
        let missing: Vec<Diagnostic> = used
            .iter()
            .filter_map(|address| {
                let why = sought.missing.get(address)?;
                let mut d = lang::diag::Diagnostic::error("Provider not found", why.clone());
                d.subject = load::place_of(&loaded.root, address);
                Some(tell(&d, &loaded.sources))
            })
            .collect();
        if let Some(first) = missing.first() {
            // A plugin that is not there has not registered either.
            let error = EngineError::Plugin(first.detail.clone());
            missing.iter().for_each(|d| self.diagnose(d.clone()));
            return Err(error);
        }
        let root = load::pin(&loaded.root, &sought.found);
        let wanted: BTreeSet<Arc<str>> =
            used.iter().map(|a| sought.found.get(a).unwrap_or(a).clone()).chain([Arc::from(BUILTIN)]).collect();
        let ctx = CallContext::general(&switches.stop);
        let (schemas, bad) = source::schemas(&self.pool, &wanted, &ctx).await;
        self.refuse(bad, &loaded.root, &loaded.sources)?;
        Ok((root, schemas, sought))
    }

    fn refuse(
        &self,
        bad: BTreeMap<Arc<str>, ProviderError>,
        root: &lang::config::Module,
        sources: &lang::source::SourceMap,
    ) -> Result<(), EngineError> {
        let mut first = None;
        for (address, error) in bad {
            let mut d = lang::diag::Diagnostic::error("A required plugin did not register", error.to_string());
            d.subject = load::place_of(root, &address);
            self.diagnose(tell(&d, sources));
            first.get_or_insert(error);
        }
        match first {
            None => Ok(()),
            Some(error @ ProviderError::Cancelled { .. }) => {
                tracing::debug!(%error, "staging was cancelled");
                Err(EngineError::Cancelled)
            }
            Some(error) => Err(EngineError::Plugin(error.to_string())),
        }
    }

    /// A stage worked out before; the newest where none is named.
    pub async fn staged(&self, stage: Option<StageId>) -> Result<StageSummary, EngineError> {
        if let Some(staged) = lock(&self.newest).as_ref().filter(|s| stage.is_none_or(|id| id == s.stage.id)) {
            return Ok(show::summary(&staged.stage));
        }
        let store = self.memory.store();
        let record = match stage {
            Some(id) => store.stage(id).await?,
            None => store.latest_stage().await?,
        };
        let record = record.ok_or_else(|| match stage {
            Some(id) => EngineError::NotFound(format!("there is no stage #{id}; `flightdeck stage` works one out")),
            None => EngineError::NotFound("nothing has been staged yet; `flightdeck stage` works out the changes".to_owned()),
        })?;
        serde_json::from_str(&record.summary).map_err(|e| EngineError::Store(format!("stage #{} cannot be read: {e}", record.id)))
    }

    /// The whole stage: the newest one as it is, an older one from the record; refused where it does not fit any more.
    async fn whole(&self, id: StageId, fresh: bool) -> Result<Arc<Staged>, EngineError> {
        let known = lock(&self.newest).as_ref().filter(|s| s.stage.id == id).cloned();
        let staged = match known {
            Some(staged) => staged,
            None => self.restore(id).await?,
        };
        if fresh {
            self.still_fits(&staged).await?;
        }
        Ok(staged)
    }

    async fn restore(&self, id: StageId) -> Result<Arc<Staged>, EngineError> {
        let store = self.memory.store();
        let record = store
            .stage(id)
            .await?
            .ok_or_else(|| EngineError::NotFound(format!("there is no stage #{id}; `flightdeck stage` works one out")))?;
        let request = keep::request(&record).map_err(EngineError::Store)?;
        let loaded = Arc::new(self.read(&request).await?);
        if loaded.config_digest != record.config_digest {
            return Err(EngineError::Stale { stage: id, what: moved(&record.snapshot, &loaded.snapshot) });
        }
        let state = store.state().await?;
        let (root, schemas, _) = self.providers(&loaded, &state, &Switches::default()).await?;
        let stage = keep::restore(&record, |address, resource| {
            let schemas = schemas.get(address)?;
            super::stage::nodes::schema_of(schemas, resource).cloned()
        })
        .map_err(EngineError::Store)?;
        Ok(Arc::new(Staged { stage, loaded, root, schemas }))
    }

    /// Whether what the stage was made from is still what is there.
    async fn still_fits(&self, staged: &Staged) -> Result<(), EngineError> {
        let id = staged.stage.id;
        let stale = |what: String| EngineError::Stale { stage: id, what };
        let now = self.read(&staged.stage.request).await?;
        if now.config_digest != staged.stage.digests.config {
            return Err(stale(moved(&staged.loaded.snapshot, &now.snapshot)));
        }
        if now.variables_digest != staged.stage.digests.variables {
            return Err(stale("values of variables are not the same any more".to_owned()));
        }
        let state = self.memory.store().state().await?;
        if state.serial != staged.stage.state_serial {
            return Err(stale(format!("the state has changed since (serial {} then, {} now)", staged.stage.state_serial, state.serial)));
        }
        let sought = self.seek(&now, &state).await?;
        if sought.digest != staged.stage.digests.plugins {
            return Err(stale("plugins are not the same executables any more".to_owned()));
        }
        Ok(())
    }

    /// Terraform's plan representation of a stage.
    pub async fn plan_json(&self, id: StageId) -> Result<serde_json::Value, EngineError> {
        let staged = self.whole(id, false).await?;
        let state = self.memory.store().state().await?;
        Ok(plan_json::plan_json(&staged.stage, &state))
    }

    /// Changes what a stage's deploy would apply.
    pub async fn select(&self, id: StageId, how: Select) -> Result<Selection, EngineError> {
        let staged = self.whole(id, false).await?;
        let store = self.memory.store();
        let left: BTreeSet<String> = store.stage(id).await?.map(|r| r.left.into_iter().collect()).unwrap_or_default();
        let selection = select::select(&select::references(&staged.stage), &left, &how).map_err(EngineError::NotFound)?;
        store.set_left(id, selection.left.clone()).await?;
        self.bus.emit(EventKind::Selected { stage: id, taken: selection.taken.clone(), left: selection.left.clone() });
        Ok(selection)
    }

    /// Applies a stage.
    pub async fn deploy(&self, request: DeployRequest) -> Result<DeploySummary, EngineError> {
        let _turn = self.turn.lock().await;
        self.lock().await?;
        let switches = self.begin();
        let result = self.deploy_locked(request, &switches).await;
        self.end();
        self.unlock().await;
        result
    }

    async fn deploy_locked(&self, request: DeployRequest, switches: &Switches) -> Result<DeploySummary, EngineError> {
        let store = self.memory.store();
        let staged = self.whole(request.stage, true).await?;
        let stage = &staged.stage;
        let only: Option<BTreeSet<String>> = match request.only {
            Some(only) => {
                let selection = select::only(&select::references(stage), &only).map_err(EngineError::NotFound)?;
                Some(selection.taken.into_iter().collect())
            }
            None => {
                let left: BTreeSet<String> = store.stage(request.stage).await?.map(|r| r.left.into_iter().collect()).unwrap_or_default();
                (!left.is_empty()).then(|| stage.changes.iter().map(Change::id).filter(|id| !left.contains(id)).collect())
            }
        };
        let taken: BTreeSet<usize> = (0..stage.changes.len())
            .filter(|&i| steps::acts(&stage.changes[i]) && only.as_ref().is_none_or(|o| o.contains(&stage.changes[i].id())))
            .collect();
        let mut counts = Counts::default();
        for change in taken.iter().map(|&i| &stage.changes[i]) {
            counts.add(change.action);
            counts.import += u32::from(change.importing.is_some());
        }
        let operations: Vec<Operation> = taken.iter().enumerate().map(|(n, &i)| waiting(n, &stage.changes[i], &self.pool)).collect();
        let holder = this_process("deploy");
        let began = now_ms();
        let new = NewDeploy {
            stage: stage.id,
            mode: stage.request.mode,
            began,
            who: holder.who.clone(),
            counts,
            config_digest: stage.digests.config.clone(),
            operations: operations.clone(),
        };
        let deploy = store.begin_deploy(new).await?;
        let operations: Vec<Operation> = operations.into_iter().map(|o| Operation { deploy, ..o }).collect();
        self.bus.emit(EventKind::DeployStarted(DeployStarted {
            deploy,
            stage: stage.id,
            mode: stage.request.mode,
            who: holder.who.clone(),
            host: holder.host.clone(),
            operations: operations.clone(),
        }));
        if !stage.edits.is_empty() {
            store.edit_state(stage.edits.clone()).await?;
        }
        self.settle_by_reading(stage).await?;
        let unknown = store.unknown_outcomes().await?.into_iter().map(|u| u.address).collect();
        let recorder = Recorder::new(store.clone(), self.bus.clone(), self.pool.clone(), deploy, operations, unknown);
        let state = store.state().await?;
        let pooled = Pooled { pool: self.pool.clone() };
        let walk = self.walk(&staged, &state, &pooled, switches);
        let deploying = Deploying::new(walk, stage, taken, &recorder, request.parallelism, switches.stop.clone(), state.objects);
        let went = deploying.run().await;
        let told = tell_all(went.diagnostics.iter(), &staged.loaded.sources);
        told.iter().for_each(|d| self.diagnose(d.clone()));
        let operations = recorder.counts();
        let failed = operations.failed + operations.unknown > 0 || told.iter().any(|d| d.severity == Severity::Error) || went.store_failed;
        let outcome = match () {
            () if went.cancelled && operations.not_attempted + operations.unknown > 0 => DeployOutcome::Cancelled,
            () if failed => DeployOutcome::Failed,
            () => DeployOutcome::Succeeded,
        };
        let summary = DeploySummary {
            deploy,
            stage: stage.id,
            mode: stage.request.mode,
            began,
            ended: Some(now_ms()),
            who: holder.who,
            host: holder.host,
            outcome,
            operations,
            counts,
            config_digest: stage.digests.config.clone(),
        };
        self.bus.emit(EventKind::DeployFinished(summary.clone()));
        store.finish_deploy(summary.clone()).await?;
        self.memory.flush().await;
        Ok(summary)
    }

    /// Unknown outcomes of objects that the stage has read since: what was read is what is. Those of creations stay, for
    /// there was nothing to read.
    async fn settle_by_reading(&self, stage: &Stage) -> Result<(), EngineError> {
        if stage.request.no_refresh {
            return Ok(());
        }
        let store = self.memory.store();
        for unknown in store.unknown_outcomes().await? {
            let read = stage.changes.iter().any(|c| c.address.to_string() == unknown.address && !c.before.is_null())
                || stage.drift.iter().any(|d| d.address.to_string() == unknown.address);
            if read && unknown.step != "create" {
                store.settle_unknown(&unknown.address, &format!("read back for stage #{}", stage.id)).await?;
            }
        }
        Ok(())
    }

    fn walk<'p>(&self, staged: &Staged, state: &State, providers: &'p Pooled, switches: &Switches) -> Walk<'p> {
        let prior = PriorState::new(state);
        let nodes = Nodes::build(&Sources {
            root: &staged.root,
            schemas: &staged.schemas,
            in_state: &prior.config_resources(),
            orphan_providers: &prior.providers(),
        });
        Walk {
            around: Surroundings {
                root: staged.root.clone(),
                dir: staged.loaded.dir.clone(),
                sources: staged.loaded.sources.clone(),
                phase: Phase::Apply,
                schemas: staged.schemas.clone(),
                functions: self.pool.functions(),
                values: Values::default(),
                timestamp: jiff::Timestamp::from_millisecond(staged.stage.at)
                    .unwrap_or_default()
                    .strftime("%Y-%m-%dT%H:%M:%SZ")
                    .to_string(),
            },
            nodes,
            providers,
            cancel: switches.kill.clone(),
            given: staged.loaded.given.clone(),
            ready: Mutex::default(),
            diags: Mutex::default(),
            statuses: Mutex::default(),
            destroying: staged.stage.request.mode == StageMode::Destroy,
        }
    }

    /// Goes one rung down the cancel ladder.
    pub fn cancel(self: &Arc<Self>, rung: CancelRung, tasks: &tokio_util::task::TaskTracker) {
        let Some(switches) = lock(&self.switches).clone() else { return };
        let text = match rung {
            CancelRung::StopStarting => "nothing more is started",
            CancelRung::AskPlugins => "plugins are asked to stop what they do",
            CancelRung::KillPlugins => "plugins are killed; what they were doing has an unknown outcome",
        };
        self.bus.emit(EventKind::Cancel { rung, text: text.to_owned() });
        switches.stop.cancel();
        let work = self.clone();
        match rung {
            CancelRung::StopStarting => {}
            CancelRung::AskPlugins => {
                tasks.spawn(async move { work.ask_plugins().await });
            }
            CancelRung::KillPlugins => {
                switches.kill.cancel();
                tasks.spawn(async move { work.pool.kill_all().await });
            }
        }
    }

    /// Asks until what runs has ended or is killed: a plugin forgets that it was asked once it has told the calls that it
    /// had, so that a call on its way at that moment would never hear of it.
    async fn ask_plugins(&self) {
        let stopping = || lock(&self.switches).as_ref().is_some_and(|s| s.stop.is_cancelled() && !s.kill.is_cancelled());
        for n in 0..ASKS {
            for error in self.pool.stop_all(&CallContext::default()).await {
                if n == 0 {
                    self.bus.emit(EventKind::Notice { text: error.to_string() });
                }
            }
            tokio::time::sleep(ASK_EVERY).await;
            if !stopping() {
                return;
            }
        }
    }

    /// An operator's order to one plugin.
    pub async fn plugin(&self, id: &PluginId, command: PluginCommand) -> Result<(), EngineError> {
        let plugin = self.pool.plugins().get(id).ok_or_else(|| EngineError::NotFound(format!("there is no plugin {id}")))?;
        let done = match command {
            PluginCommand::Start => plugin.start().await.map(|_| ()),
            PluginCommand::Restart => plugin.restart().await.map(|_| ()),
            PluginCommand::Stop => {
                plugin.stop().await;
                Ok(())
            }
            PluginCommand::Disable => {
                plugin.disable().await;
                Ok(())
            }
            PluginCommand::Enable => {
                plugin.enable().await;
                Ok(())
            }
        };
        done.map_err(|e| EngineError::Plugin(e.to_string()))
    }

    /// The schema of a plugin, launched where it does not run.
    pub async fn schema(&self, id: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        let address = match self.pool.plugins().get(id) {
            Some(plugin) => plugin.found().address,
            None if id.0.contains("builtin") => BUILTIN.to_owned(),
            None => return Err(EngineError::NotFound(format!("there is no plugin {id}"))),
        };
        let ctx = CallContext::default();
        let provider = self.pool.plain(&address, &ctx).await.map_err(|e| EngineError::Plugin(e.to_string()))?;
        provider.schema(&ctx).await.map_err(|e| EngineError::Plugin(e.to_string()))
    }

    /// Stops everything.
    pub async fn shutdown(&self) {
        if let Some(switches) = lock(&self.switches).clone() {
            switches.stop.cancel();
        }
        // What runs ends by itself: an apply is never dropped.
        let _turn = self.turn.lock().await;
        self.pool.shutdown().await;
        let held = *self.locks.lock().await;
        for _ in 0..held {
            self.unlock().await;
        }
        self.memory.flush().await;
    }
}

/// An operation that has not begun.
fn waiting(n: usize, change: &Change, pool: &Pool) -> Operation {
    let plugin = pool
        .serves(&change.provider.address, &change.provider.to_string())
        .unwrap_or_else(|| PluginId(super::workspace::provider_addr::short(&change.provider.address).to_owned()));
    let usual_ms = pool.usual(&plugin, Method::Apply).map(|l| l.p95_ms);
    Operation {
        deploy: 0,
        index: u32::try_from(n).unwrap_or(u32::MAX),
        address: change.id(),
        plugin: Some(plugin),
        action: change.action,
        state: OperationState::Waiting,
        step: if steps::applies(change) || steps::destroys(change.action) { "waiting" } else { "" }.to_owned(),
        attempt: 0,
        began: None,
        took_ms: None,
        waits_for: Vec::new(),
        usual_ms,
        failure: None,
        warnings: Vec::new(),
    }
}

/// Which files are not as they were.
fn moved(then: &[(String, String)], now: &[(String, String)]) -> String {
    let a: BTreeMap<&str, &str> = then.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let b: BTreeMap<&str, &str> = now.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let names: BTreeSet<&str> = a.keys().chain(b.keys()).copied().filter(|n| a.get(n) != b.get(n)).collect();
    format!("the configuration has changed since ({})", names.into_iter().collect::<Vec<_>>().join(", "))
}
