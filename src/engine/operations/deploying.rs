//! Deploys of stages, and the cancel ladder.

use super::command::{MAX_STOP_REQUESTS, Operations, STOP_REQUEST_INTERVAL, Staged, Switches};
use super::reading::nodes;
use super::stale_check::Purpose;
use crate::deploy::record::{DeployRecord, Earlier};
use crate::deploy::run::{Deploying, Stops};
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::provider_resolution::Pooled;
use crate::stage::change::{Change, OutputChange};
use crate::stage::external_inputs::ExternalInputs;
use crate::stage::prior::PriorState;
use crate::stage::scope::Phase;
use crate::stage::walk::Walk;
use crate::stage::{select, steps};
use calls::{CallContext, Kind, Method};
use model::lock_owner::this_process;
use model::mutex::lock;
use model::*;
use provider::pool::Pool;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::records::{NewDeploy, StartedDeploy, State};
use tokio_util::sync::CancellationToken;

impl Operations {
    /// Deploys a stage.
    pub async fn deploy(&self, request: DeployRequest) -> Result<DeploySummary, EngineError> {
        let command = self.begin().await;
        let purpose = Purpose::Deploy(&request.variables);
        // The backend block may use variables, so the stage's request comes first.
        let staged = self.request_of(request.stage, purpose).await?;
        let command = command.on_state(&staged, "OperationTypeApply").await?;
        // Later uses of the lock have reported them already.
        let reported = match command.is_first {
            true => self.report_unknown().await,
            false => Ok(()),
        };
        let result = match reported {
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
        let store = self.memory.store();
        let purpose = Purpose::Deploy(&request.variables);
        let staged = self.load_stage(request.stage, purpose).await?;
        let stage = &staged.stage;
        // Addresses in the request replace the stored selection.
        let only: Option<BTreeSet<String>> = match request.only {
            Some(only) => {
                let selection = select::select_only(&select::references(stage), &only)?;
                Some(selection.taken.into_iter().collect())
            }
            None => {
                let left: BTreeSet<String> =
                    store.deselected(request.stage).await?.into_iter().collect();
                (!left.is_empty()).then(|| {
                    stage
                        .changes
                        .iter()
                        .map(Change::id)
                        .filter(|id| !left.contains(id))
                        .collect()
                })
            }
        };
        let taken: BTreeSet<usize> = (0..stage.changes.len())
            .filter(|&i| {
                steps::has_effect(&stage.changes[i])
                    && only
                        .as_ref()
                        .is_none_or(|o| o.contains(&stage.changes[i].id()))
            })
            .collect();
        // Before the deploy is recorded, so that a refusal leaves no trace.
        self.refuse_double_creation(stage, &taken).await?;
        let mut counts = Counts::default();
        for change in taken.iter().map(|&i| &stage.changes[i]) {
            counts.add(change.action());
            counts.import += u32::from(change.importing().is_some());
        }
        let operations: Vec<Operation> = taken
            .iter()
            .enumerate()
            .map(|(n, &i)| waiting(n, &stage.changes[i], &self.pool))
            .collect();
        let holder = this_process("deploy");
        let began = now_ms();
        let new = NewDeploy {
            stage: stage.id,
            mode: stage.request.mode,
            began,
            user: holder.who.clone(),
            counts,
            config_digest: stage.digests.config.clone(),
            operations: operations.clone(),
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
            who: holder.who.clone(),
            host: holder.host.clone(),
            operations: operations.clone(),
        }));
        if !stage.edits.is_empty() {
            // From here on the copy is ahead of the backend until it is written there.
            store.edit_state(stage.edits.clone()).await?;
            state = Arc::new(store.state().await?);
        }
        self.settle_read_outcomes(stage, &state).await?;
        let earlier = Earlier {
            unknown: store.unknown_outcomes().await?,
            destroy_steps: store.destroy_steps().await?,
        };
        let recorder = Arc::new(DeployRecord::new(
            store.clone(),
            self.bus.clone(),
            self.pool.clone(),
            deploy,
            operations,
            earlier,
            switches.stop_all.clone(),
        ));
        self.register_sensitive(&staged.loaded, &state);
        let walk = self.new_walk(&staged, &state, switches);
        let stops = Stops {
            starting: switches.stop.clone(),
            all: switches.stop_all.clone(),
        };
        let deploying = Deploying::new(
            walk,
            stage.clone(),
            taken,
            recorder.clone(),
            request.parallelism,
            stops,
            &state.objects,
        );
        // Cancelled after the walk, which ends the two writers beside it.
        let done = CancellationToken::new();
        let (went, kept_home, ()) = tokio::join!(
            async {
                let went = Arc::new(deploying).run().await;
                self.declare_calls_done();
                done.cancel();
                went
            },
            self.write_periodically(switches, &done),
            recorder.store_changes_until(&done),
        );
        // A write that failed during the deploy is not repeated.
        let not_home = match kept_home {
            Ok(()) => self.write_back(switches).await.err(),
            Err(error) => Some(error),
        };
        let told = convert_all(
            went.diagnostics.iter(),
            &staged.loaded.sources,
            self.pool.secrets(),
        );
        told.iter().for_each(|d| self.diagnose(d.clone()));
        if let Some(error) = &not_home {
            self.diagnose(super::state::state_not_written(error));
        }
        let operations = recorder.counts();
        let failed = operations.bad() > 0
            || told.iter().any(|d| d.severity == Severity::Error)
            || went.store_failed
            || not_home.is_some();
        // A cancelled deploy without unfinished operations is a success or a failure.
        let outcome = match () {
            () if went.cancelled
                && (operations.not_attempted + operations.unknown + operations.half_replaced
                    > 0
                    || recorder.any_cancelled()) =>
            {
                DeployOutcome::Cancelled
            }
            () if failed => DeployOutcome::Failed,
            () => DeployOutcome::Succeeded,
        };
        let summary = DeploySummary {
            deploy,
            stage: stage.id,
            mode: stage.request.mode,
            began,
            ended: Some(now_ms()),
            who: holder.who,
            host: holder.host,
            outcome,
            operations,
            counts,
            config_digest: stage.digests.config.clone(),
        };
        // Before `finish_deploy`, which drops the copy that a rescue file is written from.
        if went.store_failed {
            self.rescue(deploy).await;
        }
        self.bus.emit(EventKind::DeployFinished(summary.clone()));
        store.finish_deploy(summary.clone()).await?;
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

    /// Goes to a rung of the cancel ladder. Returns true if a running operation reacts to it.
    pub fn cancel(
        self: &Arc<Self>,
        rung: CancelRung,
        tasks: &tokio_util::task::TaskTracker,
    ) -> bool {
        let Some(switches) = lock(&self.switches).clone() else {
            return false;
        };
        let text = match rung {
            CancelRung::StopStarting => {
                "no new operations start, except to complete replacements in progress"
            }
            CancelRung::AskPlugins => "plugins are asked to stop running operations",
            CancelRung::KillPlugins => {
                "plugins are killed; running operations have unknown outcomes"
            }
        };
        self.bus.emit(EventKind::Cancel {
            rung,
            text: text.to_owned(),
        });
        // Every rung includes the first one.
        switches.stop.cancel();
        // The slow part of a rung runs in a task, so that the next rung is possible at once.
        let work = self.clone();
        match rung {
            CancelRung::StopStarting => {}
            CancelRung::AskPlugins => {
                switches.stop_all.cancel();
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
            lock(&self.switches)
                .as_ref()
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
pub(super) fn waiting(n: usize, change: &Change, pool: &Pool) -> Operation {
    let plugin = pool
        .serves(&change.provider.address, &change.provider.to_string())
        .unwrap_or_else(|| PluginId(short_provider(&change.provider.address).into()));
    let usual_ms = usual_duration(&plugin, change, pool);
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
        stabilising: None,
        began: None,
        took_ms: None,
        waits_for: Vec::new(),
        usual_ms,
        failure: None,
        warnings: Vec::new(),
        beside: Vec::new(),
    }
}

/// Usual duration of this action on this resource type, in milliseconds.
fn usual_duration(plugin: &PluginId, change: &Change, pool: &Pool) -> Option<u64> {
    let resource_type = &*change.address.resource.kind;
    let of = |action| {
        Some(
            pool.usual_latency(plugin, &Kind::apply(resource_type, action))?
                .p95_ms,
        )
    };
    match change.action() {
        action @ (Action::Create | Action::Update | Action::Destroy) => of(action),
        Action::Replace | Action::ReplaceCreateFirst => {
            Some(of(Action::Destroy)? + of(Action::Create)?)
        }
        Action::Read => {
            let kind = Kind {
                method: Method::ReadData,
                resource_type: resource_type.into(),
                action: None,
            };
            Some(pool.usual_latency(plugin, &kind)?.p95_ms)
        }
        Action::NoOp | Action::Forget => None,
    }
}
