//! Limits the concurrent operations of a deploy: each one needs a turn (permit), granted in order,
//! urgent steps first. While one operation writes its intent to disk, another may already plan; if
//! calls are fast, it may also write its intent. Owned by one deploy.

use graph::{Step, Urgency};
use model::mutex::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Duration below which calls are quick. With quick calls a deploy mostly waits for the disk, and
/// intents written ahead share one sync.
const QUICK_CALL: Duration = Duration::from_millis(10);
/// Time that an intent written ahead should precede its call, because it is an unknown outcome if
/// the process dies meanwhile. Longer than a disk sync, or turns would idle.
const MAX_AHEAD_TIME: Duration = Duration::from_millis(8);
/// Limit of operations ahead per turn.
const MAX_AHEAD: usize = 4;

/// Turns (permits) of a deploy, and the operations that wait for one.
pub struct Turns {
    /// If 1, no operation goes ahead.
    limit: usize,
    line: Mutex<Line>,
    urgency: Arc<Urgency>,
}

#[derive(Default)]
struct Line {
    free: usize,
    /// Turns that wait for the disk and not for a plugin.
    writing: usize,
    /// Operations ahead. Unless calls are quick, at most as many as are writing.
    ahead: usize,
    /// Operations already planned ahead; they get turns before those that are not.
    planned: Waiting,
    /// Moving average of call durations.
    average_call: Option<Duration>,
    waiting: Waiting,
}

type Grant = oneshot::Sender<Turn>;
type Waiting = VecDeque<(Step, Grant)>;

/// Turn (permit) of one operation; dropping it passes it to the next one.
pub struct Turn {
    turns: Arc<Turns>,
    step: Step,
    /// True while the operation may only plan, or with quick calls also write its intent.
    ahead: bool,
    /// Time of the call.
    called: Option<Instant>,
}

impl Line {
    fn calls_are_quick(&self) -> bool {
        self.ahead_per_turn().is_some()
    }

    /// Returns the number of operations ahead per turn if calls are quick: as many as it serves
    /// within [`MAX_AHEAD_TIME`].
    fn ahead_per_turn(&self) -> Option<usize> {
        let takes = self.average_call.filter(|takes| *takes < QUICK_CALL)?;
        let served = MAX_AHEAD_TIME
            .as_micros()
            .div_ceil(takes.as_micros().max(1));
        Some(usize::try_from(served).map_or(MAX_AHEAD, |served| served.clamp(1, MAX_AHEAD)))
    }

    /// Adds the duration of a call to the average.
    fn add_duration(&mut self, took: Duration) {
        // Recent calls count most, without a stored history.
        self.average_call = Some(
            self.average_call
                .map_or(took, |takes| (takes * 7 + took) / 8),
        );
    }
}

impl Turns {
    /// Creates `limit` turns.
    pub fn new(at_a_time: usize, urgency: Arc<Urgency>) -> Arc<Self> {
        let at_a_time = at_a_time.max(1);
        Arc::new(Self {
            limit: at_a_time,
            line: Mutex::new(Line {
                free: at_a_time,
                ..Line::default()
            }),
            urgency,
        })
    }

    /// Waits for a turn, which may be one to plan ahead. No waiter starves, because urgent steps
    /// are finite.
    pub async fn take(self: &Arc<Self>, step: Step) -> Option<Turn> {
        let answer = {
            let mut line = lock(&self.line);
            if line.free > 0 {
                line.free -= 1;
                return Some(self.turn(step, false));
            }
            let (grant, answer) = oneshot::channel();
            line.waiting.push_back((step, grant));
            self.grant_ahead(line);
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

    /// Removes and returns the first urgent waiter.
    fn urgent(&self, waiting: &mut Waiting) -> Option<(Step, Grant)> {
        let first = self
            .urgency
            .first_of(waiting.iter().map(|(step, _)| *step))?;
        waiting.remove(first)
    }

    /// Removes and returns the next waiter to go ahead.
    fn next_ahead(&self, line: &mut Line) -> Option<(Step, Grant)> {
        self.urgent(&mut line.waiting)
            .or_else(|| line.waiting.pop_front())
    }

    /// Removes and returns the next waiter for a full turn.
    fn next(&self, line: &mut Line) -> Option<(Step, Grant)> {
        self.urgent(&mut line.planned)
            .or_else(|| self.urgent(&mut line.waiting))
            .or_else(|| line.planned.pop_front())
            .or_else(|| line.waiting.pop_front())
    }

    /// Lets the next waiter go ahead if the limit allows.
    fn grant_ahead(self: &Arc<Self>, mut line: MutexGuard<'_, Line>) {
        let most = match (self.limit, line.ahead_per_turn()) {
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
        // If the waiter is gone, the unsent turn is dropped, and its drop serves the next waiter.
        // The lock is released before, because that drop takes it.
        drop(grant.send(self.turn(step, true)));
    }

    fn release(self: &Arc<Self>) {
        let mut line = lock(&self.line);
        match self.next(&mut line) {
            None => line.free += 1,
            Some((step, grant)) => {
                drop(line);
                // Released before for the same reason.
                drop(grant.send(self.turn(step, false)));
            }
        }
    }
}

impl Turn {
    /// Returns true while only planning ahead is allowed.
    pub fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Returns true if the intent may be written now.
    pub fn may_write(&self) -> bool {
        !self.ahead || lock(&self.turns.line).calls_are_quick()
    }

    /// Records that the call is sent; returning the turn ends its measurement.
    pub fn calls(&mut self) {
        self.called = Some(Instant::now());
    }

    /// Waits until the turn is full; returns true if it was not.
    pub async fn upgrade(turn: &mut Option<Self>) -> bool {
        // `ahead` is dropped at the end, which lets the next operation go ahead.
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

    /// Runs work that does not call the plugin, during which another operation may plan.
    pub async fn while_writing<T>(&self, work: impl Future<Output = T>) -> T {
        // A guard, because the future may be dropped before it completes.
        let _writing = Writing::begin(&self.turns);
        work.await
    }
}

/// Counts one writer until dropped.
struct Writing<'t>(&'t Turns);

impl<'t> Writing<'t> {
    fn begin(turns: &'t Arc<Turns>) -> Self {
        let mut line = lock(&turns.line);
        line.writing += 1;
        turns.grant_ahead(line);
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
            lock(&self.turns.line).add_duration(called.elapsed());
        }
        if !self.ahead {
            return self.turns.release();
        }
        let mut line = lock(&self.turns.line);
        line.ahead -= 1;
        self.turns.grant_ahead(line);
    }
}

#[cfg(test)]
mod tests;
