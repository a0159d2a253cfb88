//! Graph of steps with a parallel walk: a step runs when all steps it needs have succeeded; a
//! failure stops only its dependents. Owned by one stage or deploy; independent of the steps'
//! tasks.
//!
//! ```
//! use flightdeck_graph::Graph;
//!
//! let mut graph = Graph::default();
//! let (network, server) = (graph.add(), graph.add());
//! graph.add_need(server, network);
//! assert!(graph.needs(server).eq([network]));
//! ```

mod releases;
mod urgency;
mod walk;

pub use releases::Releases;
pub use urgency::Urgency;
pub use walk::{Starts, StepEnd, side_by_side};

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Index of a step, in the order of adding.
pub type Step = usize;

/// Steps, and for each one the steps that it needs (its direct dependencies).
#[derive(Debug, Default, Clone)]
pub struct Graph {
    needs: Vec<BTreeSet<Step>>,
}

impl Graph {
    /// Adds a step without dependencies.
    pub fn add(&mut self) -> Step {
        self.needs.push(BTreeSet::new());
        self.needs.len() - 1
    }

    /// Makes `step` wait for `needed`. A step that needs itself is a cycle.
    pub fn add_need(&mut self, step: Step, needed: Step) {
        self.needs[step].insert(needed);
    }

    /// Removes a need of `step`.
    pub fn remove_need(&mut self, step: Step, needed: Step) {
        self.needs[step].remove(&needed);
    }

    /// Returns the direct dependencies of a step.
    pub fn needs(&self, step: Step) -> impl Iterator<Item = Step> + '_ {
        self.needs[step].iter().copied()
    }

    /// Returns true if a step directly needs another.
    pub fn has(&self, step: Step, needed: Step) -> bool {
        self.needs[step].contains(&needed)
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// Returns true if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// Returns the direct dependents of each step.
    pub fn dependents(&self) -> Vec<Vec<Step>> {
        let mut out = vec![Vec::new(); self.len()];
        for (step, needs) in self.needs.iter().enumerate() {
            for &needed in needs {
                out[needed].push(step);
            }
        }
        out
    }

    /// Returns all steps that these need, including themselves.
    pub fn closure(&self, from: impl IntoIterator<Item = Step>) -> BTreeSet<Step> {
        reachable(from, |step| self.needs[step].iter().copied())
    }

    /// Like [`Graph::closure`], but does not follow the needs of steps for which `end` is true.
    pub fn closure_up_to(
        &self,
        from: impl IntoIterator<Item = Step>,
        end: impl Fn(Step) -> bool,
    ) -> BTreeSet<Step> {
        reachable(from, |step| {
            self.needs[step]
                .iter()
                .copied()
                .filter(|_| !end(step))
                .collect::<Vec<_>>()
                .into_iter()
        })
    }

    /// Returns all steps that need these, including themselves.
    pub fn dependents_closure(&self, from: impl IntoIterator<Item = Step>) -> BTreeSet<Step> {
        let dependents = self.dependents();
        reachable(from, |step| dependents[step].iter().copied())
    }

    /// Returns all cycles, each as the sorted steps of a strongly connected component.
    pub fn cycles(&self) -> Vec<Vec<Step>> {
        // `order` leaves out the steps in and behind cycles. Steps that reach each other form a
        // component.
        let order = self.order();
        if order.len() == self.len() {
            return Vec::new();
        }
        let done: BTreeSet<Step> = order.into_iter().collect();
        let mut left: BTreeSet<Step> = (0..self.len()).filter(|s| !done.contains(s)).collect();
        let dependents = self.dependents();
        let mut out = Vec::new();
        while let Some(&step) = left.iter().next() {
            let down = reachable([step], |s| {
                self.needs[s].iter().copied().filter(|n| left.contains(n))
            });
            let up = reachable([step], |s| {
                dependents[s].iter().copied().filter(|n| left.contains(n))
            });
            let both: Vec<Step> = down.intersection(&up).copied().collect();
            // A single step is a cycle only if it needs itself.
            if both.len() > 1 || self.needs[step].contains(&step) {
                out.push(both.clone());
            }
            for s in both {
                left.remove(&s);
            }
        }
        out
    }

    /// Returns the steps so that each follows its needs, lowest index first. Steps in or behind a
    /// cycle are missing.
    pub fn order(&self) -> Vec<Step> {
        let dependents = self.dependents();
        let mut waiting: Vec<usize> = self.needs.iter().map(BTreeSet::len).collect();
        let mut ready: BinaryHeap<Reverse<Step>> = waiting
            .iter()
            .enumerate()
            .filter(|(_, n)| **n == 0)
            .map(|(s, _)| Reverse(s))
            .collect();
        let mut out = Vec::with_capacity(self.len());
        while let Some(Reverse(step)) = ready.pop() {
            out.push(step);
            for &d in &dependents[step] {
                waiting[d] -= 1;
                if waiting[d] == 0 {
                    ready.push(Reverse(d));
                }
            }
        }
        out
    }
}

fn reachable<I: Iterator<Item = Step>>(
    from: impl IntoIterator<Item = Step>,
    next: impl Fn(Step) -> I,
) -> BTreeSet<Step> {
    let mut seen: BTreeSet<Step> = from.into_iter().collect();
    let mut queue: Vec<Step> = seen.iter().copied().collect();
    while let Some(step) = queue.pop() {
        for n in next(step) {
            if seen.insert(n) {
                queue.push(n);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests;
