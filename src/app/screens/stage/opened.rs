//! Title of a stage: its age, and its difference from the workspace and the stage before it.

use crate::app::doc::{Line, Role, cells_of, span};
use crate::app::format::elapsed;
use crate::app::state::State;
use crate::app::text::width;
use model::StageSummary;

/// Age in milliseconds from which the title has it.
const OLD: i64 = 10 * 60 * 1_000;

/// Age of an older stage. A message has told the duration of the planning.
pub(super) fn age(state: &State, s: &StageSummary) -> Option<String> {
    let age = state.now - s.at;
    (age >= OLD).then(|| format!("planned {} ago", elapsed(age)))
}

/// Appends the difference between the stage and the workspace, if there is one.
pub(super) fn write_outdated(state: &State, l: &mut Line) {
    let Some(what) = state.view.outdated() else {
        return;
    };
    let what = what.lines().next().unwrap_or_default();
    let whole = format!(" · out of date: {what}");
    // The whole reason or none of it: every key that needs the stage names it.
    let fits = cells_of(l) + width(&whole) + 2 <= usize::from(state.frame.size.0);
    l.push(span(
        Role::Bad,
        if fits { &whole } else { " · out of date" },
    ));
    let key = state.options.keys.first("stage");
    l.push(span(Role::Plain, format!(" · {key} stages again")));
}

/// Appends that each save stages again, and the number of differences from the stage before.
pub(super) fn write_saves(state: &State, l: &mut Line) {
    if state.stages_on_save {
        l.push(span(Role::Key, " · stages at each save"));
    }
    if let Some(difference) = &state.stage_difference
        && state.view.outdated().is_none()
    {
        let text = format!(" · {}", difference.text());
        l.push(span(Role::Key, text));
    }
}
