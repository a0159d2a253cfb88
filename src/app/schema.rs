//! Flattens a provider's schema to rows for the schema browser.

use cty::schema::{Attribute, Block, Nesting, Schema};
use provider::{ProviderSchema, Schemas, TypeText, TypeTexts};
use std::sync::Arc;

/// Property of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaFlag {
    Required,
    Optional,
    Computed,
    Sensitive,
    WriteOnly,
    Deprecated,
}

impl SchemaFlag {
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
            Self::Computed => "computed",
            Self::Sensitive => "sensitive",
            Self::WriteOnly => "write-only",
            Self::Deprecated => "deprecated",
        }
    }
}

fn deprecated(set: bool) -> Vec<SchemaFlag> {
    set.then_some(SchemaFlag::Deprecated).into_iter().collect()
}

/// One row of a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaRow {
    /// Identity: names from the root, joined by `/`.
    pub path: String,
    /// 0 for a group (resources, data sources), 1 for a type, 2 and more for its contents.
    pub depth: usize,
    pub name: String,
    /// `string`, `list of object`, `block, list`.
    pub kind: String,
    pub flags: Vec<SchemaFlag>,
    /// First line of the description.
    pub text: String,
    /// The row has children.
    pub folder: bool,
}

impl SchemaRow {
    /// Returns the path of the parent row.
    pub fn parent(&self) -> Option<&str> {
        self.path.rsplit_once('/').map(|(p, _)| p)
    }
}

/// Flattens a provider's schema: its configuration first, then types by name.
pub fn flatten(schema: &ProviderSchema) -> Vec<SchemaRow> {
    let mut out = Vec::new();
    group(
        &mut out,
        "provider configuration",
        vec![("provider", &schema.provider, None)],
    );
    group(
        &mut out,
        "resources",
        with_texts(&schema.resources, &schema.resource_texts),
    );
    group(
        &mut out,
        "data sources",
        with_texts(&schema.data_sources, &schema.data_texts),
    );
    group(
        &mut out,
        "ephemeral resources",
        with_texts(&schema.ephemeral, &TypeTexts::new()),
    );
    // Functions have no block, so their signature is the row.
    if !schema.functions.is_empty() {
        out.push(heading("functions", schema.functions.len()));
        for (name, f) in &schema.functions {
            let parameters: Vec<String> = f
                .parameters
                .iter()
                .map(|p| format!("{} {}", p.name, p.ty))
                .chain(f.variadic.iter().map(|p| format!("{} {}…", p.name, p.ty)))
                .collect();
            out.push(SchemaRow {
                path: format!("functions/{name}"),
                depth: 1,
                name: format!("{name}({})", parameters.join(", ")),
                kind: format!("→ {}", f.returns),
                flags: deprecated(!f.deprecation.is_empty()),
                text: first_line(&f.summary),
                folder: false,
            });
        }
    }
    out
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn heading(name: &str, n: usize) -> SchemaRow {
    SchemaRow {
        path: name.to_owned(),
        name: format!("{name} ({n})"),
        folder: true,
        ..SchemaRow::default()
    }
}

fn with_texts<'a>(
    schemas: &'a Schemas,
    texts: &'a TypeTexts,
) -> Vec<(&'a str, &'a Schema, Option<&'a TypeText>)> {
    let all = schemas.iter();
    all.map(|(name, schema)| (name.as_str(), schema, texts.get(name)))
        .collect()
}

/// Returns the label of a type with its summary, or with the first line of its description.
fn in_one_line(about: &TypeText) -> String {
    let rest = match about.summary.is_empty() {
        true => first_line(&about.description),
        false => first_line(&about.summary),
    };
    let parts = [&about.label, &rest].into_iter();
    let parts: Vec<&str> = parts
        .filter(|p| !p.is_empty())
        .map(String::as_str)
        .collect();
    parts.join(": ")
}

/// Adds rows for a type's texts, each with one child per line.
fn texts(out: &mut Vec<SchemaRow>, path: &str, about: &TypeText) {
    let one = |(number, text): (usize, &String)| (format!("example {}", number + 1), text.clone());
    let titled = [
        ("label", &about.label),
        ("summary", &about.summary),
        ("description", &about.description),
    ];
    let titled = titled.map(|(title, text)| (title.to_owned(), text.clone()));
    let examples = about.examples.iter().enumerate().map(one);
    for (title, text) in titled.into_iter().chain(examples) {
        if text.is_empty() {
            continue;
        }
        // Brackets cannot occur in names of attributes, so the path is unique.
        let path = format!("{path}/<{title}>");
        // A single line is shown in the row itself.
        let several = text.lines().nth(1).is_some();
        out.push(SchemaRow {
            path: path.clone(),
            depth: 2,
            name: title,
            text: first_line(&text),
            folder: several,
            ..SchemaRow::default()
        });
        for (number, line) in text.lines().enumerate().filter(|_| several) {
            out.push(SchemaRow {
                path: format!("{path}/{number}"),
                depth: 3,
                name: line.to_owned(),
                ..SchemaRow::default()
            });
        }
    }
}

fn group<'a>(
    out: &mut Vec<SchemaRow>,
    name: &str,
    all: Vec<(&'a str, &'a Schema, Option<&'a TypeText>)>,
) {
    if all.is_empty() {
        return;
    }
    out.push(heading(name, all.len()));
    for (ty, s, about) in all {
        let path = format!("{name}/{ty}");
        out.push(SchemaRow {
            path: path.clone(),
            depth: 1,
            name: ty.to_owned(),
            kind: if s.version > 0 {
                format!("version {}", s.version)
            } else {
                String::new()
            },
            flags: deprecated(s.block.deprecated),
            // Only Bluelink plugins have texts of types; other schemas describe the block.
            text: about.map_or_else(|| first_line(&s.block.description), in_one_line),
            folder: true,
        });
        if let Some(about) = about {
            texts(out, &path, about);
        }
        block(out, &path, 2, &s.block);
    }
}

fn block(out: &mut Vec<SchemaRow>, path: &str, depth: usize, b: &Block) {
    attributes(out, path, depth, &b.attributes);
    for (name, nested) in &b.blocks {
        let path = format!("{path}/{name}");
        let mut kind = format!("block, {}", nesting(nested.nesting));
        if nested.min_items > 0 {
            kind.push_str(&format!(", at least {}", nested.min_items));
        }
        // 0 means no limit.
        if nested.max_items > 0 {
            kind.push_str(&format!(", at most {}", nested.max_items));
        }
        out.push(SchemaRow {
            path: path.clone(),
            depth,
            name: name.to_string(),
            kind,
            flags: deprecated(nested.block.deprecated),
            text: first_line(&nested.block.description),
            folder: true,
        });
        block(out, &path, depth + 1, &nested.block);
    }
}

fn attributes(
    out: &mut Vec<SchemaRow>,
    path: &str,
    depth: usize,
    all: &std::collections::BTreeMap<Arc<str>, Attribute>,
) {
    // Those that must be set come first, those that the provider alone sets last.
    let mut all: Vec<_> = all.iter().collect();
    all.sort_by_key(|(_, a)| match (a.required, a.optional) {
        (true, _) => 0,
        (_, true) => 1,
        _ => 2,
    });
    for (name, a) in all {
        let path = format!("{path}/{name}");
        let flags = [
            (a.required, SchemaFlag::Required),
            (a.optional, SchemaFlag::Optional),
            (a.computed, SchemaFlag::Computed),
            (a.sensitive, SchemaFlag::Sensitive),
            (a.write_only, SchemaFlag::WriteOnly),
            (a.deprecated, SchemaFlag::Deprecated),
        ];
        out.push(SchemaRow {
            path: path.clone(),
            depth,
            name: name.to_string(),
            kind: a.nested.as_ref().map_or_else(
                || a.ty.to_string(),
                |n| format!("object, {}", nesting(n.nesting)),
            ),
            flags: flags
                .into_iter()
                .filter(|(set, _)| *set)
                .map(|(_, flag)| flag)
                .collect(),
            text: first_line(&a.description),
            folder: a.nested.is_some(),
        });
        if let Some(n) = &a.nested {
            attributes(out, &path, depth + 1, &n.attributes);
        }
    }
}

fn nesting(n: Nesting) -> &'static str {
    match n {
        Nesting::Single => "single",
        Nesting::List => "list",
        Nesting::Set => "set",
        Nesting::Map => "map",
        Nesting::Group => "group",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_documentation_rows_precede_the_attributes() {
        let text = TypeText {
            label: "Box".into(),
            summary: "Holds things.".into(),
            description: "One.\nTwo.".into(),
            examples: vec!["a: 1\nb: 2".into()],
        };
        let mut block = Block::default();
        let name = Attribute::required(cty::Type::String);
        block.attributes.insert("name".into(), name);
        let schema = ProviderSchema {
            resources: [("x_box".to_owned(), Schema::new(0, block))].into(),
            resource_texts: [("x_box".to_owned(), text)].into(),
            ..ProviderSchema::default()
        };
        let rows = flatten(&schema);
        let rows = rows.iter().skip_while(|row| row.name != "x_box");
        let rows: Vec<(usize, &str, &str, bool)> = rows
            .map(|row| (row.depth, &*row.name, &*row.text, row.folder))
            .collect();
        assert_eq!(
            rows,
            [
                (1, "x_box", "Box: Holds things.", true),
                (2, "label", "Box", false),
                (2, "summary", "Holds things.", false),
                (2, "description", "One.", true),
                (3, "One.", "", false),
                (3, "Two.", "", false),
                (2, "example 1", "a: 1", true),
                (3, "a: 1", "", false),
                (3, "b: 2", "", false),
                (2, "name", "", false),
            ]
        );
    }
}
