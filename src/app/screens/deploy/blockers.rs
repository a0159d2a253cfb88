//! Notes that name the operations that block another one.

use super::symbol;
use crate::app::doc::{self, Line, Role, span};
use model::view::DeployView;
use model::{Operation, OperationState};

/// Maximum number of instances in the note of an operation that needs all of them.
const KEYS: usize = 2;

/// Names the first blocker of an operation, failed ones first. If the operation needs all instances
/// of a resource, names the resource with the instances that block it.
pub(super) fn note(d: &DeployView, op: &Operation, word: &str) -> Line {
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
    let mut l = vec![
        span(Role::Dim, format!("{word} ")),
        doc::address(Role::Plain, address),
    ];
    if let (Some(word), Some(state)) = (what, state) {
        let role = symbol(*state).1;
        l.push(span(role, " ("));
        if !keys.is_empty() {
            l.push(doc::omittable(role, format!("{keys} ")));
        }
        l.push(span(role, format!("{word})")));
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
