//! Keys while something lies over the screen: popups, and the line that is typed in the footer.

use super::command;
use super::doc;
use super::key::{Key, KeyCode};
use super::list::RowKey;
use super::msg::Effect;
use super::state::*;
use crate::engine::words::{CancelRung, ImportObject, WorkspacePlugin};

const ESC: Key = Key::plain(KeyCode::Esc);
const ENTER: Key = Key::plain(KeyCode::Enter);

/// How far a key moves in a list; `None` where it does not.
fn step(key: Key) -> Option<isize> {
    Some(match key {
        Key {
            code: KeyCode::Down,
            ..
        }
        | Key {
            code: KeyCode::Char('j'),
            ctrl: false,
            ..
        }
        | Key {
            code: KeyCode::Char('n'),
            ctrl: true,
            ..
        } => 1,
        Key {
            code: KeyCode::Up, ..
        }
        | Key {
            code: KeyCode::Char('k'),
            ctrl: false,
            ..
        }
        | Key {
            code: KeyCode::Char('p'),
            ctrl: true,
            ..
        } => -1,
        Key {
            code: KeyCode::PageDown,
            ..
        }
        | Key {
            code: KeyCode::Char('d'),
            ctrl: true,
            ..
        } => 10,
        Key {
            code: KeyCode::PageUp,
            ..
        }
        | Key {
            code: KeyCode::Char('u'),
            ctrl: true,
            ..
        } => -10,
        Key {
            code: KeyCode::Home,
            ..
        }
        | Key {
            code: KeyCode::Char('g'),
            ctrl: false,
            ..
        } => -100_000,
        Key {
            code: KeyCode::End, ..
        }
        | Key {
            code: KeyCode::Char('G'),
            ctrl: false,
            ..
        } => 100_000,
        _ => return None,
    })
}

fn moved(at: usize, by: isize, len: usize) -> usize {
    at.saturating_add_signed(by).min(len.saturating_sub(1))
}

/// A key while a popup is open.
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
                scroll: step(key).map_or(scroll, |by| moved(scroll, by, lines)),
            });
        }
        Popup::Message { title, doc, scroll } => {
            if key == Key::char('q') || key == ENTER {
                return;
            }
            let scroll = step(key).map_or(scroll, |by| moved(scroll, by, doc.len()));
            state.frame.popup = Some(Popup::Message { title, doc, scroll });
        }
        Popup::Palette { entry, selected } => palette(state, entry, selected, key, effects),
        Popup::Ladder { selected } => ladder(state, selected, key, effects),
        Popup::Demo { selected } => demo(state, selected, key, effects),
        Popup::Confirm(c) => confirm(state, c, key, effects),
        Popup::Unknown { selected, refused } => unknown(state, selected, refused, key, effects),
        Popup::Import { address, entry } => import(state, address, entry, key, effects),
    }
}

/// In the list of what is unknown: each is settled from here.
fn unknown(state: &mut State, selected: usize, refused: bool, key: Key, effects: &mut Vec<Effect>) {
    if key == Key::char('q') || key == ENTER {
        return;
    }
    let n = state.view.unknown.len();
    let selected = step(key)
        .map_or(selected, |by| moved(selected, by, n))
        .min(n.saturating_sub(1));
    state.frame.popup = Some(Popup::Unknown { selected, refused });
    let Some(u) = state.view.unknown.get(selected).cloned() else {
        return;
    };
    let done = match key {
        Key {
            code: KeyCode::Char('i'),
            ctrl: false,
            alt: false,
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
        state.complain(why);
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
    if key != ENTER || id.is_empty() {
        entry.key(key);
        state.frame.popup = Some(Popup::Import { address, entry });
        return;
    }
    state.say(format!("taking in {address} as {id}"));
    effects.push(Effect::Import(ImportObject {
        address,
        id,
        ..ImportObject::default()
    }));
}

fn palette(
    state: &mut State,
    mut entry: super::entry::Entry,
    selected: usize,
    key: Key,
    effects: &mut Vec<Effect>,
) {
    let found = command::matching(state, &entry.text());
    if key == ENTER {
        if let Some(c) = found.get(selected) {
            command::run(c, state, effects);
        }
        return;
    }
    // Letters are typed here, so only keys that are no letters move.
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
        step(key)
    };
    let selected = match by {
        Some(by) => moved(selected, by, found.len()),
        None if entry.key(key) => 0,
        None => selected,
    };
    state.frame.popup = Some(Popup::Palette { entry, selected });
}

fn ladder(state: &mut State, selected: usize, key: Key, effects: &mut Vec<Effect>) {
    if key == Key::char('q') {
        return;
    }
    let selected = match key {
        Key {
            code: KeyCode::Char(c @ '1'..='3'),
            ctrl: false,
            alt: false,
        } => c as usize - '1' as usize,
        _ => step(key).map_or(selected, |by| moved(selected, by, doc::RUNGS.len())),
    };
    if key != ENTER {
        state.frame.popup = Some(Popup::Ladder { selected });
        return;
    }
    if let Err(why) = command::writable(state) {
        state.complain(why);
        return;
    }
    let rung = doc::RUNGS[selected];
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
        title: "kill the plugins?".to_owned(),
        body,
        yes: false,
        typed: None,
        effects: vec![Effect::Cancel(rung)],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    })));
}

/// The question before plugins are launched that came with the workspace's own files.
pub fn trust(plugins: &[WorkspacePlugin]) -> Popup {
    use doc::{Line, Role, line};
    let mut body = vec![
        line(
            Role::Plain,
            "They came with the files of this workspace, as a clone brings them, and would run with all that you may do.",
        ),
        line(
            Role::Dim,
            "A yes is remembered for these very files. No leaves them; whatever needs them asks again.",
        ),
    ];
    for plugin in plugins {
        body.push(Line::new());
        body.push(line(Role::Warn, &plugin.address));
        body.push(line(Role::Plain, format!("  {}", plugin.executable)));
        body.push(line(Role::Dim, format!("  {}", plugin.digest)));
        if plugin.changed {
            body.push(line(
                Role::Bad,
                "  it is not what a yes was given for before",
            ));
        }
    }
    Popup::Confirm(Box::new(Confirm {
        title: "launch the workspace's own plugins?".to_owned(),
        body,
        yes: false,
        // It comes by itself: a key that was meant for the screen must not answer it.
        typed: Some(("trust".to_owned(), super::entry::Entry::default())),
        effects: vec![Effect::Trust(plugins.to_vec())],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    }))
}

fn demo(state: &mut State, selected: usize, key: Key, effects: &mut Vec<Effect>) {
    if key == Key::char('q') {
        return;
    }
    let by_key = match key {
        Key {
            code: KeyCode::Char(c),
            ctrl: false,
            alt: false,
        } => state.faults.iter().position(|f| f.key == c),
        ENTER => Some(selected),
        _ => None,
    };
    match by_key.and_then(|i| state.faults.get(i)) {
        Some(f) => effects.push(Effect::Demo(f.id.clone())),
        None => {
            let n = state.faults.len();
            state.frame.popup = Some(Popup::Demo {
                selected: step(key).map_or(selected, |by| moved(selected, by, n)),
            });
        }
    }
}

fn confirm(state: &mut State, mut c: Box<Confirm>, key: Key, effects: &mut Vec<Effect>) {
    if let Some((want, entry)) = &mut c.typed {
        if key == ENTER {
            if entry.text().trim() == *want {
                accept(state, *c, effects);
            } else {
                state.complain(format!("not done: {want:?} was not typed"));
            }
            return;
        }
        entry.key(key);
        state.frame.popup = Some(Popup::Confirm(c));
        return;
    }
    match key {
        Key {
            code: KeyCode::Char('y' | 'Y'),
            ctrl: false,
            alt: false,
        } => return accept(state, *c, effects),
        Key {
            code: KeyCode::Char('n' | 'N' | 'q'),
            ctrl: false,
            alt: false,
        } => return,
        ENTER if c.yes => return accept(state, *c, effects),
        ENTER => return,
        Key {
            code: KeyCode::Left | KeyCode::Right | KeyCode::Tab | KeyCode::BackTab,
            ..
        } => c.yes = !c.yes,
        _ => {
            let lines = c.body.len();
            c.scroll = step(key).map_or(c.scroll, |by| moved(c.scroll, by, lines));
        }
    }
    state.frame.popup = Some(Popup::Confirm(c));
}

fn accept(state: &mut State, c: Confirm, effects: &mut Vec<Effect>) {
    effects.extend(c.effects);
    match c.after {
        After::Nothing => {}
        After::Goto(screen) => {
            state.screen = screen;
            state.list_mut().zoom = false;
        }
        After::Leave => {
            // It may have ended while the question was open.
            state.quit = !state.deploying();
            state.leaving = true;
            state.say("leaving when what runs has ended");
        }
        After::Quit => state.quit = true,
    }
}

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
