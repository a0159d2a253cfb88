//! Steps that go before all others, told to a walk while it runs.

use super::{Graph, Step};
use crate::engine::mutex::lock;
use std::collections::HashSet;
use std::sync::Mutex;

/// Steps that go before all others: something has begun that is whole only after them.
#[derive(Debug, Default)]
pub struct Urgency {
    inner: Mutex<Hurried>,
}

#[derive(Debug, Default)]
struct Hurried {
    pub(super) steps: HashSet<Step>,
    /// Those of them that the walk has not heard of yet.
    pub(super) news: Vec<Step>,
}

impl Urgency {
    /// From now on `step` and all that it needs goes first.
    pub fn hurry(&self, graph: &Graph, step: Step) {
        let mut inner = lock(&self.inner);
        let mut queue = vec![step];
        while let Some(step) = queue.pop() {
            // What was urgent before has had all that it needs hurried too.
            if inner.steps.insert(step) {
                inner.news.push(step);
                queue.extend(graph.needs(step));
            }
        }
    }

    /// Whether a step is urgent.
    pub fn is_urgent(&self, step: Step) -> bool {
        lock(&self.inner).steps.contains(&step)
    }

    /// Which of these is the first that is urgent, by its place among them.
    pub fn first_of(&self, mut steps: impl Iterator<Item = Step>) -> Option<usize> {
        let inner = lock(&self.inner);
        if inner.steps.is_empty() {
            return None;
        }
        steps.position(|step| inner.steps.contains(&step))
    }

    pub(super) fn news(&self) -> Vec<Step> {
        std::mem::take(&mut lock(&self.inner).news)
    }
}
