//! Table with the properties of each [`Context`] (a screen, or a view opened on it): sort orders,
//! and the functions that return its rows, their texts and their details.

mod detail;
mod text;

use super::doc::{Doc, Line, stage_title, title as about};
use super::list::Row;
use super::rows;
use super::state::{Context, State};

/// Properties of a context.
pub struct ContextInfo {
    pub context: Context,
    /// Title in the help.
    pub title: &'static str,
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
    pub write_subject: fn(&State, &mut Line),
}

const NATURAL: &[&str] = &["natural order"];

/// Rows in the order of [`Context`].
static CONTEXTS: [ContextInfo; Context::COUNT] = [
    ContextInfo {
        context: Context::Plugins,
        title: "Plugins",
        has_detail: true,
        has_columns: true,
        side_by_side: false,
        sorts: &["name", "state", "memory", "processor", "95th percentile"],
        rows: |s| (rows::plugins(s), 0),
        text: text::plugins,
        detail: detail::plugins,
        write_subject: about::plugins,
    },
    ContextInfo {
        context: Context::Schema,
        title: "Schema browser",
        has_detail: false,
        has_columns: false,
        side_by_side: false,
        sorts: NATURAL,
        rows: |s| (rows::schema(s), 0),
        text: text::schema,
        detail: detail::empty_detail,
        write_subject: about::plugins,
    },
    ContextInfo {
        context: Context::Calls,
        title: "Calls",
        has_detail: true,
        has_columns: true,
        side_by_side: false,
        sorts: &["slot", "elapsed", "method"],
        rows: |s| (rows::calls(s), 0),
        text: text::calls,
        detail: detail::calls,
        write_subject: about::calls,
    },
    ContextInfo {
        context: Context::Stage,
        title: "Stage",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: &["dependency", "action", "address"],
        rows: |s| (rows::stage(s), 0),
        text: text::stage,
        detail: detail::stage,
        write_subject: stage_title::stage,
    },
    ContextInfo {
        context: Context::Deploy,
        title: "Deploy",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: NATURAL,
        rows: rows::deploy,
        text: text::deploy,
        detail: detail::deploy,
        write_subject: stage_title::deploy,
    },
    ContextInfo {
        context: Context::History,
        title: "History",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: &["newest", "duration", "outcome"],
        rows: |s| (rows::history(s), 0),
        text: text::history,
        detail: detail::history,
        write_subject: about::history,
    },
    ContextInfo {
        context: Context::Replay,
        title: "Replay of a deploy",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: NATURAL,
        rows: rows::deploy,
        text: text::deploy,
        detail: detail::deploy,
        write_subject: stage_title::deploy,
    },
    ContextInfo {
        context: Context::Failures,
        title: "Failures",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: NATURAL,
        rows: |s| (rows::failures(s), 0),
        text: text::failures,
        detail: detail::failures,
        write_subject: about::failures,
    },
    ContextInfo {
        context: Context::State,
        title: "State",
        has_detail: true,
        has_columns: true,
        side_by_side: true,
        sorts: &["module", "provider", "dependents"],
        rows: |s| (rows::resources(s), 0),
        text: text::resources,
        detail: detail::resources,
        write_subject: about::resources,
    },
    ContextInfo {
        context: Context::Logs,
        title: "Logs",
        has_detail: true,
        has_columns: false,
        side_by_side: false,
        sorts: NATURAL,
        rows: |s| (rows::logs(s), 0),
        text: text::logs,
        detail: detail::logs,
        write_subject: about::logs,
    },
    ContextInfo {
        context: Context::Tracing,
        title: "The engine's own log",
        has_detail: false,
        has_columns: false,
        side_by_side: true,
        sorts: NATURAL,
        rows: |_| (Vec::new(), 0),
        text: text::empty_text,
        detail: detail::empty_detail,
        write_subject: about::tracing,
    },
];

impl Context {
    /// Returns the properties of the context.
    pub fn of(self) -> &'static ContextInfo {
        &CONTEXTS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_rows_are_in_the_order_of_the_enum() {
        for (n, row) in CONTEXTS.iter().enumerate() {
            assert_eq!(
                (row.context as usize, row.context.of().title),
                (n, row.title)
            );
            assert!(!row.sorts.is_empty());
        }
    }
}
