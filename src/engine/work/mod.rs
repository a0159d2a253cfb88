//! What the engine does on demand: load, stage, select, deploy, cancel. One piece of work at a
//! time; owns the newest stage and the switches that end what runs.

mod by_hand;
mod deploying;
mod rest;
mod staging;
mod taint;
mod unknown;

use super::bus::Bus;
use super::calls::Kind;
use super::calls::{CallContext, Method, ProviderError};
use super::deploy::record::Recorder;
use super::deploy::run::{Deploying, Stops};
use super::error::{EngineError, PluginTrouble};
use super::holder::this_process;
use super::memory::Memory;
use super::mutex::lock;
use super::plugin::find::HashCache;
use super::pool::Pool;
use super::provider::ProviderSchema;
use super::settings::{Access, Settings};
use super::source::{self, Pooled, Sought};
use super::stage::change::{Change, Digests, OutputChange, Stage};
use super::stage::nodes::{Nodes, Sources};
use super::stage::prior::PriorState;
use super::stage::scope::{Phase, Surroundings, timestamp};
use super::stage::sights::{self, Sights};
use super::stage::staging::{Order, stage as staged_anew, validated};
use super::stage::steps;
use super::stage::values::Values;
use super::stage::walk::Walk;
use super::stage::{keep, plan_json, select, show};
use super::store::model::NewDeploy;
use super::store::model::State;
use super::store::sensitive;
use super::told::{tell, tell_all};
use super::trust::Trust;
use super::words::*;
use super::workspace::load::{self, Loaded};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use unknown::quoted;
pub(super) use unknown::warning as unknown_outcome;

/// How often plugins are asked to stop while something still runs, and how many times at most: an
/// hour of it.
const ASK_EVERY: std::time::Duration = std::time::Duration::from_secs(1);
const ASKS: u32 = 3_600;
/// At most this often progress is told while staging.
const PROGRESS_EVERY_MS: i64 = 50;

/// A stage with what it was made from.
struct Staged {
    stage: Arc<Stage>,
    loaded: Arc<Loaded>,
    root: Arc<lang::config::Module>,
    schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
}

/// The switches of what runs now.
#[derive(Clone, Default)]
struct Switches {
    /// Ends a staging; keeps a deploy from starting anything more but what ends a replacement that
    /// has begun.
    stop: CancellationToken,
    /// Keeps a deploy from starting even that.
    stop_all: CancellationToken,
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
    /// Set at the end: what is still to begin is cancelled before it does.
    ending: CancellationToken,
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
            ending: CancellationToken::new(),
            locks: tokio::sync::Mutex::default(),
        }
    }

    /// Takes the workspace's lock; nested uses share it. What earlier runs left unknown is said.
    pub async fn lock(&self) -> Result<(), EngineError> {
        if self.take_lock().await? {
            self.say_unknown().await?;
        }
        Ok(())
    }

    /// Takes the lock; answers whether it was not ours before.
    async fn take_lock(&self) -> Result<bool, EngineError> {
        if self.settings.access == Access::ReadOnly {
            return Err(EngineError::Refused(
                "the workspace is open for reading only".to_owned(),
            ));
        }
        let mut held = self.locks.lock().await;
        let first = *held == 0;
        if first {
            match self.memory.lock(&self.settings.reason).await {
                Ok(taken_over) => {
                    if let Some(text) = taken_over {
                        self.bus.emit(EventKind::Notice { text });
                    }
                    self.bus.emit(EventKind::Lock {
                        holder: Some(this_process(&self.settings.reason)),
                        ours: true,
                    });
                }
                Err(EngineError::Locked(holder)) => {
                    self.bus.emit(EventKind::Lock {
                        holder: Some((*holder).clone()),
                        ours: false,
                    });
                    return Err(EngineError::Locked(holder));
                }
                Err(error) => return Err(error),
            }
        }
        *held += 1;
        Ok(first)
    }

    /// Gives one use of the lock back; the last one gives the lock back.
    pub async fn unlock(&self) {
        let mut held = self.locks.lock().await;
        if *held == 0 {
            return;
        }
        if let Err(error) = self.memory.state().bring_home().await {
            let place = self.memory.state().place();
            self.bus.emit(EventKind::Notice {
                text: format!("the state could not be written to {place}; the store of the workspace has it: {error}"),
            });
        }
        *held -= 1;
        if *held == 0 {
            if let Err(error) = self.memory.unlock().await {
                self.bus.emit(EventKind::Notice {
                    text: format!("the lock could not be given back: {error}"),
                });
            }
            self.bus.emit(EventKind::Lock {
                holder: None,
                ours: false,
            });
        }
    }

    fn diagnose(&self, diagnostic: Diagnostic) {
        self.bus.emit(EventKind::Diagnostic(diagnostic));
    }

    /// Tells diagnostics; the error for the caller where there is one among them.
    fn tell(&self, diags: Vec<Diagnostic>) -> Result<(), EngineError> {
        for d in &diags {
            self.diagnose(d.clone());
        }
        if diags.iter().any(|d| d.severity == Severity::Error) {
            Err(EngineError::Diagnostics(diags))
        } else {
            Ok(())
        }
    }

    /// Keeps in mind what the variables and the state say must not be shown.
    fn learn(&self, loaded: &Loaded, state: &State) {
        let secrets = self.pool.secrets();
        for (name, (value, _)) in &loaded.given {
            if loaded
                .root
                .variables
                .get(name)
                .is_some_and(|v| v.sensitive || v.ephemeral)
            {
                secrets.learn(&value.clone().mark(cty::Mark::Sensitive));
            }
        }
        sensitive::learn(secrets, state);
    }

    fn begin(&self) -> Switches {
        let switches = self.fresh();
        *lock(&self.switches) = Some(switches.clone());
        switches
    }

    fn fresh(&self) -> Switches {
        Switches {
            stop: self.ending.child_token(),
            stop_all: CancellationToken::new(),
            kill: CancellationToken::new(),
        }
    }

    /// The switches of what runs; where nothing does, those that the end sets.
    fn current(&self) -> Switches {
        lock(&self.switches).clone().unwrap_or_else(|| self.fresh())
    }

    fn end(&self) {
        *lock(&self.switches) = None;
    }

    async fn read(&self, request: &StageRequest) -> Result<Loaded, EngineError> {
        self.read_with(request, false).await
    }

    async fn read_with(
        &self,
        request: &StageRequest,
        partial: bool,
    ) -> Result<Loaded, EngineError> {
        let (dir, request) = (self.settings.workspace.clone(), request.clone());
        let read = tokio::task::spawn_blocking(move || load::load(&dir, &request, partial)).await;
        match read.map_err(EngineError::task("the configuration could not be read"))? {
            Ok((loaded, warnings)) => {
                self.tell(tell_all(
                    warnings.iter(),
                    &loaded.sources,
                    self.pool.secrets(),
                ))?;
                Ok(loaded)
            }
            Err((sources, diags)) => {
                self.tell(tell_all(diags.iter(), &sources, self.pool.secrets()))?;
                Err(EngineError::Refused(
                    "the configuration cannot be used".to_owned(),
                ))
            }
        }
    }

    async fn seek(&self, loaded: &Loaded, state: &State) -> Result<Sought, EngineError> {
        let in_state: BTreeSet<String> = state
            .objects
            .iter()
            .filter_map(|o| Some(ConfigKey::parse(&o.provider)?.address.to_string()))
            .collect();
        let (root, dir, bundled) = (
            loaded.root.clone(),
            self.settings.workspace.clone(),
            self.settings.bundled_environment.clone(),
        );
        let (cache, trust) = (self.hashes.clone(), self.trust());
        let stop = self.current().stop;
        let sought = tokio::task::spawn_blocking(move || {
            source::seek(&root, &in_state, dir, &bundled, &cache, &trust)
        });
        let sought = tokio::select! { biased; // large packages are hashed for seconds
            () = stop.cancelled() => return Err(EngineError::Cancelled),
            sought = sought => sought,
        };
        let sought = sought.map_err(EngineError::task("plugins could not be looked for"))?;
        self.tell(sought.problems.clone())?;
        source::declare(&self.pool, &sought).await;
        if !sought.untrusted.is_empty() || self.bus.with_view(|view| !view.untrusted.is_empty()) {
            self.bus.emit(EventKind::UntrustedPlugins {
                plugins: sought.untrusted.clone(),
            });
        }
        Ok(sought)
    }

    fn trust(&self) -> Trust {
        Trust::new(
            self.settings.trusted_plugins.clone(),
            &self.settings.workspace,
        )
    }

    /// Plugins that the workspace itself brings and that have no yes. Launches none.
    pub async fn untrusted(&self) -> Result<Vec<WorkspacePlugin>, EngineError> {
        let _turn = self.turn.lock().await;
        let loaded = self.read(&StageRequest::default()).await?;
        let state = self.memory.state().read().await?;
        Ok(self.seek(&loaded, &state).await?.untrusted)
    }

    /// Remembers a yes for each of these, by its digest.
    pub async fn give_trust(&self, plugins: Vec<WorkspacePlugin>) -> Result<(), EngineError> {
        let trust = self.trust();
        let given = tokio::task::spawn_blocking(move || {
            plugins.iter().try_for_each(|plugin| trust.give(plugin))
        })
        .await;
        Ok(given.map_err(EngineError::task("a yes could not be kept"))??)
    }

    /// Launches every plugin that the configuration declares or the state needs.
    pub async fn load_plugins(&self) -> Result<(), EngineError> {
        let _turn = self.turn.lock().await;
        let switches = self.begin();
        let result = self.load_all(&switches).await;
        self.end();
        result
    }

    async fn load_all(&self, switches: &Switches) -> Result<(), EngineError> {
        let loaded = self.read(&StageRequest::default()).await?;
        let state = self.memory.state().read().await?;
        let sought = self.seek(&loaded, &state).await?;
        let addresses: BTreeSet<Arc<str>> = sought
            .found
            .values()
            .cloned()
            .chain(sought.missing.keys().cloned())
            .collect();
        let (_, bad) = source::schemas(
            &self.pool,
            &addresses,
            &CallContext::general(&switches.stop),
        )
        .await;
        if switches.stop.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        let bad: Vec<ProviderError> = bad.into_values().collect();
        if self.settings.strict && !bad.is_empty() {
            Err(PluginTrouble::Several(bad).into())
        } else {
            Ok(())
        }
    }

    /// An operator's order to one plugin.
    pub async fn plugin(&self, id: &PluginId, command: PluginCommand) -> Result<(), EngineError> {
        let plugin = self
            .pool
            .plugins()
            .get(id)
            .ok_or_else(|| EngineError::NotFound(format!("there is no plugin {id}")))?;
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
        done.map_err(|e| PluginTrouble::from(e).into())
    }

    /// The schema of a plugin, launched where it does not run.
    pub async fn schema(&self, id: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        let address = match self.pool.plugins().get(id) {
            Some(plugin) => plugin.found().address,
            None if id.is_builtin() => BUILTIN_PROVIDER.to_owned(),
            None => return Err(EngineError::NotFound(format!("there is no plugin {id}"))),
        };
        let ctx = CallContext::default();
        let provider = self.pool.plain(&address, &ctx).await?;
        Ok(provider.schema(&ctx).await?)
    }

    /// What the evaluations of one walk share.
    fn around(
        &self,
        loaded: &Loaded,
        root: &Arc<lang::config::Module>,
        schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
        phase: Phase,
        at: UnixMs,
        cancel: &CancellationToken,
        sights: Sights,
    ) -> Surroundings {
        Surroundings {
            root: root.clone(),
            dir: loaded.dir.clone(),
            sources: loaded.sources.clone(),
            phase,
            schemas: schemas.clone(),
            functions: self.pool.functions(),
            values: Values::default(),
            timestamp: timestamp(at),
            cancel: cancel.clone(),
            sights,
        }
    }

    /// Stops everything.
    pub async fn shutdown(&self) {
        self.ending.cancel();
        // What runs ends by itself: an apply is never dropped.
        let _turn = self.turn.lock().await;
        // A large stage takes a while to free, and nobody has to wait for it.
        let stage = lock(&self.newest).take();
        drop(tokio::task::spawn_blocking(move || drop(stage)));
        self.pool.shutdown().await;
        let held = *self.locks.lock().await;
        for _ in 0..held {
            self.unlock().await;
        }
        self.memory.flush().await;
    }
}

/// The graph of a configuration and of what the state has.
fn nodes(
    root: &lang::config::Module,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
    prior: &PriorState,
) -> Nodes {
    Nodes::build(&Sources {
        root,
        schemas,
        in_state: &prior.config_resources(),
        orphan_providers: &prior.providers(),
    })
}
