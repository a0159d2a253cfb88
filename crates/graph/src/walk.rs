//! Parallel walk over a graph: runs each step as a task once its dependencies have succeeded, with
//! a limit of concurrent tasks.

use super::urgency::Urgency;
use super::{Graph, Step};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::future::Future;
use tokio::task::{JoinError, JoinSet};

/// End of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnd {
    Done,
    Failed,
    /// Not started: a need did not succeed, or starting was stopped.
    Skipped,
}

/// Steps that may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    All,
    /// Urgent steps only.
    Urgent,
    None,
}

impl Graph {
    /// Runs every step once, at most `limit` at a time. `run` returns true if the step succeeded.
    /// `go_on` is called before each start; once it returns false, nothing more starts. Steps in a
    /// cycle are skipped, so check for cycles first.
    pub async fn walk<F, Fut>(&self, limit: usize, go_on: impl Fn() -> bool, run: F) -> Vec<StepEnd>
    where
        F: Fn(Step) -> Fut,
        Fut: Future<Output = bool> + Send + 'static,
    {
        let may = || if go_on() { Starts::All } else { Starts::None };
        self.walk_urgent_first(limit, &Urgency::default(), may, run, |_| {})
            .await
    }

    /// Like [`Graph::walk`], but urgent steps start first and beyond the limit (up to twice as
    /// many), because the others may wait for them. `told` is called for each step that has ended,
    /// or that will not start because of a failed need.
    pub async fn walk_urgent_first<F, Fut>(
        &self,
        limit: usize,
        urgency: &Urgency,
        may: impl Fn() -> Starts,
        run: F,
        told: impl Fn(Step),
    ) -> Vec<StepEnd>
    where
        F: Fn(Step) -> Fut,
        Fut: Future<Output = bool> + Send + 'static,
    {
        let limit = limit.max(1);
        let mut line = Line::new(self);
        let mut ended: Vec<Option<StepEnd>> = vec![None; self.len()];
        // Separate tasks use all cores. Dropping the walk aborts them.
        let mut running = JoinSet::new();
        loop {
            line.make_urgent(urgency.take_new());
            while let Some(step) = line.next(
                may(),
                running.len() < limit,
                running.len() < limit.saturating_mul(2),
            ) {
                // Boxed at once, because moving such large futures is expensive.
                let future = Box::pin(run(step));
                running.spawn(async move { (step, future.await) });
            }
            let Some(ended_now) = running.join_next().await else {
                break;
            };
            let (step, ok) = join_result(ended_now);
            ended[step] = Some(if ok { StepEnd::Done } else { StepEnd::Failed });
            told(step);
            let mut settled = vec![(step, ok)];
            // A failed step skips its dependents, and they skip theirs.
            while let Some((step, ok)) = settled.pop() {
                for d in line.dependents[step].clone() {
                    if !ok && ended[d].is_none() {
                        ended[d] = Some(StepEnd::Skipped);
                        line.skip(d);
                        told(d);
                        settled.push((d, false));
                    }
                    line.remove_need(d, ended[d].is_none());
                }
            }
        }
        ended
            .into_iter()
            .map(|e| e.unwrap_or(StepEnd::Skipped))
            .collect()
    }
}

/// Returns the result of a task. Tasks are never aborted here, so an error is a panic, which is
/// resumed.
pub(super) fn join_result<T>(joined: Result<T, JoinError>) -> T {
    joined.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Runs all futures as tasks, at most `limit` at a time; returns their results in order.
pub async fn side_by_side<T, Fut>(limit: usize, all: impl IntoIterator<Item = Fut>) -> Vec<T>
where
    T: Send + 'static,
    Fut: Future<Output = T> + Send + 'static,
{
    let mut waiting = all.into_iter().enumerate();
    let mut running = JoinSet::new();
    // Ordered by position, because the results must have the order of the futures.
    let mut done = BTreeMap::new();
    loop {
        while running.len() < limit.max(1)
            && let Some((at, future)) = waiting.next()
        {
            let future = Box::pin(future);
            running.spawn(async move { (at, future.await) });
        }
        let Some(ended) = running.join_next().await else {
            break;
        };
        let (at, value) = join_result(ended);
        done.insert(at, value);
    }
    done.into_values().collect()
}

/// Steps that wait for dependencies, and steps that are ready.
struct Line {
    pub(super) dependents: Vec<Vec<Step>>,
    /// Number of unfinished needs per step.
    pub(super) waiting: Vec<usize>,
    begun: Vec<bool>,
    urgent: Vec<bool>,
    pub(super) ready: BinaryHeap<Reverse<Step>>,
    /// Urgent ready steps. A step in both heaps starts from this one.
    urgent_ready: BinaryHeap<Reverse<Step>>,
}

impl Line {
    pub(super) fn new(graph: &Graph) -> Self {
        let waiting: Vec<usize> = graph.needs.iter().map(BTreeSet::len).collect();
        let ready = waiting
            .iter()
            .enumerate()
            .filter(|(_, n)| **n == 0)
            .map(|(s, _)| Reverse(s))
            .collect();
        let (begun, urgent) = (vec![false; graph.len()], vec![false; graph.len()]);
        Self {
            dependents: graph.dependents(),
            waiting,
            begun,
            urgent,
            ready,
            urgent_ready: BinaryHeap::new(),
        }
    }

    pub(super) fn make_urgent(&mut self, steps: Vec<Step>) {
        for step in steps {
            self.urgent[step] = true;
            // The step may be in the other heap already; `next` skips its second occurrence.
            if self.waiting[step] == 0 && !self.begun[step] {
                self.urgent_ready.push(Reverse(step));
            }
        }
    }

    /// Takes a step out of the line: it never starts, even if it becomes urgent later.
    fn skip(&mut self, step: Step) {
        self.begun[step] = true;
    }

    /// Returns the next step that may start.
    pub(super) fn next(&mut self, may: Starts, room: bool, room_for_urgent: bool) -> Option<Step> {
        let urgent = room_for_urgent && may != Starts::None;
        let pick = |heap: &mut BinaryHeap<Reverse<Step>>, begun: &mut [bool]| {
            while let Some(Reverse(step)) = heap.pop() {
                // A step may be in both heaps; the second occurrence is dropped.
                if !std::mem::replace(&mut begun[step], true) {
                    return Some(step);
                }
            }
            None
        };
        if urgent && let Some(step) = pick(&mut self.urgent_ready, &mut self.begun) {
            return Some(step);
        }
        if room && may == Starts::All {
            pick(&mut self.ready, &mut self.begun)
        } else {
            None
        }
    }

    /// Removes one unfinished need of a step. The step is ready if it was the last and the step is
    /// still wanted.
    fn remove_need(&mut self, step: Step, wanted: bool) {
        self.waiting[step] -= 1;
        if self.waiting[step] == 0 && wanted {
            if self.urgent[step] {
                self.urgent_ready.push(Reverse(step));
            } else {
                self.ready.push(Reverse(step));
            }
        }
    }
}
