//! Replay of a deploy: folds its events up to a cursor, with the code that folds live events.

use super::state::Replay;
use model::view::DeployView;
use model::{DeployRecord, EventKind};

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
        let at = record.events[..cursor]
            .last()
            .map_or(record.summary.began, |e| e.at);
        let whole = cursor == record.events.len();
        let s = &record.summary;
        let view = DeployView::of_record(&record, cursor);
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
