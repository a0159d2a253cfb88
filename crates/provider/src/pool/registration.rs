//! Registers providers with the pool: each gets an id and its first process, and replaces an
//! earlier one with the same address. Launches nothing.

use super::handle::{Address, Pool};
use super::process::PooledProcess;
use crate::dialect::Dialect;
use dependency::{BUILTIN_HOST, BUNDLED_HOST, DEFAULT_HOST, PLUGIN_HOST, TERRAFORM_REGISTRY};
use model::mutex::lock;
use model::{PluginEvent, PluginFound, PluginId, PluginKind};
use plugin::{Plugin, Plugins, Start};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Hosts that are omitted from plugin ids.
const OMITTED_HOSTS: [&str; 5] = [
    PLUGIN_HOST,
    TERRAFORM_REGISTRY,
    DEFAULT_HOST,
    BUNDLED_HOST,
    BUILTIN_HOST,
];

impl Pool {
    /// Registers a provider that can be launched, without launching it. If the same one is
    /// registered, nothing changes; if the executable differs, the old processes are stopped and
    /// removed.
    pub async fn declare(&self, found: PluginFound, start: Start) -> PluginId {
        self.register(found, Some(start), String::new()).await
    }

    /// Returns the id of the plugin registered for an address.
    pub fn registered_plugin(&self, address: &str) -> Option<PluginId> {
        let addresses = lock(&self.shared.addresses);
        let known = addresses.get(address)?;
        Some(known.processes[0].id().clone())
    }

    /// Registers a provider that is unavailable, with the reason.
    pub async fn declare_rejected(&self, found: PluginFound, why: impl Into<String>) -> PluginId {
        self.register(found, None, why.into()).await
    }

    /// Stops and removes the plugin of an address, if it is registered.
    pub async fn remove(&self, address: &str) {
        let entry = lock(&self.shared.addresses).remove(address);
        for process in entry.map(|e| e.processes).unwrap_or_default() {
            let plugin = process.id().clone();
            self.end(&process).await;
            self.shared.observer.event(PluginEvent::Removed { plugin });
        }
    }

    /// Stops a process that is not registered any more.
    async fn end(&self, process: &PooledProcess) {
        // A newly declared provider gets its own line.
        if process.is_replica() {
            process.lane().close();
        }
        self.shared.plugins.remove(process.id()).await;
    }

    async fn register(&self, found: PluginFound, start: Option<Start>, why: String) -> PluginId {
        let shared = &self.shared;
        // The lock must not be held while the old processes are stopped.
        let (id, old) = {
            let mut addresses = lock(&shared.addresses);
            let old = match addresses.get(&found.address) {
                Some(known) if is_same_registration(known, &found, start.as_ref()) => {
                    return known.processes[0].id().clone();
                }
                Some(_) => addresses
                    .remove(&found.address)
                    .map(|a| a.processes)
                    .unwrap_or_default(),
                None => Vec::new(),
            };
            (
                old.first()
                    .map_or_else(|| self.name(&found.address, &addresses), |p| p.id().clone()),
                old,
            )
        };
        for process in &old {
            self.end(process).await;
        }
        let dialect = shared.settings.dialects.of(&found);
        let plugin = match &start {
            Some(start) => shared.plugins.add(
                id.clone(),
                found.clone(),
                start.clone(),
                dialect.lifecycle(),
            ),
            None => shared.plugins.add_rejected(id.clone(), found.clone(), why),
        };
        let process = self.process(plugin, dialect, &found, start.as_ref(), None);
        let entry = Address {
            description: found.clone(),
            start,
            processes: vec![process],
            assigned: HashMap::new(),
        };
        lock(&shared.addresses).insert(found.address, entry);
        id
    }

    /// Returns a short id for an address, unless another address or a transformer has it.
    fn name(&self, address: &str, taken: &BTreeMap<String, Address>) -> PluginId {
        let short = short_name(address);
        let id = PluginId(short.into());
        let named = self.shared.plugins.get(&id);
        let is_transformer = named.is_some_and(|p| p.description().kind == PluginKind::Transformer);
        let free = !is_transformer && !taken.values().any(|a| *a.processes[0].id() == id);
        if free { id } else { PluginId(address.into()) }
    }

    pub(super) fn process(
        &self,
        plugin: Plugin,
        dialect: Arc<dyn Dialect>,
        found: &PluginFound,
        start: Option<&Start>,
        beside: Option<&Arc<PooledProcess>>,
    ) -> Arc<PooledProcess> {
        let shared = &self.shared;
        let lane = match beside {
            Some(leader) => shared.calls.additional_lane(plugin.id(), leader.lane()),
            None => shared.calls.lane(plugin.id(), shared.settings.slots),
        };
        lane.notify_on_wait(&shared.on_wait);
        let within = shared
            .settings
            .ready_timeout
            .unwrap_or_else(|| max_launch_time(&shared.plugins));
        Arc::new(PooledProcess::new(
            plugin,
            lane,
            dialect,
            found.address.clone(),
            start,
            shared.schema_cache.clone(),
            (within, shared.plugins.settings().launch.backoff.clone()),
        ))
    }
}

pub(super) fn is_same_registration(
    known: &Address,
    found: &PluginFound,
    start: Option<&Start>,
) -> bool {
    // The dialect may be learned from the process, so it is no difference.
    let bare = |f: &PluginFound| PluginFound {
        dialect: None,
        ..f.clone()
    };
    known.start.as_ref() == start && bare(&known.description) == bare(found) && start.is_some()
}

/// Returns the address without its host if that is a usual one.
pub(super) fn short_name(address: &str) -> &str {
    match address.split_once('/') {
        Some((host, rest)) if OMITTED_HOSTS.contains(&host) => rest,
        _ => address,
    }
}

/// Returns the maximum time for a plugin to become ready or be given up, with a margin.
fn max_launch_time(plugins: &Plugins) -> Duration {
    let settings = plugins.settings();
    let attempts = settings.launch.attempts.max(1);
    let launch = &settings.launch;
    let one = launch.deadline.max(launch.registration_deadline)
        + settings.launch.connect_deadline
        + settings.launch.schema_deadline
        + Duration::from_secs(5);
    let longest = settings
        .launch
        .backoff
        .iter()
        .max()
        .copied()
        .unwrap_or_default();
    (one + longest) * attempts
}
