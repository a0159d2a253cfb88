//! Keys while a word is typed: for a search, a filter, a confirmation.

use super::command;
use super::key::{ENTER, ESC, Key, KeyCode};
use super::list::RowKey;
use super::state::*;

/// A key while a line is typed.
pub fn prompt(state: &mut State, mut p: Prompt, key: Key) {
    match key {
        ESC => {
            let list = state.list_mut();
            list.key = p.before;
            *text_of(list, p.kind) = p.text_before;
            return;
        }
        _ if key == Key::ctrl('c') => {
            *text_of(state.list_mut(), p.kind) = p.text_before;
            return;
        }
        ENTER => return,
        Key {
            code: KeyCode::Down | KeyCode::Up,
            ..
        } => {
            // Through the hits while typing.
            command::seek(state, key.code == KeyCode::Down, true);
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

/// After the line has changed: the list follows at once.
pub fn typed(state: &mut State, p: Prompt) {
    let text = p.entry.text();
    *text_of(state.list_mut(), p.kind) = text;
    let (kind, before): (PromptKind, Option<RowKey>) = (p.kind, p.before.clone());
    state.frame.prompt = Some(p);
    if kind == PromptKind::Find {
        if let Some(b) = before {
            state.list_mut().key = Some(b);
        }
        super::settle(state);
        let toast = state.frame.toast.clone();
        command::seek(state, true, false);
        // That nothing matches yet is shown by the prompt itself.
        state.frame.toast = toast;
    }
}

fn text_of(list: &mut super::list::ListState, kind: PromptKind) -> &mut String {
    match kind {
        PromptKind::Find => &mut list.find,
        PromptKind::Filter => &mut list.filter,
    }
}
