//! Replay of a deploy: folds its events up to a cursor, with the code that folds live events.

use model::view::{DeployView, View};
use model::{DeployRecord, EventKind, OperationState, UnixMs};

/// Number of states kept between the events, so that a step back folds few of them again.
const CHECKPOINTS: usize = 8;

/// Speeds of playing, as multiples of the speed of the deploy.
pub const SPEEDS: [u32; 4] = [1, 4, 16, 64];

/// Replay of a deploy.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub record: DeployRecord,
    /// Number of events that the shown view includes.
    pub cursor: usize,
    /// Time of the replay.
    pub at: UnixMs,
    /// Index in [`SPEEDS`] of the next or current playing.
    pub speed: usize,
    pub is_playing: bool,
    folded: Folded,
    /// States after some of the events, in order; the first one is before all of them.
    checkpoints: Vec<Folded>,
    /// View before the first event, and after the last one.
    ends: Box<(DeployView, DeployView)>,
}

/// View that includes the first `events` events.
#[derive(Debug, Clone, PartialEq, Default)]
struct Folded {
    events: usize,
    view: View,
}

/// Returns true for events that the replay stops at: those visible on the Deploy screen.
fn is_visible(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::DeployStarted(_)
            | EventKind::Operation(_)
            | EventKind::DeployFinished(_)
            | EventKind::Cancel { .. }
    )
}

fn is_failure(kind: &EventKind) -> bool {
    use OperationState::{Failed, HalfReplaced, Unknown};
    matches!(kind, EventKind::Operation(o) if matches!(o.state, Failed | HalfReplaced | Unknown))
}

impl Replay {
    /// Creates a replay after the first `cursor` events, or after all of them if there are fewer.
    pub fn at(mut record: DeployRecord, cursor: usize) -> Self {
        for event in &mut record.events {
            // Each engine starts its event numbers anew, but a record may span several engines.
            // Events without a number are always folded.
            event.seq = 0;
        }
        let before = DeployView::of_record(&record, None, false);
        let mut replay = Self {
            cursor: 0,
            at: record.summary.began,
            speed: 0,
            is_playing: false,
            folded: Folded::default(),
            checkpoints: vec![Folded::default()],
            ends: Box::new((before.clone(), before)),
            record,
        };
        replay.fold(replay.record.events.len());
        let folded = replay.folded.view.deploy.clone();
        replay.ends.1 = DeployView::of_record(&replay.record, folded, true);
        replay.seek(cursor);
        replay
    }

    /// Returns the deploy after the events so far.
    pub fn view(&self) -> &DeployView {
        let folded = self.folded.view.deploy.as_ref();
        match folded.filter(|_| self.cursor < self.record.events.len()) {
            Some(deploy) => deploy,
            None if self.cursor < self.record.events.len() => &self.ends.0,
            None => &self.ends.1,
        }
    }

    /// Moves the replay to the state after the first `cursor` events.
    pub fn seek(&mut self, cursor: usize) {
        let all = self.record.events.len();
        self.cursor = cursor.min(all);
        self.fold(self.cursor);
        let last = self.record.events[..self.cursor].last();
        let at = last.map_or(self.record.summary.began, |e| e.at);
        let ended = self.record.summary.ended.filter(|_| self.cursor == all);
        self.at = ended.unwrap_or(at);
    }

    fn fold(&mut self, cursor: usize) {
        if cursor < self.folded.events {
            let before = self.checkpoints.iter().rfind(|c| c.events <= cursor);
            self.folded = before.cloned().unwrap_or_default();
        }
        let step = self.record.events.len() / CHECKPOINTS + 1;
        while self.folded.events < cursor {
            let at = self.folded.events;
            self.folded.view.apply(&self.record.events[at]);
            self.folded.events += 1;
            if at + 1 == self.checkpoints.len() * step {
                self.checkpoints.push(self.folded.clone());
            }
        }
    }

    /// Plays the events of the time that has passed, and stops playing at the end.
    pub fn play(&mut self, passed_ms: i64) {
        let time = self.at + passed_ms.max(0) * i64::from(SPEEDS[self.speed]);
        let rest = &self.record.events[self.cursor..];
        // Times of a record are not always in order, so the first later event stops.
        let due = rest.iter().take_while(|e| e.at <= time).count();
        if self.cursor + due >= self.record.events.len() {
            self.is_playing = false;
            self.seek(usize::MAX);
        } else {
            self.seek(self.cursor + due);
            self.at = time;
        }
    }

    /// Returns the cursor after the next visible event.
    pub fn next(&self) -> usize {
        let all = &self.record.events;
        (self.cursor..all.len())
            .find(|i| is_visible(&all[*i].kind))
            .map_or(all.len(), |i| i + 1)
    }

    /// Returns the cursor after the previous visible event.
    pub fn previous(&self) -> usize {
        let all = &self.record.events;
        // Excludes the event that the cursor is behind.
        (0..self.cursor.saturating_sub(1))
            .rev()
            .find(|i| is_visible(&all[*i].kind))
            .map_or(0, |i| i + 1)
    }

    /// Indexes of the events that tell the failure of an operation or its unknown outcome.
    pub fn failures(&self) -> impl Iterator<Item = usize> {
        let events = self.record.events.iter().enumerate();
        events.filter_map(|(at, e)| is_failure(&e.kind).then_some(at))
    }

    /// Returns the cursor after the next failure; the first one after the last one.
    pub fn next_failure(&self) -> Option<usize> {
        let mut later = self.failures().filter(|at| *at >= self.cursor);
        let next = later.next().or_else(|| self.failures().next())?;
        Some(next + 1)
    }
}
