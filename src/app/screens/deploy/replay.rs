//! Replay of an earlier deploy: its operations after a number of its events.

use super::DEPLOY;
use super::title::{BAR_LINES, write_cancel, write_counts};
use crate::app::doc::{self, Doc, Line, Role, line, outcome_role, span};
use crate::app::format::{clock, duration};
use crate::app::replay::{Replay, SPEEDS};
use crate::app::screens::{ContextInfo, push_keys};
use crate::app::state::State;
use crate::app::text::width;
use model::{DeployOutcome, EventKind};

pub(in crate::app::screens) const REPLAY: ContextInfo = ContextInfo {
    title: "Replay of a deploy",
    write_subject,
    bar: Some(bar),
    first_keys: |_| {
        &[
            "replay-play",
            "replay-forward",
            "replay-back",
            "replay-failure",
            "replay-end",
            "replay-begin",
        ]
    },
    empty: |state| Some(empty(state)),
    ..DEPLOY
};

fn write_subject(state: &State, l: &mut Line) {
    let Some(r) = &state.loaded.replay else {
        return;
    };
    l.push(span(
        Role::Key,
        format!("replay of deploy #{}", r.view().deploy),
    ));
    if r.is_playing {
        let text = format!(" · playing at {}×", SPEEDS[r.speed]);
        l.push(span(Role::Busy, text));
    }
    // A small screen has no bar.
    if state.frame.size.1 < BAR_LINES {
        let text = format!(" · event {} of {}", r.cursor, r.record.events.len());
        l.push(span(Role::Plain, text));
    }
    let at = clock(r.at, state.utc_offset);
    l.push(span(Role::Plain, format!(" · {at}")));
    if let Some(s) = &r.view().summary {
        let (sign, role) = outcome_role(s.outcome);
        let text = format!(" · {sign} {}", s.outcome.label());
        l.push(span(role, text));
        // The end of a killed run is unknown.
        let ended = s.ended.filter(|_| s.outcome != DeployOutcome::Interrupted);
        if let Some(took) = ended.and_then(|end| u64::try_from(end - s.began).ok()) {
            l.push(span(role, format!(" in {}", duration(took))));
        }
    }
    write_counts(state, l);
    write_cancel(r.view(), l);
    // After the last failure, the next one is the first, which is over.
    let ahead = r.next_failure().filter(|at| *at > r.cursor);
    if let Some(event) = ahead.map(|at| &r.record.events[at - 1])
        && let EventKind::Operation(failed) = &event.kind
    {
        let at = clock(event.at, state.utc_offset);
        let text = format!(" · ✗ {} at {at}", failed.address);
        l.push(span(Role::Bad, text));
    }
}

/// Bar of the position among the events, with a tick at each failure, and the number of the event.
fn bar(state: &State, cells: usize) -> Line {
    let Some(r) = &state.loaded.replay else {
        return Line::new();
    };
    let text = format!("  event {} of {}", r.cursor, r.record.events.len());
    let mut l = position(r, cells.saturating_sub(width(&text)));
    l.push(span(Role::Strong, text));
    l
}

/// Draws the position among the events, with a tick at each failure.
fn position(r: &Replay, cells: usize) -> Line {
    let all = r.record.events.len().max(1);
    let ticks: Vec<usize> = r.failures().map(|at| at * cells / all).collect();
    let played = r.cursor * cells / all;
    let cell = |at: usize| match () {
        () if ticks.contains(&at) => doc::omittable(Role::Bad, "✗"),
        () if at < played => doc::omittable(Role::Key, "━"),
        () => doc::omittable(Role::Dim, "─"),
    };
    (0..cells).map(cell).collect()
}

fn empty(state: &State) -> Doc {
    if state.loaded.replay.as_ref().is_none_or(|r| r.cursor > 0) {
        return super::empty(state);
    }
    let mut doc = vec![line(Role::Heading, "Before the start of the deploy")];
    push_keys(&mut doc, &[("]", "one event forward"), ("}", "to the end")]);
    doc
}
