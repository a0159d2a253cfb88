//! Schema browser of a plugin: a tree of types, blocks and attributes.

use super::super::{Body, ContextInfo, sentence};
use super::write_subject;
use crate::app::column::{Column, Width, column};
use crate::app::doc::{self, Doc, Line, Role, span};
use crate::app::list::Row;
use crate::app::schema::SchemaRow;
use crate::app::state::State;
use model::NO_TRANSFORMERS;
use model::view::PluginView;

pub(in crate::app::screens) const SCHEMA: ContextInfo = ContextInfo {
    title: "Schema browser",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    rows: |state| (rows(state), 0),
    // The path, so that a filter for a type also shows its attributes.
    text: |state, row| row_of(state, row).map_or_else(String::new, |r| text(r, &r.path)),
    found: Some(|state, row| row_of(state, row).map_or_else(String::new, |r| text(r, &r.name))),
    write_subject,
    first_keys: |_| &["unfold", "pane-next", "find-next", "find-previous"],
    empty,
    ..ContextInfo::DEFAULT
};

const COLUMNS: &[Column] = &[
    column("NAME", Width::Flex(20, 4), 0),
    column("TYPE", Width::Flex(8, 2), 1),
    column("SET", Width::Content(0), 2),
    column("DESCRIPTION", Width::Flex(16, 3), 3),
];

/// Rows of the schema of the plugin under the cursor.
fn schema(state: &State) -> Option<&[SchemaRow]> {
    let schema = state.loaded.schemas.get(&state.plugin()?.id)?;
    Some(schema)
}

fn row_of<'s>(state: &'s State, row: &Row) -> Option<&'s SchemaRow> {
    schema(state)?.get(row.index)
}

fn rows(state: &State) -> Vec<Row> {
    let mut rows = Vec::new();
    // A row is visible if all rows above it are open. A filter opens all.
    let mut closed: Option<usize> = None;
    for (i, r) in schema(state).unwrap_or_default().iter().enumerate() {
        if closed.is_some_and(|depth| r.depth > depth) {
            continue;
        }
        closed = None;
        rows.push(Row::text(r.path.as_str(), i));
        if r.folder && !is_open(state, r) {
            closed = Some(r.depth);
        }
    }
    rows
}

/// Returns true if the children of a row are visible. Groups are open by default, types and blocks
/// closed.
fn is_open(state: &State, r: &SchemaRow) -> bool {
    let is_toggled = state.filters.toggled.contains(&r.path);
    is_toggled != (r.depth == 0) || !state.list().filter.is_empty()
}

/// Returns true if the row under the cursor has children on the screen.
pub fn is_unfolded(state: &State) -> bool {
    let row = state.selected().and_then(|row| row_of(state, row));
    row.is_some_and(|r| r.folder && is_open(state, r))
}

/// Text of a row, named by its name or its path.
fn text(r: &SchemaRow, name: &str) -> String {
    let flags: Vec<&str> = r.flags.iter().map(|flag| flag.name()).collect();
    format!("{name} {} {} {}", r.kind, flags.join(" "), r.text)
}

fn cells(state: &State, row: &Row) -> Vec<Line> {
    let Some(r) = row_of(state, row) else {
        return Vec::new();
    };
    let mark = match (r.folder, is_open(state, r)) {
        (true, true) => "▾ ",
        (true, false) => "▸ ",
        (false, _) => "  ",
    };
    let [mut name, kind, flags, text] = doc::schema_cells(r);
    name.insert(1, span(Role::Dim, mark));
    vec![name, kind, flags, text]
}

fn empty(state: &State) -> Option<Doc> {
    // A transformer has a process, but never a schema.
    if !state.plugin().is_some_and(PluginView::is_transformer) {
        return sentence(Role::Dim, "The schema is known once the plugin is ready.");
    }
    let why = format!("This plugin has no schema: {NO_TRANSFORMERS}.");
    sentence(Role::Dim, &why)
}
