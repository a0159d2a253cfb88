//! Titles of screens and of their details: subject, counts and filters.

use super::{Line, Role, cells_of, fit_line, span};
use crate::app::state::State;

fn find_and_filter(l: &mut Line, state: &State) {
    let list = state.list();
    if !list.filter.is_empty() {
        l.push(span(Role::Plain, "   "));
        l.push(span(Role::Warn, format!("filter: {}", list.filter)));
    }
    if !list.find.is_empty() {
        l.push(span(Role::Plain, "   "));
        l.push(span(Role::Match, format!(" find: {} ", list.find)));
    }
}

/// Renders the title of the screen in `cells` cells. The subject is cut first; filters remain.
pub fn title(state: &State, cells: usize) -> Line {
    let mut tail = Line::new();
    // Measured first, because filters must stay visible in a narrow title.
    narrowed(&mut tail, state);
    let room = cells.saturating_sub(cells_of(&tail));
    let mut l = fit_line(subject(state), room);
    l.extend(tail);
    l
}

/// Adds the filters of the list.
fn narrowed(l: &mut Line, state: &State) {
    (state.context().of().write_filters)(state, l);
    find_and_filter(l, state);
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
