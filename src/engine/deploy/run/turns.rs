//! Turns of operations: so many at a time, first come, first served, but for what is urgent. While
//! one writes down what it is about to do, another may be planned ahead; where plugins answer at
//! once, what it is about to do is written down ahead as well. Owned by one deploy.

use crate::engine::graph::{Step, Urgency};
use crate::engine::mutex::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Calls that take less than this are quick. Where they are, waiting for the disk is what a deploy
/// does most, and intents that are written ahead share what is waited for. They stand on record for
/// about as long before their own call is made, with an unknown outcome should this process die.
const QUICK: Duration = Duration::from_millis(10);
/// How many go ahead for each turn, where calls are quick.
const AHEAD: usize = 2;

/// The turns of a deploy and who waits for one.
pub struct Turns {
    /// Where it is one, nothing goes ahead.
    at_a_time: usize,
    line: Mutex<Line>,
    urgency: Arc<Urgency>,
}

#[derive(Default)]
struct Line {
    free: usize,
    /// How many that have a turn wait for our own disk, and for no plugin.
    writing: usize,
    /// How many are ahead: where calls are not quick, no more begin with it than are writing.
    ahead: usize,
    /// Those of them who have done what goes ahead, and have their turn before all who have not.
    planned: Waiting,
    /// How long calls take by now, the last ones above all.
    takes: Option<Duration>,
    waiting: Waiting,
}

type Grant = oneshot::Sender<Turn>;
type Waiting = VecDeque<(Step, Grant)>;

/// One operation's turn; dropping it gives it to the next in line.
pub struct Turn {
    turns: Arc<Turns>,
    step: Step,
    /// As yet only to plan, and where calls are quick, to write down what is about to be done.
    ahead: bool,
    /// When the plugin was asked to do it.
    called: Option<Instant>,
}

impl Line {
    fn is_quick(&self) -> bool {
        self.takes.is_some_and(|takes| takes < QUICK)
    }

    /// A call has taken so long.
    fn took(&mut self, took: Duration) {
        self.takes = Some(self.takes.map_or(took, |takes| (takes * 7 + took) / 8));
    }
}

impl Turns {
    /// `at_a_time` turns.
    pub fn new(at_a_time: usize, urgency: Arc<Urgency>) -> Arc<Self> {
        let at_a_time = at_a_time.max(1);
        Arc::new(Self {
            at_a_time,
            line: Mutex::new(Line {
                free: at_a_time,
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
                return Some(self.turn(step, false));
            }
            let (grant, answer) = oneshot::channel();
            line.waiting.push_back((step, grant));
            self.let_ahead(line);
            answer
        };
        answer.await.ok()
    }

    fn turn(self: &Arc<Self>, step: Step, ahead: bool) -> Turn {
        Turn {
            turns: self.clone(),
            step,
            ahead,
            called: None,
        }
    }

    /// The first of them that is urgent.
    fn urgent(&self, waiting: &mut Waiting) -> Option<(Step, Grant)> {
        let first = self
            .urgency
            .first_of(waiting.iter().map(|(step, _)| *step))?;
        waiting.remove(first)
    }

    /// Who goes ahead next.
    fn next_ahead(&self, line: &mut Line) -> Option<(Step, Grant)> {
        self.urgent(&mut line.waiting)
            .or_else(|| line.waiting.pop_front())
    }

    /// Who has the next turn.
    fn next(&self, line: &mut Line) -> Option<(Step, Grant)> {
        self.urgent(&mut line.planned)
            .or_else(|| self.urgent(&mut line.waiting))
            .or_else(|| line.planned.pop_front())
            .or_else(|| line.waiting.pop_front())
    }

    /// Lets the next in line go ahead, where there is room for one more.
    fn let_ahead(self: &Arc<Self>, mut line: MutexGuard<'_, Line>) {
        let most = match self.at_a_time {
            1 => 0,
            turns if line.is_quick() => turns * AHEAD,
            _ => line.writing,
        };
        if line.ahead >= most {
            return;
        }
        let Some((step, grant)) = self.next_ahead(&mut line) else {
            return;
        };
        line.ahead += 1;
        drop(line);
        // One that nobody takes comes back when it is dropped, and goes on to the one after.
        drop(grant.send(self.turn(step, true)));
    }

    fn give_back(self: &Arc<Self>) {
        let mut line = lock(&self.line);
        match self.next(&mut line) {
            None => line.free += 1,
            Some((step, grant)) => {
                drop(line);
                // As above.
                drop(grant.send(self.turn(step, false)));
            }
        }
    }
}

impl Turn {
    /// Whether as yet nothing may be done but what goes ahead.
    pub fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Whether what is about to be done may be written down by now.
    pub fn may_write(&self) -> bool {
        !self.ahead || lock(&self.turns.line).is_quick()
    }

    /// The plugin is asked to do it now, and has answered when the turn is given back.
    pub fn calls(&mut self) {
        self.called = Some(Instant::now());
    }

    /// Waits until all may be done; answers whether that was not so before.
    pub async fn whole(turn: &mut Option<Self>) -> bool {
        let Some(ahead) = turn.take_if(|turn| turn.ahead) else {
            return false;
        };
        let turns = ahead.turns.clone();
        let answer = {
            let mut line = lock(&turns.line);
            if line.free > 0 {
                line.free -= 1;
                *turn = Some(turns.turn(ahead.step, false));
                return true;
            }
            let (grant, answer) = oneshot::channel();
            line.planned.push_back((ahead.step, grant));
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
        if let Some(called) = self.called {
            lock(&self.turns.line).took(called.elapsed());
        }
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
    async fn where_calls_are_quick_others_write_ahead_and_only_twice_as_many() {
        let turns = Turns::new(2, Arc::default());
        let mut first = turns.take(0).await.unwrap();
        let _second = turns.take(1).await.unwrap();
        let mut third = Box::pin(turns.take(2));
        assert!(third.as_mut().now_or_never().is_none(), "nobody writes");
        first.calls();
        drop(first);
        let mut third = third.now_or_never().flatten().unwrap();
        let mut waiting: Vec<_> = (3..8).map(|n| Box::pin(turns.take(n))).collect();
        let ahead: Vec<Turn> = waiting
            .iter_mut()
            .filter_map(|turn| turn.as_mut().now_or_never().flatten())
            .collect();
        assert_eq!(ahead.len(), 2 * AHEAD);
        assert!(ahead.iter().all(|turn| turn.ahead && turn.may_write()));
        // One that takes its time, and it is as if none had been quick.
        lock(&turns.line).took(QUICK * 20);
        assert!(ahead.iter().all(|turn| !turn.may_write()));
        third.calls();
        drop(ahead);
        let mut last = waiting.pop().unwrap();
        assert!(last.as_mut().now_or_never().is_none(), "nobody writes");
        drop(third);
        let last = last.now_or_never().flatten();
        assert!(last.is_some_and(|turn| !turn.ahead && turn.may_write()));
    }

    #[tokio::test]
    async fn the_urgent_one_is_next_also_where_others_have_gone_ahead() {
        let mut graph = Graph::default();
        for _ in 0..5 {
            graph.add();
        }
        let urgency = Arc::new(Urgency::default());
        let turns = Turns::new(2, urgency.clone());
        let mut first = turns.take(0).await.unwrap();
        let second = turns.take(1).await.unwrap();
        first.calls();
        drop(first);
        let first = turns.take(2).await.unwrap();
        let mut ahead = turns.take(3).now_or_never().flatten();
        assert!(ahead.as_ref().is_some_and(|turn| turn.ahead));
        let mut whole = Box::pin(Turn::whole(&mut ahead));
        assert!(whole.as_mut().now_or_never().is_none(), "both are had");
        lock(&turns.line).took(QUICK * 20);
        let mut urgent = Box::pin(turns.take(4));
        assert!(urgent.as_mut().now_or_never().is_none());
        urgency.hurry(&graph, 4);
        drop(second);
        assert!(whole.as_mut().now_or_never().is_none());
        assert!(urgent.now_or_never().flatten().is_some_and(|t| !t.ahead));
        assert!(whole.as_mut().now_or_never().is_some());
        drop(first);
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
