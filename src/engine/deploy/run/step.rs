//! Runs one step of a deploy: evaluates a node, or runs an operation once it has its turn.

use super::deploying::Deploying;
use super::operation::RunningOperation;
use super::rollouts::Gate;
use crate::deploy::waits::{MAX_STORED, Waits};
use crate::stage::cell::Cell;
use crate::stage::change::Change;
use crate::stage::ephemeral::OpenTime;
use crate::stage::nodes::Node;
use crate::stage::steps::{Steps, Task};
use crate::stage::values::Extent;
use graph::Step;
use lang::addr::Mode;
use model::{Action, Activity};
use std::collections::{BTreeMap, BTreeSet};

impl Deploying {
    /// Computes for each operation the next operations that it waits for.
    pub(super) fn compute_waits(&self, steps: &Steps) {
        let place = |task: &Task| match task {
            Task::Apply(i) | Task::Destroy(i) => self
                .recorder
                .index_of(&self.selection.stage.changes[*i].id()),
            _ => None,
        };
        let places: Vec<Option<usize>> = steps.tasks.iter().map(place).collect();
        // Operations before each step, through steps that are no operations. Computed once in graph
        // order.
        let mut before: Vec<Vec<Step>> = vec![Vec::new(); steps.tasks.len()];
        let mut of_both_halves: BTreeMap<usize, Vec<Step>> = BTreeMap::new();
        for step in steps.graph.order() {
            let mut needs = Vec::new();
            for need in steps.graph.needs(step) {
                match places[need] {
                    // An operation is not displayed as waiting for its own first half.
                    Some(place) if places[step] != Some(place) => needs.push(need),
                    _ => needs.extend_from_slice(&before[need]),
                }
            }
            before[step] = last_of(needs);
            if let Some(place) = places[step] {
                let of_both = of_both_halves.entry(place).or_default();
                of_both.extend_from_slice(&before[step]);
            }
        }
        let mut lines: BTreeMap<Vec<Step>, Vec<usize>> = BTreeMap::new();
        for (place, needs) in of_both_halves {
            lines.entry(last_of(needs)).or_default().push(place);
        }
        lines.remove(&Vec::new());
        let waits = Waits::of(lines.into_iter().map(|(needs, waiting)| {
            let mut once = BTreeSet::new();
            let needs = needs.into_iter().filter_map(|need| places[need]);
            (waiting, needs.filter(|place| once.insert(*place)).collect())
        }));
        self.recorder.set_waits(waits);
    }

    pub(super) async fn step(&self, steps: &Steps, step: Step) -> bool {
        self.pass_over_skipped(steps, step).await;
        if self.needs_skipped(steps, step) {
            // The steps that need it are passed over as well, but the next batch may start.
            return true;
        }
        let ok = match &steps.tasks[step] {
            Task::Node(node, extent) => {
                let within = &steps.extents[*extent];
                let cell = self.node(*node, within, Some(step)).await;
                self.walk.publish_part(*node, *extent, cell)
            }
            Task::Part(node, extent) => {
                let within = &steps.extents[*extent];
                let resource = self.walk.nodes.nodes[*node].resource();
                resource.is_none_or(|address| {
                    self.close(address, within) && self.evaluate_unchanged(*node, address, within)
                })
            }
            Task::Open(node, extent) => self.open(*node, &steps.extents[*extent]),
            Task::Gate => true,
            Task::Rollout(group, task) => self.rollout(step, *group, *task).await,
            task @ (Task::Apply(i) | Task::Destroy(i)) => {
                self.operation(steps, step, task, *i).await
            }
        };
        if ok {
            self.scheduler.succeeded(step);
        }
        ok
    }

    /// Runs an operation once it has its turn.
    async fn operation(&self, steps: &Steps, step: Step, task: &Task, index: usize) -> bool {
        let change = &self.selection.stage.changes[index];
        // Others have nothing to prepare, so they wait for the full turn at once.
        let ahead = may_go_ahead(task, change);
        // A replacement that has begun is completed.
        let begins = !steps.second_halves.values().any(|second| *second == step);
        let turn = loop {
            match begins {
                true => match self.gate_of(index).await {
                    Gate::Open => {}
                    Gate::Skip => return true,
                    Gate::Closed => return false,
                },
                false if self.is_passed(index) => return true,
                false => {}
            }
            match self.scheduler.start(step, ahead).await {
                None => return false,
                // The rollout was paused while the step waited for its turn.
                Some(_) if begins && self.is_held(index) => {}
                Some(turn) => break turn,
            }
        };
        let doing = activity(task, change);
        let mut operation = RunningOperation::start(self, index, step, doing, turn);
        let ok = match task {
            Task::Apply(_) => operation.apply().await,
            _ => operation.destroy().await,
        };
        if ok && let Some(second) = steps.second_halves.get(&step) {
            let turn = operation.turn;
            self.scheduler.prioritize(&steps.graph, step, *second, turn);
        }
        ok
    }

    /// Evaluates a node in some module instances. `opening` is the step that ephemeral resources
    /// are opened for; without it none is opened.
    pub(super) async fn node(&self, place: Step, within: &Extent, opening: Option<Step>) -> Cell {
        let node = &self.walk.nodes.nodes[place];
        if let Some(cell) = self.walk.evaluate_common(node, within).await {
            return cell;
        }
        match node {
            Node::Resource(address) if address.resource.mode == Mode::Ephemeral => match opening {
                Some(step) => {
                    let part = (address, within);
                    self.walk.open(step, part, &|_| OpenTime::Now).await
                }
                None => self.walk.unopened(address, within),
            },
            Node::Resource(address) => {
                let good =
                    self.close(address, within) && self.evaluate_unchanged(place, address, within);
                Cell::default().failed_unless(good)
            }
            _ => Cell::default(),
        }
    }
}

/// Returns the activity to display.
fn activity(task: &Task, change: &Change) -> Activity {
    let destroys = matches!(task, Task::Destroy(_));
    match change.action() {
        Action::Forget => Activity::Forgetting,
        _ if destroys && change.forgets() => Activity::ForgettingOld,
        Action::Destroy => Activity::Destroying,
        _ if destroys => Activity::DestroyingOld,
        Action::Update => Activity::Updating,
        Action::Read => Activity::Reading,
        Action::NoOp => Activity::Importing,
        _ => Activity::Creating,
    }
}

/// Returns true if the operation can plan or record its intent before its turn.
fn may_go_ahead(task: &Task, change: &Change) -> bool {
    match task {
        Task::Destroy(_) => change.action() == Action::Destroy && !change.forgets(),
        _ => !matches!(change.action(), Action::Read | Action::NoOp),
    }
}

/// Sorts steps and returns the last ones, which start last because steps start in order.
fn last_of(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_unstable();
    steps.dedup();
    steps.split_off(steps.len().saturating_sub(MAX_STORED))
}
