//! Commands for plugins: lifecycle, trust and schemas.

use super::command::{Operations, Switches};
use super::error::WorkError;
use super::reading::providers_in;
use crate::error::{EngineError, NotFound, PluginProblem};
use crate::provider_resolution::{self, ProviderSearch};
use crate::stage::external_inputs::ExternalInputs;
use crate::stage::scope::{Phase, WalkContext, timestamp};
use crate::stage::values::Values;
use calls::{CallContext, ProviderError};
use model::mutex::lock;
use model::*;
use plugin::trust::Trust;
use provider::{Provider, ProviderSchema};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use workspace::load::Loaded;

/// Error of a path that is no file.
#[derive(Debug, thiserror::Error)]
#[error("cannot launch {path}: {error}", path = path.display())]
struct UnusableExecutable {
    path: PathBuf,
    error: std::io::Error,
}

impl Operations {
    pub(super) fn trust(&self) -> Trust {
        Trust::new(
            self.settings.trusted_plugins.clone(),
            &self.settings.workspace,
        )
    }

    /// Workspace plugins without trust. Launches none.
    pub async fn untrusted_plugins(&self) -> Result<Vec<WorkspacePlugin>, EngineError> {
        let _turn = self.exclusive.lock().await;
        // The command reports variables without a value itself.
        let loaded = self.read_with(&self.backend_request(), true).await?;
        let state = self.state().await?;
        Ok(self
            .find_plugins(&loaded, providers_in(&state))
            .await?
            .untrusted)
    }

    /// Trusts plugins, by their digests.
    pub async fn give_trust(&self, plugins: Vec<WorkspacePlugin>) -> Result<(), EngineError> {
        let trust = self.trust();
        let given = tokio::task::spawn_blocking(move || {
            plugins.iter().try_for_each(|plugin| trust.trust(plugin))
        })
        .await;
        Ok(given.map_err(EngineError::task("failed to save plugin trust"))??)
    }

    /// Launches every plugin that the configuration or the state needs.
    pub async fn load_plugins(&self) -> Result<(), EngineError> {
        let command = self.begin().await;
        self.load_all(&command).await
    }

    pub(super) async fn load_all(&self, switches: &Switches) -> Result<(), EngineError> {
        let loaded = self.read(&self.backend_request()).await?;
        let state = self.state().await?;
        let sought = self.find_plugins(&loaded, providers_in(&state)).await?;
        self.remove_unrequired(&sought).await;
        let addresses: BTreeSet<Arc<str>> = sought
            .resolved
            .values()
            .cloned()
            .chain(sought.missing.keys().cloned())
            .collect();
        let (_, bad) = provider_resolution::schemas(
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
            Err(PluginProblem::Several(bad).into())
        } else {
            Ok(())
        }
    }

    /// Ends the wait for the answer of a running call. Returns false if the call does not run.
    pub fn give_up_call(&self, call: CallId) -> bool {
        self.pool.give_up(call)
    }

    /// Stops and removes the plugins that were required before and are not any more.
    pub(super) async fn remove_unrequired(&self, sought: &ProviderSearch) {
        // A search that failed does not know what is required.
        if sought
            .problems
            .iter()
            .any(|p| p.severity == Severity::Error)
        {
            return;
        }
        let records = sought.records.iter();
        let now: BTreeSet<String> = records.map(|(found, _)| found.address.clone()).collect();
        let before = std::mem::replace(&mut *lock(&self.required), now.clone());
        for address in before.difference(&now) {
            self.pool.remove(address).await;
        }
    }

    /// Runs a command on one plugin.
    pub async fn plugin(&self, id: &PluginId, command: PluginCommand) -> Result<(), EngineError> {
        let plugin = self.pool.plugins().get(id);
        let plugin = plugin.ok_or_else(|| NotFound::Plugin(id.clone()))?;
        let done = match command {
            PluginCommand::Start => plugin.start().await.map(|_| ()),
            PluginCommand::Restart => plugin.restart().await.map(|_| ()),
            PluginCommand::Stop => {
                plugin.stop().await;
                Ok(())
            }
            PluginCommand::Interrupt => {
                let errors = self.pool.ask_to_stop(id, &CallContext::default()).await;
                return errors.into_iter().next().map_or(Ok(()), |e| Err(e.into()));
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
        done.map_err(|e| PluginProblem::from(e).into())
    }

    /// Lists every installed provider, needed or not. Launches none and does not change known ones.
    pub async fn find_installed(&self) -> Result<Vec<PluginId>, EngineError> {
        let (settings, trust) = (self.settings.clone(), self.trust());
        let cache = self.hashes.clone();
        let search = move || provider_resolution::installed(&settings, &cache, &trust);
        let found = tokio::task::spawn_blocking(search).await;
        let found = found.map_err(EngineError::task("failed to search for plugins"))?;
        let mut all = Vec::new();
        for (record, start) in found.map_err(EngineError::refused)? {
            // A known plugin keeps its processes.
            all.push(
                match (self.pool.registered_plugin(&record.address), start) {
                    (Some(known), _) => known,
                    (None, Ok(start)) => self.pool.declare(record, start).await,
                    (None, Err(why)) => self.pool.declare_rejected(record, why.to_string()).await,
                },
            );
        }
        Ok(all)
    }

    /// Declares the executable at a path as a provider, like a development override.
    pub async fn declare_executable(&self, path: &Path) -> Result<PluginId, EngineError> {
        let missing = |error: std::io::Error| {
            EngineError::refused(UnusableExecutable {
                path: path.to_owned(),
                error,
            })
        };
        // Links stay, because the name of the file may matter to the plugin.
        std::fs::metadata(path).map_err(missing)?;
        let path = std::path::absolute(path).map_err(missing)?;
        let (record, start) = provider_resolution::executable(&path);
        Ok(self.pool.declare(record, start).await)
    }

    /// Schema of a plugin; launches it if needed.
    pub async fn schema(&self, id: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        let ctx = CallContext::default();
        Ok(self.provider(id, &ctx).await?.schema(&ctx).await?)
    }

    /// Schema with the plugin's descriptions.
    pub async fn documented(&self, id: &PluginId) -> Result<Arc<ProviderSchema>, EngineError> {
        let ctx = CallContext::default();
        Ok(self.provider(id, &ctx).await?.documented(&ctx).await?)
    }

    /// Adapter of a provider; launches its plugin if needed.
    pub(super) async fn provider(
        &self,
        id: &PluginId,
        ctx: &CallContext,
    ) -> Result<Arc<dyn Provider>, EngineError> {
        let found = self
            .pool
            .plugins()
            .get(id)
            .map(|plugin| plugin.description());
        let address = match found {
            Some(found) if found.kind == PluginKind::Transformer => {
                let plugin = id.clone();
                return Err(WorkError::NoSchema { plugin }.into());
            }
            Some(found) => found.address,
            None if id.is_builtin() => BUILTIN_PROVIDER.to_owned(),
            None => return Err(NotFound::Plugin(id.clone()).into()),
        };
        Ok(self.pool.unconfigured(&address, ctx).await?)
    }

    /// Shared environment of all evaluations of one walk.
    pub(super) fn around(
        &self,
        loaded: &Loaded,
        root: &Arc<lang::config::Module>,
        schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
        phase: Phase,
        at: UnixMs,
        cancel: &CancellationToken,
        sights: ExternalInputs,
    ) -> WalkContext {
        WalkContext {
            root: root.clone(),
            dir: loaded.dir.clone(),
            sources: loaded.sources.clone(),
            phase,
            schemas: schemas.clone(),
            functions: self.pool.functions(),
            unregistered: BTreeSet::new(),
            values: Values::default(),
            timestamp: timestamp(at),
            cancel: cancel.clone(),
            external_inputs: sights,
            overlays: self.overlays(),
        }
    }
}
