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

/// Renders one row of a schema in a line.
fn schema_line(r: &SchemaRow) -> Line {
    let cells = schema_cells(r).into_iter().filter(|cell| !cell.is_empty());
    let mut l = Line::new();
    for cell in cells {
        if !l.is_empty() {
            l.push(span(Role::Plain, "  "));
        }
        l.extend(cell);
    }
    l
}

/// Renders the name, the type, the flags and the description of a row of a schema. The first span
/// is the indentation.
pub fn schema_cells(r: &SchemaRow) -> [Line; 4] {
    let role = match r.depth {
        0 => Role::Heading,
        1 => Role::Strong,
        _ => Role::Plain,
    };
    let indent = span(Role::Plain, "  ".repeat(r.depth));
    let kind = match r.kind.as_str() {
        "" => Line::new(),
        kind => line(Role::Read, kind),
    };
    let mut flags = Line::new();
    for flag in &r.flags {
        let role = match flag {
            SchemaFlag::Required => Role::Strong,
            SchemaFlag::Sensitive => Role::Heading,
            SchemaFlag::Deprecated => Role::Bad,
            SchemaFlag::Optional | SchemaFlag::Computed | SchemaFlag::WriteOnly => Role::Dim,
        };
        let comma = if flags.is_empty() { "" } else { ", " };
        flags.push(span(Role::Dim, comma));
        flags.push(span(role, flag.name()));
    }
    [
        vec![indent, span(role, &r.name)],
        kind,
        flags,
        described(&r.text),
    ]
}

/// Renders a description. Code between backticks has a role of its own instead of them.
fn described(text: &str) -> Line {
    let parts: Vec<&str> = text.split('`').collect();
    // Without a pair, a backtick is part of the text.
    if parts.len().is_multiple_of(2) {
        return line(Role::Dim, text);
    }
    let roles = [Role::Dim, Role::Plain].into_iter().cycle();
    let parts = parts.into_iter().zip(roles);
    parts
        .filter(|(part, _)| !part.is_empty())
        .map(|(part, role)| span(role, part))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doc::plain;

    #[test]
    fn code_in_descriptions_has_a_role_instead_of_backticks() {
        let l = described("`ready`, or `incomplete` after a create.");
        assert_eq!(plain(&l), "ready, or incomplete after a create.");
        let code = l.iter().filter(|s| s.role == Role::Plain);
        let code: Vec<&str> = code.map(|s| s.text.as_str()).collect();
        assert_eq!(code, ["ready", "incomplete"]);
        assert_eq!(plain(&described("a ` alone")), "a ` alone");
        assert_eq!(described(""), Line::new());
    }
}
