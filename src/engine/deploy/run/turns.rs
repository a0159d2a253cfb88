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
/// does most, and intents that are written ahead share what is waited for.
const QUICK: Duration = Duration::from_millis(10);
/// About how long what is written ahead stands on record before its own call is made, with an
/// unknown outcome should this process die: longer than a wait for the disk takes, or turns are
/// left without anything to do.
const ON_RECORD: Duration = Duration::from_millis(8);
/// The most that go ahead for each turn, however quick calls are.
const AHEAD: usize = 4;

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
        self.ahead_of_each().is_some()
    }

    /// How many go ahead for each turn where calls are quick: as many as it serves while they
    /// stand on record.
    fn ahead_of_each(&self) -> Option<usize> {
        let takes = self.takes.filter(|takes| *takes < QUICK)?;
        let served = ON_RECORD.as_micros().div_ceil(takes.as_micros().max(1));
        Some(usize::try_from(served).map_or(AHEAD, |served| served.clamp(1, AHEAD)))
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
        let most = match (self.at_a_time, line.ahead_of_each()) {
            (1, _) => 0,
            (turns, Some(each)) => turns * each,
            (_, None) => line.writing,
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
mod tests;
