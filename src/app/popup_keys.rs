//! Keys of popups: lists, palette, cancel ladder.

use super::confirm_keys::{demo, handle_confirm_key};
use super::key::{ENTER, ESC, Key, KeyCode, moved};
use super::msg::Effect;
use super::state::*;
use super::{command, doc, workspace_popup_keys};
use model::CancelRung;
use model::ImportObject;

/// Handles a key while a popup is open.
pub fn popup(state: &mut State, popup: Popup, key: Key, effects: &mut Vec<Effect>) {
    let closes = key == ESC || key == Key::ctrl('c');
    match popup {
        _ if closes => {}
        Popup::Help { scroll } => {
            if key == Key::char('q') || key == Key::char('?') {
                return;
            }
            let lines = doc::help(state).len();
            state.frame.popup = Some(Popup::Help {
                scroll: key.step().map_or(scroll, |by| moved(scroll, by, lines)),
            });
        }
        Popup::Message { title, doc, scroll } => {
            if key == Key::char('q') || key == ENTER {
                return;
            }
            let scroll = key.step().map_or(scroll, |by| moved(scroll, by, doc.len()));
            state.frame.popup = Some(Popup::Message { title, doc, scroll });
        }
        Popup::Palette {
            entry,
            selected,
            chosen,
        } => palette(state, entry, (selected, chosen), key, effects),
        Popup::Ladder { selected } => handle_ladder_key(state, selected, key, effects),
        Popup::Demo { selected } => demo(state, selected, key, effects),
        Popup::Confirm(c) => handle_confirm_key(state, c, key, effects),
        Popup::Unknown { selected, refused } => unknown(state, selected, refused, key, effects),
        Popup::Workspaces { entry, selected } => {
            workspace_popup_keys::workspaces(state, entry, selected, key, effects)
        }
        Popup::Installing { scroll } => {
            workspace_popup_keys::installing(state, scroll, key, effects)
        }
        Popup::Doctor { selected } => workspace_popup_keys::doctor(state, selected, key, effects),
        Popup::Import { address, entry } => import(state, address, entry, key, effects),
    }
}

/// Handles keys in the list of unknown outcomes, where each can be settled.
fn unknown(state: &mut State, selected: usize, refused: bool, key: Key, effects: &mut Vec<Effect>) {
    if key == Key::char('q') || key == ENTER {
        return;
    }
    let n = state.view.unknown.len();
    let selected = key
        .step()
        .map_or(selected, |by| moved(selected, by, n))
        .min(n.saturating_sub(1));
    // Stays open for the next outcome; `open_unknown_once` closes it after the last one.
    state.frame.popup = Some(Popup::Unknown { selected, refused });
    let Some(u) = state.view.unknown.get(selected).cloned() else {
        return;
    };
    let done = match key {
        Key {
            code: KeyCode::Char('i'),
            ctrl: false,
            alt: false,
            // Only a creation has no object in the state; a staging reads the others back.
        } if u.creation => command::can_stage(state).map(|()| {
            let entry = super::entry::Entry::new(u.id.as_deref().unwrap_or_default());
            state.frame.popup = Some(Popup::Import {
                address: u.address.clone(),
                entry,
            });
        }),
        Key {
            code: KeyCode::Char('X'),
            ctrl: false,
            alt: false,
        } => command::can_stage(state).map(|()| state.frame.popup = Some(command::forget(&u))),
        Key {
            code: KeyCode::Char('T'),
            ctrl: false,
            alt: false,
        } if u.provisioner => {
            command::can_stage(state).map(|()| state.frame.popup = Some(command::untaint(&u)))
        }
        Key {
            code: KeyCode::Char('s'),
            ctrl: false,
            alt: false,
        } => command::can_stage(state).map(|()| {
            state.frame.popup = None;
            command::stage_again(state, effects);
        }),
        _ => Ok(()),
    };
    if let Err(why) = done {
        state.show_error(why);
    }
}

fn import(
    state: &mut State,
    address: String,
    mut entry: super::entry::Entry,
    key: Key,
    effects: &mut Vec<Effect>,
) {
    let id = entry.text().trim().to_owned();
    // An import without an id is impossible, so Enter does nothing then.
    if key != ENTER || id.is_empty() {
        entry.key(key);
        state.frame.popup = Some(Popup::Import { address, entry });
        return;
    }
    state.show_message(format!("importing {address} with id {id}"));
    effects.push(Effect::Import(ImportObject {
        address,
        id,
        ..ImportObject::default()
    }));
}

fn palette(
    state: &mut State,
    mut entry: super::entry::Entry,
    (selected, chosen): (usize, bool),
    key: Key,
    effects: &mut Vec<Effect>,
) {
    let found = command::matching(state, &entry.text());
    if key == ENTER {
        match found.get(selected) {
            // A few letters are not enough for a drastic command: the best match may be another
            // one.
            Some(c) if c.is_drastic() && !chosen && entry.text().trim() != c.name => {
                state.show_error(format!(
                    "the command did not run: type {:?} in full, or select it with the arrow keys",
                    c.name
                ));
                state.frame.popup = Some(Popup::Palette {
                    entry,
                    selected,
                    chosen,
                });
            }
            Some(c) => command::run(c, state, effects),
            None => {}
        }
        return;
    }
    // Letters are typed into the palette, so only other keys move the cursor.
    let by = if matches!(
        key,
        Key {
            code: KeyCode::Char(_),
            ctrl: false,
            ..
        }
    ) {
        None
    } else {
        key.step()
    };
    let (selected, chosen) = match by {
        Some(by) => (moved(selected, by, found.len()), true),
        None if entry.key(key) => (0, false),
        None => (selected, chosen),
    };
    state.frame.popup = Some(Popup::Palette {
        entry,
        selected,
        chosen,
    });
}

fn handle_ladder_key(state: &mut State, selected: usize, key: Key, effects: &mut Vec<Effect>) {
    if key == Key::char('q') {
        return;
    }
    let selected = match key {
        Key {
            code: KeyCode::Char(c @ '1'..='3'),
            ctrl: false,
            alt: false,
        } => c as usize - '1' as usize,
        _ => key
            .step()
            .map_or(selected, |by| moved(selected, by, doc::RUNGS.len())),
    };
    if key != ENTER {
        state.frame.popup = Some(Popup::Ladder { selected });
        return;
    }
    if let Err(why) = command::writable(state) {
        state.show_error(why);
        return;
    }
    let rung = doc::RUNGS[selected];
    // Only killing leaves unknown outcomes, so only it needs a confirmation.
    if rung != CancelRung::KillPlugins {
        effects.push(Effect::Cancel(rung));
        return;
    }
    let calls: Vec<_> = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some())
        .collect();
    let mut body = vec![doc::line(
        doc::Role::Bad,
        format!(
            "{} will have an unknown outcome:",
            super::format::count(calls.len(), "call")
        ),
    )];
    body.extend(calls.iter().map(|c| {
        doc::line(
            doc::Role::Plain,
            format!(
                "  {} {} of {}",
                c.method,
                c.resource.as_deref().unwrap_or(""),
                c.plugin
            ),
        )
    }));
    state.frame.popup = Some(Popup::Confirm(Box::new(Confirm {
        title: "Kill the plugins?".to_owned(),
        body,
        yes: false,
        typed: None,
        effects: vec![Effect::Cancel(rung)],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    })));
}
