//! Commands of the tree of modules: fold, unfold, and switch to the flat list.

use super::cursor::{goto, move_cursor};
use crate::app::command::Available;
use crate::app::list::RowKey;
use crate::app::msg::Effect;
use crate::app::state::*;
use crate::app::tree::Node;

/// Requires a list that is shown as a tree.
pub fn has_tree(state: &State) -> Available {
    if state.frame.tree.is_some() {
        Ok(())
    } else if state.list().zoom {
        Err("the detail fills the screen: esc closes it".into())
    } else if state.trees.flat {
        Err("the list is flat: T shows the tree of modules".into())
    } else if !has_modules(state) {
        Err("this list has no modules".into())
    } else {
        Err("the list is sorted by another column than the address".into())
    }
}

/// Requires a list with modules or with many instances of a resource.
pub fn can_be_tree(state: &State) -> Available {
    if has_modules(state) {
        Ok(())
    } else {
        Err("this list has no modules".into())
    }
}

fn has_modules(state: &State) -> bool {
    let tree = state.trees.built.get(&state.context());
    tree.is_some_and(|tree| !tree.is_flat())
}

/// Folds the node under the cursor, or moves to the node around the row.
pub fn fold(state: &mut State, _: &mut Vec<Effect>) {
    let Some(row) = state.selected() else { return };
    if row.node().is_some_and(|node| !node.folded) {
        set_folded(state, true);
        return;
    }
    let (index, depth) = (state.list().index, row.depth());
    let around = (0..index).rev().find(|i| {
        let row = &state.frame.rows[*i];
        row.node().is_some() && row.depth() < depth
    });
    match around {
        Some(i) => goto(state, i),
        None => state.show_message("no module around this row"),
    }
}

/// Unfolds the node under the cursor, or moves to the first row below it.
pub fn unfold(state: &mut State, effects: &mut Vec<Effect>) {
    match state.selected().and_then(|row| row.node()) {
        Some(node) if node.folded => set_folded(state, false),
        Some(_) => move_cursor(state, effects, 1),
        None => state.show_message("this row is no module"),
    }
}

/// Folds or unfolds the node under the cursor.
pub(super) fn toggle_node(state: &mut State) {
    let folded = state
        .selected()
        .and_then(|row| row.node())
        .map(|n| n.folded);
    if let Some(folded) = folded {
        set_folded(state, !folded);
    }
}

fn set_folded(state: &mut State, folded: bool) {
    if let Some(node) = state.node().cloned() {
        state.set_folded(&node, folded);
    }
}

/// Folds all nodes, or unfolds them if none is open.
pub fn fold_all(state: &mut State, _: &mut Vec<Effect>) {
    let is_open = |row: &crate::app::list::Row| row.node().is_some_and(|n| !n.folded);
    let folded = state.frame.rows.iter().any(is_open);
    if folded && let Some(outermost) = outermost(state) {
        // The row under the cursor disappears, and the node around it represents it.
        state.list_mut().key = Some(RowKey::Text(outermost.key));
    }
    state.set_all_folded(folded);
    state.show_message(if folded {
        "all modules folded"
    } else {
        "all modules unfolded"
    });
}

/// Outermost node around the row under the cursor.
fn outermost(state: &State) -> Option<Node> {
    let row = state.selected()?;
    row.place.as_ref()?;
    let tree = state.frame.tree.as_ref()?;
    let position = match state.node() {
        Some(node) => node.leaves.start,
        None => tree.position(row.index)?,
    };
    tree.around(position).next().cloned()
}

/// Shows the list as a tree, or as a flat list.
pub fn toggle_tree(state: &mut State, _: &mut Vec<Effect>) {
    state.trees.flat = !state.trees.flat;
    state.show_message(if state.trees.flat {
        "flat list"
    } else {
        "tree of modules"
    });
}
