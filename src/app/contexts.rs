//! Table with the properties of each [`Context`] (a screen, or a view opened on it): sort orders,
//! and the functions that return its rows, their texts and their details.

mod detail;
mod text;

use super::doc::{Doc, Line, stage_title, title as about};
use super::list::Row;
use super::rows;
use super::state::{Context, State};

/// Properties of a context.
pub struct OfContext {
    pub context: Context,
    /// Title in the help.
    pub word: &'static str,
    /// Its rows have a detail.
    pub has_detail: bool,
    /// Its list has column headings.
    pub has_columns: bool,
    /// Its detail is beside the list if the screen is wide enough.
    pub side_by_side: bool,
    /// Names of the sort orders; the first is the natural order.
    pub sorts: &'static [&'static str],
    /// Returns its rows, and the number of leading rows that do not scroll.
    pub rows: fn(&State) -> (Vec<Row>, usize),
    /// Returns the text of a row that a search looks at.
    pub text: fn(&State, &Row) -> String,
    pub detail: fn(&State, &Row) -> Doc,
    /// Appends the subject to the title of the screen.
    pub about: fn(&State, &mut Line),
}

const NATURAL: &[&str] = &["natural order"];

/// Rows in the order of [`Context`].
static CONTEXTS: [OfContext; Context::COUNT] = [
    OfContext {
        context: Context::Plugins,
        word: "Plugins",
        has_detail: true,
        has_columns: true,
        side_by_side: false,
        sorts: &["name", "state", "memory", "processor", "95th percentile"],
        rows: |s| (rows::plugins(s), 0),
        text: text::plugins,
        detail: detail::plugins,
        about: about::plugins,
    },
    OfContext {
        context: Context::Schema,
        word: "Schema browser",
        has_detail: false,
        has_columns: false,
        side_by_side: false,
        sorts: NATURAL,
        rows: |s| (rows::schema(s), 0),
        text: text::schema,
        detail: detail::nothing,
        about: about::plugins,
    },
    OfContext {
        context: Context::Calls,
        word: "Calls",
        has_detail: true,
        has_columns: true,
        side_by_side: false,
        sorts: &["slot", "elapsed", "method"],
        rows: |s| (rows::calls(s), 0),
        text: text::calls,
        detail: detail::calls,
        about: about::calls,
    },
    OfContext {
        context: Context::Stage,
        word: "Stage",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: &["dependency", "action", "address"],
        rows: |s| (rows::stage(s), 0),
        text: text::stage,
        detail: detail::stage,
        about: stage_title::stage,
    },
    OfContext {
        context: Context::Deploy,
        word: "Deploy",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: NATURAL,
        rows: rows::deploy,
        text: text::deploy,
        detail: detail::deploy,
        about: stage_title::deploy,
    },
    OfContext {
        context: Context::History,
        word: "History",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: &["newest", "duration", "outcome"],
        rows: |s| (rows::history(s), 0),
        text: text::history,
        detail: detail::history,
        about: about::history,
    },
    OfContext {
        context: Context::Replay,
        word: "Replay of a deploy",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: NATURAL,
        rows: rows::deploy,
        text: text::deploy,
        detail: detail::deploy,
        about: stage_title::deploy,
    },
    OfContext {
        context: Context::Failures,
        word: "Failures",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: NATURAL,
        rows: |s| (rows::failures(s), 0),
        text: text::failures,
        detail: detail::failures,
        about: about::failures,
    },
    OfContext {
        context: Context::State,
        word: "State",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: &["module", "provider", "dependents"],
        rows: |s| (rows::resources(s), 0),
        text: text::resources,
        detail: detail::resources,
        about: about::resources,
    },
    OfContext {
        context: Context::Logs,
        word: "Logs",
        has_detail: true,
        has_columns: false,
        side_by_side: false,
        sorts: NATURAL,
        rows: |s| (rows::logs(s), 0),
        text: text::logs,
        detail: detail::logs,
        about: about::logs,
    },
    OfContext {
        context: Context::Tracing,
        word: "The engine's own log",
        has_detail: false,
        has_columns: false,
        side_by_side: true,
        sorts: NATURAL,
        rows: |_| (Vec::new(), 0),
        text: text::nothing,
        detail: detail::nothing,
        about: about::tracing,
    },
];

impl Context {
    /// Returns the properties of the context.
    pub fn of(self) -> &'static OfContext {
        &CONTEXTS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_context_has_its_own_row() {
        for (n, row) in CONTEXTS.iter().enumerate() {
            assert_eq!((row.context as usize, row.context.of().word), (n, row.word));
            assert!(!row.sorts.is_empty());
        }
    }
}
