//! Rows of the current context (screen or view): filtered, and sorted as the operator chose.

use super::doc::{Doc, Line};
use super::filter::{Query, Texts};
use super::layout;
use super::list::{Row, Sort};
use super::screens::{detail_head, node_detail};
use super::state::{Context, State};
use super::tree::{Arrangement, Node, Tree};
use std::cmp::Ordering;
use std::sync::Arc;

#[cfg(test)]
thread_local! {
    /// Number of times that this thread has built the rows of a context.
    pub static BUILT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Rows of the current context.
#[derive(Debug, Default)]
pub struct Listed {
    pub rows: Vec<Row>,
    /// Number of leading rows that do not scroll.
    pub pinned: usize,
    /// Numbers of rows with and without the filter; headings and modules do not count.
    pub counts: (usize, usize),
    /// Tree that the rows are arranged in.
    pub tree: Option<Arc<Tree>>,
    /// Positions in the tree whose rows no filter hides.
    pub shown: Vec<bool>,
}

/// Returns the rows of the current context. Nodes of the tree are folded as the operator chose.
pub fn rows(state: &State) -> Listed {
    #[cfg(test)]
    BUILT.with(|n| n.set(n.get() + 1));
    arranged(state, &|node| state.trees.is_folded(state, node))
}

/// Returns the rows of the current context without any folded node.
pub fn unfolded_rows(state: &State) -> Vec<Row> {
    arranged(state, &|_| false).rows
}

fn arranged(state: &State, is_folded: &dyn Fn(&Node) -> bool) -> Listed {
    let flat = matching_rows(state);
    let Some(tree) = shown_tree(state) else {
        return flat;
    };
    let mut shown = vec![false; tree.leaf_count()];
    let mut inside = vec![None; tree.leaf_count()];
    let (mut listed, mut after) = (Vec::with_capacity(flat.rows.len()), Vec::<Row>::new());
    let (mut tree_heading, mut has_begun) = (None, false);
    for row in flat.rows {
        let at = tree.position(row.index).filter(|_| !row.heading);
        if let Some(at) = at {
            shown[at] = true;
        }
        match at {
            Some(at) if !row.outside => {
                let mut heading = None;
                while after.last().is_some_and(|r| r.heading) {
                    heading = after.pop();
                }
                if !has_begun {
                    has_begun = true;
                    listed.append(&mut after);
                    // The tree replaces the headings of its rows, except for the one that
                    // separates it from the rows above.
                    tree_heading = heading.filter(|_| !listed.is_empty());
                }
                inside[at] = Some(row);
            }
            _ => after.push(row),
        }
    }
    let how = Arrangement {
        is_folded,
        descending: state.list().descending,
    };
    listed.extend(tree_heading);
    listed.extend(tree.arrange(inside, &how));
    listed.extend(after);
    Listed {
        rows: listed,
        tree: Some(tree.clone()),
        shown,
        pinned: flat.pinned,
        counts: flat.counts,
    }
}

/// Returns true if the current list is a tree in a sort order.
pub fn is_tree_with(state: &State, sort: usize) -> bool {
    let context = state.context();
    let built = state.trees.built.get(&context);
    let info = context.of().tree.as_ref();
    !state.trees.flat
        && info.is_some_and(|info| info.sorts.contains(&sort))
        && built.is_some_and(|tree| !tree.is_flat())
}

/// Tree of the current context, if the list is shown as one.
fn shown_tree(state: &State) -> Option<&Arc<Tree>> {
    let built = state.trees.built.get(&state.context());
    built.filter(|_| is_tree_with(state, state.list().sort))
}

/// Builds the tree of the current context again if its addresses have changed.
pub(super) fn refresh_tree(state: &mut State) {
    let context = state.context();
    if !is_filtered(state) {
        state.trees.forget_filtered(context);
    }
    let Some(info) = &context.of().tree else {
        return;
    };
    let addresses = (info.addresses)(state);
    let built = state.trees.built.get(&context);
    if built.is_some_and(|tree| tree.is_of(&addresses)) {
        return;
    }
    let tree = Arc::new(Tree::new(&addresses));
    state.trees.built.insert(context, tree);
}

/// Returns true if a filter may hide rows of the current context.
pub fn is_filtered(state: &State) -> bool {
    !state.list().filter.is_empty()
}

/// Rows that match the filter, without a tree.
fn matching_rows(state: &State) -> Listed {
    let of = state.context().of();
    let (mut rows, pinned) = (of.rows)(state);
    let all = count_rows(&rows);
    let filter = &state.list().filter;
    let mut kept_pinned = pinned;
    // The prompt refuses an unusable query, so that an error here hides nothing.
    if !filter.is_empty()
        && let Ok(query) = Query::parse(filter, of.fields)
    {
        let keep: Vec<bool> = rows.iter().map(|r| is_match(state, &query, r)).collect();
        // The filter may remove pinned rows, too.
        kept_pinned = keep.iter().take(pinned).filter(|k| **k).count();
        let mut keep = keep.into_iter();
        rows.retain(|_| keep.next().unwrap_or_default());
    }
    Listed {
        counts: (count_rows(&rows), all),
        rows,
        pinned: kept_pinned,
        ..Listed::default()
    }
}

/// Number of rows that are no headings.
fn count_rows(rows: &[Row]) -> usize {
    rows.iter().filter(|r| !r.heading).count()
}

fn is_match(state: &State, query: &Query, row: &Row) -> bool {
    // Headings are hidden: their rows may be gone.
    if row.heading {
        return false;
    }
    let of = state.context().of();
    let all = (of.text)(state, row);
    query.matches(&Texts {
        name: row.key.text().unwrap_or(&all),
        all: &all,
        field: &|name| (of.field)(state, row, name),
    })
}

/// Sorts by a column; equal rows keep their natural order.
pub(super) fn sorted(
    state: &State,
    mut rows: Vec<Row>,
    compare: impl Fn(usize, &Row, &Row) -> Ordering,
) -> Vec<Row> {
    let list = state.list();
    if list.sort > 0 {
        rows.sort_by(|a, b| {
            let o = compare(list.sort, a, b);
            if list.descending { o.reverse() } else { o }
        });
    } else if list.descending {
        rows.reverse();
    }
    rows
}

/// Sort orders of a list; the first is the natural order.
pub fn sorts(context: Context) -> &'static [Sort] {
    context.of().sorts
}

/// Title of the column that sorts the list, and true if its largest value comes first.
pub fn sorted_column(state: &State) -> Option<(&'static str, bool)> {
    let list = state.list();
    let sort = sorts(state.context()).get(list.sort)?;
    (!sort.column.is_empty()).then_some((sort.column, sort.descending != list.descending))
}

/// Returns the detail of the row under the cursor.
pub fn detail(state: &State) -> Doc {
    let Some(row) = state.selected() else {
        return Doc::new();
    };
    let doc = match row.node() {
        Some(_) => node_detail(state, row),
        None => (state.context().of().detail)(state, row),
    };
    match detail_head(state, row) {
        // A border above the detail has it already.
        Some(head) if !layout::has_detail_title(state) => {
            [head, Line::new()].into_iter().chain(doc).collect()
        }
        _ => doc,
    }
}

/// Returns the search text of a row.
pub fn text(state: &State, context: Context, row: &Row) -> String {
    match row.node() {
        Some(_) => row.key.text().unwrap_or_default().to_owned(),
        None => context.of().found.unwrap_or(context.of().text)(state, row),
    }
}
