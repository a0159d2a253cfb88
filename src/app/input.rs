//! Applies input to the state: keys, pastes, mouse, resizes.

use super::key::{Input, Key, MouseAct};
use super::layout::Hit;
use super::list::Pane;
use super::msg::Effect;
use super::state::*;
use super::{command, layout, prompt_keys};

pub(super) fn on_input(state: &mut State, input: Input, effects: &mut Vec<Effect>) {
    match input {
        Input::Resize(w, h) => state.frame.size = (w, h),
        Input::Key(key) => on_key(state, key, effects),
        Input::Paste(text) => paste(state, &text),
        Input::Mouse { act, x, y } => on_mouse(state, act, x, y, effects),
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

fn on_mouse(state: &mut State, act: MouseAct, x: u16, y: u16, effects: &mut Vec<Effect>) {
    // Clicks act on the screen, which a popup covers.
    if state.frame.popup.is_some() || state.frame.prompt.is_some() || layout::too_small(state) {
        return;
    }
    // The same areas as in the frame, so a click hits the drawn row.
    let hit = layout::hit(state, x, y);
    match (act, hit) {
        (MouseAct::Down, Hit::Tab(x)) => {
            if let Some(screen) = layout::tab_at(state, x) {
                command::show(state, effects, screen);
            }
        }
        (MouseAct::Down, Hit::Row(i)) if i < state.frame.rows.len() => {
            state.list_mut().focus = Pane::List;
            state.log.follow &= state.context() != Context::Logs;
            command::goto(state, i);
        }
        (MouseAct::Down, Hit::Detail) if !state.list().zoom => {
            state.list_mut().focus = Pane::Detail
        }
        (MouseAct::Down, Hit::Border) => state.frame.dragging = true,
        (MouseAct::Drag, _) if state.frame.dragging => {
            let percent = if layout::is_side_by_side(state) {
                u32::from(x) * 100 / u32::from(state.frame.size.0.max(1))
            } else {
                let top = layout::areas(state).columns.y;
                let height = state.frame.size.1.saturating_sub(top + 2).max(1);
                u32::from(y.saturating_sub(top)) * 100 / u32::from(height)
            };
            state.frame.split = u16::try_from(percent).unwrap_or(50).clamp(25, 80);
        }
        // Anywhere, because the pointer may have left the border.
        (MouseAct::Up, _) => state.frame.dragging = false,
        (MouseAct::WheelDown | MouseAct::WheelUp, hit) => {
            let by = if act == MouseAct::WheelDown { 3 } else { -3 };
            if hit == Hit::Detail && state.context() != Context::Tracing {
                let scroll = state.list().scroll.saturating_add_signed(by);
                state.list_mut().scroll = scroll;
            } else {
                command::move_cursor(state, effects, by);
            }
        }
        _ => {}
    }
}
