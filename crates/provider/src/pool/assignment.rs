//! Assigns processes to provider configurations: the first process of an address serves all calls
//! without configuration and the first configuration; each further configuration gets its own.

use super::handle::Pool;
use super::pooled_provider::PooledProvider;
use super::process::PooledProcess;
use crate::Provider;
use crate::builtin::{Builtin, RemoteStates};
use crate::dialect::Configuration;
use calls::{CallContext, ProviderError};
use cty::Value;
use dependency::BUILTIN_PROVIDER;
use model::mutex::lock;
use model::{BUILTIN_PLUGIN, PluginEvent, PluginFound, PluginId, PluginState};
use plugin::Start;
use std::sync::Arc;

impl Pool {
    /// Returns a provider for calls that need no configuration: schema, validation, upgrades,
    /// functions. Launches it if needed; its schema is known on return. The provider stays usable
    /// after a crash or restart.
    pub async fn unconfigured(
        &self,
        address: &str,
        ctx: &CallContext,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        if address == BUILTIN_PROVIDER {
            return Ok(self.builtin());
        }
        let process = {
            let addresses = lock(&self.shared.addresses);
            addresses
                .get(address)
                .map(|a| a.processes[0].clone())
                .ok_or_else(|| unknown(address))?
        };
        // Launch now, so that the schema is known to the caller.
        process.current(ctx).await?;
        Ok(Arc::new(PooledProvider::unconfigured(process)))
    }

    /// Returns the provider of the configuration named `key` (`provider.aws.west`), and true if its
    /// process already has this exact `config`. If not, the caller must configure it before any
    /// other call. A process with another configuration is restarted after its calls have ended.
    /// After a crash, the new process receives the same configuration automatically.
    pub async fn configured(
        &self,
        address: &str,
        key: &str,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<(Arc<dyn Provider>, bool), ProviderError> {
        if address == BUILTIN_PROVIDER {
            return Ok((self.builtin(), true));
        }
        let process = self.assign(address, key)?;
        if process.dialect().configuration() == Configuration::OfCall {
            process.current(ctx).await?;
            return Ok((
                Arc::new(PooledProvider::with(process, config.clone())),
                true,
            ));
        }
        let done = process.prepare_configuration(config, ctx).await?;
        Ok((Arc::new(PooledProvider::configured(process)), done))
    }

    /// Returns the process of a configuration; creates one unless the first process is unassigned.
    fn assign(&self, address: &str, key: &str) -> Result<Arc<PooledProcess>, ProviderError> {
        let mut addresses = lock(&self.shared.addresses);
        let entry = addresses.get_mut(address).ok_or_else(|| unknown(address))?;
        if let Some(index) = entry.assigned.get(key) {
            return Ok(entry.processes[*index].clone());
        }
        // All processes of an address have the same dialect.
        let dialect = entry.processes[0].dialect().clone();
        let index = match dialect.configuration() {
            Configuration::OfProcess if !entry.assigned.is_empty() => entry.processes.len(),
            Configuration::OfProcess | Configuration::OfCall => 0,
        };
        if index >= entry.processes.len() {
            let first = entry.processes[0].id().clone();
            let start = match &entry.start {
                Some(start @ Start::Spawn(_)) => start.clone(),
                Some(Start::Attach(_)) => {
                    let why = "a reattached process cannot serve two configurations; remove the provider aliases".to_owned();
                    return Err(ProviderError::Blocked {
                        plugin: first,
                        state: "cannot be shared".to_owned(),
                        why,
                    });
                }
                // Every demand on this process fails with the reason of the rejection.
                None => return Ok(entry.processes[0].clone()),
            };
            let found = serving(&entry.description, key);
            self.add_process(entry, found, &start, None);
        } else if dialect.configuration() == Configuration::OfProcess
            && !is_default_configuration(address, key)
        {
            let (plugin, found) = (
                entry.processes[index].id().clone(),
                serving(&entry.description, key),
            );
            self.shared
                .observer
                .event(PluginEvent::Found { plugin, found });
        }
        entry.assigned.insert(key.to_owned(), index);
        Ok(entry.processes[index].clone())
    }

    /// Sets the encryption of the states that the builtin provider reads.
    pub fn decrypts(&self, states: RemoteStates) {
        *lock(&self.shared.remote_states) = states;
    }

    pub(super) fn builtin(&self) -> Arc<dyn Provider> {
        let shared = &self.shared;
        let make = || {
            let plugin = PluginId(BUILTIN_PLUGIN.into());
            let found = PluginFound {
                address: BUILTIN_PROVIDER.to_owned(),
                version: None,
                dialect: Some("builtin".to_owned()),
                executable: None,
                source: "builtin".to_owned(),
                why: "part of flightdeck".to_owned(),
                ..PluginFound::default()
            };
            shared.observer.event(PluginEvent::Found {
                plugin: plugin.clone(),
                found,
            });
            let state = PluginState::Ready {
                since: model::now_ms(),
            };
            shared.observer.event(PluginEvent::State {
                plugin: plugin.clone(),
                state,
            });
            Arc::new(Builtin::new(
                plugin,
                shared.settings.workspace.clone(),
                shared.remote_states.clone(),
            ))
        };
        shared.builtin.get_or_init(make).clone()
    }

    /// Returns the process that serves a configuration, or the provider's first one if none is
    /// assigned.
    pub fn serves(&self, address: &str, key: &str) -> Option<PluginId> {
        let addresses = lock(&self.shared.addresses);
        let entry = addresses.get(address)?;
        let index = entry.assigned.get(key).copied().unwrap_or(0);
        Some(entry.processes.get(index)?.id().clone())
    }
}

/// Returns true for the default configuration of an address, which needs no mention in the
/// description of its process.
fn is_default_configuration(address: &str, key: &str) -> bool {
    key.strip_prefix("provider[\"")
        .and_then(|rest| rest.strip_suffix("\"]"))
        == Some(address)
}

/// Returns the plugin's description for a process that serves one configuration.
fn serving(found: &PluginFound, key: &str) -> PluginFound {
    if is_default_configuration(&found.address, key) {
        return found.clone();
    }
    PluginFound {
        why: format!("{}; this process serves {key}", found.why),
        ..found.clone()
    }
}

pub(super) fn unknown(address: &str) -> ProviderError {
    let why =
        "the provider is used, but was never searched for; this is a bug in flightdeck".to_owned();
    ProviderError::Blocked {
        plugin: PluginId(address.into()),
        state: "is not known".to_owned(),
        why,
    }
}
