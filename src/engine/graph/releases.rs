//! Which steps nothing needs any more.

use super::{Graph, Step};
use std::collections::HashSet;

/// Which steps nothing needs any more: they have ended, and so has all that depends on them. A step
/// that is held keeps what it needs itself until it is let go.
#[derive(Debug)]
pub struct Releases {
    /// How many of a step's direct dependents are needed still.
    pub(super) dependents: Vec<usize>,
    pub(super) ended: Vec<bool>,
    released: Vec<bool>,
    held: HashSet<Step>,
}

impl Releases {
    /// All steps of a graph, none of which has ended.
    pub fn new(graph: &Graph) -> Self {
        let dependents = graph.dependents().iter().map(Vec::len).collect();
        Self {
            dependents,
            ended: vec![false; graph.len()],
            released: vec![false; graph.len()],
            held: HashSet::new(),
        }
    }

    /// Keeps a step, which has not ended, from being released by itself.
    pub fn hold(&mut self, step: Step) {
        self.held.insert(step);
    }

    /// A step has ended, or will not begin. Gives the steps that are held and that nothing needs
    /// any more.
    pub fn end(&mut self, graph: &Graph, step: Step) -> Vec<Step> {
        self.ended[step] = true;
        self.settle(graph, step)
    }

    /// Everything has ended.
    pub fn end_all(&mut self, graph: &Graph) -> Vec<Step> {
        let open: Vec<Step> = (0..graph.len()).filter(|step| !self.ended[*step]).collect();
        open.iter().for_each(|step| self.ended[*step] = true);
        open.into_iter()
            .flat_map(|step| self.settle(graph, step))
            .collect()
    }

    /// A step that was held and that nothing needs is held no longer.
    pub fn let_go(&mut self, graph: &Graph, step: Step) -> Vec<Step> {
        self.held.remove(&step);
        self.settle(graph, step)
    }

    fn settle(&mut self, graph: &Graph, step: Step) -> Vec<Step> {
        let mut due = Vec::new();
        let mut queue = vec![step];
        while let Some(step) = queue.pop() {
            if self.released[step] || !self.ended[step] || self.dependents[step] > 0 {
                continue;
            }
            if self.held.contains(&step) {
                due.push(step);
                continue;
            }
            self.released[step] = true;
            for need in graph.needs(step) {
                self.dependents[need] -= 1;
                queue.push(need);
            }
        }
        due
    }
}
