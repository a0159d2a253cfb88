//! Screens of the console and the views opened on them, one file for each screen: rows, columns,
//! cells, details and texts. Help, footer, palette, layout and drawing use the tables below, so a
//! new screen needs its file, a row of `screens!` and a command that shows it.

mod calls;
mod deploy;
mod groups;
mod history;
mod logs;
mod nodes;
mod plugins;
mod resources;
mod stage;
mod start;

use super::column::Column;
use super::doc::{Doc, Line, Role, diagnostics, line, span};
use super::filter::{Field, module_value, type_of};
use super::format::count;
use super::list::{Row, RowKey, Sort, ascending};
use super::msg::Effect;
use super::state::{LoadError, State};
pub use deploy::{axis_cells, shared_reason};
pub use logs::{causes, folded_lines, is_settled, settled};
pub use nodes::{TreeInfo, node_detail};
pub use plugins::is_unfolded;

/// Properties of a [`Screen`].
pub struct ScreenInfo {
    /// Returns the screen's view that is open.
    pub current: fn(&State) -> Context,
    /// Returns the request that loads the data of the screen, when it is shown.
    pub load: fn() -> Option<Effect>,
}

/// Declares [`Screen`] and [`Context`] with the tables of their properties: for each screen its
/// properties, and its views with their properties.
macro_rules! screens {
    ($($screen:ident = $info:path { $($context:ident = $of:path),+ })+) => {
        /// Screens, in the order of their keys.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Screen { $($screen),+ }

        impl Screen {
            pub const ALL: &[Self] = &[$(Self::$screen),+];

            /// Returns the properties of the screen.
            pub fn of(self) -> &'static ScreenInfo {
                match self { $(Self::$screen => &$info),+ }
            }

            /// Label of its tab.
            pub fn label(self) -> &'static str {
                match self { $(Self::$screen => stringify!($screen)),+ }
            }
        }

        /// View that has its own list: a screen, or a view opened on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Context { $($($context),+),+ }

        impl Context {
            pub const ALL: &[Self] = &[$($(Self::$context),+),+];

            /// Returns the properties of the context.
            pub fn of(self) -> &'static ContextInfo {
                match self { $($(Self::$context => &$of),+),+ }
            }
        }
    };
}

screens! {
    Start = start::SCREEN { Start = start::START }
    Plugins = plugins::SCREEN { Plugins = plugins::PLUGINS, Schema = plugins::SCHEMA }
    Calls = calls::SCREEN { Calls = calls::CALLS }
    Stage = stage::SCREEN { Stage = stage::STAGE }
    Deploy = deploy::SCREEN { Deploy = deploy::DEPLOY }
    History = history::SCREEN {
        History = history::HISTORY, Replay = deploy::REPLAY, Failures = history::FAILURES
    }
    State = resources::SCREEN { State = resources::RESOURCES }
    Logs = logs::SCREEN { Logs = logs::LOGS, Tracing = logs::TRACING }
    Groups = groups::SCREEN { Groups = groups::GROUPS }
}

/// Place of the detail of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailPlace {
    /// The rows have no detail.
    None,
    /// The detail fills the screen when it is opened.
    Zoomed,
    /// Below the list.
    Below,
    /// Beside the list if the screen is wide enough, otherwise below it.
    Beside,
}

/// Contents of the list.
pub enum Body {
    /// Rows in columns.
    Table {
        columns: &'static [Column],
        /// Returns the cells of a row, one for each column.
        cells: fn(&State, &Row) -> Vec<Line>,
    },
    /// Log lines of the plugins.
    Log,
    /// The engine's own log, which tui-logger owns.
    Tracing,
}

/// Properties of a [`Context`].
pub struct ContextInfo {
    /// Title in the help.
    pub title: &'static str,
    pub body: Body,
    pub detail_place: DetailPlace,
    /// Column whose click runs a command on its row.
    pub checkbox: Option<(usize, &'static str)>,
    /// Charts of calls are above the list.
    pub has_charts: bool,
    /// Sort orders; the first is the natural order.
    pub sorts: &'static [Sort],
    /// Returns its rows, and the number of leading rows that do not scroll.
    pub rows: fn(&State) -> (Vec<Row>, usize),
    /// Tree of modules over the rows; `None` for rows without addresses.
    pub tree: Option<TreeInfo>,
    /// Returns the text of a row that filter and search look at.
    pub text: fn(&State, &Row) -> String,
    /// Returns the text of a row for the search, if it differs from that for the filter.
    pub found: Option<fn(&State, &Row) -> String>,
    /// Fields of a row that the filter can name.
    pub fields: &'static [Field],
    /// Returns the value of one of the fields of a row.
    pub field: fn(&State, &Row, &str) -> String,
    pub detail: fn(&State, &Row) -> Doc,
    /// Returns the first line of the detail, which stands in the border above it if there is one.
    /// `None` if the details have their own first lines.
    pub head: Option<fn(&State, &Row) -> Line>,
    /// Appends the title of the detail.
    pub write_detail_title: fn(&State, &mut Line),
    /// Appends the subject to the title of the screen.
    pub write_subject: fn(&State, &mut Line),
    /// Renders a bar below the title in a number of cells; empty for no bar.
    pub bar: Option<fn(&State, usize) -> Line>,
    /// Returns the heading of the last column instead of its title.
    pub last_heading: fn(&State) -> Option<Line>,
    /// Appends the filters of this context to the title of the screen.
    pub write_filters: fn(&State, &mut Line),
    /// Returns the commands whose keys come first in the footer.
    pub first_keys: fn(&State) -> &'static [&'static str],
    /// Returns the text of an empty list; `None` shows the empty table.
    pub empty: fn(&State) -> Option<Doc>,
}

impl ContextInfo {
    /// Properties of a list without rows; each context overrides its own.
    const DEFAULT: Self = Self {
        title: "",
        body: Body::Log,
        detail_place: DetailPlace::None,
        checkbox: None,
        has_charts: false,
        sorts: &[ascending("natural order", "")],
        rows: |_| (Vec::new(), 0),
        tree: None,
        text: |_, _| String::new(),
        found: None,
        fields: &[],
        field: |_, _, _| String::new(),
        detail: |_, _| Doc::new(),
        head: None,
        write_detail_title: write_head,
        write_subject: |_, _| (),
        bar: None,
        last_heading: |_| None,
        write_filters: |_, _| (),
        first_keys: |_| &[],
        empty: |_| None,
    };

    /// Returns true if the rows have a detail.
    pub fn has_detail(&self) -> bool {
        self.detail_place != DetailPlace::None
    }

    /// Returns true if list and detail can both be visible.
    pub fn has_panes(&self) -> bool {
        matches!(self.detail_place, DetailPlace::Below | DetailPlace::Beside)
    }

    /// Returns true if the list has column headings.
    pub fn has_headings(&self) -> bool {
        match &self.body {
            Body::Table { columns, .. } => columns.iter().any(|c| !c.title.is_empty()),
            Body::Log | Body::Tracing => false,
        }
    }
}

/// Returns the value of a field that the address of a resource has.
fn field_of_address(address: &str, field: &str) -> String {
    match field {
        "module" => module_value(address),
        "type" => type_of(address).to_owned(),
        _ => String::new(),
    }
}

/// Returns the first line of the detail of a row, if its context has one.
pub fn detail_head(state: &State, row: &Row) -> Option<Line> {
    let head = state.context().of().head?;
    Some(match row.node() {
        Some(_) => vec![span(Role::Strong, row.key.text().unwrap_or_default())],
        None => head(state, row),
    })
}

fn write_head(state: &State, l: &mut Line) {
    let Some(row) = state.selected() else { return };
    let head = detail_head(state, row).unwrap_or_else(|| {
        let text = match &row.key {
            RowKey::Text(t) => t.clone(),
            RowKey::Number(n) => format!("#{n}"),
        };
        vec![span(Role::Strong, text)]
    });
    l.push(span(Role::Plain, " "));
    l.extend(head);
    l.push(span(Role::Plain, " "));
}

/// Appends the number of rows in the range.
fn write_range(state: &State, l: &mut Line) {
    if let Some((first, last)) = state.range() {
        let rows = state.frame.rows[first..=last].iter();
        let rows = rows.filter(|row| !row.heading).count();
        l.push(span(Role::Key, format!("   range: {}", count(rows, "row"))));
    }
}

/// Text of a list whose data are not loaded yet.
fn loading() -> Option<Doc> {
    sentence(Role::Dim, "Loading…")
}

/// Text of an empty list that is one sentence.
fn sentence(role: Role, text: &str) -> Option<Doc> {
    Some(vec![line(role, text)])
}

/// Explains a configuration that cannot be used, with the positions of its errors.
fn explain_load_error(e: &LoadError, doc: &mut Doc) {
    let head = match e.diagnostics.is_empty() {
        true => "The plugins were not loaded",
        false => "The configuration cannot be used",
    };
    doc.push(line(Role::Heading, head));
    doc.push(Line::new());
    doc.extend(diagnostics(&e.text, e.diagnostics.iter()));
    doc.push(Line::new());
}

/// Appends keys with their effects.
pub(super) fn push_keys(doc: &mut Doc, all: &[(&str, &str)]) {
    for (key, text) in all {
        doc.push(vec![
            span(Role::Key, format!("  {key:<8}")),
            span(Role::Plain, *text),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells are matched to columns by their position.
    #[test]
    fn each_context_has_a_title_sort_orders_and_columns() {
        for context in Context::ALL {
            let of = context.of();
            assert!(!of.title.is_empty() && !of.sorts.is_empty(), "{context:?}");
            if let Body::Table { columns, .. } = &of.body {
                assert!(!columns.is_empty(), "{context:?}");
                // The mark of the sort order and clicks find columns by their titles.
                for sort in of.sorts.iter().filter(|s| !s.column.is_empty()) {
                    let titled = columns.iter().filter(|c| c.title == sort.column);
                    assert_eq!(titled.count(), 1, "{context:?}: {}", sort.name);
                }
            }
        }
    }
}
