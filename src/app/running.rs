//! Tells whether a running operation is in a call or queued for a slot, and computes its working
//! time, which excludes the time in the queue.

use super::doc::{Line, Role, address, line, span};
use super::format::elapsed;
use super::state::{Screen, State};
use model::view::{CallView, DeployView};
use model::{Operation, OperationState, UnixMs};
use std::collections::HashSet;

/// Returns true if the shown deploy is running. Current calls do not belong to a replayed deploy.
fn live(state: &State) -> bool {
    state.is_deploying() && !(state.screen == Screen::History && state.loaded.replay.is_some())
}

/// Returns the queued call of a running operation.
pub fn queued<'a>(state: &'a State, op: &Operation) -> Option<&'a CallView> {
    if op.state != OperationState::Running || !live(state) {
        return None;
    }
    // A call names a resource and no operation, so the address connects them.
    state
        .view
        .calls
        .values()
        .find(|c| c.started_at.is_none() && c.resource.as_deref() == Some(op.address.as_str()))
}

/// Describes the time in the queue and the owner of the slot.
pub fn in_line(state: &State, call: &CallView) -> Line {
    let since = elapsed(state.now - call.queued_at);
    let holder = call
        .blocker
        .and_then(|b| state.view.calls.get(&b))
        .and_then(|b| b.resource.as_deref());
    match (holder, &call.waits_for) {
        (Some(holder), _) => vec![
            span(Role::Warn, format!("{since} queued behind ")),
            address(Role::Warn, holder),
        ],
        (None, Some(what)) => line(Role::Warn, format!("{since} queued: {what}")),
        (None, None) => line(Role::Warn, format!("{since} queued")),
    }
}

/// Number of running operations with a queued call.
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

/// Working time of an operation in milliseconds: since its start, without the time in the queue.
pub fn worked_ms(state: &State, deploy: &DeployView, op: &Operation, now: UnixMs) -> i64 {
    let Some(began) = op.began else { return 0 };
    let before = deploy
        .queued_ms
        .get(&op.address)
        .copied()
        .and_then(|ms| i64::try_from(ms).ok())
        .unwrap_or(0);
    // The current wait is not part of the recorded one yet.
    let still = queued(state, op).map_or(0, |c| now - c.queued_at);
    (now - began - before - still).max(0)
}
