//! Rows of a plugin's schema.

use super::{Doc, Line, Role, line, span};
use crate::app::schema::{SchemaFlag, SchemaRow};
use model::NO_TRANSFORMERS;
use model::view::PluginView;

/// Renders the upper levels of a schema for the pane; Enter opens the browser.
pub fn schema_text(p: &PluginView, rows: Option<&[SchemaRow]>) -> Doc {
    if p.is_transformer() {
        let text = format!("no schema: {NO_TRANSFORMERS}");
        return vec![line(Role::Dim, text)];
    }
    let Some(rows) = rows else {
        return vec![line(
            Role::Dim,
            "the schema is known once the plugin is ready",
        )];
    };
    let mut doc = vec![vec![
        span(Role::Key, "enter"),
        span(
            Role::Dim,
            " opens the schema browser; there / finds and enter expands",
        ),
    ]];
    doc.extend(rows.iter().filter(|r| r.depth <= 1).map(schema_line));
    doc
}

/// Renders one row of a schema.
pub fn schema_line(r: &SchemaRow) -> Line {
    let mut l = vec![span(Role::Plain, "  ".repeat(r.depth))];
    let role = match r.depth {
        0 => Role::Heading,
        1 => Role::Strong,
        _ => Role::Plain,
    };
    l.push(span(role, &r.name));
    if !r.kind.is_empty() {
        l.push(span(Role::Read, format!("  {}", r.kind)));
    }
    for flag in &r.flags {
        let role = match flag {
            SchemaFlag::Required => Role::Warn,
            SchemaFlag::Sensitive | SchemaFlag::Deprecated => Role::Bad,
            SchemaFlag::Optional | SchemaFlag::Computed | SchemaFlag::WriteOnly => Role::Dim,
        };
        l.push(span(role, format!("  {}", flag.name())));
    }
    if !r.text.is_empty() {
        l.push(span(Role::Dim, format!("  {}", r.text)));
    }
    l
}
