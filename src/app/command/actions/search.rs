//! Commands that search and filter lists and details.

use super::cursor::goto;
use crate::app::entry::Entry;
use crate::app::msg::Effect;
use crate::app::state::*;
use crate::app::text::contains;
use crate::app::{layout, rows};

pub(super) fn clear_search(state: &mut State) {
    let list = state.list_mut();
    list.filter.clear();
    list.find.clear();
}

fn prompt(state: &mut State, kind: PromptKind) {
    let list = state.list();
    // A filter is corrected more often than replaced, and a search the other way round.
    let (text, shown) = match kind {
        PromptKind::Find => (list.find.clone(), ""),
        PromptKind::Filter => (list.filter.clone(), &*list.filter),
    };
    state.frame.prompt = Some(Prompt {
        kind,
        entry: Entry::new(shown),
        row_before: list.key.clone(),
        text_before: text,
        error: None,
        recalled: (0, String::new()),
    });
}

pub fn find(state: &mut State, _: &mut Vec<Effect>) {
    prompt(state, PromptKind::Find);
}

pub fn filter(state: &mut State, _: &mut Vec<Effect>) {
    prompt(state, PromptKind::Filter);
}

/// Moves to the next match, from the current row on and around the end. Searches the detail if it
/// has the focus.
pub fn move_to_match(state: &mut State, forward: bool, from_next: bool) {
    let needle = state.list().find.to_lowercase();
    if needle.is_empty() {
        return;
    }
    if layout::detail_has_keys(state) {
        seek_in_detail(state, &needle, forward, from_next);
        return;
    }
    let context = state.context();
    // Matches below folded nodes are found, too, and their nodes are unfolded.
    let unfolded = state
        .frame
        .tree
        .is_some()
        .then(|| rows::unfolded_rows(state));
    let all = unfolded.as_ref().unwrap_or(&state.frame.rows);
    let here = state.list().key.as_ref();
    let at = match &unfolded {
        Some(rows) => rows.iter().position(|r| Some(&r.key) == here).unwrap_or(0),
        None => state.list().index,
    };
    let n = all.len();
    let hit = (usize::from(from_next)..n + usize::from(from_next))
        .map(|step| {
            if forward {
                (at + step) % n
            } else {
                (at + n - step % n) % n
            }
        })
        .find(|i| !all[*i].heading && contains(&rows::text(state, context, &all[*i]), &needle));
    let hit = hit.map(|i| all[i].clone());
    let index = hit.and_then(|row| state.reveal(&row));
    match index {
        Some(i) => {
            // Following would move the cursor away from the match.
            if context == Context::Logs {
                state.log.follow = false;
            }
            goto(state, i);
        }
        None => state.show_error(format!("no match for {:?}", state.list().find.clone())),
    }
}

fn seek_in_detail(state: &mut State, needle: &str, forward: bool, from_next: bool) {
    let lines = state.wrapped_detail(layout::detail_size(state).0);
    let (n, at) = (lines.len(), state.list().scroll);
    let hit = (usize::from(from_next)..n + usize::from(from_next))
        .map(|step| {
            if forward {
                (at + step) % n
            } else {
                (at + n - step % n) % n
            }
        })
        .find(|i| contains(&crate::app::doc::plain(&lines[*i]), needle));
    match hit {
        Some(i) => state.list_mut().scroll = i,
        None => state.show_error("no match in the detail"),
    }
}

pub fn find_next(state: &mut State, _: &mut Vec<Effect>) {
    move_to_match(state, true, true);
}

pub fn find_previous(state: &mut State, _: &mut Vec<Effect>) {
    move_to_match(state, false, true);
}
