//! Decides when the operations of a deploy start: `parallelism` at a time, second halves of
//! replacements first, and none once the deploy is stopped or its store is lost. Writing intents
//! ahead of quick calls is private to this module; operations see an [`OperationTurn`].

mod turns;

use super::deploying::Stops;
use graph::{Graph, Starts, Step, Urgency};
use model::mutex::lock;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use turns::{Turn, Turns};

/// Scheduler of one deploy.
pub(super) struct Scheduler {
    stops: Stops,
    store_lost: AtomicBool,
    /// Cancelled once nothing may start any more.
    halt: CancellationToken,
    /// Turns of operations. A turn is returned when the plugin has answered, so that the next
    /// operation can start while the outcome is written.
    turns: Arc<Turns>,
    /// Second halves of started replacements, with their needs.
    urgency: Arc<Urgency>,
    steps: Mutex<Steps>,
}

#[derive(Default)]
struct Steps {
    succeeded: HashSet<Step>,
    /// Turns passed from first halves to second halves.
    passed_turns: HashMap<Step, Turn>,
}

/// Turn of one operation, until its call is answered.
pub(super) struct OperationTurn {
    turn: Option<Turn>,
    halt: CancellationToken,
}

impl Scheduler {
    /// Creates the scheduler of `parallelism` operations at a time.
    pub(super) fn new(parallelism: usize, stops: Stops) -> Self {
        let urgency = Arc::<Urgency>::default();
        Self {
            halt: stops.all.child_token(),
            stops,
            store_lost: AtomicBool::new(false),
            turns: Turns::new(parallelism, urgency.clone()),
            urgency,
            steps: Mutex::default(),
        }
    }

    /// Returns the tokens that end the deploy early.
    pub(super) fn stops(&self) -> &Stops {
        &self.stops
    }

    /// Returns the steps that start before others.
    pub(super) fn urgency(&self) -> &Urgency {
        &self.urgency
    }

    /// Starts nothing more, because the next intent could not be recorded. Returns true the first
    /// time.
    pub(super) fn lose_store(&self) -> bool {
        self.halt.cancel();
        !self.store_lost.swap(true, Ordering::Relaxed)
    }

    /// Returns true if the store could not be written.
    pub(super) fn has_lost_store(&self) -> bool {
        self.store_lost.load(Ordering::Relaxed)
    }

    /// Returns the steps that may start now.
    pub(super) fn starts(&self) -> Starts {
        match () {
            // Without the store no operation can be recorded, so urgent ones do not start either.
            () if self.halt.is_cancelled() => Starts::None,
            () if self.stops.starting.is_cancelled() => Starts::Urgent,
            () => Starts::All,
        }
    }

    /// Returns true if a step may start now.
    pub(super) fn may_start(&self, step: Step) -> bool {
        match self.starts() {
            Starts::All => true,
            Starts::Urgent => self.urgency.is_urgent(step),
            Starts::None => false,
        }
    }

    /// Waits for the turn of an operation; with `ahead` it may be one to plan ahead. `None` if the
    /// operation must not start.
    pub(super) async fn start(&self, step: Step, ahead: bool) -> Option<OperationTurn> {
        // A second half that can start at once keeps the turn of its first half.
        let passed = lock(&self.steps).passed_turns.remove(&step);
        let turn = match passed {
            Some(turn) => turn,
            // A turn that was passed to a step that will not start is never returned.
            None => {
                self.halt
                    .run_until_cancelled(self.turns.take(step))
                    .await??
            }
        };
        let mut turn = OperationTurn {
            turn: Some(turn),
            halt: self.halt.clone(),
        };
        if !ahead {
            turn.upgrade().await;
        }
        // The deploy may have been cancelled while the step waited for its turn.
        self.may_start(step).then_some(turn)
    }

    /// Records that a step succeeded.
    pub(super) fn succeeded(&self, step: Step) {
        lock(&self.steps).succeeded.insert(step);
    }

    /// Prioritizes the second half of a replacement and its needs, because the destroyed object is
    /// missing until then. The second half keeps the turn if it can start at once.
    pub(super) fn prioritize(&self, graph: &Graph, first: Step, second: Step, turn: OperationTurn) {
        self.urgency.make_urgent(graph, second);
        let mut steps = lock(&self.steps);
        let is_ready = |need: Step| need == first || steps.succeeded.contains(&need);
        if graph.needs(second).all(is_ready)
            && let Some(turn) = turn.turn
        {
            steps.passed_turns.insert(second, turn);
        }
    }
}

impl OperationTurn {
    /// Returns true while the operation may only prepare, and another one has its turn.
    pub(super) fn is_ahead(&self) -> bool {
        self.turn.as_ref().is_some_and(Turn::is_ahead)
    }

    /// Returns true if the intent may be written now.
    pub(super) fn may_write(&self) -> bool {
        self.turn.as_ref().is_none_or(Turn::may_write)
    }

    /// Waits until the operation may send its call; returns true if it was ahead. Check
    /// [`Scheduler::may_start`] after it.
    pub(super) async fn upgrade(&mut self) -> bool {
        if !self.is_ahead() {
            return false;
        }
        let upgrade = Turn::upgrade(&mut self.turn);
        self.halt.run_until_cancelled(upgrade).await;
        true
    }

    /// Runs work that does not call the plugin, during which another operation may plan.
    pub(super) async fn while_writing<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.turn {
            Some(turn) if !turn.is_ahead() => turn.while_writing(work).await,
            _ => work.await,
        }
    }

    /// Records that the call is sent now.
    pub(super) fn calls(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.calls();
        }
    }

    /// Returns the turn, so that the next operation can start.
    pub(super) fn release(&mut self) {
        drop(self.turn.take());
    }
}

#[cfg(test)]
mod tests;
