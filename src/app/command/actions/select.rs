//! Commands that select and deselect changes, one or all on the screen.

use super::ready::writable;
use crate::app::msg::Effect;
use crate::app::state::*;
use crate::engine::words::Select;
use crate::engine::words::{Action, ChangeView};

fn stage_id(state: &State) -> Option<i64> {
    state.view.stage.as_ref().map(|s| s.stage)
}

pub(super) fn taken(state: &State, c: &ChangeView) -> bool {
    !state.view.left.contains(&c.address)
}

pub fn toggle_change(state: &mut State, effects: &mut Vec<Effect>) {
    let (Some(stage), Some(c)) = (stage_id(state), state.change()) else {
        return;
    };
    let address = c.address.clone();
    let select = if taken(state, c) {
        Select::Leave(address)
    } else {
        Select::Take(address)
    };
    effects.push(Effect::Select(stage, vec![select]));
}

pub fn leave_change(state: &mut State, effects: &mut Vec<Effect>) {
    let (Some(stage), Some(c)) = (stage_id(state), state.change()) else {
        return;
    };
    if taken(state, c) {
        effects.push(Effect::Select(
            stage,
            vec![Select::Leave(c.address.clone())],
        ));
    } else {
        state.say("already deselected");
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

fn whole(state: &State) -> bool {
    state.filters.action.is_none() && state.list().filter.is_empty()
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
    let selects = if whole(state) {
        vec![all]
    } else {
        on_screen(state).into_iter().filter_map(one).collect()
    };
    if !selects.is_empty() {
        effects.push(Effect::Select(stage, selects));
    }
}

pub fn take_all(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::All, |c| {
        (!taken(state, c)).then(|| Select::Take(c.address.clone()))
    });
}

pub fn take_none(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::None, |c| {
        taken(state, c).then(|| Select::Leave(c.address.clone()))
    });
}

pub fn invert(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::Invert, |c| {
        let address = c.address.clone();
        Some(if taken(state, c) {
            Select::Leave(address)
        } else {
            Select::Take(address)
        })
    });
}
