//! Keys of the prompts for search and filter.

use super::command;
use super::entry::Entry;
use super::filter::Query;
use super::key::{ENTER, ESC, Key, KeyCode};
use super::list::RowKey;
use super::state::*;

/// Handles a key while a prompt is open.
pub fn prompt(state: &mut State, mut p: Prompt, key: Key) {
    match key {
        ESC => {
            let list = state.list_mut();
            list.key = p.row_before;
            *text_of(list, p.kind) = p.text_before;
            return;
        }
        // Unlike Esc, Ctrl-C leaves the cursor on the match.
        _ if key == Key::ctrl('c') => {
            *text_of(state.list_mut(), p.kind) = p.text_before;
            return;
        }
        ENTER if p.error.is_some() => {
            state.frame.prompt = Some(p);
            return;
        }
        ENTER if p.kind == PromptKind::Filter => {
            let query = state.list().filter.clone();
            state.filters.remember(&query);
            return;
        }
        // Without a text, the last search is repeated.
        ENTER if p.entry.text().is_empty() => {
            state.list_mut().find = p.text_before;
            command::move_to_match(state, true, true);
            return;
        }
        ENTER => return,
        Key {
            code: code @ (KeyCode::Down | KeyCode::Up),
            ..
        } if p.kind == PromptKind::Filter => {
            recall(&state.filters.history, &mut p, code == KeyCode::Up);
            return typed(state, p);
        }
        Key {
            code: KeyCode::Down | KeyCode::Up,
            ..
        } => {
            // Moves between matches without closing the prompt.
            command::move_to_match(state, key.code == KeyCode::Down, true);
            state.frame.prompt = Some(p);
            return;
        }
        _ => {}
    }
    if !p.entry.key(key) {
        state.frame.prompt = Some(p);
        return;
    }
    typed(state, p);
}

/// Puts an earlier or later query of the history into the prompt.
fn recall(history: &[String], p: &mut Prompt, earlier: bool) {
    let (steps, draft) = &mut p.recalled;
    if *steps == 0 {
        *draft = p.entry.text();
    }
    *steps = match earlier {
        true => (*steps + 1).min(history.len()),
        false => steps.saturating_sub(1),
    };
    let text = match *steps {
        0 => draft,
        n => &history[history.len() - n],
    };
    p.entry = Entry::new(text);
}

/// Applies the changed text to the list at once. The list keeps its filter if the text is unusable.
pub fn typed(state: &mut State, mut p: Prompt) {
    let text = p.entry.text();
    p.error = match p.kind {
        PromptKind::Find => None,
        PromptKind::Filter => Query::parse(&text, state.context().of().fields)
            .err()
            .map(|e| e.to_string()),
    };
    if p.error.is_none() {
        *text_of(state.list_mut(), p.kind) = text;
    }
    let (kind, before): (PromptKind, Option<RowKey>) = (p.kind, p.row_before.clone());
    state.frame.prompt = Some(p);
    if kind == PromptKind::Find {
        // Each search starts from the original row, so that a longer text does not skip matches.
        if let Some(b) = before {
            state.list_mut().key = Some(b);
        }
        super::update::update_cursor(state);
        let toast = state.frame.toast.clone();
        command::move_to_match(state, true, false);
        // The prompt itself shows that nothing matches yet.
        state.frame.toast = toast;
    }
}

fn text_of(list: &mut super::list::ListState, kind: PromptKind) -> &mut String {
    match kind {
        PromptKind::Find => &mut list.find,
        PromptKind::Filter => &mut list.filter,
    }
}
