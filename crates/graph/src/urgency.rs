//! Set of urgent steps of a running walk: they start before all others, because they complete an
//! operation that has started.

use super::{Graph, Step};
use model::mutex::lock;
use std::collections::HashSet;
use std::sync::Mutex;

/// Steps that start before all others, because they complete an operation that has started.
#[derive(Debug, Default)]
pub struct Urgency {
    inner: Mutex<UrgentSteps>,
}

#[derive(Debug, Default)]
struct UrgentSteps {
    pub(super) steps: HashSet<Step>,
    /// Urgent steps that the walk has not taken over yet.
    pub(super) new_steps: Vec<Step>,
}

impl Urgency {
    /// Makes `step` and all its dependencies urgent.
    pub fn make_urgent(&self, graph: &Graph, step: Step) {
        let mut inner = lock(&self.inner);
        let mut queue = vec![step];
        while let Some(step) = queue.pop() {
            // The needs of a step that is already urgent are urgent too.
            if inner.steps.insert(step) {
                inner.new_steps.push(step);
                queue.extend(graph.needs(step));
            }
        }
    }

    /// Returns true if a step is urgent.
    pub fn is_urgent(&self, step: Step) -> bool {
        lock(&self.inner).steps.contains(&step)
    }

    /// Returns the position of the first urgent step.
    pub fn first_of(&self, mut steps: impl Iterator<Item = Step>) -> Option<usize> {
        let inner = lock(&self.inner);
        if inner.steps.is_empty() {
            return None;
        }
        steps.position(|step| inner.steps.contains(&step))
    }

    pub(super) fn take_new(&self) -> Vec<Step> {
        std::mem::take(&mut lock(&self.inner).new_steps)
    }
}
