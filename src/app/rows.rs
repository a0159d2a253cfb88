//! Rows of the current context (screen or view): filtered, and sorted as the operator chose.

use super::doc::Doc;
use super::list::Row;
use super::state::{Context, State};
use super::text::contains;
use std::cmp::Ordering;

#[cfg(test)]
thread_local! {
    /// Number of times that this thread has built the rows of a context.
    pub static BUILT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the rows of the current context, and the number of leading rows that do not scroll.
pub fn rows(state: &State) -> (Vec<Row>, usize) {
    #[cfg(test)]
    BUILT.with(|n| n.set(n.get() + 1));
    let context = state.context();
    let of = context.of();
    let (mut rows, pinned) = (of.rows)(state);
    let filter = state.list().filter.to_lowercase();
    if !filter.is_empty() {
        // Headings are hidden: their rows may be gone.
        let keep = |r: &Row| !r.heading && contains(&(of.text)(state, r), &filter);
        // The filter may remove pinned rows, too.
        let kept_pinned = rows.iter().take(pinned).filter(|r| keep(r)).count();
        rows.retain(keep);
        return (rows, kept_pinned);
    }
    (rows, pinned)
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

/// Names of the sort orders of a list; the first is the natural order.
pub fn sorts(context: Context) -> &'static [&'static str] {
    context.of().sorts
}

/// Returns the detail of the row under the cursor.
pub fn detail(state: &State) -> Doc {
    state
        .selected()
        .map(|row| (state.context().of().detail)(state, row))
        .unwrap_or_default()
}

/// Returns the search text of a row.
pub fn text(state: &State, context: Context, row: &Row) -> String {
    (context.of().text)(state, row)
}
