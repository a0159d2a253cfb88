//! A deploy played again: its events folded up to a cursor, by the code that folds live ones.

use super::state::Replay;
use crate::engine::view::{DeployView, View};
use crate::engine::words::{DeployRecord, DeployStarted, EventKind};

/// Events that move a replay: those that an operator of the Deploy screen would have seen.
fn shows(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::DeployStarted(_)
            | EventKind::Operation(_)
            | EventKind::DeployFinished(_)
            | EventKind::Cancel { .. }
    )
}

impl Replay {
    /// A record seen after its first `cursor` events (all of them where there are fewer).
    pub fn at(record: DeployRecord, cursor: usize) -> Self {
        let cursor = cursor.min(record.events.len());
        let mut folded = View::default();
        for (i, e) in record.events[..cursor].iter().enumerate() {
            // Numbers start anew with every engine: within one record the order is what counts.
            let mut e = e.clone();
            e.seq = i as u64 + 1;
            folded.apply(&e);
        }
        let at = record.events[..cursor]
            .last()
            .map_or(record.summary.began, |e| e.at);
        let whole = cursor == record.events.len();
        let s = &record.summary;
        let mut view = folded.deploy.unwrap_or_else(|| {
            let started = DeployStarted {
                deploy: s.deploy,
                stage: s.stage,
                mode: s.mode,
                who: s.who.clone(),
                host: s.host.clone(),
                operations: if whole {
                    record.operations.clone()
                } else {
                    Vec::new()
                },
            };
            DeployView::new(started, s.began)
        });
        if whole {
            // The store knows what events may have missed: how an interrupted deploy was found
            // later.
            view.operations.clone_from(&record.operations);
            view.summary = Some(s.clone());
        }
        let at = if whole { s.ended.unwrap_or(at) } else { at };
        Self {
            cursor,
            view,
            at,
            record,
        }
    }

    /// The cursor after the next event that shows.
    pub fn next(&self) -> usize {
        let all = &self.record.events;
        (self.cursor..all.len())
            .find(|i| shows(&all[*i].kind))
            .map_or(all.len(), |i| i + 1)
    }

    /// The cursor after the last event that shows and lies before.
    pub fn previous(&self) -> usize {
        let all = &self.record.events;
        (0..self.cursor.saturating_sub(1))
            .rev()
            .find(|i| shows(&all[*i].kind))
            .map_or(0, |i| i + 1)
    }
}
