//! Trees of modules of all lists, and the nodes that the operator has folded.

use super::{Context, State};
use crate::app::list::Row;
use crate::app::refresh_lists;
use crate::app::rows::is_filtered;
use crate::app::tree::{Node, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Number of rows from which a tree starts folded, because its nodes are the better overview.
const MANY_ROWS: usize = 200;

/// Nodes of one tree that differ from the initial state of all of them.
#[derive(Debug, Clone, Default)]
struct Folds {
    /// State of all nodes, once the operator has set it.
    all: Option<bool>,
    differing: BTreeSet<String>,
}

/// Trees of all lists.
#[derive(Debug, Clone, Default)]
pub struct Trees {
    /// Lists are shown without their trees.
    pub flat: bool,
    pub built: BTreeMap<Context, Arc<Tree>>,
    /// By context. Filtered lists have their own, so that a fold never hides a match at first.
    folds: BTreeMap<(Context, bool), Folds>,
}

impl Trees {
    /// Returns true if the rows below a node are hidden.
    pub fn is_folded(&self, state: &State, node: &Node) -> bool {
        let key = (state.context(), is_filtered(state));
        let folds = self.folds.get(&key);
        let all = folds.and_then(|f| f.all).unwrap_or(self.initially(key));
        all != folds.is_some_and(|f| f.differing.contains(&node.key))
    }

    fn initially(&self, (context, filtered): (Context, bool)) -> bool {
        let rows = self.built.get(&context).map_or(0, |tree| tree.leaf_count());
        !filtered && rows >= MANY_ROWS
    }

    /// Drops the folds of a filtered list, because its filter is gone.
    pub fn forget_filtered(&mut self, context: Context) {
        self.folds.remove(&(context, true));
    }
}

impl State {
    /// Folds or unfolds a node of the current list.
    pub fn set_folded(&mut self, node: &Node, folded: bool) {
        let key = (self.context(), is_filtered(self));
        if self.trees.is_folded(self, node) == folded {
            return;
        }
        let folds = self.trees.folds.entry(key).or_default();
        if !folds.differing.remove(&node.key) {
            folds.differing.insert(node.key.clone());
        }
    }

    /// Unfolds the nodes around a row of the current list, and returns its index.
    pub fn reveal(&mut self, row: &Row) -> Option<usize> {
        let tree = self.frame.tree.clone();
        if let Some((tree, at)) = tree
            .as_ref()
            .and_then(|t| Some((t, t.position(row.index)?)))
        {
            for node in tree.around(at) {
                self.set_folded(node, false);
            }
            refresh_lists(self);
        }
        self.frame.rows.iter().position(|r| r.key == row.key)
    }

    /// Folds or unfolds all nodes of the current list.
    pub fn set_all_folded(&mut self, folded: bool) {
        let key = (self.context(), is_filtered(self));
        let folds = Folds {
            all: Some(folded),
            differing: BTreeSet::new(),
        };
        self.trees.folds.insert(key, folds);
    }

    /// Node under the cursor.
    pub fn node(&self) -> Option<&Node> {
        let at = self.selected()?.node()?.at;
        self.frame.tree.as_ref()?.node(at)
    }

    /// Indexes of the rows below a node that no filter hides, and of the hidden ones.
    pub fn below(&self, node: &Node) -> (Vec<usize>, Vec<usize>) {
        let Some(tree) = &self.frame.tree else {
            return (Vec::new(), Vec::new());
        };
        let is_shown = |at: &(usize, usize)| self.frame.shown.get(at.0).copied().unwrap_or(false);
        let (shown, hidden): (Vec<_>, Vec<_>) = tree.below(node).partition(is_shown);
        let indexes = |all: Vec<(usize, usize)>| all.into_iter().map(|(_, i)| i).collect();
        (indexes(shown), indexes(hidden))
    }
}
