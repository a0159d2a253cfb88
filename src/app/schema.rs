//! A provider's schema flattened to rows that can be unfolded: what the schema browser shows.

use crate::engine::provider::ProviderSchema;
use cty::schema::{Attribute, Block, Nesting, Schema};
use std::sync::Arc;

/// One row of a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaRow {
    /// Identity: the names from the root, joined by `/`.
    pub path: String,
    /// 0 for a group (resources, data sources), 1 for a type, 2 and more for what is in it.
    pub depth: usize,
    pub name: String,
    /// `string`, `list of object`, `block, list`.
    pub kind: String,
    /// `required`, `optional`, `computed`, `sensitive`, `deprecated`, `write-only`.
    pub flags: Vec<&'static str>,
    /// The description's first line.
    pub text: String,
    /// Whether something lies under it.
    pub folder: bool,
}

impl SchemaRow {
    /// The path of the row that this one lies in.
    pub fn parent(&self) -> Option<&str> {
        self.path.rsplit_once('/').map(|(p, _)| p)
    }
}

/// A whole provider's schema, in the order of reading: its configuration, then types by name.
pub fn flatten(schema: &ProviderSchema) -> Vec<SchemaRow> {
    let mut out = Vec::new();
    group(
        &mut out,
        "provider configuration",
        [("provider", &schema.provider)].into_iter(),
    );
    group(
        &mut out,
        "resources",
        schema.resources.iter().map(|(n, s)| (n.as_str(), s)),
    );
    group(
        &mut out,
        "data sources",
        schema.data_sources.iter().map(|(n, s)| (n.as_str(), s)),
    );
    group(
        &mut out,
        "ephemeral resources",
        schema.ephemeral.iter().map(|(n, s)| (n.as_str(), s)),
    );
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
                flags: if f.deprecation.is_empty() {
                    Vec::new()
                } else {
                    vec!["deprecated"]
                },
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

fn group<'a>(
    out: &mut Vec<SchemaRow>,
    name: &str,
    all: impl ExactSizeIterator<Item = (&'a str, &'a Schema)>,
) {
    if all.len() == 0 {
        return;
    }
    out.push(heading(name, all.len()));
    for (ty, s) in all {
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
            flags: if s.block.deprecated {
                vec!["deprecated"]
            } else {
                Vec::new()
            },
            text: first_line(&s.block.description),
            folder: true,
        });
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
        if nested.max_items > 0 {
            kind.push_str(&format!(", at most {}", nested.max_items));
        }
        let flags = if nested.block.deprecated {
            vec!["deprecated"]
        } else {
            Vec::new()
        };
        out.push(SchemaRow {
            path: path.clone(),
            depth,
            name: name.to_string(),
            kind,
            flags,
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
    for (name, a) in all {
        let path = format!("{path}/{name}");
        let flags = [
            (a.required, "required"),
            (a.optional, "optional"),
            (a.computed, "computed"),
            (a.sensitive, "sensitive"),
            (a.write_only, "write-only"),
            (a.deprecated, "deprecated"),
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
                .map(|(_, word)| word)
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
