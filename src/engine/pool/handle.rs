//! The pool as others hold it, and what it knows of each address.

use super::process::Process;
use super::settings::PoolSettings;
use super::shelf::Shelf;
use crate::engine::calls::{Calls, Kind};
use crate::engine::plugin::{PluginObserver, Plugins, Start};
use crate::engine::provider::builtin::{Builtin, RemoteStates};
use crate::engine::words::{Latency, PluginFound, PluginId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::Notify;

/// What there is for one provider address.
pub(super) struct Address {
    pub(super) found: PluginFound,
    /// `None` where the plugin cannot be had.
    pub(super) start: Option<Start>,
    pub(super) processes: Vec<Arc<Process>>,
    /// Index of the process by configuration.
    pub(super) assigned: HashMap<String, usize>,
}

pub(super) struct Shared {
    pub(super) settings: PoolSettings,
    pub(super) plugins: Plugins,
    pub(super) calls: Calls,
    pub(super) observer: Arc<dyn PluginObserver>,
    pub(super) shelf: Arc<Shelf>,
    pub(super) addresses: Mutex<BTreeMap<String, Address>>,
    /// Held while transformers are taken under supervision.
    pub(super) declaring: tokio::sync::Mutex<()>,
    /// Is told when a call begins to wait for a slot.
    pub(super) presses: Arc<Notify>,
    pub(super) builtin: OnceLock<Arc<Builtin>>,
    /// How the states are encrypted that the builtin provider reads.
    pub(super) remote_states: Arc<Mutex<RemoteStates>>,
}

/// The pool. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    pub(super) shared: Arc<Shared>,
}

impl Pool {
    /// A pool without plugins. Needs a runtime.
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
                shelf,
                addresses,
                declaring: tokio::sync::Mutex::default(),
                builtin,
                presses: Arc::default(),
                remote_states: Arc::default(),
            }),
        };
        pool.keep();
        pool
    }

    /// The supervisors, for an operator's orders to one plugin.
    pub fn plugins(&self) -> &Plugins {
        &self.shared.plugins
    }

    /// What is hidden in what providers answer.
    pub fn secrets(&self) -> &crate::engine::secrets::Secrets {
        self.shared.calls.secrets()
    }

    /// Where it is said what goes on.
    pub fn sink(&self) -> &dyn crate::engine::bus::EventSink {
        self.shared.calls.sink()
    }

    /// How long such calls to a plugin usually take.
    pub fn usual(&self, plugin: &PluginId, kind: &Kind) -> Option<Latency> {
        self.shared.calls.usual(plugin, kind)
    }
}
