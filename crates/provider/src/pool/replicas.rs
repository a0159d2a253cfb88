//! Additional processes for one provider configuration. If all slots are taken and a call waits,
//! another process is launched, gets the same configuration, and takes calls from the same line
//! (queue). The first process is the leader; it holds the list of the others (mates).

use super::handle::{Address, Pool};
use super::process::PooledProcess;
use crate::dialect::Configuration;
use calls::{CallContext, ProviderError, seat};
use model::mutex::lock;
use model::{LogLevel, PluginFound, PluginId};
use plugin::Start;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause after a failed start of an additional process.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(60);

/// Additional processes of one configuration, held by the leader.
#[derive(Default)]
pub(super) struct Replicas {
    replicas: Vec<Arc<PooledProcess>>,
    /// True while one is being launched.
    is_launching: bool,
    not_before: Option<Instant>,
    /// True if this process is itself a mate.
    pub(super) is_replica: bool,
}

impl PooledProcess {
    /// Returns true if this process is a mate of another one.
    pub(super) fn is_replica(&self) -> bool {
        lock(&self.replicas).is_replica
    }

    /// Returns the mate whose slot the current task's call holds; `None` if it is a slot of this
    /// process.
    pub(super) fn current_replica(&self) -> Option<Arc<Self>> {
        let seat = seat().filter(|seat| seat != self.id())?;
        let crew = lock(&self.replicas);
        crew.replicas.iter().find(|m| *m.id() == seat).cloned()
    }

    /// Closes all mates before a change of the configuration. They end after their calls, and are
    /// launched again with the new configuration on demand.
    pub(super) async fn close_replicas(&self, ctx: &CallContext) -> Result<(), ProviderError> {
        let mates = lock(&self.replicas).replicas.clone();
        for mate in mates {
            // Close its slots first, so that no new call starts on it.
            mate.lane.close();
            let launched = lock(&mate.current).take();
            if let Some(launched) = launched {
                launched.users.close();
                // Its running calls keep their leases until they end.
                lock(&mate.draining).push(launched.users.clone());
            }
            mate.wait_for_drained(ctx).await?;
            *lock(&mate.config) = None;
            mate.plugin.stop().await;
        }
        Ok(())
    }

    /// Launches this mate with the leader's configuration and opens its slots. Returns the number
    /// of the opening, for [`close_if`](calls::Lane::close_if).
    async fn join(&self, leader: &Self) -> Result<u64, ProviderError> {
        let ctx = CallContext::default();
        // Launch before taking `fitting`, because a launch is slow.
        self.current(&ctx).await?;
        // Holding `fitting` keeps the leader's configuration stable until this mate has it.
        let _fitting = leader.reconfiguring.lock().await;
        let config = lock(&leader.config).clone();
        *lock(&self.config) = config;
        self.current_configured(&ctx).await?;
        Ok(self.lane.open())
    }
}

impl Pool {
    /// Starts one more process beside this one, if the settings allow it and a call waits for a
    /// slot.
    pub(super) fn start_replica(&self, leader: &Arc<PooledProcess>) {
        let most = self.shared.settings.service.processes.max(1) as usize;
        let needs_config = leader.dialect.configuration() == Configuration::OfProcess;
        if most == 1
            || !matches!(leader.start, Some(Start::Spawn(_)))
            || !leader.lane.has_waiters()
            || (needs_config && lock(&leader.config).is_none())
        {
            return;
        }
        // Prefer a mate that ended earlier to a new process.
        let (closed, room) = {
            let crew = lock(&leader.replicas);
            let waits = crew.not_before.is_some_and(|at| Instant::now() < at);
            if crew.is_launching || crew.is_replica || waits {
                return;
            }
            let closed = crew.replicas.iter().find(|m| !m.lane.is_open()).cloned();
            (closed, crew.replicas.len() + 1 < most)
        };
        let mate = match closed {
            Some(mate) => mate,
            None if room => match self.add_replica(leader) {
                Some(mate) => mate,
                None => return,
            },
            None => return,
        };
        // One at a time, so that a burst of waiting calls does not start all processes.
        lock(&leader.replicas).is_launching = true;
        let (leader, presses) = (leader.clone(), self.shared.on_wait.clone());
        self.shared.plugins.spawn(async move {
            let joined = mate.join(&leader).await;
            lock(&leader.replicas).is_launching = false;
            let number = match joined {
                Ok(number) => number,
                Err(error) => {
                    // A plugin that fails to start would otherwise be launched in a loop.
                    lock(&leader.replicas).not_before = Some(Instant::now() + PAUSE_AFTER_FAILURE);
                    let text = format!("cannot start another process for now: {error}");
                    return leader.plugin.log_engine_line(LogLevel::Warn, text);
                }
            };
            // Other waiting calls may need one more process.
            presses.notify_one();
            // Close its slots as soon as it ends, so that its calls go to others.
            if let Some(launched) = mate.launch_if_alive() {
                launched.connection.end_token().clone().cancelled().await;
            }
            mate.lane.close_if(number);
        });
    }

    /// Creates one more process of the same configuration, without launching it.
    fn add_replica(&self, leader: &Arc<PooledProcess>) -> Option<Arc<PooledProcess>> {
        let mut addresses = lock(&self.shared.addresses);
        let entry = addresses.get_mut(leader.address())?;
        let index = entry
            .processes
            .iter()
            .position(|p| Arc::ptr_eq(p, leader))?;
        let found = replica_description(entry, index, leader);
        let start = entry.start.clone()?;
        let mate = self.add_process(entry, found, &start, Some(leader));
        lock(&mate.replicas).is_replica = true;
        lock(&leader.replicas).replicas.push(mate.clone());
        Some(mate)
    }

    /// Creates one more process of an address, without launching it.
    pub(super) fn add_process(
        &self,
        entry: &mut Address,
        found: PluginFound,
        start: &Start,
        leader: Option<&Arc<PooledProcess>>,
    ) -> Arc<PooledProcess> {
        let first = &entry.processes[0];
        let (dialect, number) = (first.dialect().clone(), entry.processes.len() + 1);
        let id = PluginId(format!("{}#{number}", first.id()).into());
        let mut settings = self.shared.plugins.settings().clone();
        // Providers with old SDKs need a schema call in every process before other calls; others
        // declare it optional and skip it here.
        settings.fetch_schema &= !self
            .shared
            .schema_cache
            .get(start)
            .is_some_and(|s| s.capabilities.get_schema_optional);
        let lifecycle = dialect.lifecycle();
        let plugins = &self.shared.plugins;
        let plugin = plugins.add_with(id, found, start.clone(), lifecycle, settings);
        let process = self.process(plugin, dialect, &entry.description, Some(start), leader);
        entry.processes.push(process.clone());
        process
    }
}

/// Returns the plugin's description for a mate.
fn replica_description(entry: &Address, index: usize, leader: &PooledProcess) -> PluginFound {
    let served = entry.assigned.iter().find(|(_, at)| **at == index);
    let shared = match served {
        Some((key, _)) if leader.dialect.configuration() == Configuration::OfProcess => key.clone(),
        _ => "the same configuration".to_owned(),
    };
    PluginFound {
        why: format!(
            "{}; this process serves {shared} beside {}",
            entry.description.why,
            leader.id()
        ),
        ..entry.description.clone()
    }
}
