//! Staging, validation, and the launch of the needed providers.

use super::command::{Operations, PROGRESS_EVERY_MS, Staged, Switches};
use super::earlier_configuration::unstored_files;
use super::error::WorkError;
use super::reading::providers_in;
use crate::diagnostics::{convert, convert_all};
use crate::error::{EngineError, PluginProblem};
use crate::provider_resolution::{self, NotLaunched, Pooled, ProviderSearch};
use crate::stage::change::{Digests, Stage, StageResult, StateOrigin};
use crate::stage::config_json::Configuration;
use crate::stage::prior::ResolvedProviders;
use crate::stage::staging::{PlanInput, stage as staged_anew, validated};
use crate::stage::{encoding, plan_json, secrets_in_state, show};
use calls::{CallContext, ProviderError};
use model::bus::Bus;
use model::mutex::lock;
use model::*;
use provider::ProviderSchema;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use store::records::State;
use workspace::link_providers;
use workspace::load::{self, Loaded};
use workspace::provider_addr;

/// Configuration with pinned provider addresses, schemas, and the search result.
type LaunchedProviders = (
    Arc<lang::config::Module>,
    HashMap<Arc<str>, Arc<ProviderSchema>>,
    ProviderSearch,
);

impl Operations {
    /// Computes a stage.
    pub async fn stage(&self, request: StageRequest) -> Result<Arc<StageSummary>, EngineError> {
        let result = match self.begin_on_state(&request, state::PLAN).await {
            Ok(command) => {
                let result = self.stage_locked(request, &command).await;
                command.finish().await;
                result
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &result {
            let errors = error
                .diagnostics()
                .iter()
                .filter(|d| d.severity == Severity::Error)
                .count();
            self.bus.emit(EventKind::StageFailed {
                stage: None,
                errors: u32::try_from(errors).unwrap_or(u32::MAX),
                text: error.to_string(),
            });
        }
        result
    }

    pub(super) async fn stage_locked(
        &self,
        request: StageRequest,
        switches: &Switches,
    ) -> Result<Arc<StageSummary>, EngineError> {
        // Checked before the stage gets a number.
        if let Some(name) = &request.name {
            stage_name(name)?;
        }
        let request = self.resolved(request).await?;
        let id = self.begin_stage(&request).await?;
        let name = request.name.clone();
        let staged = self.plan(id, request, switches).await?;
        self.observe_reads(&staged.stage, &format!("stage #{id}"))
            .await;
        self.store_stage(staged, name).await
    }

    /// Plans a stage with this number, and stores nothing.
    pub(super) async fn plan(
        &self,
        id: StageId,
        request: StageRequest,
        switches: &Switches,
    ) -> Result<Staged, EngineError> {
        self.take_in_commits().await?;
        let state = self.state().await?;
        let mut loaded = self.read(&request).await?;
        let secrets = self.resolve_secrets(&mut loaded).await?;
        let secrets = self.new_stage_secrets(secrets).await?;
        let loaded = Arc::new(loaded);
        // Before any provider is called, so that its output is redacted.
        self.register_sensitive(&loaded, &state);
        let (root, schemas, sought) = self.providers(&loaded, &state, switches).await?;
        self.remove_unrequired(&sought).await;
        self.emit_diagnostics(convert_all(
            loaded.value_errors.iter(),
            &loaded.sources,
            self.pool.secrets(),
        ))?;
        let found = (root.clone(), schemas.clone(), sought.plugins.text());
        // Only clients that follow the steps use a partial plan.
        let before = self.settings.object_steps.then(|| state.clone());
        let order = PlanInput {
            id,
            state_origin: self.origin(&state),
            state,
            resolved_providers: sought.resolved.clone(),
            committed_groups: self.committed_groups().await?,
            progress: progress(id, self.bus.clone()),
            secrets,
            // Clients that follow each step also get the partial plan of a failed staging.
            shows_errored: self.settings.object_steps,
            ..self.order(request, &loaded, found, switches)
        };
        let (result, mut diags) = staged_anew(order).await;
        diags.append(secrets_in_state::warnings(&root, &loaded.secrets, &schemas));
        if let StageResult::Complete(stage) = &result {
            diags.append(unstored_files(stage));
        }
        self.declare_calls_done();
        if switches.stop.is_cancelled() {
            // Errors after a cancellation are its consequence; warnings remain relevant.
            let warnings = diags.iter().filter(|d| !d.is_error());
            self.emit_diagnostics(convert_all(warnings, &loaded.sources, self.pool.secrets()))?;
            return Err(EngineError::Cancelled);
        }
        let configuration = Configuration {
            declared: &loaded.root,
            root: &root,
            sources: &loaded.sources,
            schemas: &schemas,
        };
        let stage = self.complete_stage(result, before, &configuration);
        self.emit_diagnostics(convert_all(
            diags.iter(),
            &loaded.sources,
            self.pool.secrets(),
        ))?;
        let stage = Arc::new(stage.ok_or(WorkError::NothingStaged)?);
        Ok(Staged {
            stage,
            loaded,
            root,
            schemas,
            resolved_providers: sought.resolved,
            in_state: sought.in_state,
        })
    }

    /// Reserves the number of a stage and reports it.
    async fn begin_stage(&self, request: &StageRequest) -> Result<StageId, EngineError> {
        let id = self.memory.store().next_stage_id().await?;
        self.bus.emit(EventKind::StageStarted(StageStarted {
            stage: id,
            mode: request.mode,
            resources: 0,
        }));
        // After the start, which clears the diagnostics of the last stage.
        self.report_unknown().await?;
        Ok(id)
    }

    /// Returns the complete stage. Of another one, keeps the partial plan of the state `before`.
    fn complete_stage(
        &self,
        result: StageResult,
        before: Option<State>,
        configuration: &Configuration<'_>,
    ) -> Option<Stage> {
        match result {
            StageResult::Complete(stage) => Some(*stage),
            StageResult::Errored(partial) => {
                *lock(&self.partial_plan) = partial.zip(before).map(|(stage, state)| {
                    let mut plan = plan_json::plan_json(&stage, &state, configuration);
                    if let Some(sealer) = &stage.secrets.sealer {
                        sealer.redact_json(&mut plan);
                    }
                    plan
                });
                None
            }
        }
    }

    /// Stores a stage and announces it.
    pub(super) async fn store_stage(
        &self,
        staged: Staged,
        name: Option<String>,
    ) -> Result<Arc<StageSummary>, EngineError> {
        let stage = &staged.stage;
        let settled = self.outcomes_to_settle(stage).await?;
        let show = || {
            let mut summary = show::redacted_summary(stage, self.pool.secrets());
            summary.state_edits.extend(settled);
            summary
        };
        let snapshot = staged.loaded.snapshot.clone();
        let (mut record, summary) = encoding::record(stage, show, snapshot, name)?;
        let (of, loaded) = (staged.stage.clone(), staged.loaded.clone());
        let inputs = tokio::task::spawn_blocking(move || encoding::input_record(&of, &loaded));
        let inputs = inputs
            .await
            .map_err(EngineError::task("failed to store the stage"))?;
        record.inputs = Some(inputs?);
        let summary = Arc::new(summary);
        // Stored before it is announced, so that clients can deploy it at once.
        self.memory.store().put_stage(record).await?;
        self.record_unchanged_members(&staged).await?;
        *lock(&self.newest) = Some(Arc::new(staged));
        self.bus.emit(EventKind::Staged(summary.clone()));
        Ok(summary)
    }

    /// Validates the configuration for any values of variables and any state; emits the
    /// diagnostics.
    pub async fn validate(&self, request: StageRequest) -> Result<(), EngineError> {
        let command = self.begin().await;
        self.validate_locked(request, &command).await
    }

    async fn validate_locked(
        &self,
        request: StageRequest,
        switches: &Switches,
    ) -> Result<(), EngineError> {
        let loaded = self.read_with(&request, true).await?;
        // Validation must not depend on the state.
        let (root, schemas, sought) = self.providers(&loaded, &State::default(), switches).await?;
        let stored = secrets_in_state::warnings(&root, &loaded.secrets, &schemas);
        let found = (root, schemas, sought.plugins.text());
        let order = self.order(request.clone(), &loaded, found, switches);
        let mut diags = validated(&order).await;
        diags.append(stored);
        let mut unfound = Ok(());
        for module in &loaded.tested.modules {
            // Modules under test are validated as roots.
            let apart = loaded.with_root(module.clone());
            match self.providers(&apart, &State::default(), switches).await {
                Ok((root, schemas, sought)) => {
                    let found = (root, schemas, sought.plugins.text());
                    let order = self.order(request.clone(), &apart, found, switches);
                    diags.append(validated(&order).await);
                }
                Err(error) => unfound = Err(error),
            }
        }
        diags.append(loaded.tested.errors.clone());
        if switches.stop.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        self.emit_diagnostics(convert_all(
            diags.iter(),
            &loaded.sources,
            self.pool.secrets(),
        ))?;
        unfound
    }

    /// Input of a plan, without a state and without progress reports.
    fn order(
        &self,
        request: StageRequest,
        loaded: &Loaded,
        (root, schemas, plugins): (
            Arc<lang::config::Module>,
            HashMap<Arc<str>, Arc<ProviderSchema>>,
            String,
        ),
        switches: &Switches,
    ) -> PlanInput {
        PlanInput {
            id: 0,
            request,
            root,
            dir: loaded.dir.clone(),
            sources: loaded.sources.clone(),
            schemas,
            state: State::default(),
            resolved_providers: ResolvedProviders::default(),
            given: loaded.given.clone(),
            given_texts: loaded.written.clone(),
            overridden: loaded.overridden.clone(),
            secrets: Default::default(),
            digests: Digests {
                config: loaded.config_digest.clone(),
                plugins,
            },
            committed_groups: Vec::new(),
            state_origin: StateOrigin::default(),
            providers: Arc::new(Pooled {
                pool: self.pool.clone(),
            }),
            overlays: self.overlays(),
            cancel: switches.stop.clone(),
            kill: switches.kill.clone(),
            parallelism: self.settings.parallelism,
            shows_errored: false,
            progress: Arc::new(|_, _, _| {}),
        }
    }

    /// Finds and launches the providers of a configuration and a state, and fetches their schemas.
    pub(super) async fn providers(
        &self,
        loaded: &Loaded,
        state: &State,
        switches: &Switches,
    ) -> Result<LaunchedProviders, EngineError> {
        let sought = self.search(loaded, providers_in(state)).await?;
        self.launched(loaded, sought, switches).await
    }

    /// Errors of the providers that a configuration needs and that cannot be launched.
    pub(super) fn not_launched(&self, loaded: &Loaded, sought: &ProviderSearch) -> Vec<Diagnostic> {
        // A required provider must be installed even if nothing uses it; only providers in use are
        // launched.
        let required: BTreeSet<Arc<str>> = provider_addr::addresses(&loaded.root)
            .into_iter()
            .filter(|a| matches!(sought.missing.get(a), Some(NotLaunched::NotFound(_))))
            .collect();
        let used = used_providers(loaded, sought);
        used
            .union(&required)
            .filter_map(|address| {
                let why = sought.missing.get(address)?;
                if let Some((_, name)) = address
                    .split_once("-/")
                    .filter(|(host, _)| host.is_empty() || host.ends_with('/'))
                {
                    return Some(convert(
                        &unqualified(name),
                        &loaded.sources,
                        self.pool.secrets(),
                    ));
                }
                let summary = match why {
                    NotLaunched::Untrusted(_) => "Workspace plugin needs trust",
                    _ => "Provider not found",
                };
                // The remedy of the reason concerns the files on disk.
                let note = loaded.root.stored.as_ref().map_or_else(String::new, |stored| {
                    let origin = &stored.origin;
                    format!(
                        ". The configuration of {origin} requires it; the lock file and the installed \
                         providers are those of the files on disk"
                    )
                });
                let mut d = lang::diag::Diagnostic::error(summary, format!("{why}{note}"));
                d.subject = load::place_of(&loaded.root, address);
                Some(convert(&d, &loaded.sources, self.pool.secrets()))
            })
            .collect()
    }

    /// Launches the providers found, and fetches their schemas.
    pub(super) async fn launched(
        &self,
        loaded: &Loaded,
        sought: ProviderSearch,
        switches: &Switches,
    ) -> Result<LaunchedProviders, EngineError> {
        provider_resolution::declare(&self.pool, &sought).await;
        let used = used_providers(loaded, &sought);
        let missing = self.not_launched(loaded, &sought);
        if let Some(first) = missing.first() {
            // Scripts get the same exit code as for a plugin that did not register.
            let error = EngineError::from(PluginProblem::Missing(first.detail.clone()));
            // All missing plugins are reported; the first one decides the exit code.
            missing.iter().for_each(|d| self.diagnose(d.clone()));
            return Err(error);
        }
        // Addresses without a host get the one under which the provider was found.
        let root = load::pin(&loaded.root, &sought.resolved);
        let wanted: BTreeSet<Arc<str>> = used
            .iter()
            .map(|a| sought.resolved.get(a).unwrap_or(a).clone())
            .chain([Arc::from(BUILTIN_PROVIDER)])
            .collect();
        let ctx = CallContext::general(&switches.stop);
        let (mut schemas, bad) = provider_resolution::schemas(&self.pool, &wanted, &ctx).await;
        self.refuse(bad, &loaded.root, &loaded.sources)?;
        self.read_overlays(loaded, &mut schemas)?;
        Ok((link_providers::bind(&root, &schemas), schemas, sought))
    }

    pub(super) fn refuse(
        &self,
        bad: BTreeMap<Arc<str>, ProviderError>,
        root: &lang::config::Module,
        sources: &lang::source::SourceMap,
    ) -> Result<(), EngineError> {
        let mut first = None;
        for (address, error) in bad {
            let mut d =
                lang::diag::Diagnostic::error("Required plugin is not ready", error.to_string());
            d.subject = load::place_of(root, &address);
            self.diagnose(convert(&d, sources, self.pool.secrets()));
            first.get_or_insert(error);
        }
        match first {
            None => Ok(()),
            // A cancelled launch is no failure of the plugin.
            Some(error @ ProviderError::Cancelled { .. }) => {
                tracing::debug!(%error, "staging was cancelled");
                Err(EngineError::Cancelled)
            }
            Some(error) => Err(error.into()),
        }
    }
}

/// Returns the receiver of a stage's progress, which emits events at limited intervals.
fn progress(stage: StageId, bus: Bus) -> Arc<dyn Fn(u32, u32, &dyn Display) + Send + Sync> {
    let last = AtomicI64::new(0);
    Arc::new(move |done: u32, total: u32, now: &dyn Display| {
        // Limited, because thousands of nodes can finish within a second.
        let at = now_ms();
        if at - last.load(Ordering::Relaxed) >= PROGRESS_EVERY_MS || done == total {
            last.store(at, Ordering::Relaxed);
            bus.emit(EventKind::StageProgress {
                stage,
                done,
                total,
                now: now.to_string(),
            });
        }
    })
}

/// Joins names, limited to a readable number.
pub(super) fn join_limited(names: &[String]) -> String {
    const MAX_LISTED: usize = 8;
    let more = names.len().saturating_sub(MAX_LISTED);
    let named = names[..names.len() - more].join(", ");
    if more == 0 {
        named
    } else {
        format!("{named}, and {more} more")
    }
}

/// Error for a provider in the state without a namespace, which cannot be installed.
fn unqualified(name: &str) -> lang::diag::Diagnostic {
    let detail = format!(
        "The state refers to the provider {name} without its namespace, as Terraform before 0.13 wrote it. Set the full address: `flightdeck state replace-provider -- -/{name} NAMESPACE/{name}`."
    );
    lang::diag::Diagnostic::error("Invalid legacy provider address", detail)
}

/// Addresses of the providers that a configuration and its state use.
fn used_providers(loaded: &Loaded, sought: &ProviderSearch) -> BTreeSet<Arc<str>> {
    let mut used = load::used_providers(&loaded.root);
    used.extend(load::used_by_calls(&loaded.root, &loaded.snapshot));
    used.extend(sought.in_state.iter().map(|a| a.as_str().into()));
    used
}
