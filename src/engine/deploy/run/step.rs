//! One step of a deploy: its turn, what it does, and what follows for the second half of a
//! replacement.

use super::deploying::Deploying;
use super::trouble::Trouble;
use super::turns::Turn;
use crate::engine::deploy::waits::{REMEMBERED, Waits};
use crate::engine::graph::Step;
use crate::engine::mutex::lock;
use crate::engine::stage::cell::Cell;
use crate::engine::stage::change::Change;
use crate::engine::stage::ephemeral::When;
use crate::engine::stage::nodes::Node;
use crate::engine::stage::steps::{Steps, Task};
use crate::engine::words::{Action, Doing, OperationStep};
use cty::Value;
use lang::addr::Mode;
use std::collections::{BTreeMap, BTreeSet};

/// The beginning of an operation.
#[derive(Clone, Copy)]
pub(super) struct Beginning {
    pub(super) step: Step,
    pub(super) doing: Doing,
}

impl Deploying {
    /// Tells each operation which other operations it waits for, as far as the next ones.
    pub(super) fn waiting(&self, steps: &Steps) {
        let place = |task: &Task| match task {
            Task::Apply(i) | Task::Destroy(i) => self.recorder.place(&self.stage.changes[*i].id()),
            _ => None,
        };
        let places: Vec<Option<usize>> = steps.tasks.iter().map(place).collect();
        // What stands before each step, worked out once: through steps that are no operations
        // themselves.
        let mut before: Vec<Vec<Step>> = vec![Vec::new(); steps.tasks.len()];
        let mut of_both_halves: BTreeMap<usize, Vec<Step>> = BTreeMap::new();
        for step in steps.graph.order() {
            let mut needs = Vec::new();
            for need in steps.graph.needs(step) {
                match places[need] {
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
        self.recorder.waits_for(waits);
    }

    pub(super) async fn step(&self, steps: &Steps, step: Step) -> bool {
        let ok = match &steps.tasks[step] {
            Task::Node(node) => {
                let cell = self.node(*node, Some(step)).await;
                self.walk.absorb(*node, cell)
            }
            Task::Part(node) => self.walk.nodes.nodes[*node]
                .resource()
                .is_none_or(|address| self.close(address) && self.of_unchanged(*node, address)),
            Task::Open(node) => self.open(*node),
            Task::Gate => true,
            task @ (Task::Apply(i) | Task::Destroy(i)) => {
                let handed = lock(&self.handed).remove(&step);
                let Some(turn) = (if handed.is_some() {
                    handed
                } else {
                    self.turns.take(step).await
                }) else {
                    return false;
                };
                if !self.may_start(step) {
                    return false;
                }
                let mut turn = Some(turn);
                if !may_go_ahead(task, &self.stage.changes[*i]) {
                    Turn::whole(&mut turn).await;
                }
                let ok = match task {
                    Task::Apply(_) => self.apply(*i, step, &mut turn).await,
                    _ => self.destroy(*i, step, &mut turn).await,
                };
                if ok && let Some(second) = steps.second_halves.get(&step) {
                    self.half_done(steps, step, *second, turn);
                }
                ok
            }
        };
        if ok {
            lock(&self.done).insert(step);
        }
        ok
    }

    /// Tells that an operation begins, where it has its turn: one that goes ahead waits still.
    pub(super) fn begun(&self, change: &Change, turn: Option<&Turn>, begins: Beginning) {
        if !turn.is_some_and(Turn::is_ahead) {
            self.recorder.began(&change.id(), begins.doing);
        }
    }

    /// Records a failed operation, which has begun by then also where it was ahead; it has not
    /// succeeded.
    pub(super) async fn failed(
        &self,
        change: &Change,
        turn: Option<&Turn>,
        begins: Beginning,
        trouble: Trouble,
    ) -> bool {
        if turn.is_some_and(Turn::is_ahead) {
            self.recorder.began(&change.id(), begins.doing);
        }
        self.fail(change, trouble).await;
        false
    }

    /// Waits for the turn of an operation that goes ahead, which begins with it.
    pub(super) async fn whole(
        &self,
        change: &Change,
        turn: &mut Option<Turn>,
        begins: Beginning,
    ) -> Result<(), Box<Trouble>> {
        if Turn::whole(turn).await {
            self.recorder.began(&change.id(), begins.doing);
        }
        // The end may have been asked for meanwhile; what was not sent by then is not sent at all.
        match self.may_start(begins.step) {
            true => Ok(()),
            false => Err(Box::new(Trouble::NotBegun)),
        }
    }

    /// Commits what is about to be done. That may be done when this returns: the operation has its
    /// turn. Where it must not begin by then, nothing stays on record.
    pub(super) async fn intend(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        object: &Value,
        turn: &mut Option<Turn>,
        begins: Beginning,
    ) -> Result<(), Box<Trouble>> {
        let written = self.recorder.intend(change, deposed, step.clone(), object);
        let written = match turn {
            Some(turn) if !turn.is_ahead() => turn.writing(written).await,
            _ => written.await,
        };
        written.map_err(|e| self.store_trouble(e))?;
        if turn.as_ref().is_some_and(Turn::is_ahead)
            && let Err(trouble) = self.whole(change, turn, begins).await
        {
            let taken_back = self.recorder.take_back(change, &step).await;
            return Err(match taken_back {
                Ok(()) => trouble,
                Err(e) => self.store_trouble(e),
            });
        }
        if let Some(turn) = turn {
            turn.calls();
        }
        Ok(())
    }

    /// A replacement has to be ended before others begin: what it has destroyed is missing. Its
    /// second half keeps the turn where it can start at once; else what it waits for goes before
    /// all others.
    fn half_done(&self, steps: &Steps, first: Step, second: Step, turn: Option<Turn>) {
        self.urgency.hurry(&steps.graph, second);
        let done = lock(&self.done);
        if steps
            .graph
            .needs(second)
            .all(|need| need == first || done.contains(&need))
            && let Some(turn) = turn
        {
            lock(&self.handed).insert(second, turn);
        }
    }

    /// `within`: the step of the deploy, for as long as which something may be open; outside of one
    /// nothing is opened.
    pub(super) async fn node(&self, place: Step, within: Option<Step>) -> Cell {
        let node = &self.walk.nodes.nodes[place];
        if let Some(cell) = self.walk.common(node).await {
            return cell;
        }
        match node {
            Node::Resource(address) if address.resource.mode == Mode::Ephemeral => match within {
                Some(step) => self.walk.open(step, address, &|_| When::Now).await,
                None => self.walk.leave_shut(address),
            },
            Node::Resource(address) => {
                let good = self.close(address) && self.of_unchanged(place, address);
                Cell::default().ended(good)
            }
            _ => Cell::default(),
        }
    }
}

/// Whether there is something to do for an operation before it has its turn, that changes nothing:
/// to plan, or to write down what it is about to do.
fn may_go_ahead(task: &Task, change: &Change) -> bool {
    match task {
        Task::Destroy(_) => change.action() == Action::Destroy && !change.forgets(),
        _ => !matches!(change.action(), Action::Read | Action::NoOp),
    }
}

/// In their order; of many those that begin last: steps begin in the order of their numbers.
fn last_of(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_unstable();
    steps.dedup();
    steps.split_off(steps.len().saturating_sub(REMEMBERED))
}
