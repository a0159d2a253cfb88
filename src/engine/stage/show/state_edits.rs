//! State edits of a stage that no change and no accepted drift shows, by kind, for display.

use crate::stage::change::{Drift, Stage};
use lang::addr::{AbsInstance, Mode};
use model::{StageMode, StateEditKind, StateEditView};
use std::collections::{BTreeMap, BTreeSet};
use store::records::StateEdit;

/// Returns the edits that every deploy of the stage makes beside its changes.
pub fn of(stage: &Stage) -> Vec<StateEditView> {
    // A refresh-only stage lists the edits of drifted objects as drift to accept.
    let drift = stage.drift.iter();
    let accepted = drift.filter(|_| stage.request.mode == StageMode::RefreshOnly);
    let accepted: BTreeSet<String> = accepted.map(drift_id).collect();
    let mut found: BTreeMap<StateEditKind, BTreeSet<String>> = BTreeMap::new();
    for edit in &stage.edits {
        let (what, address) = match edit {
            StateEdit::Put(o) if is_data(&o.address) => {
                (StateEditKind::Read, record_id(&o.address, &o.deposed))
            }
            StateEdit::Put(o) => (StateEditKind::Refreshed, record_id(&o.address, &o.deposed)),
            StateEdit::Remove { address, deposed } => {
                (StateEditKind::Removed, record_id(address, deposed))
            }
            // Plans have no other edits; moves follow.
            _ => continue,
        };
        if !accepted.contains(&address) {
            found.entry(what).or_default().insert(address);
        }
    }
    let moved = hidden_moves(stage, &accepted);
    if !moved.is_empty() {
        found.insert(StateEditKind::Moved, moved);
    }
    let views = found.into_iter().map(|(what, addresses)| StateEditView {
        what,
        addresses: addresses.into_iter().collect(),
    });
    views.collect()
}

/// Moves without a row of their own: a destruction does not name previous addresses.
fn hidden_moves(stage: &Stage, accepted: &BTreeSet<String>) -> BTreeSet<String> {
    // By the current address, with the first one: moves may be chained.
    let mut moves: BTreeMap<&str, &str> = BTreeMap::new();
    for edit in &stage.edits {
        if let StateEdit::Move { from, to } = edit {
            let first = moves.remove(from.as_str()).unwrap_or(from);
            moves.insert(to, first);
        }
    }
    let shown = stage.changes.iter().filter(|c| c.previous.is_some());
    let shown: BTreeSet<String> = shown.map(|c| c.address.to_string()).collect();
    let hidden = moves
        .into_iter()
        .filter(|(to, from)| to != from && !shown.contains(*to) && !accepted.contains(*to));
    hidden.map(|(to, from)| format!("{from} → {to}")).collect()
}

fn drift_id(drift: &Drift) -> String {
    record_id(
        &drift.address.to_string(),
        drift.deposed.as_deref().unwrap_or_default(),
    )
}

fn record_id(address: &str, deposed: &str) -> String {
    match deposed {
        "" => address.to_owned(),
        key => format!("{address} (deposed {key})"),
    }
}

fn is_data(address: &str) -> bool {
    let parsed = address.parse::<AbsInstance>();
    parsed.is_ok_and(|a| a.resource.mode == Mode::Data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::test_stages::{bare, stage};
    use model::Action;

    fn moved(from: &str, to: &str) -> StateEdit {
        let (from, to) = (from.to_owned(), to.to_owned());
        StateEdit::Move { from, to }
    }

    fn removed(address: &str, deposed: &str) -> StateEdit {
        let (address, deposed) = (address.to_owned(), deposed.to_owned());
        StateEdit::Remove { address, deposed }
    }

    #[test]
    fn edits_without_a_row_of_a_change_are_listed_by_kind() {
        let shown = || {
            let mut change = bare("x_y.new", Action::NoOp, &[], &[]);
            change.previous = Some("x_y.old".parse().unwrap());
            change
        };
        let destroyed = || bare("x_y.new", Action::Destroy, &[], &[]);
        for (edits, change, expected) in [
            (vec![], shown(), ""),
            (vec![moved("x_y.old", "x_y.new")], shown(), ""),
            // A destruction has no previous address, but its move runs.
            (
                vec![moved("x_y.old", "x_y.new")],
                destroyed(),
                "move 1 record of an object: x_y.old → x_y.new",
            ),
            // A chain of moves is one move, and a move back none.
            (
                vec![moved("x_y.a", "x_y.b"), moved("x_y.b", "x_y.c")],
                shown(),
                "move 1 record of an object: x_y.a → x_y.c",
            ),
            (
                vec![moved("x_y.a", "x_y.b"), moved("x_y.b", "x_y.a")],
                shown(),
                "",
            ),
            (
                vec![removed("x_y.b", "k1"), removed("data.x_y.a", "")],
                shown(),
                "remove 2 records of objects: data.x_y.a, x_y.b (deposed k1)",
            ),
        ] {
            let mut staged = stage(vec![change]);
            staged.edits = edits;
            let lines = of(&staged);
            let lines = lines
                .iter()
                .map(|e| format!("{}: {}", e.text(), e.addresses.join(", ")));
            assert_eq!(lines.collect::<Vec<_>>().join("; "), expected);
        }
    }
}
