//! Notes that name the operations that block another one.

use super::symbol;
use crate::app::doc::{self, Line, Role, line, span};
use crate::app::format::elapsed;
use crate::app::progress;
use crate::app::state::State;
use model::view::DeployView;
use model::{Operation, OperationState, UnixMs};

/// Maximum number of instances in the note of an operation that needs all of them.
const KEYS: usize = 2;

/// Gives the reason why an operation waits: its blocker, or the limit of running operations.
pub(super) fn waiting_note(state: &State, d: &DeployView, op: &Operation, now: UnixMs) -> Line {
    let first = d.blockers(op).into_iter().next();
    if let Some((address, blocker)) = first {
        let running = d.operation(address);
        let running = running.filter(|_| blocker == Some(OperationState::Running));
        let worked = running.map(|o| elapsed(progress::worked_ms(state, d, o, now)));
        return note(d, op, "blocked by", worked);
    }
    let progress = &state.frame.progress;
    let running = progress.count(OperationState::Running) + progress.queued();
    let limit = usize::try_from(d.parallelism).unwrap_or(0);
    let text = match limit {
        1.. if running >= limit => format!("queued: {running} of {limit} operations running"),
        _ => "not blocked, not started yet".to_owned(),
    };
    line(Role::Dim, text)
}

/// Names the first blocker of an operation, failed ones first. If the operation needs all instances
/// of a resource, names the resource with the instances that block it. `since` is the running time
/// of the first blocker.
pub(super) fn note(d: &DeployView, op: &Operation, word: &str, since: Option<String>) -> Line {
    let all = d.blockers(op);
    let Some((first, state)) = all.first() else {
        return Line::new();
    };
    let key_of = |resource: &str, address: &str| -> Option<String> {
        let key = address.strip_prefix(resource)?;
        key.starts_with('[').then(|| key.to_owned())
    };
    let mut needs = op.waits_for_all_of.iter();
    let whole = needs.find(|r| key_of(r, first).is_some());
    let (address, keys, named) = match whole {
        Some(resource) => {
            let of_it: Vec<_> = all
                .iter()
                .filter(|(a, _)| key_of(resource, a).is_some())
                .collect();
            let same = of_it.iter().filter(|(_, s)| s == state);
            let mut keys: Vec<String> = same.filter_map(|(a, _)| key_of(resource, a)).collect();
            if keys.len() > KEYS {
                let more = keys.len() - KEYS;
                keys.truncate(KEYS);
                keys.push(format!("{more} more"));
            }
            (resource.as_str(), keys.join(", "), of_it.len())
        }
        None => (*first, String::new(), 1),
    };
    let what = state.and_then(|s| blocking_word(s, !keys.is_empty()));
    // A name that many rows have in common is no news in any of them, and the failed operation has
    // a red row of its own.
    let is_over = op.state == OperationState::NotAttempted;
    let name = match since {
        None if !is_over => Role::Plain,
        _ => Role::Dim,
    };
    let mut l = vec![
        span(Role::Dim, format!("{word} ")),
        doc::address(name, address),
    ];
    if let (Some(word), Some(state)) = (what, state) {
        let role = match is_over {
            true => Role::Dim,
            false => symbol(*state).1,
        };
        l.push(span(role, " ("));
        if !keys.is_empty() {
            l.push(doc::omittable(role, format!("{keys} ")));
        }
        l.push(span(role, format!("{word})")));
    }
    if let Some(since) = since {
        l.push(doc::omittable(Role::Dim, format!(" ({since})")));
    }
    l.push(doc::omittable(
        Role::Dim,
        doc::more_needs(op, all.len() - named),
    ));
    l
}

/// Word for the state of a blocker. Only instances of a resource have one while they run or wait.
fn blocking_word(s: OperationState, is_instance: bool) -> Option<&'static str> {
    match s {
        OperationState::Failed => Some("failed"),
        OperationState::HalfReplaced => Some("half replaced"),
        OperationState::Unknown => Some("unknown outcome"),
        OperationState::NotAttempted => Some("not attempted"),
        _ if !is_instance => None,
        OperationState::Running => Some("running"),
        _ => Some("waiting"),
    }
}
