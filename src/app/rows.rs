//! Rows of the current context (screen or view): filtered, and sorted as the operator chose.

use super::doc::Doc;
use super::filter::{Query, Texts};
use super::list::{Row, Sort};
use super::state::{Context, State};
use std::cmp::Ordering;

#[cfg(test)]
thread_local! {
    /// Number of times that this thread has built the rows of a context.
    pub static BUILT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Rows of a list.
pub struct Rows {
    pub rows: Vec<Row>,
    /// Number of leading rows that do not scroll.
    pub pinned: usize,
    /// Numbers of rows with and without the filter; headings do not count.
    pub counts: (usize, usize),
}

/// Returns the rows of the current context.
pub fn rows(state: &State) -> Rows {
    #[cfg(test)]
    BUILT.with(|n| n.set(n.get() + 1));
    let context = state.context();
    let of = context.of();
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
    Rows {
        counts: (count_rows(&rows), all),
        rows,
        pinned: kept_pinned,
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
    state
        .selected()
        .map(|row| (state.context().of().detail)(state, row))
        .unwrap_or_default()
}

/// Returns the search text of a row.
pub fn text(state: &State, context: Context, row: &Row) -> String {
    (context.of().text)(state, row)
}
