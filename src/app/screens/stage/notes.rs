//! Notes of changes: the reason for their selection, dangers, and their most telling values.

use crate::app::doc::{self, Line, Role, changed_values, replaced_value, span};
use crate::app::format::count;
use crate::app::state::{ImpliedSelection, State};
use model::{Action, ChangeView, DESTROY_MODE};

/// Returns the change that the operator selected or deselected. The cause of an implied selection
/// is a direct dependency or dependent, and may be implied itself.
fn first_cause<'s>(state: &'s State, implied: &'s ImpliedSelection) -> &'s str {
    let mut first = &implied.cause;
    // Causes never form a circle; the bound holds for a broken record, too.
    for _ in 0..state.implied.len() {
        match state.implied.get(first) {
            Some(next) if next.selected == implied.selected => first = &next.cause,
            _ => break,
        }
    }
    first
}

/// Counts the commands and the copies of files of the provisioners, apart, because only commands
/// run code.
fn push_commands(c: &ChangeView, l: &mut Line) {
    let copies = c.commands.iter().filter(|command| command.copies).count();
    for (n, verb, noun) in [
        (c.commands.len() - copies, "runs", "command"),
        (copies, "copies", "file"),
    ] {
        if n > 0 {
            l.push(span(Role::Warn, format!("{verb} {} ", count(n, noun))));
        }
    }
}

/// Says that a deselected change still moves: its operation is left out, not the edit of the state.
fn push_move_of_deselected(c: &ChangeView, left: bool, l: &mut Line) {
    if let Some(from) = c.previous_address.as_ref().filter(|_| left) {
        l.push(span(Role::Warn, ", but moved from "));
        l.push(doc::address(Role::Warn, from));
    }
}

/// Returns the note of a change. Notes are ordered by importance, because rows are cut.
pub(super) fn change_note(state: &State, c: &ChangeView, left: bool) -> Line {
    let mut l = Line::new();
    if let Some(difference) = &state.stage_difference
        && difference.addresses.contains(&*c.address)
    {
        l.push(span(Role::Key, "• "));
    }
    // An unknown outcome comes first.
    if let Some(u) = state
        .unknown_of(&c.address)
        .filter(|u| !u.creation || c.action == Action::Create)
    {
        return doc::unknown_note(state, u);
    }
    if let Some(a) = state.implied.get(&c.address) {
        let word = if a.selected {
            "selected with "
        } else {
            "deselected with "
        };
        l.push(span(Role::Dim, word));
        l.push(doc::address(Role::Dim, first_cause(state, a)));
        push_move_of_deselected(c, left, &mut l);
        return l;
    }
    if left {
        l = vec![span(Role::Warn, "deselected")];
        push_move_of_deselected(c, left, &mut l);
        return l;
    }
    if let Some(n) = c.needs.iter().find(|n| state.view.left.contains(*n)) {
        l.push(span(Role::Bad, "▲ needs "));
        l.push(doc::address(Role::Bad, n));
        return l;
    }
    if c.drifted {
        l.push(span(Role::Warn, "drift "));
    }
    push_commands(c, &mut l);
    if let Some(by) = &c.import {
        l.push(span(Role::Plain, format!("import by {by} ")));
    }
    if let Some(p) = &c.previous_address {
        l.push(span(Role::Dim, "moved from "));
        l.push(doc::address(Role::Dim, p));
        return l;
    }
    let forcing: Vec<String> = c
        .attributes
        .iter()
        .filter(|a| a.forces_replacement)
        .map(|a| match a.sensitive || a.unknown {
            true => a.path.clone(),
            false => replaced_value(a),
        })
        .collect();
    let text = match c.action {
        _ if !forcing.is_empty() => vec![format!("forced by {}", forcing.join(", "))],
        Action::Destroy if c.why != DESTROY_MODE => vec![c.why.clone()],
        _ => changed_values(c, &state.frame.varying.1),
    };
    let mut values = doc::parts(&text);
    if left {
        values.iter_mut().for_each(|s| s.role = Role::Dim);
    }
    l.extend(values);
    l
}
