//! Deploys of stages, and the cancel ladder.

use super::command::{MAX_STOP_REQUESTS, Operations, STOP_REQUEST_INTERVAL, Staged, Switches};
use super::enforced_commands;
use super::reading::nodes;
use super::stale_check::Purpose;
use super::usual_duration::usual_duration;
use crate::deploy::record::{DeployRecorder, Earlier};
use crate::deploy::run::{Deploying, Rollouts, Stops};
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::provider_resolution::Pooled;
use crate::stage::change::{Change, OutputChange, Stage};
use crate::stage::external_inputs::ExternalInputs;
use crate::stage::prior::PriorState;
use crate::stage::scope::Phase;
use crate::stage::walk::Walk;
use crate::stage::{select, steps};
use calls::CallContext;
use model::lock_owner::this_process;
use model::mutex::lock;
use model::*;
use provider::pool::Pool;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::records::{NewDeploy, StartedDeploy, State};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use types::Overlays;

/// Deploy that is recorded as running.
pub(super) struct BegunDeploy {
    pub(super) deploy: DeployId,
    pub(super) staged: Arc<Staged>,
    /// Indexes of the selected changes.
    selected: BTreeSet<usize>,
    operations: Vec<Operation>,
    /// State at the begin, with the edits of the stage.
    state: Arc<State>,
    counts: Counts,
    owner: LockHolder,
    began: UnixMs,
}

/// Facts that decide the outcome of a deploy.
#[derive(Debug, Clone, Copy, Default)]
struct DeployEnd {
    operations: OperationCounts,
    /// A cancellation was requested.
    cancelled: bool,
    /// An operation failed because of the cancellation, or a rollout has not ended.
    any_cancelled: bool,
    has_errors: bool,
    store_failed: bool,
    /// The backend does not have the state.
    state_unwritten: bool,
}

impl DeployEnd {
    /// Returns the outcome. A cancelled deploy without unfinished operations is a success or a
    /// failure.
    fn outcome(&self) -> DeployOutcome {
        let counts = &self.operations;
        let unfinished = counts.not_attempted + counts.unknown + counts.half_replaced;
        let failed =
            counts.bad() > 0 || self.has_errors || self.store_failed || self.state_unwritten;
        match () {
            () if self.cancelled && (unfinished > 0 || self.any_cancelled) => {
                DeployOutcome::Cancelled
            }
            () if failed => DeployOutcome::Failed,
            () => DeployOutcome::Succeeded,
        }
    }
}

impl BegunDeploy {
    fn summary(self, end: &DeployEnd) -> DeploySummary {
        let stage = &self.staged.stage;
        DeploySummary {
            deploy: self.deploy,
            stage: stage.id,
            mode: stage.request.mode,
            began: self.began,
            ended: Some(now_ms()),
            who: self.owner.who,
            host: self.owner.host,
            outcome: end.outcome(),
            operations: end.operations,
            counts: self.counts,
            config_digest: stage.digests.config.clone(),
        }
    }
}

impl Operations {
    /// Deploys a stage.
    pub async fn deploy(&self, request: DeployRequest) -> Result<DeploySummary, EngineError> {
        let command = self.begin().await;
        let purpose = Purpose::Deploy(&request.variables);
        // The backend block may use variables, so the stage's request comes first.
        let staged = self.request_of(request.stage, purpose).await?;
        let command = command.on_state(&staged, "OperationTypeApply").await?;
        let result = match self.report_unknown().await {
            Ok(()) => self.deploy_locked(request, &command).await,
            Err(error) => Err(error),
        };
        command.finish().await;
        result
    }

    pub(super) async fn deploy_locked(
        &self,
        request: DeployRequest,
        switches: &Switches,
    ) -> Result<DeploySummary, EngineError> {
        let purpose = Purpose::Deploy(&request.variables);
        let staged = self.load_stage(request.stage, purpose).await?;
        self.check_surroundings(&staged).await?;
        let selected = self.selected_changes(&staged.stage, request.only).await?;
        self.deploy_staged(staged, selected, request.parallelism, None, switches)
            .await
    }

    /// Deploys changes of a stage, for the reconcile loop with its fencing token.
    pub(super) async fn deploy_staged(
        &self,
        staged: Arc<Staged>,
        selected: BTreeSet<usize>,
        parallelism: usize,
        fencing_token: Option<i64>,
        switches: &Switches,
    ) -> Result<DeploySummary, EngineError> {
        // Before the deploy is recorded, so that a refusal leaves no trace.
        self.refuse_double_creation(&staged.stage, &selected)
            .await?;
        let groups = self.groups_to_update(&staged, &selected).await?;
        let begun = self
            .begin_deploy(staged, selected, parallelism, fencing_token)
            .await?;
        let recorder = self.recorder(&begun, fencing_token, switches).await?;
        let rollouts = self.rollouts(&begun, groups);
        let untrusted = rollouts.untrusted();
        let end = self
            .run_operations(&begun, rollouts, &recorder, parallelism, switches)
            .await;
        if !end.store_failed {
            self.observe_deploy(begun.deploy, &begun.staged, &recorder.with_objects())
                .await;
        }
        let summary = self.end_deploy(begun, end).await?;
        // The exit code says that a decision about trust is missing, and the error about what.
        match untrusted.get() {
            Some(error) => Err(error.clone().into()),
            None => Ok(summary),
        }
    }

    /// Returns the indexes of the changes to make. Addresses in the request replace the stored
    /// selection.
    async fn selected_changes(
        &self,
        stage: &Stage,
        only: Option<Vec<String>>,
    ) -> Result<BTreeSet<usize>, EngineError> {
        let all = stage.changes.iter().enumerate();
        let effective = all.filter(|(_, change)| steps::has_effect(change));
        Ok(match only {
            Some(only) => {
                let selection = select::select_only(&select::references(stage), &only)?;
                let taken: BTreeSet<String> = selection.taken.into_iter().collect();
                let selected = effective.filter(|(_, change)| taken.contains(&change.id()));
                selected.map(|(i, _)| i).collect()
            }
            None => {
                let left = self.memory.store().deselected(stage.id).await?;
                let left: BTreeSet<String> = left.into_iter().collect();
                let selected = effective.filter(|(_, change)| !left.contains(&change.id()));
                selected.map(|(i, _)| i).collect()
            }
        })
    }

    /// Records the deploy with its operations, and the state edits of its stage.
    async fn begin_deploy(
        &self,
        staged: Arc<Staged>,
        selected: BTreeSet<usize>,
        parallelism: usize,
        fencing_token: Option<i64>,
    ) -> Result<BegunDeploy, EngineError> {
        let (store, stage) = (self.memory.store(), &staged.stage);
        let mut counts = Counts::default();
        for change in selected.iter().map(|&i| &stage.changes[i]) {
            counts.add(change.action());
            counts.import += u32::from(change.importing().is_some());
        }
        let overlays = self.overlays();
        let operations: Vec<Operation> = selected
            .iter()
            .enumerate()
            .map(|(n, &i)| waiting(n, &stage.changes[i], &self.pool, &overlays))
            .collect();
        let (owner, began) = (this_process("deploy"), now_ms());
        let new = NewDeploy {
            stage: stage.id,
            mode: stage.request.mode,
            began,
            user: owner.who.clone(),
            counts,
            config_digest: stage.digests.config.clone(),
            operations: operations.clone(),
            fencing_token,
        };
        let StartedDeploy { deploy, mut state } = store.begin_deploy(new).await?;
        let operations: Vec<Operation> = operations
            .into_iter()
            .map(|o| Operation { deploy, ..o })
            .collect();
        self.bus.emit(EventKind::DeployStarted(DeployStarted {
            deploy,
            stage: stage.id,
            mode: stage.request.mode,
            who: owner.who.clone(),
            host: owner.host.clone(),
            parallelism: u32::try_from(parallelism).unwrap_or(u32::MAX),
            operations: operations.clone(),
        }));
        if !stage.edits.is_empty() {
            // From here on the copy is ahead of the backend until it is written there.
            store.edit_state(stage.edits.clone()).await?;
            state = Arc::new(store.state().await?);
        }
        self.settle_read_outcomes(stage, &state).await?;
        Ok(BegunDeploy {
            deploy,
            staged,
            selected,
            operations,
            state,
            counts,
            owner,
            began,
        })
    }

    /// Creates the recorder of a deploy, which also settles outcomes of earlier ones.
    async fn recorder(
        &self,
        begun: &BegunDeploy,
        token: Option<i64>,
        switches: &Switches,
    ) -> Result<Arc<DeployRecorder>, EngineError> {
        let store = self.memory.store();
        let earlier = Earlier {
            unknown: store.unknown_outcomes().await?,
            destroy_steps: store.destroy_steps().await?,
        };
        let recorder = DeployRecorder::new(
            store.clone(),
            self.bus.clone(),
            self.pool.clone(),
            begun.deploy,
            begun.operations.clone(),
            earlier,
            switches.stop_all.clone(),
        );
        // Only the reconcile loop has a token, and nobody watches it.
        let patterns = token.map(|_| enforced_commands::patterns(&begun.staged));
        Ok(Arc::new(recorder.with_patterns(patterns)))
    }

    /// Runs all operations, while their progress is stored and the state is written to the backend,
    /// and reports the diagnostics.
    async fn run_operations(
        &self,
        begun: &BegunDeploy,
        rollouts: Rollouts,
        recorder: &Arc<DeployRecorder>,
        parallelism: usize,
        switches: &Switches,
    ) -> DeployEnd {
        let BegunDeploy { staged, state, .. } = begun;
        self.register_sensitive(&staged.loaded, state);
        let stops = Stops {
            starting: switches.stop.clone(),
            all: switches.stop_all.clone(),
            commands: switches.commands.clone(),
            lock_lost: switches.lock_lost.clone(),
        };
        let deploying = Deploying::new(
            self.new_walk(staged, state, switches),
            staged.stage.clone(),
            begun.selected.clone(),
            recorder.clone(),
            parallelism,
            stops,
            &state.objects,
        )
        .with_rollouts(rollouts);
        // Cancelled after the walk, which ends the two writers beside it.
        let done = CancellationToken::new();
        let (result, periodic, ()) = tokio::join!(
            async {
                let result = Arc::new(deploying).run().await;
                self.declare_calls_done();
                done.cancel();
                result
            },
            self.write_periodically(switches, &done),
            recorder.store_changes_until(&done),
        );
        // A write that failed during the deploy is not repeated.
        let (unwritten, is_stopped) = match periodic {
            Ok(()) => (self.write_back(switches).await.err(), true),
            Err((error, is_stopped)) => (Some(error), is_stopped),
        };
        let sources = &staged.loaded.sources;
        let diagnostics = convert_all(result.diagnostics.iter(), sources, self.pool.secrets());
        diagnostics.iter().for_each(|d| self.diagnose(d.clone()));
        if let Some(error) = &unwritten {
            self.diagnose(super::state::state_not_written(error));
        }
        DeployEnd {
            operations: recorder.counts(),
            // A failed write stops the deploy without a cancellation.
            cancelled: result.cancelled && is_stopped,
            any_cancelled: recorder.any_cancelled() || result.rollout_unfinished,
            has_errors: diagnostics.iter().any(|d| d.severity == Severity::Error),
            store_failed: result.store_failed,
            state_unwritten: unwritten.is_some(),
        }
    }

    /// Records the end of a deploy and reports it.
    async fn end_deploy(
        &self,
        begun: BegunDeploy,
        end: DeployEnd,
    ) -> Result<DeploySummary, EngineError> {
        let summary = begun.summary(&end);
        // Before `finish_deploy`, which drops the copy that a rescue file is written from.
        if end.store_failed {
            self.rescue(summary.deploy).await;
        }
        self.bus.emit(EventKind::DeployFinished(summary.clone()));
        self.memory.store().finish_deploy(summary.clone()).await?;
        // A replay needs the last events too.
        self.memory.flush().await;
        // The deploy has ended, so a failure here must not hide its result.
        if let Err(error) = self.list_unknown().await {
            self.bus.emit(EventKind::Notice {
                text: format!("failed to read unknown outcomes: {error}"),
            });
        }
        Ok(summary)
    }

    pub(super) fn new_walk(&self, staged: &Staged, state: &State, switches: &Switches) -> Walk {
        let mut prior = PriorState::new(state);
        prior.translate(&staged.resolved_providers);
        let nodes = nodes(&staged.root, &staged.schemas, &prior);
        let around = self.around(
            &staged.loaded,
            &staged.root,
            &staged.schemas,
            Phase::Apply,
            staged.stage.at,
            &switches.stop_all,
            ExternalInputs::of_stage(&staged.stage.external_inputs),
        );
        let known = |o: &&OutputChange| o.after.as_ref().is_some_and(cty::Value::is_wholly_known);
        let settled = staged
            .stage
            .outputs
            .iter()
            .filter(known)
            .filter_map(|o| Some((o.name.clone(), o.after.clone()?)))
            .collect();
        Walk {
            destroying: staged.stage.request.mode == StageMode::Destroy,
            final_outputs: settled,
            ..Walk::new(
                around,
                nodes,
                Arc::new(Pooled {
                    pool: self.pool.clone(),
                }),
                switches.kill.clone(),
                staged.loaded.given.clone(),
            )
        }
    }

    /// Returns true if the running command only destroys what it has created.
    pub fn is_cleaning_up(&self) -> bool {
        let switches = lock(&self.switches);
        switches.as_ref().is_some_and(|now| now.is_cleaning_up)
    }

    /// Goes to a rung of the cancel ladder. Returns true if a running operation reacts to it.
    pub fn cancel(self: &Arc<Self>, rung: CancelRung, tasks: &TaskTracker) -> bool {
        let Some(switches) = lock(&self.switches).clone() else {
            return false;
        };
        // A plugin that was asked to stop may refuse to destroy.
        let asks = matches!(rung, CancelRung::AskPlugins | CancelRung::EndCommands);
        if switches.is_cleaning_up && asks {
            return true;
        }
        let text = match rung {
            CancelRung::StopStarting if switches.is_cleaning_up => {
                "the remaining objects are destroyed before the command ends"
            }
            CancelRung::StopStarting => {
                "no new operations start, except to complete replacements in progress"
            }
            CancelRung::AskPlugins => "plugins are asked to stop running operations",
            CancelRung::EndCommands => {
                "plugins are asked to stop running operations, and commands are ended"
            }
            CancelRung::KillPlugins => {
                "plugins are killed; running operations have unknown outcomes"
            }
        };
        let text = text.to_owned();
        self.bus.emit(EventKind::Cancel { rung, text });
        // Every rung includes the first one.
        switches.stop.cancel();
        // The slow part of a rung runs in a task, so that the next rung is possible at once.
        let work = self.clone();
        match rung {
            CancelRung::StopStarting => {}
            CancelRung::AskPlugins | CancelRung::EndCommands => {
                switches.stop_all.cancel();
                if rung == CancelRung::EndCommands {
                    switches.commands.cancel();
                }
                tasks.spawn(async move { work.ask_plugins().await });
            }
            CancelRung::KillPlugins => {
                switches.stop_all.cancel();
                switches.kill.cancel();
                tasks.spawn(async move { work.pool.kill_all().await });
            }
        }
        true
    }

    /// Asks plugins repeatedly until the work has ended or is killed. A plugin tells only the calls
    /// it has at that moment, so a call that arrives later would miss the request.
    pub(super) async fn ask_plugins(&self) {
        let stopping = || {
            let now = lock(&self.switches);
            now.as_ref()
                .is_some_and(|s| s.stop.is_cancelled() && !s.kill.is_cancelled())
        };
        for n in 0..MAX_STOP_REQUESTS {
            for error in self.pool.stop_all(&CallContext::default()).await {
                // A plugin that cannot be asked is reported once.
                if n == 0 {
                    self.bus.emit(EventKind::Notice {
                        text: error.to_string(),
                    });
                }
            }
            tokio::time::sleep(STOP_REQUEST_INTERVAL).await;
            if !stopping() {
                return;
            }
        }
    }
}

/// Operation that has not started.
pub(super) fn waiting(n: usize, change: &Change, pool: &Pool, overlays: &Overlays) -> Operation {
    let plugin = pool
        .serves(&change.provider.address, &change.provider.to_string())
        .unwrap_or_else(|| PluginId(short_provider(&change.provider.address).into()));
    let settings = overlays.effective(&change.address.resource.kind);
    let usual_ms = usual_duration(&plugin, change, pool, &settings);
    Operation {
        deploy: 0,
        index: u32::try_from(n).unwrap_or(u32::MAX),
        address: change.id(),
        plugin: Some(plugin),
        action: change.action(),
        state: OperationState::Waiting,
        half_done: false,
        step: if steps::applies(change) || steps::destroys(change.action()) {
            OperationProgress::Waiting
        } else {
            OperationProgress::Unsaid
        },
        attempt: 0,
        retry: None,
        waits_until_ready: None,
        began: None,
        took_ms: None,
        waits_for: Vec::new(),
        waits_for_more: 0,
        waits_for_all_of: Vec::new(),
        usual_ms,
        failure: None,
        warnings: Vec::new(),
        beside: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_of_a_deploy_follows_from_its_end() {
        use DeployOutcome::{Cancelled, Failed, Succeeded};
        let counts = |done, failed, not_attempted, unknown, half_replaced| OperationCounts {
            done,
            failed,
            not_attempted,
            unknown,
            half_replaced,
        };
        let end = DeployEnd::default();
        let cancelled = DeployEnd {
            cancelled: true,
            ..end
        };
        for (case, end, operations, outcome) in [
            ("all done", end, counts(3, 0, 0, 0, 0), Succeeded),
            ("one failed", end, counts(2, 1, 0, 0, 0), Failed),
            ("unknown outcome", end, counts(2, 0, 0, 1, 0), Failed),
            ("half replaced", end, counts(2, 0, 0, 0, 1), Failed),
            (
                "error of an output",
                DeployEnd {
                    has_errors: true,
                    ..end
                },
                counts(3, 0, 0, 0, 0),
                Failed,
            ),
            (
                "lost store",
                DeployEnd {
                    store_failed: true,
                    ..end
                },
                counts(3, 0, 0, 0, 0),
                Failed,
            ),
            (
                "state not in the backend",
                DeployEnd {
                    state_unwritten: true,
                    ..end
                },
                counts(3, 0, 0, 0, 0),
                Failed,
            ),
            (
                "cancelled after the last one",
                cancelled,
                counts(3, 0, 0, 0, 0),
                Succeeded,
            ),
            (
                "cancelled after a failure",
                cancelled,
                counts(2, 1, 0, 0, 0),
                Failed,
            ),
            (
                "cancelled before one started",
                cancelled,
                counts(2, 0, 1, 0, 0),
                Cancelled,
            ),
            ("killed", cancelled, counts(2, 0, 0, 1, 0), Cancelled),
            (
                "cancelled between two halves",
                cancelled,
                counts(2, 0, 0, 0, 1),
                Cancelled,
            ),
            (
                "plugin stopped its call",
                DeployEnd {
                    any_cancelled: true,
                    ..cancelled
                },
                counts(2, 1, 0, 0, 0),
                Cancelled,
            ),
        ] {
            let end = DeployEnd { operations, ..end };
            assert_eq!(end.outcome(), outcome, "{case}");
        }
    }
}
