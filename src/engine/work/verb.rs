//! What all verbs have in common: one at a time, told of, and ended.

use crate::engine::bus::Bus;
use crate::engine::cores;
use crate::engine::error::EngineError;
use crate::engine::memory::Memory;
use crate::engine::mutex::lock;
use crate::engine::plugin::Pinned;
use crate::engine::plugin::find::HashCache;
use crate::engine::pool::Pool;
use crate::engine::provider::ProviderSchema;
use crate::engine::settings::Settings;
use crate::engine::stage::change::Stage;
use crate::engine::stage::prior::Meant;
use crate::engine::store::model::State;
use crate::engine::store::sensitive;
use crate::engine::words::*;
use crate::engine::workspace::load::Loaded;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// How often plugins are asked to stop while something still runs, and how many times at most: an
/// hour of it.
pub(super) const ASK_EVERY: std::time::Duration = std::time::Duration::from_secs(1);

pub(super) const ASKS: u32 = 3_600;

/// At most this often progress is told while staging.
pub(super) const PROGRESS_EVERY_MS: i64 = 50;

/// A stage with what it was made from.
pub(super) struct Staged {
    pub(super) stage: Arc<Stage>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) root: Arc<lang::config::Module>,
    pub(super) schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    pub(super) meant: Meant,
    /// The providers of what was in the state.
    pub(super) in_state: BTreeSet<String>,
}

/// The switches of what runs now.
#[derive(Clone, Default)]
pub(super) struct Switches {
    /// Ends a staging; keeps a deploy from starting anything more but what ends a replacement that
    /// has begun.
    pub(super) stop: CancellationToken,
    /// Keeps a deploy from starting even that.
    pub(super) stop_all: CancellationToken,
    /// Drops what waits for a plugin; set when plugins are killed.
    pub(super) kill: CancellationToken,
}

/// The engine's hands.
pub struct Work {
    pub(super) settings: Settings,
    pub(super) bus: Bus,
    pub(super) memory: Arc<Memory>,
    pub(super) pool: Pool,
    pub(super) hashes: Arc<HashCache>,
    /// One stage or deploy at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) newest: Mutex<Option<Arc<Staged>>>,
    /// What was worked out before the newest staging failed, as its plan representation, where
    /// somebody follows.
    pub(super) errored: Mutex<Option<serde_json::Value>>,
    pub(super) switches: Mutex<Option<Switches>>,
    /// Whether plugins stop as soon as the verb that runs, or is asked for next, needs them no
    /// more.
    is_last: AtomicBool,
    /// Set at the end: what is still to begin is cancelled before it does.
    pub(super) ending: CancellationToken,
    /// Plugin processes without their flightdeck, as they were said last.
    pub(super) orphans: Mutex<Vec<OrphanView>>,
    /// What runs goes on with the programs that it began with.
    pinned: Mutex<Option<Pinned>>,
    pub(super) locks: tokio::sync::Mutex<u32>,
}

impl Work {
    /// Hands over a workspace whose memory and plugins are there.
    pub fn new(settings: Settings, bus: Bus, memory: Arc<Memory>, pool: Pool) -> Self {
        Self {
            settings,
            bus,
            memory,
            hashes: pool.plugins().hashes().clone(),
            pool,
            turn: tokio::sync::Mutex::default(),
            newest: Mutex::default(),
            errored: Mutex::default(),
            switches: Mutex::default(),
            is_last: AtomicBool::default(),
            ending: CancellationToken::new(),
            orphans: Mutex::default(),
            pinned: Mutex::default(),
            locks: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn diagnose(&self, diagnostic: Diagnostic) {
        self.bus.emit(EventKind::Diagnostic(diagnostic));
    }

    /// Tells diagnostics; the error for the caller where there is one among them.
    pub(super) fn tell(&self, diags: Vec<Diagnostic>) -> Result<(), EngineError> {
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
    pub(super) fn learn(&self, loaded: &Loaded, state: &State) {
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

    pub(super) fn begin(&self) -> Switches {
        let switches = self.fresh();
        *lock(&self.pinned) = Some(self.pool.pin());
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
    pub(super) fn current(&self) -> Switches {
        lock(&self.switches).clone().unwrap_or_else(|| self.fresh())
    }

    pub(super) fn end(&self) {
        *lock(&self.switches) = None;
        lock(&self.pinned).take();
    }

    /// No verb is asked for after the next one.
    pub fn nothing_follows(&self) {
        self.is_last.store(true, Ordering::Relaxed);
    }

    /// No plugin is called any more in this verb: where it is the last, plugins stop beside what is
    /// left to be kept.
    pub(super) fn calls_are_over(&self) {
        if self.is_last.load(Ordering::Relaxed) {
            self.pool.stop();
        }
    }

    /// Stops everything.
    pub async fn shutdown(&self) {
        self.ending.cancel();
        // What runs ends by itself: an apply is never dropped.
        let _turn = self.turn.lock().await;
        cores::free(lock(&self.newest).take());
        self.pool.shutdown().await;
        // A verb that was dropped halfway may have left it.
        self.give_back_lock().await;
        let held = *self.locks.lock().await;
        for _ in 0..held {
            self.unlock().await;
        }
        self.memory.flush().await;
    }
}
