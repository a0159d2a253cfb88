//! Titles of screens and of their details: subject, counts and filters.

use super::{Line, Role, Span, cells_of, fit_line, span};
use crate::app::layout::detail_has_keys;
use crate::app::rows::{text, unfolded_rows};
use crate::app::state::State;
use crate::app::text::{contains, truncate_end, width};

/// Cells of the subject that the query of the filter leaves free in a narrow title.
const SUBJECT: usize = 16;

/// Fewest cells of the query.
const QUERY: usize = 8;

/// Renders the title of the screen in `cells` cells. The query of the filter is cut first, then the
/// subject.
pub fn title(state: &State, cells: usize) -> Line {
    // Measured first, because filters must stay visible in a narrow title.
    let tail = narrowed(state, cells.saturating_sub(SUBJECT));
    let room = cells.saturating_sub(cells_of(&tail));
    let mut l = with_dim_separators(fit_parts(subject(state), room));
    l.extend(tail);
    l
}

/// Takes the dots between parts out of the colours of the parts.
fn with_dim_separators(l: Line) -> Line {
    let parts = l
        .into_iter()
        .flat_map(|s| match s.text.strip_prefix(" · ") {
            Some(rest) => {
                let rest = span(s.role, rest);
                vec![span(Role::Dim, " · "), rest]
            }
            None => vec![s],
        });
    parts.collect()
}

/// Renders the filters of the list and its search, if possible in `cells` cells.
fn narrowed(state: &State, cells: usize) -> Line {
    let list = state.list();
    let mut l = Line::new();
    (state.context().of().write_filters)(state, &mut l);
    let mut find = Line::new();
    if !list.find.is_empty() {
        find.push(span(Role::Plain, "   "));
        find.push(span(Role::Match, format!(" find: {} ", list.find)));
        find.extend(found(state));
    }
    if !list.filter.is_empty() {
        let (shown, all) = state.frame.counts;
        let counts = span(Role::Plain, format!("   {shown} of {all}"));
        l.push(span(Role::Warn, "   filter: "));
        let used = cells_of(&l) + cells_of(&find) + width(&counts.text);
        let query = truncate_end(
            list.filter.trim_end(),
            cells.saturating_sub(used).max(QUERY),
        );
        l.push(span(Role::Warn, query));
        l.push(counts);
    }
    l.extend(find);
    l
}

/// Maximum number of rows whose matches are counted for each frame.
const COUNTED: usize = 5_000;

/// Position among the rows that the search matches, and their number.
fn found(state: &State) -> Option<Span> {
    let (list, context) = (state.list(), state.context());
    // A detail with the focus is searched instead of the list.
    if state.frame.rows.len() > COUNTED || detail_has_keys(state) {
        return None;
    }
    let needle = list.find.to_lowercase();
    let unfolded = state.frame.tree.as_ref().map(|_| unfolded_rows(state));
    let rows = unfolded.as_ref().unwrap_or(&state.frame.rows).iter();
    let hits: Vec<_> = rows
        .filter(|r| !r.heading && contains(&text(state, context, r), &needle))
        .collect();
    let at = hits.iter().position(|r| Some(&r.key) == list.key.as_ref());
    let text = match (at, hits.len()) {
        (_, 0) => " no match".to_owned(),
        (Some(at), n) => format!(" {} of {n}", at + 1),
        (None, n) => format!(" {n} found"),
    };
    Some(span(Role::Plain, text))
}

/// Leaves out parts of a title from the last one on, so that no word is cut. Parts start with
/// ` · `, explanations of a part with `: `.
fn fit_parts(mut l: Line, cells: usize) -> Line {
    while cells_of(&l) > cells {
        let is_part = |s: &Span| s.text.starts_with(" · ") || s.text.starts_with(": ");
        let Some(part) = l.iter().rposition(is_part) else {
            return fit_line(l, cells);
        };
        l.truncate(part);
    }
    l
}

/// Returns the subject of the screen.
fn subject(state: &State) -> Line {
    let mut l = vec![span(Role::Plain, " ")];
    (state.context().of().write_subject)(state, &mut l);
    l
}

/// Renders the title of the detail.
pub fn detail_title(state: &State) -> Line {
    let mut l = Line::new();
    (state.context().of().write_detail_title)(state, &mut l);
    l
}

/// Returns the bar below the title for a screen of `width` cells; empty for none.
pub fn title_bar(state: &State, width: u16) -> Line {
    let bar = state.context().of().bar;
    bar.map_or_else(Line::new, |bar| {
        bar(state, usize::from(width.saturating_sub(2)))
    })
}
