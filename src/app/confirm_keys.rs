//! Keys of popups that ask for a decision: trust in plugins, confirmations, faults of the demo.

use super::doc;
use super::key::{ENTER, Key, KeyCode, moved};
use super::msg::Effect;
use super::state::*;
use super::workspace_popup_keys;
use model::WorkspacePlugin;

/// Creates the confirmation that is needed before plugins shipped in the workspace are launched.
pub fn trust(plugins: &[WorkspacePlugin]) -> Popup {
    use doc::{Line, Role, line};
    let mut body = vec![
        line(
            Role::Plain,
            "These plugins are files of this workspace, for example from a cloned repository. They run with all your permissions.",
        ),
        line(
            Role::Dim,
            "Your trust is stored for exactly these files. Esc declines; flightdeck asks again when a plugin is needed.",
        ),
    ];
    for plugin in plugins {
        body.push(Line::new());
        body.push(line(Role::Warn, &plugin.address));
        body.push(line(Role::Plain, format!("  {}", plugin.executable)));
        body.push(line(Role::Dim, format!("  {}", plugin.digest)));
        if plugin.changed {
            body.push(line(Role::Bad, "  changed since you trusted it"));
        }
    }
    Popup::Confirm(Box::new(Confirm {
        title: "Launch the plugins shipped in this workspace?".to_owned(),
        body,
        yes: false,
        // This popup opens without a key press, so a key meant for the screen must not confirm it.
        typed: Some(("trust".to_owned(), super::entry::Entry::default())),
        effects: vec![Effect::Trust(plugins.to_vec())],
        after: After::Nothing,
        stage: None,
        scroll: 0,
    }))
}

pub(super) fn demo(state: &mut State, selected: usize, key: Key, effects: &mut Vec<Effect>) {
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
                selected: key.step().map_or(selected, |by| moved(selected, by, n)),
            });
        }
    }
}

pub(super) fn handle_confirm_key(
    state: &mut State,
    mut c: Box<Confirm>,
    key: Key,
    effects: &mut Vec<Effect>,
) {
    if let Some((want, entry)) = &mut c.typed {
        if key == ENTER {
            // Blanks around the text are no reason to refuse it.
            if entry.text().trim() == *want {
                accept(state, *c, effects);
            } else {
                state.show_error(format!("not confirmed: {want:?} was not typed"));
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
        // The preselected answer is "No".
        ENTER => return,
        Key {
            code: KeyCode::Left | KeyCode::Right | KeyCode::Tab | KeyCode::BackTab,
            ..
        } => c.yes = !c.yes,
        _ => {
            // Other keys scroll a body that is longer than the popup.
            let lines = c.body.len();
            c.scroll = key.step().map_or(c.scroll, |by| moved(c.scroll, by, lines));
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
        After::QuitWhenDone => {
            // The deploy may have ended while the popup was open.
            state.quit = !state.is_deploying();
            state.quits_after_deploy = true;
            state.show_message("the console quits when the deploy has ended");
        }
        After::Quit => state.quit = true,
        After::Installing => {
            // Discards the result of an earlier installation.
            state.view.install = None;
            state.frame.popup = Some(Popup::Installing { scroll: 0 });
        }
        After::Doctor => state.frame.popup = Some(Popup::Doctor { selected: 0 }),
        After::CreateWorkspace(name) => {
            workspace_popup_keys::create_confirmed(state, name, effects)
        }
    }
}
