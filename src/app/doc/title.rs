//! Titles of screens and of their details: subject, counts and filters.

use super::{Line, Role, cells_of, fit_line, span};
use crate::app::state::State;
use crate::app::text::{truncate_end, width};

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
    let mut l = fit_parts(subject(state), room);
    l.extend(tail);
    l
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

/// Leaves out parts of a title from the last one on, so that no word is cut. Parts start with
/// ` · `.
fn fit_parts(mut l: Line, cells: usize) -> Line {
    let more = span(Role::Dim, " …");
    while cells_of(&l) > cells {
        let Some(part) = l.iter().rposition(|s| s.text.starts_with(" · ")) else {
            return fit_line(l, cells);
        };
        l.truncate(part);
        if cells_of(&l) + 2 <= cells {
            l.push(more);
            break;
        }
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
