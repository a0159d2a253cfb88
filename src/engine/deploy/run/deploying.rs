//! State shared by all steps of one running deploy, and the rules for starting operations.

use super::turns::{Turn, Turns};
use crate::deploy::record::{DeployRecord, Objects};
use crate::graph::{Starts, Step, Urgency};
use crate::stage::change::{Change, Stage};
use crate::stage::checked::Checked;
use crate::stage::steps::{self};
use crate::stage::values::{Expansion, Repetition};
use crate::stage::walk::Walk;
use cty::Value;
use lang::addr::{AbsInstance, AbsResource};
use lang::diag::{Diagnostic, Diagnostics};
use model::cores;
use model::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use store::records::StateObject;
use tokio_util::sync::CancellationToken;

/// Steps run concurrently; the operations among them are limited by `parallelism`.
const STEPS_AT_A_TIME: usize = 256;

/// Step for diagnostics of the whole deploy.
pub(super) const WHOLE_DEPLOY: Step = Step::MAX;

/// Running deploy.
pub struct Deploying {
    pub walk: Walk,
    pub stage: Arc<Stage>,
    /// Indexes of the changes, by id.
    pub(super) change_index: HashMap<String, usize>,
    /// Indexes of the selected changes.
    pub selected: BTreeSet<usize>,
    pub recorder: Arc<DeployRecord>,
    pub parallelism: usize,
    pub stops: Stops,
    /// Current objects of the state during the deploy.
    pub state: Objects,
    /// Turns of operations. A turn is returned when the plugin has answered, so that the next
    /// operation can start while the outcome is written.
    pub(super) turns: Arc<Turns>,
    /// Second halves of started replacements, with their needs.
    pub(super) urgency: Arc<Urgency>,
    /// Turns passed from first halves to second halves.
    pub(super) passed_turns: Mutex<HashMap<Step, Turn>>,
    /// Steps that succeeded.
    pub(super) done: Mutex<HashSet<Step>>,
    pub(super) expansions: Mutex<HashMap<AbsResource, Arc<Expansion>>>,
    pub(super) repetitions: Mutex<HashMap<AbsInstance, Repetition>>,
    /// Values of instances that were applied or read, or are unchanged.
    pub(super) values: Mutex<HashMap<AbsInstance, Value>>,
    /// Deposed keys of replaced objects, by change.
    pub(super) deposed: Mutex<HashMap<usize, String>>,
    pub(super) store_failed: AtomicBool,
    /// Cancelled once nothing may start any more.
    pub(super) halt: CancellationToken,
    /// Results of resource conditions.
    pub(super) checked: Mutex<Checked>,
}

/// Tokens that end a deploy early, in two degrees.
#[derive(Clone)]
pub struct Stops {
    /// Stops new operations, except the second halves of started replacements.
    pub starting: CancellationToken,
    /// Stops all new operations.
    pub all: CancellationToken,
}

/// Result of a deploy.
pub struct DeployResult {
    pub diagnostics: Diagnostics,
    pub cancelled: bool,
    pub store_failed: bool,
}

impl Deploying {
    /// Creates the deploy of the selected changes `taken`, starting from `state`.
    pub fn new(
        walk: Walk,
        stage: Arc<Stage>,
        taken: BTreeSet<usize>,
        recorder: Arc<DeployRecord>,
        parallelism: usize,
        stops: Stops,
        state: &[StateObject],
    ) -> Self {
        let state = state
            .iter()
            .filter(|o| o.deposed.is_empty())
            .filter_map(|o| Some((o.address.parse().ok()?, o.clone())))
            .collect();
        let urgency = Arc::<Urgency>::default();
        Self {
            walk,
            change_index: stage
                .changes
                .iter()
                .enumerate()
                .map(|(i, change)| (change.id(), i))
                .collect(),
            stage,
            selected: taken,
            recorder,
            parallelism,
            state: Arc::new(Mutex::new(state)),
            turns: Turns::new(parallelism, urgency.clone()),
            urgency,
            passed_turns: Mutex::default(),
            done: Mutex::default(),
            expansions: Mutex::default(),
            repetitions: Mutex::default(),
            values: Mutex::default(),
            deposed: Mutex::default(),
            store_failed: AtomicBool::new(false),
            halt: stops.all.child_token(),
            stops,
            checked: Mutex::default(),
        }
    }

    /// Runs all steps.
    pub async fn run(self: Arc<Self>) -> DeployResult {
        let outputs = self.outputs_to_store();
        let mut ends = steps::ends(&self.walk.nodes, &self.stage.request, &outputs);
        ends.extend(self.resources_to_check());
        match steps::build(&self.walk.nodes, &self.stage.changes, &self.selected, &ends) {
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
                    &self.urgency,
                    || this.starts(),
                    run,
                    told,
                );
                let ended = self
                    .walk
                    .leases
                    .run_with_renewal(&self.walk, &all.graph, walking)
                    .await;
                self.outputs(&outputs, &all, &ended).await;
            }
        }
        let cancelled = self.stops.starting.is_cancelled();
        // After the walk no operation can start any more.
        self.recorder.mark_unfinished_as_not_attempted();
        self.report_left_behind(cancelled);
        let gathered = self
            .walk
            .cells
            .merge_in_order(self.walk.nodes.graph.order());
        let mut diagnostics = gathered.diags;
        diagnostics.extend(self.store_check_results(gathered.checked).await);
        let store_failed = self.store_failed.load(Ordering::Relaxed);
        cores::free(self);
        DeployResult {
            diagnostics,
            cancelled,
            store_failed,
        }
    }

    /// Reports objects that a destroy has left in place (`destroy = false`).
    fn report_left_behind(&self, cancelled: bool) {
        let changes = self.selected.iter().map(|&i| &self.stage.changes[i]);
        let forgotten: Vec<String> = changes
            .filter(|c| c.action() == Action::Forget)
            .map(Change::id)
            .collect();
        let failed = self.walk.cells.has_errors();
        if self.stage.request.mode != StageMode::Destroy
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

    /// Returns the operations that may start now.
    fn starts(&self) -> Starts {
        match () {
            // Without the store no operation can be recorded, so urgent ones do not start either.
            () if self.halt.is_cancelled() => Starts::None,
            () if self.stops.starting.is_cancelled() => Starts::Urgent,
            () => Starts::All,
        }
    }

    pub(super) fn may_start(&self, step: Step) -> bool {
        match self.starts() {
            Starts::All => true,
            Starts::Urgent => self.urgency.is_urgent(step),
            Starts::None => false,
        }
    }
}
