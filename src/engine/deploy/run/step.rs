//! Runs one step of a deploy: waits for its turn (see `turns`), runs its task, and prioritizes the
//! second half of a replacement.

use super::deploying::Deploying;
use super::operation_error::OperationError;
use super::turns::Turn;
use crate::deploy::waits::{MAX_STORED, Waits};
use crate::graph::Step;
use crate::stage::cell::Cell;
use crate::stage::change::Change;
use crate::stage::ephemeral::OpenTime;
use crate::stage::nodes::Node;
use crate::stage::steps::{Steps, Task};
use cty::Value;
use lang::addr::Mode;
use model::mutex::lock;
use model::{Action, Activity, OperationStep};
use std::collections::{BTreeMap, BTreeSet};

/// Start of an operation.
#[derive(Clone, Copy)]
pub(super) struct OperationStart {
    pub(super) step: Step,
    pub(super) doing: Activity,
}

impl Deploying {
    /// Computes for each operation the next operations that it waits for.
    pub(super) fn compute_waits(&self, steps: &Steps) {
        let place = |task: &Task| match task {
            Task::Apply(i) | Task::Destroy(i) => {
                self.recorder.index_of(&self.stage.changes[*i].id())
            }
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
        let ok = match &steps.tasks[step] {
            Task::Node(node) => {
                let cell = self.node(*node, Some(step)).await;
                self.walk.publish(*node, cell)
            }
            Task::Part(node) => self.walk.nodes.nodes[*node]
                .resource()
                .is_none_or(|address| {
                    self.close(address) && self.evaluate_unchanged(*node, address)
                }),
            Task::Open(node) => self.open(*node),
            Task::Gate => true,
            task @ (Task::Apply(i) | Task::Destroy(i)) => {
                // A second half that can start at once keeps the turn of its first half.
                let handed = lock(&self.passed_turns).remove(&step);
                let turn = match handed {
                    Some(turn) => Some(turn),
                    // A turn that was passed to a second half that will not start is never
                    // returned.
                    None => {
                        let turn = self.turns.take(step);
                        self.halt.run_until_cancelled(turn).await.flatten()
                    }
                };
                let Some(turn) = turn else {
                    return false;
                };
                let mut turn = Some(turn);
                // These have nothing to prepare, so they wait for the full turn at once.
                if !may_go_ahead(task, &self.stage.changes[*i]) {
                    let upgrade = Turn::upgrade(&mut turn);
                    self.halt.run_until_cancelled(upgrade).await;
                }
                // The deploy may have been cancelled while the step waited for its turn.
                if !self.may_start(step) {
                    return false;
                }
                let ok = match task {
                    Task::Apply(_) => self.apply(*i, step, &mut turn).await,
                    _ => self.destroy(*i, step, &mut turn).await,
                };
                if ok && let Some(second) = steps.second_halves.get(&step) {
                    self.prioritize_second_half(steps, step, *second, turn);
                }
                ok
            }
        };
        if ok {
            lock(&self.done).insert(step);
        }
        ok
    }

    /// Reports the start of an operation that has its turn; one that plans ahead still waits.
    pub(super) fn report_start(
        &self,
        change: &Change,
        turn: Option<&Turn>,
        begins: OperationStart,
    ) {
        if !turn.is_some_and(Turn::is_ahead) {
            self.recorder.step_started(&change.id(), begins.doing);
        }
    }

    /// Records a failed operation, and its start if it was ahead. Returns false.
    pub(super) async fn record_failure(
        &self,
        change: &Change,
        turn: Option<&Turn>,
        begins: OperationStart,
        trouble: OperationError,
    ) -> bool {
        if turn.is_some_and(Turn::is_ahead) {
            self.recorder.step_started(&change.id(), begins.doing);
        }
        self.fail(change, trouble).await;
        false
    }

    /// Waits for the full turn of an operation that is ahead, which then starts.
    pub(super) async fn whole(
        &self,
        change: &Change,
        turn: &mut Option<Turn>,
        begins: OperationStart,
    ) -> Result<(), Box<OperationError>> {
        if turn.as_ref().is_some_and(Turn::is_ahead) {
            self.halt.run_until_cancelled(Turn::upgrade(turn)).await;
            self.recorder.step_started(&change.id(), begins.doing);
        }
        // The deploy may have been cancelled meanwhile; a call that was not sent must not be sent
        // then.
        match self.may_start(begins.step) {
            true => Ok(()),
            false => Err(Box::new(OperationError::NotStarted)),
        }
    }

    /// Commits the intent of a step. When this returns, the operation has its turn and may send the
    /// call. If it must not start any more, the intent is removed.
    pub(super) async fn record_intent(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        object: &Value,
        turn: &mut Option<Turn>,
        begins: OperationStart,
    ) -> Result<(), Box<OperationError>> {
        let written = self
            .recorder
            .record_intent(change, deposed, step.clone(), object);
        let written = match turn {
            // While this one waits for the disk, another operation may plan.
            Some(turn) if !turn.is_ahead() => turn.while_writing(written).await,
            _ => written.await,
        };
        written.map_err(|e| self.store_failure(e))?;
        if turn.as_ref().is_some_and(Turn::is_ahead)
            && let Err(trouble) = self.whole(change, turn, begins).await
        {
            // No call was sent, so the intent must not remain as an unknown outcome.
            let taken_back = self.recorder.remove_intent(change, &step).await;
            return Err(match taken_back {
                Ok(()) => trouble,
                Err(e) => self.store_failure(e),
            });
        }
        if let Some(turn) = turn {
            turn.calls();
        }
        Ok(())
    }

    /// Prioritizes the second half of a replacement and its needs, because the destroyed object is
    /// missing until then. The second half keeps the turn if it can start at once.
    fn prioritize_second_half(&self, steps: &Steps, first: Step, second: Step, turn: Option<Turn>) {
        self.urgency.make_urgent(&steps.graph, second);
        let done = lock(&self.done);
        if steps
            .graph
            .needs(second)
            .all(|need| need == first || done.contains(&need))
            && let Some(turn) = turn
        {
            lock(&self.passed_turns).insert(second, turn);
        }
    }

    /// Evaluates a node. `within` is the step that ephemeral resources are opened for; without it
    /// none is opened.
    pub(super) async fn node(&self, place: Step, within: Option<Step>) -> Cell {
        let node = &self.walk.nodes.nodes[place];
        if let Some(cell) = self.walk.evaluate_common(node).await {
            return cell;
        }
        match node {
            Node::Resource(address) if address.resource.mode == Mode::Ephemeral => match within {
                Some(step) => self.walk.open(step, address, &|_| OpenTime::Now).await,
                None => self.walk.unopened(address),
            },
            Node::Resource(address) => {
                let good = self.close(address) && self.evaluate_unchanged(place, address);
                Cell::default().failed_unless(good)
            }
            _ => Cell::default(),
        }
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
