//! Handle to the pool, and its state per provider address.

use super::process::PooledProcess;
use super::schema_cache::SchemaCache;
use super::settings::PoolSettings;
use crate::builtin::{Builtin, RemoteStates};
use calls::{Calls, Kind};
use model::{CallId, Latency, PluginFound, PluginId};
use plugin::{PluginObserver, Plugins, Start};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::Notify;

/// State of one provider address.
pub(super) struct Address {
    pub(super) description: PluginFound,
    /// `None` if the plugin is unavailable.
    pub(super) start: Option<Start>,
    pub(super) processes: Vec<Arc<PooledProcess>>,
    /// Index of the process by configuration name.
    pub(super) assigned: HashMap<String, usize>,
}

pub(super) struct Shared {
    pub(super) settings: PoolSettings,
    pub(super) plugins: Plugins,
    pub(super) calls: Calls,
    pub(super) observer: Arc<dyn PluginObserver>,
    pub(super) schema_cache: Arc<SchemaCache>,
    pub(super) addresses: Mutex<BTreeMap<String, Address>>,
    /// Held while transformers are registered.
    pub(super) declaring: tokio::sync::Mutex<()>,
    /// Notified when a call starts to wait for a slot.
    pub(super) on_wait: Arc<Notify>,
    pub(super) builtin: OnceLock<Arc<Builtin>>,
    /// Encryption of the states that the builtin provider reads.
    pub(super) remote_states: Arc<Mutex<RemoteStates>>,
}

/// Pool of provider processes. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    pub(super) shared: Arc<Shared>,
}

impl Pool {
    /// Creates a pool without plugins. Must be called within a runtime.
    pub fn new(
        settings: PoolSettings,
        plugins: Plugins,
        calls: Calls,
        observer: Arc<dyn PluginObserver>,
    ) -> Self {
        let (shelf, addresses, builtin) = (Arc::default(), Mutex::default(), OnceLock::new());
        let pool = Self {
            shared: Arc::new(Shared {
                settings,
                plugins,
                calls,
                observer,
                schema_cache: shelf,
                addresses,
                declaring: tokio::sync::Mutex::default(),
                builtin,
                on_wait: Arc::default(),
                remote_states: Arc::default(),
            }),
        };
        pool.start_maintenance();
        pool
    }

    /// Returns the supervisors, for an operator's orders to one plugin.
    pub fn plugins(&self) -> &Plugins {
        &self.shared.plugins
    }

    /// Returns the values to redact in answers of providers.
    pub fn secrets(&self) -> &model::secrets::Secrets {
        self.shared.calls.secrets()
    }

    /// Returns the receiver of events.
    pub fn sink(&self) -> &dyn model::bus::EventSink {
        self.shared.calls.sink()
    }

    /// Ends the wait for the answer of a running call. Returns false if the call does not run.
    pub fn give_up(&self, call: CallId) -> bool {
        self.shared.calls.give_up(call)
    }

    /// Returns the usual latency of such calls to a plugin.
    pub fn usual_latency(&self, plugin: &PluginId, kind: &Kind) -> Option<Latency> {
        self.shared.calls.usual_latency(plugin, kind)
    }
}
