//! Tracks ended steps that no unfinished step depends on any more, so that the owner of a walk can
//! release what they hold open.

use super::{Graph, Step};
use std::collections::HashSet;

/// Steps that no unfinished step needs: they have ended, and all their dependents too. The steps
/// that a held step needs count as needed until it is let go.
#[derive(Debug)]
pub struct Releases {
    /// Number of unreleased direct dependents per step.
    pub(super) dependents: Vec<usize>,
    pub(super) ended: Vec<bool>,
    released: Vec<bool>,
    held: HashSet<Step>,
}

impl Releases {
    /// Starts with all steps of a graph unfinished.
    pub fn new(graph: &Graph) -> Self {
        let dependents = graph.dependents().iter().map(Vec::len).collect();
        Self {
            dependents,
            ended: vec![false; graph.len()],
            released: vec![false; graph.len()],
            held: HashSet::new(),
        }
    }

    /// Holds a running step: the steps it needs count as needed after its end.
    pub fn hold(&mut self, step: Step) {
        self.held.insert(step);
    }

    /// Records that a step has ended or will not start. Returns held steps that are not needed any
    /// more.
    pub fn end(&mut self, graph: &Graph, step: Step) -> Vec<Step> {
        self.ended[step] = true;
        self.release_unneeded(graph, step)
    }

    /// Records that all steps have ended.
    pub fn end_all(&mut self, graph: &Graph) -> Vec<Step> {
        let open: Vec<Step> = (0..graph.len()).filter(|step| !self.ended[*step]).collect();
        open.iter().for_each(|step| self.ended[*step] = true);
        open.into_iter()
            .flat_map(|step| self.release_unneeded(graph, step))
            .collect()
    }

    /// Releases a held step that is not needed.
    pub fn release(&mut self, graph: &Graph, step: Step) -> Vec<Step> {
        self.held.remove(&step);
        self.release_unneeded(graph, step)
    }

    fn release_unneeded(&mut self, graph: &Graph, step: Step) -> Vec<Step> {
        let mut due = Vec::new();
        let mut queue = vec![step];
        while let Some(step) = queue.pop() {
            if self.released[step] || !self.ended[step] || self.dependents[step] > 0 {
                continue;
            }
            // Its needs stay unreleased until the caller lets it go.
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
