//! Commands that select and deselect changes, one or all on the screen.

use super::availability::writable;
use crate::app::msg::Effect;
use crate::app::state::*;
use model::Select;
use model::{Action, ChangeView};

fn stage_id(state: &State) -> Option<i64> {
    state.view.stage.as_ref().map(|s| s.stage)
}

pub(super) fn is_selected(state: &State, c: &ChangeView) -> bool {
    !state.view.left.contains(&c.address)
}

pub fn toggle_change(state: &mut State, effects: &mut Vec<Effect>) {
    let (Some(stage), Some(c)) = (stage_id(state), state.change()) else {
        return;
    };
    let address = c.address.clone();
    let select = if is_selected(state, c) {
        Select::Leave(address)
    } else {
        Select::Take(address)
    };
    effects.push(Effect::Select(stage, vec![select]));
}

pub fn deselect_change(state: &mut State, effects: &mut Vec<Effect>) {
    let (Some(stage), Some(c)) = (stage_id(state), state.change()) else {
        return;
    };
    if is_selected(state, c) {
        effects.push(Effect::Select(
            stage,
            vec![Select::Leave(c.address.clone())],
        ));
    } else {
        state.show_message("already deselected");
    }
}

/// Returns the changes on the screen; commands never act on hidden ones.
pub(super) fn on_screen(state: &State) -> Vec<&ChangeView> {
    let Some(s) = &state.view.stage else {
        return Vec::new();
    };
    state
        .frame
        .rows
        .iter()
        .filter_map(|r| s.changes.get(r.index))
        .filter(|c| c.action != Action::NoOp)
        .collect()
}

fn is_unfiltered(state: &State) -> bool {
    state.list().filter.is_empty()
}

fn select_many(
    state: &State,
    effects: &mut Vec<Effect>,
    all: Select,
    one: impl Fn(&ChangeView) -> Option<Select>,
) {
    if writable(state).is_err() {
        return;
    }
    let Some(stage) = stage_id(state) else { return };
    // Without a filter all changes are on the screen, and one request covers them.
    let selects = if is_unfiltered(state) {
        vec![all]
    } else {
        on_screen(state).into_iter().filter_map(one).collect()
    };
    if !selects.is_empty() {
        effects.push(Effect::Select(stage, selects));
    }
}

pub fn select_all(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::All, |c| {
        (!is_selected(state, c)).then(|| Select::Take(c.address.clone()))
    });
}

pub fn deselect_all(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::None, |c| {
        is_selected(state, c).then(|| Select::Leave(c.address.clone()))
    });
}

pub fn invert(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::Invert, |c| {
        let address = c.address.clone();
        Some(if is_selected(state, c) {
            Select::Leave(address)
        } else {
            Select::Take(address)
        })
    });
}
