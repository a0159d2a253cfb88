//! Differences between two schemas of one provider, for the development of it.

use cty::schema::{Attribute, Block, NestedObject, Nesting};
use provider::{FunctionSignature, ProviderSchema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum depth of nested schemas; a schema may nest without limit.
const MAX_DEPTH: usize = 12;

/// Separates a type from the path of an attribute in it.
const INSIDE: &str = ": ";

/// Returns a line for each type, function, attribute and block that was added (`+`), removed (`-`)
/// or changed (`~`), sorted. Attributes of an added or removed type have no lines of their own.
/// Descriptions are not compared.
#[must_use]
pub fn schema_changes(before: &ProviderSchema, after: &ProviderSchema) -> Vec<String> {
    let (before, after) = (parts(before), parts(after));
    // Lines for all attributes of a new type would hide the other changes.
    let is_apart = |name: &str, other: &BTreeMap<String, String>| {
        let outer = name.split_once(INSIDE).map(|(outer, _)| outer);
        outer.is_none_or(|outer| other.contains_key(outer))
    };
    let mut lines = Vec::new();
    for (name, facts) in &after {
        match before.get(name) {
            Some(old) if old == facts => {}
            Some(old) => lines.push((name, format!("~ {name}: {old} → {facts}"))),
            None if is_apart(name, &before) => lines.push((name, with_facts("+", name, facts))),
            None => {}
        }
    }
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    for name in removed.filter(|name| is_apart(name, &after)) {
        lines.push((name, format!("- {name}")));
    }
    // Sorting by name puts all changes of one type together.
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn with_facts(sign: &str, name: &str, facts: &str) -> String {
    match facts {
        "" => format!("{sign} {name}"),
        facts => format!("{sign} {name} ({facts})"),
    }
}

/// Parts of a schema by name, such as `resource lab_bucket: tags`, with their facts.
fn parts(schema: &ProviderSchema) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    push_block(&mut parts, "provider", &schema.provider.block);
    for (kind, schemas) in [
        ("resource", &schema.resources),
        ("data source", &schema.data_sources),
        ("ephemeral resource", &schema.ephemeral),
    ] {
        for (name, found) in schemas.iter() {
            push_block(&mut parts, &format!("{kind} {name}"), &found.block);
        }
    }
    for (name, function) in &schema.functions {
        parts.insert(format!("function {name}"), signature(function));
    }
    parts
}

fn push_block(parts: &mut BTreeMap<String, String>, name: &str, block: &Block) {
    parts.insert(name.to_owned(), String::new());
    push_members(parts, &format!("{name}{INSIDE}"), block, 0);
}

fn push_members(parts: &mut BTreeMap<String, String>, path: &str, block: &Block, depth: usize) {
    push_attributes(parts, path, &block.attributes, depth);
    for (name, inner) in &block.blocks {
        let path = format!("{path}{name}");
        // A maximum of 0 means no limit in the protocol.
        let limits = match (inner.min_items, inner.max_items) {
            (0, 0) => String::new(),
            (min, 0) => format!(", at least {min}"),
            (min, max) => format!(", {min} to {max}"),
        };
        let facts = format!("{}{limits}", collection(inner.nesting, "block"));
        parts.insert(path.clone(), facts);
        if depth < MAX_DEPTH {
            push_members(parts, &format!("{path}."), &inner.block, depth + 1);
        }
    }
}

fn push_attributes(
    parts: &mut BTreeMap<String, String>,
    path: &str,
    attributes: &BTreeMap<Arc<str>, Attribute>,
    depth: usize,
) {
    for (name, attribute) in attributes {
        let path = format!("{path}{name}");
        parts.insert(path.clone(), facts(attribute));
        if let Some(NestedObject { attributes, .. }) = &attribute.nested
            && depth < MAX_DEPTH
        {
            push_attributes(parts, &format!("{path}."), attributes, depth + 1);
        }
    }
}

fn facts(attribute: &Attribute) -> String {
    let ty = match &attribute.nested {
        Some(object) => collection(object.nesting, "object"),
        None => attribute.ty.friendly_name(),
    };
    let set_by = words_of([
        (attribute.required, "required"),
        (attribute.optional, "optional"),
        (attribute.computed, "computed"),
    ]);
    let mut all = vec![ty];
    all.extend(set_by.chain(marks(attribute)).map(str::to_owned));
    all.join(", ")
}

/// Returns the words for the properties of an attribute apart from who sets it.
pub(crate) fn marks(attribute: &Attribute) -> impl Iterator<Item = &'static str> {
    words_of([
        (attribute.sensitive, "sensitive"),
        (attribute.write_only, "write-only"),
        (attribute.deprecated, "deprecated"),
    ])
}

fn words_of(properties: [(bool, &'static str); 3]) -> impl Iterator<Item = &'static str> {
    let set = properties.into_iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, word)| word)
}

fn signature(function: &FunctionSignature) -> String {
    let parameters = function.parameters.iter().chain(&function.variadic);
    let parameters = parameters.map(|p| format!("{} {}", p.name, p.ty.friendly_name()));
    let parameters: Vec<String> = parameters.collect();
    // Only the last parameter can be variadic, so that dots at the end are enough.
    let dots = if function.variadic.is_some() {
        "..."
    } else {
        ""
    };
    let returns = function.returns.friendly_name();
    format!("{}{dots} → {returns}", parameters.join(", "))
}

/// Returns the words for a number of nested blocks or objects.
pub(crate) fn collection(nesting: Nesting, of: &str) -> String {
    match nesting {
        Nesting::Single | Nesting::Group => of.to_owned(),
        Nesting::List => format!("list of {of}s"),
        Nesting::Set => format!("set of {of}s"),
        Nesting::Map => format!("map of {of}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::Type;
    use cty::schema::{NestedBlock, Schema};

    fn provider(types: &[(&str, &[(&str, Attribute)], u64)]) -> ProviderSchema {
        let resources = types.iter().map(|(name, attributes, max)| {
            let rule = NestedBlock {
                block: Block::default(),
                nesting: Nesting::List,
                min_items: 0,
                max_items: *max,
            };
            let attributes = attributes.iter();
            let block = Block {
                attributes: attributes.map(|(n, a)| ((*n).into(), a.clone())).collect(),
                blocks: [("rule".into(), rule)].into(),
                ..Block::default()
            };
            ((*name).to_owned(), Schema::new(0, block))
        });
        ProviderSchema {
            resources: resources.collect(),
            ..ProviderSchema::default()
        }
    }

    #[test]
    fn each_added_removed_and_changed_part_has_a_line() {
        let text = || Attribute::required(Type::String);
        let number = || Attribute::computed(Type::Number);
        let before = provider(&[
            ("a_one", &[("name", text()), ("old", text())], 0),
            ("a_two", &[("name", text())], 0),
        ]);
        let after = provider(&[
            ("a_one", &[("name", number()), ("new", number())], 3),
            ("a_three", &[("name", text())], 0),
        ]);
        assert_eq!(
            schema_changes(&before, &after),
            [
                "~ resource a_one: name: string, required → number, computed",
                "+ resource a_one: new (number, computed)",
                "- resource a_one: old",
                "~ resource a_one: rule: list of blocks → list of blocks, 0 to 3",
                "+ resource a_three",
                "- resource a_two",
            ]
        );
        assert!(schema_changes(&after, &after).is_empty());
    }
}
