//! Applies the mouse to the state. The layout says what is below the pointer, as it was drawn.

use super::command::Command;
use super::key::{ENTER, Key, KeyCode, MouseAct};
use super::layout::{Hit, PopupHit};
use super::list::Pane;
use super::msg::Effect;
use super::state::*;
use super::{command, layout};

/// Rows that one step of the wheel moves.
const WHEEL: isize = 3;

pub(super) fn on_mouse(
    state: &mut State,
    act: MouseAct,
    (x, y): (u16, u16),
    effects: &mut Vec<Effect>,
) {
    // A prompt takes the keys until it is closed, and clicks would change its list.
    if state.frame.prompt.is_some() || layout::too_small(state) {
        return;
    }
    if let Some(hit) = layout::popup_hit(state, x, y) {
        on_popup(state, act, hit, effects);
        return;
    }
    match (act, layout::hit(state, x, y)) {
        (MouseAct::Double, Hit::Row { index, column }) => {
            double_click(state, index, column, effects)
        }
        (MouseAct::Down | MouseAct::Double, hit) => click(state, hit, effects),
        (MouseAct::Drag, _) if state.frame.dragging => drag(state, x, y),
        // Anywhere, because the pointer may have left the border.
        (MouseAct::Up, _) => state.frame.dragging = false,
        (MouseAct::WheelDown, hit) => scroll(state, hit, WHEEL, effects),
        (MouseAct::WheelUp, hit) => scroll(state, hit, -WHEEL, effects),
        _ => {}
    }
}

fn click(state: &mut State, hit: Hit, effects: &mut Vec<Effect>) {
    match hit {
        Hit::Tab(screen) => command::show(state, effects, screen),
        Hit::Command(name) => {
            if let Some(c) = command::named(name) {
                command::run(c, state, effects);
            }
        }
        Hit::Heading(title) => command::sort_by_column(state, title, effects),
        Hit::Row { index, column } if index < state.frame.rows.len() => {
            state.list_mut().focus = Pane::List;
            state.log.follow &= state.context() != Context::Logs;
            command::goto(state, index);
            // The cursor skips headings, which have no checkbox.
            if let Some(c) = checkbox_command(state, column)
                && state.list().index == index
            {
                command::run(c, state, effects);
            }
        }
        Hit::Detail if !state.list().zoom => state.list_mut().focus = Pane::Detail,
        Hit::Border => state.frame.dragging = true,
        _ => {}
    }
}

/// Opens the row, like the key Enter. Only a row that the first click has selected: rows may have
/// moved since.
fn double_click(state: &mut State, index: usize, column: Option<usize>, effects: &mut Vec<Effect>) {
    if index != state.list().index || checkbox_command(state, column).is_some() {
        click(state, Hit::Row { index, column }, effects);
    } else if let Some(c) = state.options.keys.command(ENTER, state.context()) {
        command::run(c, state, effects);
    }
}

/// Command of the checkbox in a column of the list.
fn checkbox_command(state: &State, column: Option<usize>) -> Option<&'static Command> {
    let (at, name) = state.context().of().checkbox?;
    (column == Some(at)).then(|| command::named(name)).flatten()
}

fn drag(state: &mut State, x: u16, y: u16) {
    let percent = if layout::is_side_by_side(state) {
        u32::from(x) * 100 / u32::from(state.frame.size.0.max(1))
    } else {
        let top = layout::areas(state).columns.y;
        let height = state.frame.size.1.saturating_sub(top + 2).max(1);
        u32::from(y.saturating_sub(top)) * 100 / u32::from(height)
    };
    state.frame.split = u16::try_from(percent).unwrap_or(50).clamp(25, 80);
}

fn scroll(state: &mut State, hit: Hit, by: isize, effects: &mut Vec<Effect>) {
    if hit == Hit::Detail && state.context() != Context::Tracing {
        let scroll = state.list().scroll.saturating_add_signed(by);
        state.list_mut().scroll = scroll;
    } else {
        command::move_cursor(state, effects, by);
    }
}

fn on_popup(state: &mut State, act: MouseAct, hit: PopupHit, effects: &mut Vec<Effect>) {
    match (act, hit) {
        // A question stays open until it is answered.
        (MouseAct::Down | MouseAct::Double, PopupHit::Outside)
            if state.frame.popup.as_ref().is_some_and(Popup::is_harmless) =>
        {
            state.frame.popup = None;
        }
        (MouseAct::Down | MouseAct::Double, PopupHit::Row(row)) => {
            select(state, row, (KeyCode::Up, KeyCode::Down), effects)
        }
        (MouseAct::Down | MouseAct::Double, PopupHit::Choice(choice)) => {
            select(state, choice, (KeyCode::Left, KeyCode::Right), effects)
        }
        (MouseAct::WheelDown, _) => press(state, KeyCode::Down, effects),
        (MouseAct::WheelUp, _) => press(state, KeyCode::Up, effects),
        _ => {}
    }
}

fn press(state: &mut State, code: KeyCode, effects: &mut Vec<Effect>) {
    if let Some(popup) = state.frame.popup.take() {
        popup.key(state, Key::plain(code), effects);
    }
}

/// Moves the mark of the open popup to a row or choice with its own keys, so that each popup has
/// one way to move it. An entry of several lines is selected by each of them.
fn select(
    state: &mut State,
    wanted: usize,
    (back, forward): (KeyCode, KeyCode),
    effects: &mut Vec<Effect>,
) {
    // Each step moves the mark, so that its first repetition ends the loop.
    while let Some(at) = layout::popup_mark(state) {
        let step = if at < wanted { forward } else { back };
        if at == wanted {
            return;
        }
        press(state, step, effects);
        let Some(now) = layout::popup_mark(state).filter(|now| *now != at) else {
            return;
        };
        if at < wanted && now > wanted {
            press(state, back, effects);
            return;
        }
        if at > wanted && now < wanted {
            return;
        }
    }
}
