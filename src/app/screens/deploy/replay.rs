//! Replay of an earlier deploy: its operations after a number of its events.

use super::DEPLOY;
use super::title::{write_cancel, write_counts};
use crate::app::doc::{self, Doc, Line, Role, line, outcome_role, span};
use crate::app::format::{clock, duration};
use crate::app::replay::{Replay, SPEEDS};
use crate::app::screens::{ContextInfo, push_keys};
use crate::app::state::State;
use model::DeployOutcome;

pub(in crate::app::screens) const REPLAY: ContextInfo = ContextInfo {
    title: "Replay of a deploy",
    write_subject,
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

/// Cells of the bar of the position.
const POSITION_CELLS: usize = 24;
/// Cells of the bar on a narrow screen.
const NARROW_CELLS: usize = 8;

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
    let all = r.record.events.len();
    let text = format!(" · event {} of {all}", r.cursor);
    l.push(span(Role::Plain, text));
    let cells = match state.frame.size.0 {
        ..80 => 0,
        80..100 => NARROW_CELLS,
        _ => POSITION_CELLS,
    };
    if cells > 0 {
        l.push(span(Role::Plain, "  "));
        l.extend(position(r, cells));
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
