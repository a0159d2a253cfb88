//! Running deploy: its parts, and the walk over its steps.

use super::conditions::ResourceConditions;
use super::expansions::Expansions;
use super::objects::DeployedObjects;
use super::rollouts::Rollouts;
use super::scheduler::Scheduler;
use super::selection::Selection;
use crate::deploy::record::DeployRecorder;
use crate::stage::change::{Change, Stage};
use crate::stage::steps::{self};
use crate::stage::walk::Walk;
use graph::Step;
use lang::diag::{Diagnostic, Diagnostics};
use model::cores;
use model::*;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use store::records::StateObject;
use tokio_util::sync::CancellationToken;

/// Steps run concurrently; the operations among them are limited by `parallelism`.
const STEPS_AT_A_TIME: usize = 256;

/// Step for diagnostics of the whole deploy.
pub(super) const WHOLE_DEPLOY: Step = Step::MAX;

/// Running deploy: its parts, each with its own state.
pub struct Deploying {
    pub(super) walk: Walk,
    pub(super) selection: Selection,
    pub(super) recorder: Arc<DeployRecorder>,
    pub(super) scheduler: Scheduler,
    pub(super) objects: DeployedObjects,
    pub(super) expansions: Expansions,
    pub(super) conditions: ResourceConditions,
    pub(super) rollouts: Rollouts,
}

/// Tokens that end a deploy early, in two degrees.
#[derive(Default, Clone)]
pub struct Stops {
    /// Stops new operations, except the second halves of started replacements.
    pub starting: CancellationToken,
    /// Stops all new operations.
    pub all: CancellationToken,
    /// Ends the commands of provisioners and groups.
    pub commands: CancellationToken,
    /// Reason why another process has the lock; the rollouts then count as interrupted.
    pub lock_lost: Arc<OnceLock<String>>,
}

impl Stops {
    /// Starts nothing more, because another process has the lock. Returns true the first time.
    pub fn lose_lock(&self, reason: String) -> bool {
        let first = self.lock_lost.set(reason).is_ok();
        self.starting.cancel();
        first
    }
}

/// Result of a deploy.
pub struct DeployResult {
    pub diagnostics: Diagnostics,
    pub cancelled: bool,
    /// A rollout has paused or was aborted, maybe after its last operation.
    pub rollout_unfinished: bool,
    pub store_failed: bool,
}

impl Deploying {
    /// Creates the deploy of the selected changes `taken`, starting from `state`.
    pub fn new(
        walk: Walk,
        stage: Arc<Stage>,
        taken: BTreeSet<usize>,
        recorder: Arc<DeployRecorder>,
        parallelism: usize,
        stops: Stops,
        state: &[StateObject],
    ) -> Self {
        Self {
            walk,
            selection: Selection::new(stage, taken),
            recorder,
            scheduler: Scheduler::new(parallelism, stops),
            objects: DeployedObjects::new(state),
            expansions: Expansions::default(),
            conditions: ResourceConditions::default(),
            rollouts: Rollouts::default(),
        }
    }

    /// Sets the rollouts of groups.
    #[must_use]
    pub fn with_rollouts(self, rollouts: Rollouts) -> Self {
        Self { rollouts, ..self }
    }

    /// Runs all steps.
    pub async fn run(self: Arc<Self>) -> DeployResult {
        let (stage, selected) = (&self.selection.stage, &self.selection.selected);
        let outputs = self.selection.outputs_to_store();
        let mut ends = steps::ends(&self.walk.nodes, &stage.request, &outputs);
        ends.extend(self.resources_to_check());
        let groups = self.rollouts.changed();
        match steps::build(&self.walk.nodes, &stage.changes, selected, &ends, &groups) {
            Err(cycle) => {
                self.walk.cells.add_diagnostics(WHOLE_DEPLOY, cycle);
            }
            Ok(steps) => {
                self.compute_waits(&steps);
                let (this, all) = (&self, Arc::new(steps));
                let told = |step| this.walk.leases.step_ended(&all.graph, step);
                let run = |step| {
                    let (this, all) = (this.clone(), all.clone());
                    async move { this.step(&all, step).await }
                };
                let walking = all.graph.walk_urgent_first(
                    STEPS_AT_A_TIME,
                    self.scheduler.urgency(),
                    || this.scheduler.starts(),
                    run,
                    told,
                );
                let done = CancellationToken::new();
                let walking = async {
                    let leases = &self.walk.leases;
                    let walk = leases.run_with_renewal(&self.walk, &all.graph, walking);
                    let ended = walk.await;
                    done.cancel();
                    ended
                };
                let (ended, ()) = tokio::join!(walking, self.serve_requests(&done));
                self.outputs(&outputs, &all, &ended).await;
            }
        }
        let cancelled = self.scheduler.stops().starting.is_cancelled();
        let rollout_unfinished = self.end_rollouts(cancelled).await;
        self.refuse_requests().await;
        // After the walk no operation can start any more.
        self.recorder.mark_unfinished_as_not_attempted();
        self.report_left_behind(cancelled);
        let gathered = self
            .walk
            .cells
            .merge_in_order(self.walk.nodes.graph.order());
        let mut diagnostics = gathered.diags;
        diagnostics.extend(self.store_check_results(gathered.checked).await);
        let store_failed = self.scheduler.has_lost_store();
        cores::free(self);
        DeployResult {
            diagnostics,
            cancelled,
            rollout_unfinished,
            store_failed,
        }
    }

    /// Reports objects that a destroy has left in place (`destroy = false`).
    fn report_left_behind(&self, cancelled: bool) {
        let changes = self.selection.selected_changes();
        let forgotten: Vec<String> = changes
            .filter(|c| c.action() == Action::Forget)
            .map(Change::id)
            .collect();
        let failed = self.walk.cells.has_errors();
        if self.selection.stage.request.mode != StageMode::Destroy
            || forgotten.is_empty()
            || failed
            || cancelled
        {
            return;
        }
        let detail = format!(
            "The configuration excludes these objects from the destroy (destroy = false). They still exist, but the state no longer contains them: {}.",
            forgotten.join(", ")
        );
        let said = Diagnostic::error(
            "Destroy was successful but left behind forgotten instances",
            detail,
        );
        self.walk.cells.add_diagnostics(WHOLE_DEPLOY, said);
    }
}
