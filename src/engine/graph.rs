//! A graph of steps and its walk: every step runs when what it needs has succeeded, a bounded
//! number at a time; a failure stops only what depends on it. Owned by one stage or deploy; knows
//! nothing of what a step does.

use crate::engine::mutex::lock;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};
use std::future::Future;
use std::sync::Mutex;
use tokio::task::{JoinError, JoinSet};

/// Number of a step, in the order of adding.
pub type Step = usize;

/// Steps and what each needs.
#[derive(Debug, Default, Clone)]
pub struct Graph {
    needs: Vec<BTreeSet<Step>>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Done,
    Failed,
    /// Not begun: something it needs did not succeed, or no more steps were wanted.
    Skipped,
}

impl Graph {
    /// Adds a step that needs nothing yet.
    pub fn add(&mut self) -> Step {
        self.needs.push(BTreeSet::new());
        self.needs.len() - 1
    }

    /// `step` waits for `needed`. A step that needs itself is a cycle.
    pub fn need(&mut self, step: Step, needed: Step) {
        self.needs[step].insert(needed);
    }

    /// Forgets that `step` waits for `needed`.
    pub fn unneed(&mut self, step: Step, needed: Step) {
        self.needs[step].remove(&needed);
    }

    /// What a step waits for.
    pub fn needs(&self, step: Step) -> impl Iterator<Item = Step> + '_ {
        self.needs[step].iter().copied()
    }

    /// Whether a step itself waits for another.
    pub fn has(&self, step: Step, needed: Step) -> bool {
        self.needs[step].contains(&needed)
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// For each step, the steps that need it.
    pub fn dependents(&self) -> Vec<Vec<Step>> {
        let mut out = vec![Vec::new(); self.len()];
        for (step, needs) in self.needs.iter().enumerate() {
            for &needed in needs {
                out[needed].push(step);
            }
        }
        out
    }

    /// All steps that these need, themselves included.
    pub fn closure(&self, from: impl IntoIterator<Item = Step>) -> BTreeSet<Step> {
        reach(from, |step| self.needs[step].iter().copied())
    }

    /// The same, going no further where `end` says so.
    pub fn closure_until(
        &self,
        from: impl IntoIterator<Item = Step>,
        end: impl Fn(Step) -> bool,
    ) -> BTreeSet<Step> {
        reach(from, |step| {
            self.needs[step]
                .iter()
                .copied()
                .filter(|_| !end(step))
                .collect::<Vec<_>>()
                .into_iter()
        })
    }

    /// All steps that need these, themselves included.
    pub fn dependents_closure(&self, from: impl IntoIterator<Item = Step>) -> BTreeSet<Step> {
        let dependents = self.dependents();
        reach(from, |step| dependents[step].iter().copied())
    }

    /// Every cycle, as the sorted steps of a strongly connected component.
    pub fn cycles(&self) -> Vec<Vec<Step>> {
        // Steps that a repeated removal of "needs nothing" and "is needed by nothing" leaves, split
        // by mutual reach.
        let order = self.order();
        if order.len() == self.len() {
            return Vec::new();
        }
        let done: BTreeSet<Step> = order.into_iter().collect();
        let mut left: BTreeSet<Step> = (0..self.len()).filter(|s| !done.contains(s)).collect();
        let dependents = self.dependents();
        let mut out = Vec::new();
        while let Some(&step) = left.iter().next() {
            let down = reach([step], |s| {
                self.needs[s].iter().copied().filter(|n| left.contains(n))
            });
            let up = reach([step], |s| {
                dependents[s].iter().copied().filter(|n| left.contains(n))
            });
            let both: Vec<Step> = down.intersection(&up).copied().collect();
            if both.len() > 1 || self.needs[step].contains(&step) {
                out.push(both.clone());
            }
            for s in both {
                left.remove(&s);
            }
        }
        out
    }

    /// Steps so that each comes after what it needs, lowest number first among equals; steps in or
    /// behind a cycle are missing.
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
                let future = run(step);
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
fn whole<T>(joined: Result<T, JoinError>) -> T {
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

/// What may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    All,
    /// Only what is urgent.
    Urgent,
    None,
}

/// Steps that go before all others: something has begun that is whole only after them.
#[derive(Debug, Default)]
pub struct Urgency {
    inner: Mutex<Hurried>,
}

#[derive(Debug, Default)]
struct Hurried {
    steps: HashSet<Step>,
    /// Those of them that the walk has not heard of yet.
    news: Vec<Step>,
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

    fn news(&self) -> Vec<Step> {
        std::mem::take(&mut lock(&self.inner).news)
    }
}

/// Which steps nothing needs any more: they have ended, and so has all that depends on them. A step
/// that is held keeps what it needs itself until it is let go.
#[derive(Debug)]
pub struct Releases {
    /// How many of a step's direct dependents are needed still.
    dependents: Vec<usize>,
    ended: Vec<bool>,
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

/// Steps that wait for others, and those that wait for nothing but their start.
struct Line {
    dependents: Vec<Vec<Step>>,
    /// How many steps each one waits for.
    waiting: Vec<usize>,
    begun: Vec<bool>,
    urgent: Vec<bool>,
    ready: BinaryHeap<Reverse<Step>>,
    /// As `ready`; what is in both starts from here.
    urgent_ready: BinaryHeap<Reverse<Step>>,
}

impl Line {
    fn new(graph: &Graph) -> Self {
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

    fn hurry(&mut self, steps: Vec<Step>) {
        for step in steps {
            self.urgent[step] = true;
            if self.waiting[step] == 0 && !self.begun[step] {
                self.urgent_ready.push(Reverse(step));
            }
        }
    }

    /// The next step to start, if there is one that may.
    fn next(&mut self, may: Starts, room: bool, room_for_urgent: bool) -> Option<Step> {
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

fn reach<I: Iterator<Item = Step>>(
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
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn graph(edges: &[(Step, Step)], steps: usize) -> Graph {
        let mut g = Graph::default();
        for _ in 0..steps {
            g.add();
        }
        for &(step, needed) in edges {
            g.need(step, needed);
        }
        g
    }

    #[tokio::test]
    async fn a_failure_stops_only_what_depends_on_it() {
        let g = graph(&[(1, 0), (2, 1), (4, 3)], 5);
        let ran = Mutex::new(Vec::new());
        let ended = g
            .walk(
                2,
                || true,
                |s| {
                    ran.lock().unwrap().push(s);
                    async move { s != 0 }
                },
            )
            .await;
        assert_eq!(
            ended,
            [
                Ended::Failed,
                Ended::Skipped,
                Ended::Skipped,
                Ended::Done,
                Ended::Done
            ]
        );
        assert_eq!(*ran.lock().unwrap(), [0, 3, 4]);
    }

    #[tokio::test]
    async fn a_step_with_one_failed_and_one_late_need_is_skipped_once() {
        let g = graph(&[(2, 0), (2, 1), (3, 2)], 4);
        let ended = g.walk(1, || true, |s| async move { s != 0 }).await;
        assert_eq!(
            ended,
            [Ended::Failed, Ended::Done, Ended::Skipped, Ended::Skipped]
        );
    }

    #[tokio::test]
    async fn a_walk_tells_of_each_step_that_ended_or_will_not_begin() {
        let g = graph(&[(1, 0), (2, 1), (4, 3)], 5);
        let told = Mutex::new(Vec::new());
        let run = |s| async move { s != 0 };
        g.walk_urgent_first(
            1,
            &Urgency::default(),
            || Starts::All,
            run,
            |s| told.lock().unwrap().push(s),
        )
        .await;
        assert_eq!(*told.lock().unwrap(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_is_held_is_released_once_nothing_needs_it() {
        // 0 is needed by 1, that by 2 and 3; 1 is held too, so 0 is needed until it was let go.
        let g = graph(&[(1, 0), (2, 1), (3, 1)], 5);
        let mut releases = Releases::new(&g);
        releases.hold(0);
        releases.hold(1);
        assert!([0, 1, 2].iter().all(|s| releases.end(&g, *s).is_empty()));
        assert_eq!(releases.end(&g, 3), [1]);
        assert_eq!(releases.let_go(&g, 1), [0]);
        assert!(releases.let_go(&g, 0).is_empty());
        assert!(releases.end_all(&g).is_empty());
        // Whatever was not begun needs nothing either.
        let mut releases = Releases::new(&g);
        releases.hold(0);
        assert!(releases.end(&g, 0).is_empty());
        assert_eq!(releases.end_all(&g), [0]);
    }

    #[tokio::test]
    async fn nothing_starts_once_no_more_is_wanted() {
        let g = graph(&[(1, 0)], 3);
        let left = Mutex::new(1);
        let ended = g
            .walk(
                1,
                || *left.lock().unwrap() > 0,
                |_| {
                    *left.lock().unwrap() -= 1;
                    async { true }
                },
            )
            .await;
        assert_eq!(ended, [Ended::Done, Ended::Skipped, Ended::Skipped]);
    }

    #[tokio::test]
    async fn what_is_urgent_starts_first_even_where_there_is_no_room_for_others() {
        // Each odd step needs the even one before it; beginning an even one makes the odd one
        // urgent.
        let g = graph(&[(1, 0), (3, 2), (5, 4)], 6);
        let (urgency, ran) = (Urgency::default(), Mutex::new(Vec::new()));
        let run = |s: Step| {
            ran.lock().unwrap().push(s);
            if s.is_multiple_of(2) {
                urgency.hurry(&g, s + 1);
            }
            async { true }
        };
        let ended = g
            .walk_urgent_first(1, &urgency, || Starts::All, run, |_| {})
            .await;
        assert_eq!(*ran.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ended, [Ended::Done; 6]);
    }

    #[tokio::test]
    async fn what_is_urgent_ends_after_everything_else_was_stopped() {
        // 5 needs 4, which was ready and not wanted any more until 0 began.
        let g = graph(&[(1, 0), (1, 4), (3, 2)], 5);
        let (urgency, ran) = (Urgency::default(), Mutex::new(Vec::new()));
        let run = |s: Step| {
            ran.lock().unwrap().push(s);
            if s == 0 {
                urgency.hurry(&g, 1);
            }
            async { true }
        };
        let may = || {
            if ran.lock().unwrap().is_empty() {
                Starts::All
            } else {
                Starts::Urgent
            }
        };
        let ended = g.walk_urgent_first(8, &urgency, may, run, |_| {}).await;
        assert_eq!(*ran.lock().unwrap(), [0, 4, 1]);
        assert_eq!(
            ended,
            [
                Ended::Done,
                Ended::Done,
                Ended::Skipped,
                Ended::Skipped,
                Ended::Done
            ]
        );
    }

    #[test]
    fn cycles_are_found_apart_from_what_hangs_on_them() {
        let g = graph(&[(0, 1), (1, 0), (2, 0), (3, 3), (4, 5)], 6);
        assert_eq!(g.cycles(), [vec![0, 1], vec![3]]);
        assert_eq!(g.order(), [5, 4]);
    }
}
