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
    if !d.blockers(op).is_empty() {
        let since = running_blocker(state, d, op, now);
        return note(state, d, op, "blocked by", since);
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

/// Most operations whose reasons are compared in each frame.
const COMPARED: usize = 500;

/// Reason that all operations share which have not begun, if there are several: the heading above
/// them has it, and not each row. `None` without a heading.
pub fn shared_reason(state: &State) -> Option<String> {
    let (d, now) = state.shown_deploy()?;
    let pending = d.operations.iter().filter(|o| super::is_pending(o.state));
    let pending: Vec<&Operation> = pending.collect();
    let is_titled = state.frame.size.1 >= super::HEADINGS && pending.len() < d.operations.len();
    if !is_titled || !(2..=COMPARED).contains(&pending.len()) {
        return None;
    }
    let word = match pending.iter().all(|o| o.state == OperationState::Waiting) {
        true => "blocked by",
        false => "need",
    };
    let reason = |op: &Operation| {
        let text = doc::plain(&blocker(d, op, word, running_blocker(state, d, op, now))?.0);
        Some(text)
    };
    let first = reason(pending[0])?;
    let is_shared = pending[1..]
        .iter()
        .all(|op| reason(op).as_ref() == Some(&first));
    is_shared.then_some(first)
}

/// Running time of the first blocker of an operation, if it runs.
fn running_blocker(state: &State, d: &DeployView, op: &Operation, now: UnixMs) -> Option<String> {
    let (address, blocker) = d.blockers(op).into_iter().next()?;
    let running = d.operation(address);
    let running = running.filter(|_| blocker == Some(OperationState::Running))?;
    Some(elapsed(progress::worked_ms(state, d, running, now)))
}

/// Names the first blocker of an operation, and counts the others. If its heading has the blocker
/// already, only counts the others.
pub(super) fn note(
    state: &State,
    d: &DeployView,
    op: &Operation,
    word: &str,
    since: Option<String>,
) -> Line {
    let Some((mut l, others)) = blocker(d, op, word, since) else {
        return Line::new();
    };
    let more = doc::more_needs(op, others);
    if state.frame.shared_reason.is_some() {
        let text = more.replace(" more", " other blockers");
        return line(Role::Dim, text.trim_start());
    }
    l.push(doc::omittable(Role::Dim, more));
    l
}

/// Names the first blocker of an operation, failed ones first, and counts the others. If the
/// operation needs all instances of a resource, names the resource with the instances that block
/// it. `since` is the running time of the first blocker.
fn blocker(
    d: &DeployView,
    op: &Operation,
    word: &str,
    since: Option<String>,
) -> Option<(Line, usize)> {
    let all = d.blockers(op);
    let (first, state) = all.first()?;
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
        // The name is more important in a narrow column.
        doc::omittable(Role::Dim, format!("{word} ")),
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
        l.push(doc::omittable(Role::Dim, format!(" (running {since})")));
    }
    Some((l, all.len() - named))
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
