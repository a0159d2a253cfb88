//! The deploy as a whole: what it knows, its walk, and what may start.

use super::turns::{Turn, Turns};
use crate::engine::cores;
use crate::engine::deploy::record::{DeployRecord, Objects};
use crate::engine::graph::{Starts, Step, Urgency};
use crate::engine::stage::change::{Change, Stage};
use crate::engine::stage::checked::Checked;
use crate::engine::stage::steps::{self};
use crate::engine::stage::values::{Expansion, Repetition};
use crate::engine::stage::walk::Walk;
use crate::engine::store::model::StateObject;
use crate::engine::words::*;
use cty::Value;
use lang::addr::{AbsInstance, AbsResource};
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// How many steps are looked at together; operations among them run `parallelism` at a time.
const STEPS_AT_A_TIME: usize = 256;

/// The place of what is said of the deploy as a whole.
pub(super) const AT_THE_END: Step = Step::MAX;

/// A deploy's walk.
pub struct Deploying {
    pub walk: Walk,
    pub stage: Arc<Stage>,
    /// Numbers of the changes, by id.
    pub(super) places: HashMap<String, usize>,
    /// Numbers of the changes that were taken.
    pub taken: BTreeSet<usize>,
    pub recorder: Arc<DeployRecord>,
    pub parallelism: usize,
    pub stops: Stops,
    /// Objects of the state as the deploy goes on, current ones only.
    pub state: Objects,
    /// An operation's turn is given back when the plugin has answered: while the outcome is being
    /// written down, the next one can begin.
    pub(super) turns: Arc<Turns>,
    /// Second halves of replacements whose first one is done, and what they need.
    pub(super) urgency: Arc<Urgency>,
    /// Turns that second halves have from their first ones.
    pub(super) handed: Mutex<HashMap<Step, Turn>>,
    /// Steps that have succeeded.
    pub(super) done: Mutex<HashSet<Step>>,
    pub(super) expansions: Mutex<HashMap<AbsResource, Arc<Expansion>>>,
    pub(super) repetitions: Mutex<HashMap<AbsInstance, Repetition>>,
    /// Values of instances that were applied, read, or stay as they are.
    pub(super) values: Mutex<HashMap<AbsInstance, Value>>,
    /// Keys of objects that were set aside to be destroyed later, by change.
    pub(super) deposed: Mutex<HashMap<usize, String>>,
    pub(super) store_failed: AtomicBool,
    /// How conditions of resources were found.
    pub(super) checked: Mutex<Checked>,
}

/// What ends a deploy early, each a step further.
#[derive(Clone)]
pub struct Stops {
    /// Once cancelled, nothing more starts but what ends a replacement that has begun.
    pub starting: CancellationToken,
    /// Once cancelled, nothing at all starts any more.
    pub all: CancellationToken,
}

/// How it went.
pub struct Went {
    pub diagnostics: Diagnostics,
    pub cancelled: bool,
    pub store_failed: bool,
}

impl Deploying {
    /// A deploy of `taken`, starting from `state`.
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
            places: stage
                .changes
                .iter()
                .enumerate()
                .map(|(i, change)| (change.id(), i))
                .collect(),
            stage,
            taken,
            recorder,
            parallelism,
            stops,
            state: Arc::new(Mutex::new(state)),
            turns: Turns::new(parallelism, urgency.clone()),
            urgency,
            handed: Mutex::default(),
            done: Mutex::default(),
            expansions: Mutex::default(),
            repetitions: Mutex::default(),
            values: Mutex::default(),
            deposed: Mutex::default(),
            store_failed: AtomicBool::new(false),
            checked: Mutex::default(),
        }
    }

    /// Runs all steps.
    pub async fn run(self: Arc<Self>) -> Went {
        let outputs = self.outputs_to_keep();
        let mut ends = steps::ends(&self.walk.nodes, &self.stage.request, &outputs);
        ends.extend(self.to_look_at());
        match steps::build(&self.walk.nodes, &self.stage.changes, &self.taken, &ends) {
            Err(cycle) => {
                self.walk.cells.beside(AT_THE_END, cycle);
            }
            Ok(steps) => {
                self.waiting(&steps);
                let (this, all) = (&self, Arc::new(steps));
                let told = |step| this.walk.leases.ended(&all.graph, step);
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
                    .beside(&self.walk, &all.graph, walking)
                    .await;
                self.outputs(&outputs, &all, &ended).await;
            }
        }
        let cancelled = self.stops.starting.is_cancelled();
        self.recorder.rest_not_attempted();
        self.left_behind(cancelled);
        let gathered = self.walk.cells.gather(self.walk.nodes.graph.order());
        let mut diagnostics = gathered.diags;
        diagnostics.extend(self.keep_checks(gathered.checked).await);
        let store_failed = self.store_failed.load(Ordering::Relaxed);
        cores::free(self);
        Went {
            diagnostics,
            cancelled,
            store_failed,
        }
    }

    /// Whoever destroys everything must know of what is there still.
    fn left_behind(&self, cancelled: bool) {
        let changes = self.taken.iter().map(|&i| &self.stage.changes[i]);
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
            "Everything was destroyed but what the configuration says to keep (destroy = false). These objects are there still, and the state has forgotten them: {}.",
            forgotten.join(", ")
        );
        let said = Diagnostic::error(
            "Destroy was successful but left behind forgotten instances",
            detail,
        );
        self.walk.cells.beside(AT_THE_END, said);
    }

    /// What may start now.
    fn starts(&self) -> Starts {
        match () {
            () if self.stops.all.is_cancelled() || self.store_failed.load(Ordering::Relaxed) => {
                Starts::None
            }
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
