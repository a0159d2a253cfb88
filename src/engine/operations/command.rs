//! Shared by all commands of the engine: one runs at a time, with its diagnostics and its
//! cancellation tokens.

use super::changed_files::WatchedFiles;
use super::lock::Locks;
use crate::error::EngineError;
use crate::stage::change::Stage;
use crate::stage::encoding::StageFile;
use crate::stage::prior::ResolvedProviders;
use crate::workspace_store::WorkspaceStore;
use model::bus::Bus;
use model::cores;
use model::mutex::lock;
use model::settings::Settings;
use model::*;
use plugin::Pin;
use plugin::find::HashCache;
use provider::ProviderSchema;
use provider::pool::Pool;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use store::records::State;
use store::sensitive;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use types::Overlays;
use workspace::load::Loaded;

/// Interval and maximum number of stop requests to plugins while work is running: one hour in all.
pub(super) const STOP_REQUEST_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

pub(super) const MAX_STOP_REQUESTS: u32 = 3_600;

/// Minimum interval between progress events of a staging, in milliseconds.
pub(super) const PROGRESS_EVERY_MS: i64 = 50;

/// A stage with its inputs.
pub(super) struct Staged {
    pub(super) stage: Arc<Stage>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) root: Arc<lang::config::Module>,
    pub(super) schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    pub(super) resolved_providers: ResolvedProviders,
    /// Providers of the objects in the state.
    pub(super) in_state: BTreeSet<String>,
}

/// Cancellation tokens of the running command.
#[derive(Clone, Default)]
pub(super) struct Switches {
    /// Cancels a staging. A deploy starts only steps that complete a replacement in progress.
    pub(super) stop: CancellationToken,
    /// A deploy starts nothing at all.
    pub(super) stop_all: CancellationToken,
    /// Abandons calls to plugins; set when plugins are killed.
    pub(super) kill: CancellationToken,
    /// Ends the commands of provisioners and groups; `kill` includes it.
    pub(super) commands: CancellationToken,
    /// Reason why another process has the lock.
    pub(super) lock_lost: Arc<OnceLock<String>>,
    /// The command only destroys what it has created, so that plugins are not asked to stop.
    pub(super) is_cleaning_up: bool,
}

/// Runs the commands of the engine on one workspace, one at a time.
pub struct Operations {
    pub(super) settings: Settings,
    pub(super) bus: Bus,
    pub(super) memory: Arc<WorkspaceStore>,
    pub(super) pool: Pool,
    pub(super) hashes: Arc<HashCache>,
    /// Serializes commands; held by the running [`Command`].
    pub(super) exclusive: Arc<tokio::sync::Mutex<()>>,
    pub(super) newest: Mutex<Option<Arc<Staged>>>,
    /// Partial plan of the newest failed staging in JSON, if a client follows the steps.
    pub(super) partial_plan: Mutex<Option<serde_json::Value>>,
    /// Stage of a plan file, with what the file shows of its surroundings.
    pub(super) imported: Mutex<Option<(StageId, Arc<StageFile>)>>,
    pub(super) switches: Arc<Mutex<Option<Switches>>>,
    /// Plugins stop as soon as the current or next command does not need them.
    is_last: AtomicBool,
    /// Set at shutdown; cancels commands that have not started.
    pub(super) shutdown: CancellationToken,
    /// Last reported plugin processes without their flightdeck.
    pub(super) orphans: Mutex<Vec<OrphanView>>,
    /// Keeps the running command on the executables that it started with.
    pinned: Mutex<Option<Pin>>,
    pub(super) locks: Arc<Locks>,
    /// Addresses of the plugins that the configuration and the state required at the last look.
    pub(super) required: Mutex<BTreeSet<String>>,
    /// Files of the configuration at the last look of a console.
    pub(super) watched_files: Mutex<WatchedFiles>,
    /// Notified when a request about a rollout is stored, because its deploy may run here.
    pub(super) rollout_requests: Arc<tokio::sync::Notify>,
    /// Tasks that release the locks of dropped commands.
    pub(super) cleanups: TaskTracker,
    /// Text of this process in the lock lease of the reconcile loop's leader, while it leads.
    pub(super) leads_as: Mutex<Option<String>>,
    /// Secrets that the running command has resolved, by variable and reference.
    pub(super) secret_texts: Mutex<BTreeMap<(Arc<str>, Arc<str>), Arc<str>>>,
    /// Overlays of resource types at the last look at the configuration.
    pub(super) overlays: Mutex<Arc<Overlays>>,
    /// Cancels the running look at objects, which gives way to commands.
    pub(super) looking: Mutex<Option<CancellationToken>>,
}

/// A running command: its turn, its cancellation tokens and its pinned executables. Ends when
/// dropped.
pub(super) struct Command<'o> {
    pub(super) operations: &'o Operations,
    switches: Switches,
    /// Keeps the next command waiting until this one has ended.
    turn: Option<OwnedMutexGuard<()>>,
}

impl std::ops::Deref for Command<'_> {
    type Target = Switches;

    fn deref(&self) -> &Switches {
        &self.switches
    }
}

impl Command<'_> {
    /// Starts the clean-up of the command. Returns the token that abandons its calls: former
    /// requests to stop do not count, and only one to kill the plugins ends it.
    pub(super) fn begin_clean_up(&mut self) -> CancellationToken {
        self.switches = Switches {
            is_cleaning_up: true,
            ..self.operations.new_switches()
        };
        *lock(&self.operations.switches) = Some(self.switches.clone());
        self.switches.kill.clone()
    }

    /// Ends the command, and returns its turn unless it has ended before. The tokens and pins are
    /// cleared first, because the next command sets its own as soon as it has the turn.
    pub(super) fn end(&mut self) -> Option<OwnedMutexGuard<()>> {
        let turn = self.turn.take()?;
        *lock(&self.operations.switches) = None;
        lock(&self.operations.pinned).take();
        Some(turn)
    }
}

impl Drop for Command<'_> {
    fn drop(&mut self) {
        drop(self.end());
    }
}

impl Operations {
    /// Creates the operations of a workspace with its opened store and pool.
    pub fn new(settings: Settings, bus: Bus, memory: Arc<WorkspaceStore>, pool: Pool) -> Self {
        let locks = Arc::new(Locks::new(memory.clone(), bus.clone()));
        Self {
            settings,
            bus,
            memory,
            hashes: pool.plugins().hashes().clone(),
            pool,
            exclusive: Arc::default(),
            newest: Mutex::default(),
            partial_plan: Mutex::default(),
            imported: Mutex::default(),
            switches: Arc::default(),
            is_last: AtomicBool::default(),
            shutdown: CancellationToken::new(),
            orphans: Mutex::default(),
            pinned: Mutex::default(),
            locks,
            required: Mutex::default(),
            watched_files: Mutex::default(),
            rollout_requests: Arc::default(),
            cleanups: TaskTracker::new(),
            leads_as: Mutex::default(),
            secret_texts: Mutex::default(),
            overlays: Mutex::default(),
            looking: Mutex::default(),
        }
    }

    /// Returns operations with the same locks, plugins and turns, but with a stage and events of
    /// their own, for plans that nobody asked for.
    pub(super) fn quiet(&self) -> Self {
        Self {
            exclusive: self.exclusive.clone(),
            switches: self.switches.clone(),
            shutdown: self.shutdown.clone(),
            locks: self.locks.clone(),
            cleanups: self.cleanups.clone(),
            ..Self::new(
                self.settings.clone(),
                Bus::default(),
                self.memory.clone(),
                self.pool.clone(),
            )
        }
    }

    pub(super) fn diagnose(&self, diagnostic: Diagnostic) {
        self.bus.emit(EventKind::Diagnostic(diagnostic));
    }

    /// Emits diagnostics; returns an error if there is one among them.
    pub(super) fn emit_diagnostics(&self, diags: Vec<Diagnostic>) -> Result<(), EngineError> {
        for d in &diags {
            self.diagnose(d.clone());
        }
        if diags.iter().any(|d| d.severity == Severity::Error) {
            Err(EngineError::Diagnostics(diags))
        } else {
            Ok(())
        }
    }

    /// Registers sensitive values of variables and state for redaction.
    pub(super) fn register_sensitive(&self, loaded: &Loaded, state: &State) {
        let secrets = self.pool.secrets();
        for (name, (value, _)) in &loaded.given {
            if loaded
                .root
                .variables
                .get(name)
                .is_some_and(|v| v.sensitive || v.ephemeral)
            {
                secrets.register(&value.clone().mark(cty::Mark::Sensitive));
            }
        }
        sensitive::register_state(secrets, state);
    }

    /// Waits for the running command, and begins another one.
    pub(super) async fn begin(&self) -> Command<'_> {
        // A look at objects gives way; its schedule repeats it soon.
        if let Some(look) = lock(&self.looking).take() {
            look.cancel();
        }
        let turn = self.exclusive.clone().lock_owned().await;
        let switches = self.new_switches();
        // Until the command ends, launches use the executables that exist now.
        *lock(&self.pinned) = Some(self.pool.pin());
        *lock(&self.switches) = Some(switches.clone());
        lock(&self.secret_texts).clear();
        Command {
            operations: self,
            switches,
            turn: Some(turn),
        }
    }

    fn new_switches(&self) -> Switches {
        let kill = CancellationToken::new();
        Switches {
            // A shutdown prevents new steps, but does not interrupt running ones.
            stop: self.shutdown.child_token(),
            stop_all: CancellationToken::new(),
            commands: kill.child_token(),
            kill,
            lock_lost: Arc::default(),
            is_cleaning_up: false,
        }
    }

    /// Tokens of the running command; without one, new tokens that shutdown cancels.
    pub(super) fn current(&self) -> Switches {
        lock(&self.switches)
            .clone()
            .unwrap_or_else(|| self.new_switches())
    }

    /// Declares that the next command is the last.
    pub fn declare_last_command(&self) {
        self.is_last.store(true, Ordering::Relaxed);
    }

    /// Declares that this command calls no plugin any more. If it is the last command, plugins stop
    /// while the rest is stored.
    pub(super) fn declare_calls_done(&self) {
        if self.is_last.load(Ordering::Relaxed) {
            self.pool.stop();
        }
    }

    /// Stops running work, plugins and the store's recorder.
    pub async fn shutdown(&self) {
        self.shutdown.cancel();
        // Waits for the running command, because an apply must not be dropped, and for the release
        // of the locks of a dropped one.
        let _turn = self.exclusive.lock().await;
        cores::free(lock(&self.newest).take());
        self.resign().await;
        self.pool.shutdown().await;
        self.memory.flush().await;
    }
}
