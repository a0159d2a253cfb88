//! Loads the configuration and finds its providers.

use super::command::Operations;
use super::error::WorkError;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::provider_resolution::{self, ProviderSearch};
use crate::stage::nodes::{Nodes, Sources};
use crate::stage::prior::PriorState;
use dependency::VersionConstraint;
use lang::config::SecretSource;
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use model::*;
use provider::ProviderSchema;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use store::records::State;
use workspace::load::{self, Loaded};
use workspace::provider_addr;

/// Configuration with its warnings, or the files and errors of one that cannot be loaded.
pub(super) type LoadResult = Result<(Loaded, Diagnostics), (SourceMap, Diagnostics)>;

impl Operations {
    /// Request with the variables that the backend block uses.
    pub(super) fn backend_request(&self) -> StageRequest {
        StageRequest::with_variables(self.settings.variables.clone())
    }

    pub(super) async fn read(&self, request: &StageRequest) -> Result<Loaded, EngineError> {
        self.read_with(request, false).await
    }

    pub(super) async fn read_with(
        &self,
        request: &StageRequest,
        partial: bool,
    ) -> Result<Loaded, EngineError> {
        match self.load(request, partial).await? {
            Ok((loaded, warnings)) => {
                self.emit_diagnostics(convert_all(
                    warnings.iter(),
                    &loaded.sources,
                    self.pool.secrets(),
                ))?;
                Ok(loaded)
            }
            Err((sources, diags)) => {
                self.report_missing_modules(&diags, &sources);
                self.emit_diagnostics(convert_all(diags.iter(), &sources, self.pool.secrets()))?;
                Err(WorkError::Configuration.into())
            }
        }
    }

    pub(super) async fn load(
        &self,
        request: &StageRequest,
        partial: bool,
    ) -> Result<LoadResult, EngineError> {
        let (settings, request) = (self.settings.clone(), request.clone());
        let read = tokio::task::spawn_blocking(move || {
            load::load(
                &settings.workspace,
                &settings.workspace_name,
                &request,
                partial,
            )
        });
        let read = read
            .await
            .map_err(EngineError::task("failed to read the configuration"))?;
        if let Ok((loaded, _)) = &read {
            // Before any plugin of this configuration starts.
            let names = loaded.secrets.values().filter_map(|s| match &s.source {
                SecretSource::Environment(name) => Some(name.clone()),
                _ => None,
            });
            plugin::withheld::withhold(names);
        }
        Ok(read)
    }

    /// Providers that the configuration and the state need. Launches none.
    pub async fn required_providers(
        &self,
        request: StageRequest,
    ) -> Result<RequiredProviders, EngineError> {
        let _turn = self.exclusive.lock().await;
        let loaded = self.read_with(&request, true).await?;
        let state = self.state().await?;
        Ok(RequiredProviders {
            configuration: required(&loaded.root),
            state: providers_in(&state).into_iter().collect(),
        })
    }

    /// Finds the plugins of the needed providers and declares them to the pool, which replaces
    /// processes with a changed executable.
    pub(super) async fn find_plugins(
        &self,
        loaded: &Loaded,
        in_state: BTreeSet<String>,
    ) -> Result<ProviderSearch, EngineError> {
        let sought = self.search(loaded, in_state).await?;
        provider_resolution::declare(&self.pool, &sought).await;
        Ok(sought)
    }

    /// Finds the plugins of the needed providers. Launches and replaces nothing.
    pub(super) async fn search(
        &self,
        loaded: &Loaded,
        in_state: BTreeSet<String>,
    ) -> Result<ProviderSearch, EngineError> {
        let (root, settings) = (loaded.root.clone(), self.settings.clone());
        let (cache, trust) = (self.hashes.clone(), self.trust());
        let stop = self.current().stop;
        let sought = tokio::task::spawn_blocking(move || {
            provider_resolution::find_providers(&root, &in_state, &settings, &cache, &trust)
        });
        let sought = tokio::select! { biased; // large packages are hashed for seconds
            () = stop.cancelled() => return Err(EngineError::Cancelled),
            sought = sought => sought,
        };
        let sought = sought.map_err(EngineError::task("failed to search for plugins"))?;
        self.emit_diagnostics(sought.problems.clone())?;
        // An empty list is emitted too, to clear an earlier one.
        if !sought.untrusted.is_empty() || self.bus.with_view(|view| !view.untrusted.is_empty()) {
            self.bus.emit(EventKind::UntrustedPlugins {
                plugins: sought.untrusted.clone(),
            });
        }
        self.absent(|absent| {
            absent.modules.clear();
            absent.providers.clone_from(&sought.absent);
        });
        Ok(sought)
    }
}

/// Addresses of the providers of a state's objects.
pub(super) fn providers_in(state: &State) -> BTreeSet<String> {
    let named: BTreeSet<&str> = state.objects.iter().map(|o| o.provider.as_str()).collect();
    named
        .into_iter()
        .filter_map(|text| Some(ConfigKey::parse(text)?.address.to_string()))
        .collect()
}

/// Graph of a configuration and a state.
pub(super) fn nodes(
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

/// Providers that a module and its calls need.
fn required(module: &lang::config::Module) -> ModuleProviders {
    let providers = provider_addr::required(module).into_iter();
    let calls = module.calls.iter();
    ModuleProviders {
        providers: providers
            .map(|(address, texts)| {
                let texts = texts.iter().map(|(_, text)| &**text);
                let all = VersionConstraint::all_of_provider(texts).unwrap_or_default();
                (address.to_string(), all.canonical())
            })
            .collect(),
        calls: calls
            .filter_map(|(name, call)| Some((name.to_string(), required(call.module.as_deref()?))))
            .collect(),
    }
}
