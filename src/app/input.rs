//! Applies input to the state: keys, pastes, mouse, resizes.

use super::key::{Input, Key};
use super::mouse::on_mouse;
use super::msg::Effect;
use super::state::*;
use super::{command, layout, prompt_keys};

pub(super) fn on_input(state: &mut State, input: Input, effects: &mut Vec<Effect>) {
    if !matches!(input, Input::Resize(..)) {
        state.questions.operator_acts();
    }
    match input {
        Input::Resize(w, h) => state.frame.size = (w, h),
        Input::Key(key) => on_key(state, key, effects),
        Input::Paste(text) => paste(state, &text),
        Input::Mouse { act, x, y } => on_mouse(state, act, (x, y), effects),
        Input::Focus(focused) => state.frame.is_focused = focused,
        Input::Background(color) => state.frame.themes.light_terminal = color.is_light(),
    }
}

fn on_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    // Popups cover the screen, so they get keys first. Handlers put a popup back if it stays open.
    if let Some(popup) = state.frame.popup.take() {
        popup.key(state, key, effects);
    } else if let Some(p) = state.frame.prompt.take() {
        prompt_keys::prompt(state, p, key);
    } else if layout::too_small(state) {
        if matches!(key, k if k == Key::char('q') || k == Key::ctrl('c')) {
            // A running deploy is not left without the confirmation that cannot be shown here.
            state.ending.quit = !state.is_deploying();
        }
    } else if let Some(c) = state.options.keys.command(key, state.context()) {
        command::run(c, state, effects);
    } else {
        let help = state.options.keys.first("help");
        state.show_hint(format!(
            "`{key}`: no command on this screen; {help} lists the keys"
        ));
    }
}

fn paste(state: &mut State, text: &str) {
    if let Some(popup) = &mut state.frame.popup {
        popup.paste(text);
    } else if let Some(mut p) = state.frame.prompt.take() {
        p.entry.insert(text);
        prompt_keys::typed(state, p);
    }
    // Elsewhere a paste would act as keys of commands, so it is ignored. A confirmation must be
    // typed, not pasted.
}
