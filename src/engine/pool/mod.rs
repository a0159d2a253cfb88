//! Which process serves which provider configuration. The first process of an address serves
//! everything that needs no configuration and the first configuration; every further configuration
//! has a process of its own, unless its dialect sends it with each call. Owns the assignment, the
//! providers' schemas and the adapters; the processes belong to their supervisors.

mod follow;
mod process;
mod shelf;

use super::calls::{CallContext, ProviderError};
use super::calls::{Calls, Kind};
use super::mutex::lock;
use super::plugin::PluginObserver;
use super::plugin::{Plugins, Start};
use super::provider::Provider;
use super::provider::builtin::{self, Builtin};
use super::provider::dialect::{Configuration, Dialect, Dialects};
use super::provider::functions::Functions;
use super::words::{BUILTIN_PLUGIN, Latency, PluginEvent, PluginFound, PluginId, PluginState};
use cty::Value;
use follow::Follow;
use futures_util::future::join_all;
use process::Process;
use shelf::Shelf;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Hosts that are left out of the names of plugins.
const USUAL_HOSTS: [&str; 4] = [
    "registry.terraform.io",
    "registry.opentofu.org",
    "flightdeck.internal",
    "terraform.io",
];

/// What a pool needs to know.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Calls at a time to one process.
    pub slots: u32,
    /// How long to wait for a plugin to be ready; `None` for as long as its launches and the pauses
    /// between them may take.
    pub ready_within: Option<Duration>,
    /// Against which the builtin provider resolves paths.
    pub workspace: PathBuf,
    /// What is spoken with plugins.
    pub dialects: Dialects,
}

impl PoolSettings {
    /// Ten slots a process, the time that launches may take, and all of our dialects.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            slots: 10,
            ready_within: None,
            workspace: workspace.into(),
            dialects: Dialects::default(),
        }
    }
}

/// What there is for one provider address.
struct Address {
    found: PluginFound,
    /// `None` where the plugin cannot be had.
    start: Option<Start>,
    processes: Vec<Arc<Process>>,
    /// Index of the process by configuration.
    assigned: HashMap<String, usize>,
}

struct Shared {
    settings: PoolSettings,
    plugins: Plugins,
    calls: Calls,
    observer: Arc<dyn PluginObserver>,
    shelf: Arc<Shelf>,
    addresses: Mutex<BTreeMap<String, Address>>,
    builtin: OnceLock<Arc<Builtin>>,
}

/// The pool. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

/// A plugin that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub plugin: PluginId,
    pub address: String,
    pub state: PluginState,
}

impl Pool {
    /// A pool without plugins.
    pub fn new(
        settings: PoolSettings,
        plugins: Plugins,
        calls: Calls,
        observer: Arc<dyn PluginObserver>,
    ) -> Self {
        let (shelf, addresses, builtin) = (Arc::default(), Mutex::default(), OnceLock::new());
        Self {
            shared: Arc::new(Shared {
                settings,
                plugins,
                calls,
                observer,
                shelf,
                addresses,
                builtin,
            }),
        }
    }

    /// The supervisors, for an operator's orders to one plugin.
    pub fn plugins(&self) -> &Plugins {
        &self.shared.plugins
    }

    /// Makes a provider known that can be started. Launches nothing. Where the same is known
    /// already nothing changes; where another executable is, its processes are stopped and
    /// forgotten.
    pub async fn declare(&self, found: PluginFound, start: Start) -> PluginId {
        self.know(found, Some(start), String::new()).await
    }

    /// Makes a provider known that cannot be had, with the reason.
    pub async fn declare_rejected(&self, found: PluginFound, why: impl Into<String>) -> PluginId {
        self.know(found, None, why.into()).await
    }

    async fn know(&self, found: PluginFound, start: Option<Start>, why: String) -> PluginId {
        let shared = &self.shared;
        let (id, old) = {
            let mut addresses = lock(&shared.addresses);
            let old = match addresses.get(&found.address) {
                Some(known) if same(known, &found, start.as_ref()) => {
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
                    .map_or_else(|| name(&found.address, &addresses), |p| p.id().clone()),
                old,
            )
        };
        for process in &old {
            shared.plugins.remove(process.id()).await;
        }
        let dialect = shared.settings.dialects.of(&found);
        let plugin = match &start {
            Some(start) => {
                shared
                    .plugins
                    .add(id.clone(), found.clone(), start.clone(), dialect.life())
            }
            None => shared.plugins.add_rejected(id.clone(), found.clone(), why),
        };
        let process = self.process(plugin, dialect, &found, start.as_ref());
        let entry = Address {
            found: found.clone(),
            start,
            processes: vec![process],
            assigned: HashMap::new(),
        };
        lock(&shared.addresses).insert(found.address, entry);
        id
    }

    fn process(
        &self,
        plugin: super::plugin::Plugin,
        dialect: Arc<dyn Dialect>,
        found: &PluginFound,
        start: Option<&Start>,
    ) -> Arc<Process> {
        let shared = &self.shared;
        let lane = shared.calls.lane(plugin.id(), shared.settings.slots);
        let within = shared
            .settings
            .ready_within
            .unwrap_or_else(|| launches_may_take(&shared.plugins));
        Arc::new(Process::new(
            plugin,
            lane,
            dialect,
            found.address.clone(),
            start,
            shared.shelf.clone(),
            within,
        ))
    }

    /// A provider for what needs no configuration: schema, validation, upgrades, functions.
    /// Launched if it does not run; when this returns its schema is known. Goes on working after a
    /// crash or a restart.
    pub async fn plain(
        &self,
        address: &str,
        ctx: &CallContext,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        if address == builtin::ADDRESS {
            return Ok(self.builtin());
        }
        let process = {
            let addresses = lock(&self.shared.addresses);
            addresses
                .get(address)
                .map(|a| a.processes[0].clone())
                .ok_or_else(|| unknown(address))?
        };
        process.current(ctx).await?;
        Ok(Arc::new(Follow::plain(process)))
    }

    /// The provider of one configuration, whose name `key` is (`provider.aws.west`), and whether
    /// its process has been given this very `config` already; where it has not, the caller
    /// configures it before anything else. A process that was given another configuration is
    /// started anew, once its calls have ended. After a crash the process that takes its place is
    /// given the same configuration by itself.
    pub async fn configured(
        &self,
        address: &str,
        key: &str,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<(Arc<dyn Provider>, bool), ProviderError> {
        if address == builtin::ADDRESS {
            return Ok((self.builtin(), true));
        }
        let process = self.assign(address, key)?;
        if process.dialect().configuration() == Configuration::OfCall {
            process.current(ctx).await?;
            return Ok((Arc::new(Follow::with(process, config.clone())), true));
        }
        let done = process.fit_for(config, ctx).await?;
        Ok((Arc::new(Follow::configured(process)), done))
    }

    /// The process of a configuration; a new one unless there is one without any.
    fn assign(&self, address: &str, key: &str) -> Result<Arc<Process>, ProviderError> {
        let mut addresses = lock(&self.shared.addresses);
        let entry = addresses.get_mut(address).ok_or_else(|| unknown(address))?;
        if let Some(index) = entry.assigned.get(key) {
            return Ok(entry.processes[*index].clone());
        }
        let dialect = entry.processes[0].dialect().clone();
        let index = match dialect.configuration() {
            Configuration::OfProcess => entry.assigned.len(),
            Configuration::OfCall => 0,
        };
        if index >= entry.processes.len() {
            let first = entry.processes[0].id().clone();
            let start = match &entry.start {
                Some(start @ Start::Spawn(_)) => start.clone(),
                Some(Start::Attach(_)) => {
                    let why = "it is reattached, and one process cannot serve two configurations: leave out the aliases".to_owned();
                    return Err(ProviderError::Blocked {
                        plugin: first,
                        state: "cannot be shared".to_owned(),
                        why,
                    });
                }
                // Its answer to every demand is the reason why it cannot be had.
                None => return Ok(entry.processes[0].clone()),
            };
            let id = PluginId(format!("{first}#{}", index + 1));
            let mut settings = self.shared.plugins.settings().clone();
            // Old SDKs must be asked by every process before anything else; the others need not be
            // asked again.
            settings.fetch_schema &= !self
                .shared
                .shelf
                .get(&start)
                .is_some_and(|s| s.capabilities.get_schema_optional);
            let plugin = self.shared.plugins.add_with(
                id,
                serving(&entry.found, key),
                start.clone(),
                dialect.life(),
                settings,
            );
            let process = self.process(plugin, dialect, &entry.found, Some(&start));
            entry.processes.push(process);
        } else if dialect.configuration() == Configuration::OfProcess && !is_default(address, key) {
            let (plugin, found) = (
                entry.processes[index].id().clone(),
                serving(&entry.found, key),
            );
            self.shared
                .observer
                .event(PluginEvent::Found { plugin, found });
        }
        entry.assigned.insert(key.to_owned(), index);
        Ok(entry.processes[index].clone())
    }

    fn builtin(&self) -> Arc<dyn Provider> {
        let shared = &self.shared;
        let make = || {
            let plugin = PluginId(BUILTIN_PLUGIN.to_owned());
            let found = PluginFound {
                address: builtin::ADDRESS.to_owned(),
                version: None,
                dialect: Some("builtin".to_owned()),
                executable: None,
                source: "builtin".to_owned(),
                why: "part of flightdeck".to_owned(),
            };
            shared.observer.event(PluginEvent::Found {
                plugin: plugin.clone(),
                found,
            });
            let state = PluginState::Ready {
                since: crate::engine::words::now_ms(),
            };
            shared.observer.event(PluginEvent::State {
                plugin: plugin.clone(),
                state,
            });
            Arc::new(Builtin::new(plugin, shared.settings.workspace.clone()))
        };
        shared.builtin.get_or_init(make).clone()
    }

    /// The process that serves a configuration; the provider's first one while none is assigned.
    pub fn serves(&self, address: &str, key: &str) -> Option<PluginId> {
        let addresses = lock(&self.shared.addresses);
        let entry = addresses.get(address)?;
        let index = entry.assigned.get(key).copied().unwrap_or(0);
        Some(entry.processes.get(index)?.id().clone())
    }

    /// What is hidden in what providers answer.
    pub fn secrets(&self) -> &crate::engine::secrets::Secrets {
        self.shared.calls.secrets()
    }

    /// How long such calls to a plugin usually take.
    pub fn usual(&self, plugin: &PluginId, kind: &Kind) -> Option<Latency> {
        self.shared.calls.usual(plugin, kind)
    }

    /// The functions of the providers that are up, by address.
    pub fn functions(&self) -> Functions {
        let addresses = lock(&self.shared.addresses);
        let first = addresses
            .iter()
            .filter_map(|(address, a)| Some((address, a.processes.first()?)));
        let some = first.filter(|(_, p)| p.known_schema().is_some_and(|s| !s.functions.is_empty()));
        let all: HashMap<Arc<str>, Arc<dyn Provider>> = some
            .map(|(address, p)| {
                (
                    Arc::from(address.as_str()),
                    Arc::new(Follow::plain(p.clone())) as Arc<dyn Provider>,
                )
            })
            .collect();
        Functions::new(all, tokio_util::sync::CancellationToken::new())
    }

    fn processes(&self) -> Vec<Arc<Process>> {
        lock(&self.shared.addresses)
            .values()
            .flat_map(|a| a.processes.iter().cloned())
            .collect()
    }

    /// Plugins that have failed for good: what needs them cannot go on until an operator does
    /// something.
    pub fn blocked(&self) -> Vec<Blocked> {
        let one = |p: Arc<Process>| {
            let state = p.state();
            let stuck = matches!(
                state,
                PluginState::Rejected { .. }
                    | PluginState::GaveUp { .. }
                    | PluginState::Incompatible { .. }
                    | PluginState::Disabled
            );
            stuck.then(|| Blocked {
                plugin: p.id().clone(),
                address: p.address().to_owned(),
                state,
            })
        };
        self.processes().into_iter().filter_map(one).collect()
    }

    /// Asks every running provider to end what it is doing (not to exit). What each answered, where
    /// that was an error.
    pub async fn stop_all(&self, ctx: &CallContext) -> Vec<ProviderError> {
        let processes = self.processes();
        join_all(processes.iter().map(|p| p.ask_to_stop(ctx)))
            .await
            .into_iter()
            .filter_map(Result::err)
            .collect()
    }

    /// Kills every process. What they were doing has an unknown outcome. The next demand starts
    /// them again.
    pub async fn kill_all(&self) {
        let processes = self.processes();
        join_all(processes.iter().map(|p| p.kill())).await;
    }

    /// Stops every process; nothing can be started afterwards.
    pub async fn shutdown(&self) {
        self.shared.plugins.shutdown().await;
    }
}

fn same(known: &Address, found: &PluginFound, start: Option<&Start>) -> bool {
    // The dialect is learnt from the process, not from where it was found.
    let bare = |f: &PluginFound| PluginFound {
        dialect: None,
        ..f.clone()
    };
    known.start.as_ref() == start && bare(&known.found) == bare(found) && start.is_some()
}

/// Whether a configuration is the one that needs no name: it says nothing to be told that it is
/// served.
fn is_default(address: &str, key: &str) -> bool {
    key.strip_prefix("provider[\"")
        .and_then(|rest| rest.strip_suffix("\"]"))
        == Some(address)
}

/// What was found, as a process that serves one configuration has it.
fn serving(found: &PluginFound, key: &str) -> PluginFound {
    if is_default(&found.address, key) {
        return found.clone();
    }
    PluginFound {
        why: format!("{}; this process serves {key}", found.why),
        ..found.clone()
    }
}

/// A short name for an address that no other address has.
fn name(address: &str, taken: &BTreeMap<String, Address>) -> PluginId {
    let short = match address.split_once('/') {
        Some((host, rest)) if USUAL_HOSTS.contains(&host) => rest,
        _ => address,
    };
    let free = |name: &str| !taken.values().any(|a| a.processes[0].id().0 == name);
    PluginId(if free(short) { short } else { address }.to_owned())
}

fn unknown(address: &str) -> ProviderError {
    let why =
        "the provider is used and was not looked for; this is an error of flightdeck".to_owned();
    ProviderError::Blocked {
        plugin: PluginId(address.to_owned()),
        state: "is not known".to_owned(),
        why,
    }
}

/// The longest that a plugin can take to be ready or given up, with a little to spare.
fn launches_may_take(plugins: &Plugins) -> Duration {
    let settings = plugins.settings();
    let attempts = settings.launch.attempts.max(1);
    let one = settings.launch.deadline
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
