//! Replay of a deploy: folds its events up to a cursor, with the code that folds live events.

use super::state::Replay;
use model::view::{DeployView, View};
use model::{DeployRecord, DeployStarted, EventKind};

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

impl Replay {
    /// Creates a replay after the first `cursor` events, or after all of them if there are fewer.
    pub fn at(record: DeployRecord, cursor: usize) -> Self {
        let cursor = cursor.min(record.events.len());
        let mut folded = View::default();
        for (i, e) in record.events[..cursor].iter().enumerate() {
            // Each engine starts its event numbers anew, but a record may span several engines.
            let mut e = e.clone();
            e.seq = i as u64 + 1;
            folded.apply(&e);
        }
        let at = record.events[..cursor]
            .last()
            .map_or(record.summary.began, |e| e.at);
        let whole = cursor == record.events.len();
        let s = &record.summary;
        // Without a start event so far, the deploy is built from its summary.
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
            // The stored record includes facts without events, such as the outcome of an
            // interrupted deploy, which a later run determined.
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
}
