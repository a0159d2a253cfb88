//! Commands that move the cursor of a list or scroll a detail pane.

use crate::app::layout;
use crate::app::list::Pane;
use crate::app::msg::{Effect, TracingMove};
use crate::app::state::*;

/// Half a page of the focused pane, in lines.
fn half_page(state: &State) -> isize {
    let height = if layout::detail_has_keys(state) {
        layout::detail_size(state).1
    } else {
        layout::list_height(state)
    };
    isize::try_from((height / 2).max(1)).unwrap_or(1)
}

/// Moves the cursor, or scrolls the detail if it has the focus.
pub fn move_cursor(state: &mut State, effects: &mut Vec<Effect>, delta: isize) {
    if state.context() == Context::Tracing {
        let half = half_page(state).max(2);
        effects.push(Effect::Tracing(match delta {
            d if d >= half => TracingMove::PageDown,
            d if d <= -half => TracingMove::PageUp,
            d if d > 0 => TracingMove::Down,
            _ => TracingMove::Up,
        }));
    } else if layout::detail_has_keys(state) {
        let scroll = state.list().scroll.saturating_add_signed(delta);
        state.list_mut().scroll = scroll;
    } else {
        if state.context() == Context::Logs {
            state.log.follow = false;
        }
        // Taken out for the call, because the list borrows the state mutably.
        let rows = std::mem::take(&mut state.frame.rows);
        state.list_mut().step(&rows, delta);
        state.frame.rows = rows;
    }
}

pub fn down(state: &mut State, effects: &mut Vec<Effect>) {
    move_cursor(state, effects, 1);
}

pub fn up(state: &mut State, effects: &mut Vec<Effect>) {
    move_cursor(state, effects, -1);
}

pub fn page_down(state: &mut State, effects: &mut Vec<Effect>) {
    let n = half_page(state);
    move_cursor(state, effects, n);
}

pub fn page_up(state: &mut State, effects: &mut Vec<Effect>) {
    let n = half_page(state);
    move_cursor(state, effects, -n);
}

pub fn first(state: &mut State, _: &mut Vec<Effect>) {
    if layout::detail_has_keys(state) {
        state.list_mut().scroll = 0;
        return;
    }
    // Following would move the cursor back to the newest line.
    state.log.follow &= state.context() != Context::Logs;
    goto(state, 0);
}

pub fn last(state: &mut State, effects: &mut Vec<Effect>) {
    if state.context() == Context::Tracing {
        effects.push(Effect::Tracing(TracingMove::Follow));
    } else if layout::detail_has_keys(state) {
        // Clamped to the last page when the state is settled.
        state.list_mut().scroll = usize::MAX / 2;
    } else {
        if state.context() == Context::Logs {
            state.log.follow = true;
        }
        goto(state, usize::MAX);
    }
}

/// Moves the cursor to the row at an index.
pub fn goto(state: &mut State, index: usize) {
    let rows = std::mem::take(&mut state.frame.rows);
    let index = if index >= rows.len() {
        rows.iter().rposition(|r| !r.heading).unwrap_or(0)
    } else {
        index
    };
    let list = state.list_mut();
    list.moved = true;
    list.move_to(&rows, index);
    state.frame.rows = rows;
}

pub fn open_detail(state: &mut State, _: &mut Vec<Effect>) {
    if state.node().is_some() && !state.list().zoom {
        super::tree::toggle_node(state);
        return;
    }
    let list = state.list_mut();
    if list.zoom {
        return;
    }
    (list.zoom, list.focus, list.scroll) = (true, Pane::Detail, 0);
}

pub fn next_pane(state: &mut State, _: &mut Vec<Effect>) {
    let list = state.list_mut();
    list.focus = if list.focus == Pane::List {
        Pane::Detail
    } else {
        Pane::List
    };
}
