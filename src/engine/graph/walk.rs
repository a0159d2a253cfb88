//! The walk over a graph: every step is a task that runs when what it needs has succeeded, a
//! bounded number at a time.

use super::urgency::Urgency;
use super::{Graph, Step};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::future::Future;
use tokio::task::{JoinError, JoinSet};

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Done,
    Failed,
    /// Not begun: something it needs did not succeed, or no more steps were wanted.
    Skipped,
}

/// What may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    All,
    /// Only what is urgent.
    Urgent,
    None,
}

impl Graph {
    /// Runs every step once, at most `limit` at a time. `run` answers whether the step succeeded;
    /// `go_on` is asked before each start, and once it says no, nothing more starts. Steps in a
    /// cycle are skipped: look for cycles first.
    pub async fn walk<F, Fut>(&self, limit: usize, go_on: impl Fn() -> bool, run: F) -> Vec<Ended>
    where
        F: Fn(Step) -> Fut,
        Fut: Future<Output = bool> + Send + 'static,
    {
        let may = || if go_on() { Starts::All } else { Starts::None };
        self.walk_urgent_first(limit, &Urgency::default(), may, run, |_| {})
            .await
    }

    /// As [`Graph::walk`], but urgent steps start before all others, and beyond the limit (up to
    /// twice as many): the others may be waiting for them. `told` hears of each step that has
    /// ended, or will not begin because of one that failed.
    pub async fn walk_urgent_first<F, Fut>(
        &self,
        limit: usize,
        urgency: &Urgency,
        may: impl Fn() -> Starts,
        run: F,
        told: impl Fn(Step),
    ) -> Vec<Ended>
    where
        F: Fn(Step) -> Fut,
        Fut: Future<Output = bool> + Send + 'static,
    {
        let limit = limit.max(1);
        let mut line = Line::new(self);
        let mut ended: Vec<Option<Ended>> = vec![None; self.len()];
        // Tasks of their own: the steps of one walk run on all cores. Whoever drops the walk ends
        // them.
        let mut running = JoinSet::new();
        loop {
            line.hurry(urgency.news());
            while let Some(step) = line.next(
                may(),
                running.len() < limit,
                running.len() < limit.saturating_mul(2),
            ) {
                // In its own place from the start: it is too large to be handed about.
                let future = Box::pin(run(step));
                running.spawn(async move { (step, future.await) });
            }
            let Some(ended_now) = running.join_next().await else {
                break;
            };
            let (step, ok) = whole(ended_now);
            ended[step] = Some(if ok { Ended::Done } else { Ended::Failed });
            told(step);
            let mut settled = vec![(step, ok)];
            while let Some((step, ok)) = settled.pop() {
                for d in line.dependents[step].clone() {
                    if !ok && ended[d].is_none() {
                        ended[d] = Some(Ended::Skipped);
                        told(d);
                        settled.push((d, false));
                    }
                    line.one_less(d, ended[d].is_none());
                }
            }
        }
        ended
            .into_iter()
            .map(|e| e.unwrap_or(Ended::Skipped))
            .collect()
    }
}

/// What a task has come to. It is never ended from outside; where it panicked, so do we.
pub(super) fn whole<T>(joined: Result<T, JoinError>) -> T {
    joined.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Runs all of these as tasks, at most `limit` at a time; what they come to, in their order.
pub async fn side_by_side<T, Fut>(limit: usize, all: impl IntoIterator<Item = Fut>) -> Vec<T>
where
    T: Send + 'static,
    Fut: Future<Output = T> + Send + 'static,
{
    let mut waiting = all.into_iter().enumerate();
    let mut running = JoinSet::new();
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
        let (at, value) = whole(ended);
        done.insert(at, value);
    }
    done.into_values().collect()
}

/// Steps that wait for others, and those that wait for nothing but their start.
struct Line {
    pub(super) dependents: Vec<Vec<Step>>,
    /// How many steps each one waits for.
    pub(super) waiting: Vec<usize>,
    begun: Vec<bool>,
    urgent: Vec<bool>,
    pub(super) ready: BinaryHeap<Reverse<Step>>,
    /// As `ready`; what is in both starts from here.
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

    pub(super) fn hurry(&mut self, steps: Vec<Step>) {
        for step in steps {
            self.urgent[step] = true;
            if self.waiting[step] == 0 && !self.begun[step] {
                self.urgent_ready.push(Reverse(step));
            }
        }
    }

    /// The next step to start, if there is one that may.
    pub(super) fn next(&mut self, may: Starts, room: bool, room_for_urgent: bool) -> Option<Step> {
        let urgent = room_for_urgent && may != Starts::None;
        let pick = |heap: &mut BinaryHeap<Reverse<Step>>, begun: &mut [bool]| {
            while let Some(Reverse(step)) = heap.pop() {
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

    /// A step waits for one step less; where it is the last, and the step is wanted still, it is
    /// ready.
    fn one_less(&mut self, step: Step, wanted: bool) {
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
