//! Turns of operations: so many at a time, first come, first served, but for what is urgent. While
//! one writes down what it is about to do, another may be planned ahead. Owned by one deploy.

use crate::engine::graph::{Step, Urgency};
use crate::engine::mutex::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::oneshot;

/// The turns of a deploy and who waits for one.
pub struct Turns {
    /// Where it is one at a time, nothing is planned ahead.
    alone: bool,
    line: Mutex<Line>,
    urgency: Arc<Urgency>,
}

#[derive(Default)]
struct Line {
    free: usize,
    /// How many that have a turn wait for our own disk, and for no plugin.
    writing: usize,
    /// How many are planned ahead: no more begin with it than are writing.
    ahead: usize,
    /// Those of them who are planned, and go before all who wait.
    planned: VecDeque<oneshot::Sender<Turn>>,
    waiting: VecDeque<(Step, oneshot::Sender<Turn>)>,
}

/// One operation's turn; dropping it gives it to the next in line.
pub struct Turn {
    turns: Arc<Turns>,
    /// As yet only to plan.
    ahead: bool,
}

impl Turns {
    /// `at_a_time` turns.
    pub fn new(at_a_time: usize, urgency: Arc<Urgency>) -> Arc<Self> {
        let free = at_a_time.max(1);
        Arc::new(Self {
            alone: free == 1,
            line: Mutex::new(Line {
                free,
                ..Line::default()
            }),
            urgency,
        })
    }

    /// Waits for a turn, which may be one to plan as yet; nobody who waits is passed over for ever,
    /// since what is urgent ends.
    pub async fn take(self: &Arc<Self>, step: Step) -> Option<Turn> {
        let answer = {
            let mut line = lock(&self.line);
            if line.free > 0 {
                line.free -= 1;
                return Some(self.turn(false));
            }
            let (grant, answer) = oneshot::channel();
            line.waiting.push_back((step, grant));
            self.let_ahead(line);
            answer
        };
        answer.await.ok()
    }

    fn turn(self: &Arc<Self>, ahead: bool) -> Turn {
        Turn {
            turns: self.clone(),
            ahead,
        }
    }

    fn first(&self, line: &mut Line) -> Option<oneshot::Sender<Turn>> {
        let steps = line.waiting.iter().map(|(step, _)| *step);
        let first = self.urgency.first_of(steps).unwrap_or(0);
        line.waiting.remove(first).map(|(_, grant)| grant)
    }

    /// Has the next in line planned ahead, where somebody is writing for whom nobody is yet.
    fn let_ahead(self: &Arc<Self>, mut line: MutexGuard<'_, Line>) {
        if self.alone || line.ahead >= line.writing {
            return;
        }
        let Some(grant) = self.first(&mut line) else {
            return;
        };
        line.ahead += 1;
        drop(line);
        // One that nobody takes comes back when it is dropped, and goes on to the one after.
        drop(grant.send(self.turn(true)));
    }

    fn give_back(self: &Arc<Self>) {
        let mut line = lock(&self.line);
        let grant = match line.planned.pop_front() {
            Some(grant) => Some(grant),
            None => self.first(&mut line),
        };
        match grant {
            None => line.free += 1,
            Some(grant) => {
                drop(line);
                // As above.
                drop(grant.send(self.turn(false)));
            }
        }
    }
}

impl Turn {
    /// Whether as yet no more may be done than to plan.
    pub fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Waits until more may be done than to plan; answers whether that was not so before.
    pub async fn whole(turn: &mut Option<Self>) -> bool {
        let Some(ahead) = turn.take_if(|turn| turn.ahead) else {
            return false;
        };
        let turns = ahead.turns.clone();
        let answer = {
            let mut line = lock(&turns.line);
            if line.free > 0 {
                line.free -= 1;
                *turn = Some(turns.turn(false));
                return true;
            }
            let (grant, answer) = oneshot::channel();
            line.planned.push_back(grant);
            answer
        };
        *turn = answer.await.ok();
        true
    }

    /// Does what asks no plugin for anything: meanwhile another operation may be planned.
    pub async fn writing<T>(&self, work: impl Future<Output = T>) -> T {
        let _writing = Writing::begun(&self.turns);
        work.await
    }
}

/// Somebody writes, until it is dropped.
struct Writing<'t>(&'t Turns);

impl<'t> Writing<'t> {
    fn begun(turns: &'t Arc<Turns>) -> Self {
        let mut line = lock(&turns.line);
        line.writing += 1;
        turns.let_ahead(line);
        Self(turns)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        lock(&self.0.line).writing -= 1;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.ahead {
            return self.turns.give_back();
        }
        let mut line = lock(&self.turns.line);
        line.ahead -= 1;
        self.turns.let_ahead(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::graph::Graph;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn the_urgent_one_is_next_and_one_that_left_costs_no_turn() {
        let mut graph = Graph::default();
        for _ in 0..4 {
            graph.add();
        }
        let urgency = Arc::new(Urgency::default());
        let turns = Turns::new(1, urgency.clone());
        let first = turns.take(0).await.unwrap();
        let mut ordinary = Box::pin(turns.take(1));
        let mut gone = Box::pin(turns.take(2));
        let mut urgent = Box::pin(turns.take(3));
        assert!(
            ordinary.as_mut().now_or_never().is_none() && gone.as_mut().now_or_never().is_none()
        );
        assert!(urgent.as_mut().now_or_never().is_none());
        urgency.hurry(&graph, 3);
        urgency.hurry(&graph, 2);
        drop(gone);
        drop(first);
        let second = urgent.as_mut().now_or_never().flatten().unwrap();
        assert!(ordinary.as_mut().now_or_never().is_none());
        drop(second);
        let third = ordinary.as_mut().now_or_never().flatten();
        assert!(third.is_some());
        drop(third);
        assert!(turns.take(0).now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn while_one_writes_another_is_planned_and_no_more_until_it_has_a_turn() {
        let turns = Turns::new(2, Arc::default());
        let first = turns.take(0).await.unwrap();
        let second = turns.take(1).await.unwrap();
        let mut third = Box::pin(turns.take(2));
        let mut fourth = Box::pin(turns.take(3));
        assert!(third.as_mut().now_or_never().is_none());
        let (done, work) = oneshot::channel::<()>();
        let mut writing = Box::pin(first.writing(work));
        assert!(writing.as_mut().now_or_never().is_none());
        let mut third = third.as_mut().now_or_never().flatten();
        assert!(third.as_ref().is_some_and(|turn| turn.ahead));
        assert!(fourth.as_mut().now_or_never().is_none(), "one for one");
        let mut whole = Box::pin(Turn::whole(&mut third));
        assert!(whole.as_mut().now_or_never().is_none(), "both are had");
        assert!(fourth.as_mut().now_or_never().is_none(), "one for one");
        done.send(()).unwrap();
        assert!(writing.as_mut().now_or_never().is_some());
        drop(writing);
        drop(second);
        assert!(whole.as_mut().now_or_never().is_some());
        drop(whole);
        assert!(third.as_ref().is_some_and(|turn| !turn.ahead));
        assert!(fourth.as_mut().now_or_never().is_none(), "nobody writes");
        drop(first);
        let fourth = fourth.now_or_never().flatten();
        assert!(fourth.is_some_and(|turn| !turn.ahead));
        drop(third);
        let line = lock(&turns.line);
        assert_eq!((line.free, line.ahead, line.writing), (2, 0, 0));
    }

    #[tokio::test]
    async fn where_one_is_at_work_at_a_time_nothing_is_planned_ahead() {
        let turns = Turns::new(1, Arc::default());
        let only = turns.take(0).await.unwrap();
        let mut next = Box::pin(turns.take(1));
        assert!(next.as_mut().now_or_never().is_none());
        only.writing(async { assert!(next.as_mut().now_or_never().is_none()) })
            .await;
        drop(only);
        assert!(
            next.now_or_never()
                .flatten()
                .is_some_and(|turn| !turn.ahead)
        );
    }
}
