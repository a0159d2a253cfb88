//! Commands that select and deselect changes: one, a range, those of a module, or all on the
//! screen; and undo and redo of these.

use super::availability::can_select;
use super::cursor::move_cursor;
use crate::app::command::Available;
use crate::app::format::count;
use crate::app::list::Row;
use crate::app::msg::Effect;
use crate::app::popups::{HiddenRows, SavedSelections};
use crate::app::state::*;
use model::ChangeView;
use model::Select;

fn stage_id(state: &State) -> Option<i64> {
    state.view.stage.as_ref().map(|s| s.stage)
}

pub(super) fn is_selected(state: &State, c: &ChangeView) -> bool {
    !state.view.left.contains(&c.address)
}

/// Changes that a command acts on.
#[derive(Default)]
struct Targets {
    shown: Vec<String>,
    /// Changes below a module that the filter hides.
    hidden: Vec<String>,
}

impl Targets {
    fn add_row(&mut self, state: &State, row: &Row) {
        let address = |index: usize| {
            let c = state.view.stage.as_ref()?.changes.get(index)?;
            c.is_selectable().then(|| c.address.clone())
        };
        let node = state.frame.tree.as_ref().zip(row.node());
        let Some(node) = node.and_then(|(tree, node)| tree.node(node.at)) else {
            self.shown.extend(address(row.index));
            return;
        };
        let (shown, hidden) = state.below(node);
        self.shown.extend(shown.into_iter().filter_map(address));
        self.hidden.extend(hidden.into_iter().filter_map(address));
    }
}

/// Rows of the range, or the row under the cursor.
pub(super) fn marked_rows(state: &State) -> Vec<&Row> {
    match state.range() {
        Some((first, last)) if first < last => {
            let rows = state.frame.rows[first..=last].iter();
            // The rows of an open module are in the range themselves.
            rows.filter(|row| row.node().is_none_or(|node| node.folded))
                .collect()
        }
        _ => state.selected().into_iter().collect(),
    }
}

/// Changes of the range, or of the row under the cursor.
fn targets(state: &State) -> Targets {
    let mut targets = Targets::default();
    for row in marked_rows(state) {
        targets.add_row(state, row);
    }
    targets
}

/// Requires a change, or a module or a range with one, that can be selected or deselected.
pub fn on_changes(state: &State) -> Available {
    can_select(state)?;
    if !targets(state).shown.is_empty() {
        Ok(())
    } else if state.change().is_some() {
        Err("this resource has no change".into())
    } else {
        Err("no change under the cursor".into())
    }
}

/// Selects the changes of the range or row if one of them is not selected, otherwise deselects
/// them.
pub fn toggle_change(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(stage) = stage_id(state) else { return };
    let Targets { shown, hidden } = targets(state);
    let take = shown.iter().any(|a| state.view.left.contains(a));
    state.list_mut().range = None;
    if hidden.is_empty() {
        select_addresses(state, effects, take, shown);
    } else {
        state.open(HiddenRows::new(stage, take, shown, hidden));
    }
}

/// Requests to select or deselect changes.
pub fn select_addresses(
    state: &mut State,
    effects: &mut Vec<Effect>,
    take: bool,
    addresses: Vec<String>,
) {
    let Some(stage) = stage_id(state) else { return };
    if addresses.len() > 1 {
        let word = if take { "selected" } else { "deselected" };
        state.show_message(format!("{} {word}", count(addresses.len(), "change")));
    }
    effects.push(Effect::Select(stage, vec![request(take, addresses)]));
}

fn request(take: bool, mut addresses: Vec<String>) -> Select {
    match (addresses.len(), take) {
        (1, true) => Select::Take(addresses.remove(0)),
        (1, false) => Select::Leave(addresses.remove(0)),
        _ => Select::Many { take, addresses },
    }
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

/// Returns the changes on the screen, also below folded modules; commands never act on hidden ones.
pub(super) fn on_screen(state: &State) -> Vec<&ChangeView> {
    let Some(s) = &state.view.stage else {
        return Vec::new();
    };
    let listed = state.frame.rows.iter().map(|r| r.index);
    let folded = state.frame.tree.iter().flat_map(|tree| {
        let shown = state.frame.shown.iter().enumerate();
        shown
            .filter(|(_, shown)| **shown)
            .map(|(at, _)| tree.index(at))
    });
    let indexes: std::collections::BTreeSet<usize> = listed.chain(folded).collect();
    indexes
        .into_iter()
        .filter_map(|i| s.changes.get(i))
        .filter(|c| c.is_selectable())
        .collect()
}

/// Requests a selection of all changes on the screen. `all` covers them without a filter.
fn select_many(
    state: &mut State,
    effects: &mut Vec<Effect>,
    all: Select,
    takes: impl Fn(&State, &ChangeView) -> Option<bool>,
) {
    let Some(stage) = stage_id(state).filter(|_| can_select(state).is_ok()) else {
        return;
    };
    // Without a filter all changes are on the screen, and one request covers them.
    if !crate::app::rows::is_filtered(state) {
        effects.push(Effect::Select(stage, vec![all]));
        return;
    }
    let addresses = |take: bool| -> Vec<String> {
        let wanted = |c: &&ChangeView| takes(state, c) == Some(take);
        let all = on_screen(state).into_iter().filter(wanted);
        all.map(|c| c.address.clone()).collect()
    };
    let selects: Vec<Select> = [false, true]
        .into_iter()
        .map(|take| (take, addresses(take)))
        .filter(|(_, addresses)| !addresses.is_empty())
        .map(|(take, addresses)| request(take, addresses))
        .collect();
    if !selects.is_empty() {
        effects.push(Effect::Select(stage, selects));
    }
}

/// Selects all changes on the screen, or deselects them if all are selected.
pub fn select_all(state: &mut State, effects: &mut Vec<Effect>) {
    if on_screen(state).into_iter().all(|c| is_selected(state, c)) {
        deselect_all(state, effects);
        return;
    }
    select_many(state, effects, Select::All, |state, c| {
        (!is_selected(state, c)).then_some(true)
    });
}

pub fn deselect_all(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::None, |state, c| {
        is_selected(state, c).then_some(false)
    });
}

pub fn invert(state: &mut State, effects: &mut Vec<Effect>) {
    select_many(state, effects, Select::Invert, |state, c| {
        Some(!is_selected(state, c))
    });
}

/// Requires a list with rows.
pub fn can_range(state: &State) -> Available {
    if state.list().zoom {
        Err("the detail fills the screen: esc closes it".into())
    } else {
        super::has_row(state)
    }
}

/// Starts a range at the cursor, or ends it.
pub fn toggle_range(state: &mut State, _: &mut Vec<Effect>) {
    if state.list_mut().range.take().is_some() {
        return;
    }
    start_range(state);
}

fn start_range(state: &mut State) {
    let key = state.selected().map(|r| r.key.clone());
    let list = state.list_mut();
    if list.range.is_none() {
        list.range = key;
    }
}

pub fn extend_down(state: &mut State, effects: &mut Vec<Effect>) {
    start_range(state);
    move_cursor(state, effects, 1);
}

pub fn extend_up(state: &mut State, effects: &mut Vec<Effect>) {
    start_range(state);
    move_cursor(state, effects, -1);
}

pub fn show_selections(state: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::LoadSelections);
    state.open(SavedSelections::default());
}

/// Requires an earlier selection of this stage.
pub fn can_undo(state: &State) -> Available {
    can_select(state)?;
    if state.selections.can_undo() {
        Ok(())
    } else {
        Err("nothing to undo since this stage was planned".into())
    }
}

/// Requires a selection that was undone.
pub fn can_redo(state: &State) -> Available {
    can_select(state)?;
    if state.selections.can_redo() {
        Ok(())
    } else {
        Err("nothing to redo".into())
    }
}

pub fn undo(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some((left, what)) = state.selections.undo() {
        restore(state, effects, left, format!("undone: {what}"));
    }
}

pub fn redo(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some((left, what)) = state.selections.redo() {
        restore(state, effects, left, format!("redone: {what}"));
    }
}

fn restore(state: &mut State, effects: &mut Vec<Effect>, left: Vec<String>, text: String) {
    let Some(stage) = stage_id(state) else { return };
    effects.push(Effect::Select(stage, vec![Select::Except(left)]));
    state.show_message(text);
}
