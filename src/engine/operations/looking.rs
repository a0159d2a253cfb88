//! Looks of the reconcile loop at objects outside of groups: those of a type or a provider with a
//! policy of its own, and all others. A look takes no lock and writes observations only, so that
//! it delays nobody.

use super::command::{Operations, Staged};
use super::error::WorkError;
use super::reconcile_loop::milliseconds;
use super::reconciling::{Findings, RunEnd, error_text, mode_text};
use crate::error::EngineError;
use crate::stage::drift::DriftedMember;
use crate::stage::show;
use crate::stage::steps::has_effect;
use group::MemberKey;
use group::declared::{DeclaredGroup, ReconcilePolicy, declared_groups};
use group::drift::{Drift, Mode, response};
use lang::addr::{AbsInstance, Mode as ResourceMode};
use lang::config::Module;
use model::mutex::lock;
use model::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use store::records::State;
use types::{Layer, Overlays, TypeSettings};
use workspace::load::Loaded;

/// Time between two looks at objects without a policy of their type or provider.
const EVERY: Duration = Duration::from_secs(600);

/// Returns the run that reads the objects of a kind, with its policy. A type is more specific than
/// its provider, so that its policy decides.
fn run_of(overlays: &Overlays, kind: &Kind) -> (String, ReconcilePolicy) {
    let Kind {
        type_name,
        provider,
    } = kind;
    if let Some(policy) = overlays.effective(type_name).reconcile() {
        return (format!("{TYPE_RUN}{type_name}"), policy);
    }
    if let Some(policy) = overlays.of_provider(provider).reconcile() {
        return (
            format!("{PROVIDER_RUN}{}", short_provider(provider)),
            policy,
        );
    }
    let policy = ReconcilePolicy {
        every: EVERY,
        ..ReconcilePolicy::default()
    };
    (OBJECTS_RUN.to_owned(), policy)
}

/// Returns the settings with the policy of a run.
fn settings_of(overlays: &Overlays, name: &str) -> TypeSettings {
    match (name.strip_prefix(TYPE_RUN), name.strip_prefix(PROVIDER_RUN)) {
        (Some(type_name), _) => overlays.effective(type_name),
        (None, Some(provider)) => overlays.of_provider(provider),
        (None, None) => TypeSettings::default(),
    }
}

/// Resource type of an object, and the full address of its provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    type_name: String,
    provider: Arc<str>,
}

impl Operations {
    /// Runs for objects outside of groups with their policies. Objects without a policy of their
    /// type or provider are only read if `all` is set.
    pub(super) async fn scheduled_looks(
        &self,
        loaded: &Loaded,
        all: bool,
    ) -> Result<BTreeMap<String, ReconcilePolicy>, EngineError> {
        // The store's copy is enough for a schedule, and needs no call of a backend.
        let store = self.memory.store();
        let state = store.state().await?;
        if state.objects.is_empty() {
            return Ok(BTreeMap::new());
        }
        let overlays = self.parsed_overlays(loaded);
        let present = self.objects(&loaded.root, &state).await?;
        // Thousands of objects have few kinds.
        let kinds: BTreeSet<Kind> = present.into_values().collect();
        let runs = kinds.iter().map(|kind| run_of(&overlays, kind));
        let wanted = runs.filter(|(name, _)| all || name != OBJECTS_RUN);
        Ok(wanted.collect())
    }

    /// Addresses of the managed resources with an object that belongs to no group, with the kinds
    /// of their objects.
    async fn objects(
        &self,
        root: &Module,
        state: &State,
    ) -> Result<BTreeMap<String, Kind>, EngineError> {
        let mut groups = declared_groups(root).0;
        // Committed groups may have objects although their declaration was removed.
        groups.extend(self.committed_groups().await?);
        let of_groups = addresses(&groups);
        let mut found = BTreeMap::new();
        for object in &state.objects {
            let Ok(address) = object.address.parse::<AbsInstance>() else {
                continue;
            };
            let resource = address.config().to_string();
            // Groups contain whole resources and also single instances.
            let in_group = of_groups.contains(&resource) || of_groups.contains(&object.address);
            if address.resource.mode == ResourceMode::Managed && !in_group {
                let provider = ConfigKey::parse(&object.provider);
                let kind = Kind {
                    type_name: address.resource.kind.to_string(),
                    provider: provider.map_or_else(|| "".into(), |key| key.address),
                };
                found.insert(resource, kind);
            }
        }
        Ok(found)
    }

    /// Addresses of the resources that a run reads.
    pub(super) async fn resources_of_look(
        &self,
        name: &str,
        root: &Module,
        overlays: &Overlays,
    ) -> Result<Vec<String>, EngineError> {
        let state = self.memory.store().state().await?;
        let present = self.objects(root, &state).await?.into_iter();
        let chosen = present.filter(|(_, kind)| run_of(overlays, kind).0 == name);
        Ok(chosen.map(|(address, _)| address).collect())
    }

    /// Reads the objects of a run and records what they are like. An operator's command of this
    /// process cancels the look.
    pub(super) async fn look(&self, name: &str, run: &mut ReconcileRun) -> RunEnd {
        let result = self.look_at_objects(name, run).await;
        // A later command must not cancel a look that has ended.
        *lock(&self.looking) = None;
        match result {
            Ok(()) => RunEnd::Finished,
            Err(EngineError::Cancelled) if self.shutdown.is_cancelled() => RunEnd::Cancelled,
            Err(EngineError::Cancelled) => RunEnd::Postponed,
            Err(error) => {
                run.outcome = ReconcileOutcome::Failed;
                run.reason = Some(error_text(&error));
                RunEnd::Finished
            }
        }
    }

    async fn look_at_objects(&self, name: &str, run: &mut ReconcileRun) -> Result<(), EngineError> {
        let command = self.begin().await;
        *lock(&self.looking) = Some(command.stop.clone());
        // A look shows no stage, and its errors are those of the run.
        let quiet = self.quiet();
        let loaded = quiet.read_with(&self.backend_request(), true).await?;
        let overlays = quiet.parsed_overlays(&loaded);
        let request = StageRequest {
            mode: StageMode::RefreshOnly,
            target: self
                .resources_of_look(name, &loaded.root, &overlays)
                .await?,
            ..self.backend_request()
        };
        // A stage without a target would read the whole configuration.
        if request.target.is_empty() {
            return Ok(());
        }
        let staged = quiet.plan(0, request, &command).await?;
        quiet.observe_reads(&staged.stage, "reconcile").await;
        let drift = &staged.stage.drift;
        run.drift = drift
            .iter()
            .map(|drift| MemberDrift {
                kind: match drift.after.is_null() {
                    true => "missing",
                    false => "attribute_drift",
                }
                .to_owned(),
                member: drift.address.to_string(),
                attributes: drift.aspects.iter().map(|a| a.label().to_owned()).collect(),
                // A look repairs nothing, so that no other response is possible.
                response: "report".to_owned(),
            })
            .collect();
        run.outcome = match run.drift.is_empty() {
            true => ReconcileOutcome::InSync,
            false => ReconcileOutcome::Drifted,
        };
        Ok(())
    }

    /// Finds the drift of the objects of a look in a stage, and the responses to it.
    pub(super) async fn findings_of_look(
        &self,
        name: &str,
        staged: Staged,
    ) -> Result<Findings, EngineError> {
        let settings = settings_of(&self.parsed_overlays(&staged.loaded), name);
        let policy = settings.reconcile().unwrap_or_default();
        let mode = settings.mode.as_ref().map(|mode| &mode.origin);
        let replaces = settings.allow_replace.as_ref().filter(|given| given.value);
        // Either can come from a file of the workspace, also beside one of the user's own.
        let origins = mode.into_iter().chain(replaces.map(|given| &given.origin));
        let origin = origins.min_by_key(|origin| origin.layer);
        let reason = match origin {
            // The user's own files need no trust.
            Some(origin) if origin.layer < Layer::User && policy.mode == Mode::Enforce => {
                let place = staged.loaded.sources.name(origin.span.file);
                self.untrusted(name, &place, policy.allow_replace, &staged)
            }
            _ => None,
        };
        let mode = match reason {
            Some(_) => Mode::Observe,
            None => policy.mode,
        };
        let summary = show::redacted_summary(&staged.stage, self.pool.secrets());
        let drift = staged.stage.drift.iter().map(|drift| {
            let member = MemberKey::name(&drift.address.to_string());
            let aspects = drift.aspects.iter();
            let found = match drift.after.is_null() {
                true => Drift::Missing { member },
                false => Drift::AttributeDrift {
                    member,
                    attributes: aspects.map(|a| a.label().to_owned()).collect(),
                },
            };
            // Only the object's own change repairs it; changes of others need an approval.
            let changes = staged.stage.changes.iter().enumerate();
            let own = changes.filter(|(_, c)| c.address == drift.address && has_effect(c));
            let own: Vec<(usize, Action)> = own.map(|(index, c)| (index, c.action())).collect();
            let replaces = own.iter().any(|(_, action)| action.destroys());
            let repair = found.repair(replaces).filter(|_| !own.is_empty());
            let member = DriftedMember {
                drift: found,
                changes: own.into_iter().map(|(index, _)| index).collect(),
                replaces,
            };
            (member, response(mode, repair, policy.allow_replace))
        });
        Ok(Findings {
            drift: drift.collect(),
            name: name.to_owned(),
            staged,
            summary,
            mode,
            reason,
        })
    }

    /// Reads all objects outside of groups once, now.
    ///
    /// # Errors
    /// The engine is read-only, or another command cancels the look.
    pub async fn look_at_all(&self) -> Result<Vec<ReconcileRun>, EngineError> {
        if !self.settings.access.can_write() {
            return Err(WorkError::ReadOnly.into());
        }
        let mut runs = Vec::new();
        let loaded = self.read_with(&self.backend_request(), true).await?;
        for (name, policy) in self.scheduled_looks(&loaded, true).await? {
            let mut run = ReconcileRun::new(&name, mode_text(Mode::Observe));
            if let RunEnd::Cancelled | RunEnd::Postponed = self.look(&name, &mut run).await {
                return Err(EngineError::Cancelled);
            }
            if name != OBJECTS_RUN {
                run.next = now_ms().saturating_add(milliseconds(policy.every));
            }
            self.memory.store().put_reconcile_run(run.clone()).await?;
            self.bus.emit(EventKind::Reconcile(run.clone()));
            runs.push(run);
        }
        Ok(runs)
    }
}

/// Addresses of the resources and instances of groups.
fn addresses(groups: &[DeclaredGroup]) -> BTreeSet<String> {
    let resources = groups
        .iter()
        .flat_map(|group| std::iter::once(&group.instance).chain(&group.dedicated));
    let resources = resources.map(ToString::to_string);
    let members = groups.iter().flat_map(|group| {
        let committed = group.committed.iter().flat_map(BTreeMap::keys);
        committed.chain(group.parts.keys()).cloned()
    });
    resources.chain(members).collect()
}
