//! What a running operation does at this moment: it is being called, or its call stands in line;
//! and how long it has worked, without the time in line.

use super::format::elapsed;
use super::state::{Screen, State};
use crate::engine::view::{CallView, DeployView};
use crate::engine::words::{Operation, OperationState, UnixMs};
use std::collections::HashSet;

/// Whether what is shown is going on now: the calls of now have nothing to do with a deploy of
/// then.
fn live(state: &State) -> bool {
    state.deploying() && !(state.screen == Screen::History && state.loaded.replay.is_some())
}

/// The call of a running operation that stands in line for a slot.
pub fn queued<'a>(state: &'a State, op: &Operation) -> Option<&'a CallView> {
    if op.state != OperationState::Running || !live(state) {
        return None;
    }
    state
        .view
        .calls
        .values()
        .find(|c| c.started_at.is_none() && c.resource.as_deref() == Some(op.address.as_str()))
}

/// For how long it stands there, and who has what it waits for.
pub fn in_line(state: &State, call: &CallView) -> String {
    let since = elapsed(state.now - call.queued_at);
    let holder = call
        .blocker
        .and_then(|b| state.view.calls.get(&b))
        .and_then(|b| b.resource.as_deref());
    match (holder, &call.waits_for) {
        (Some(holder), _) => format!("{since} in line behind {holder}"),
        (None, Some(what)) => format!("{since} in line: {what}"),
        (None, None) => format!("{since} in line"),
    }
}

/// How many running operations stand in line.
pub fn count_queued(state: &State, deploy: &DeployView) -> usize {
    if !live(state) {
        return 0;
    }
    let in_line: HashSet<&str> = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_none())
        .filter_map(|c| c.resource.as_deref())
        .collect();
    let running = |o: &&Operation| o.state == OperationState::Running;
    deploy
        .operations
        .iter()
        .filter(running)
        .filter(|o| in_line.contains(o.address.as_str()))
        .count()
}

/// For how long an operation has been worked on, in milliseconds: since it began, but for the time
/// in line.
pub fn worked_ms(state: &State, deploy: &DeployView, op: &Operation, now: UnixMs) -> i64 {
    let Some(began) = op.began else { return 0 };
    let before = deploy
        .queued_ms
        .get(&op.address)
        .copied()
        .and_then(|ms| i64::try_from(ms).ok())
        .unwrap_or(0);
    let still = queued(state, op).map_or(0, |c| now - c.queued_at);
    (now - began - before - still).max(0)
}
