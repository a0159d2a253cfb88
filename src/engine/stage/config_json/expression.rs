//! Encodes expressions, and bodies by a schema. Contents of `dynamic` blocks and names that the
//! schema lacks are omitted.

use super::{Configuration, reference};
use crate::stage::masks;
use cty::Value;
use cty::schema::{Block, Nesting};
use lang::body::{self, Body, BodySchema};
use lang::config::constant_value;
use lang::decode;
use lang::eval::Bindings;
use lang::syntax::ast::{Expr, Traversal};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

impl Configuration<'_> {
    /// Encodes an expression: its constant value or its references.
    pub(super) fn expression(&self, expr: &Expr) -> Map<String, Json> {
        let mut references: Vec<String> = expr
            .traversals()
            .into_iter()
            .flat_map(reference::texts)
            .collect();
        let calls = expr.calls().into_iter();
        references.extend(calls.filter_map(|call| of_provider(&call.name)));
        encode(constant_value(expr, self.sources).as_ref(), references)
    }

    /// Encodes `count` or `for_each`.
    pub(super) fn repetition(
        &self,
        (count, for_each): (Option<&Expr>, Option<&Expr>),
        out: &mut Map<String, Json>,
    ) {
        // At most one of both is set.
        for (name, expr) in [
            ("count_expression", count),
            ("for_each_expression", for_each),
        ] {
            let told = expr.map(|expr| self.expression(expr)).unwrap_or_default();
            if !told.is_empty() {
                out.insert(name.to_owned(), told.into());
                return;
            }
        }
    }

    /// Encodes the parts of a body that the schema names, by name.
    pub(super) fn body(&self, body: &Body, schema: &Block) -> Map<String, Json> {
        // Attributes that are lists of objects may also be written as blocks.
        let as_blocks = decode::written_as_blocks(body, schema);
        let (content, _, _) = body.partial_content(&names(schema, &as_blocks));
        let mut all: BTreeMap<&str, Json> = BTreeMap::new();
        for (name, attribute) in &content.attributes {
            all.insert(name, self.expression(&attribute.expr).into());
        }
        for name in as_blocks {
            let blocks: Vec<&body::Block> = content.blocks_of(name).collect();
            if let Some(element) = schema.attributes[name].ty.element_type()
                && !blocks.is_empty()
            {
                all.insert(name, objects(&blocks, &decode::object_schema(element)));
            }
        }
        for block in &content.blocks {
            let Some(nested) = schema.blocks.get(&*block.type_name) else {
                continue;
            };
            let inner = Json::from(self.body(&block.body, &nested.block));
            let of_type = all.entry(&block.type_name);
            match nested.nesting {
                Nesting::Single | Nesting::Group => {
                    of_type.insert_entry(inner);
                }
                Nesting::List | Nesting::Set => {
                    if let Json::Array(all) = of_type.or_insert_with(|| json!([])) {
                        all.push(inner);
                    }
                }
                Nesting::Map => {
                    let key = block.labels.first().map(|l| l.text.to_string());
                    of_type.or_insert_with(|| json!({}))[key.unwrap_or_default()] = inner;
                }
            }
        }
        let by_key = schema.blocks.iter();
        for (name, _) in by_key.filter(|(_, nested)| nested.nesting == Nesting::Map) {
            if let Some(Json::Object(members)) = all.get_mut(&**name) {
                // Labelled blocks come in source order, but the representation sorts them by label.
                members.sort_keys();
            }
        }
        all.into_iter().map(|(n, j)| (n.to_owned(), j)).collect()
    }
}

/// Returns the body schema of a block type.
fn names(schema: &Block, as_blocks: &BTreeSet<&str>) -> BodySchema {
    let mut out = BodySchema::new();
    for name in schema.attributes.keys().map(|name| &**name) {
        out = match as_blocks.contains(name) {
            true => out.block(name, &[]),
            false => out.optional(&[name]),
        };
    }
    let blocks = schema.blocks.iter();
    for (name, nested) in blocks.filter(|(name, _)| !schema.attributes.contains_key(*name)) {
        let labels: &[&str] = match nested.nesting {
            Nesting::Map => &["key"],
            _ => &[],
        };
        out = out.block(name, labels);
    }
    out
}

/// Encodes an argument that is a list of objects but is written as blocks.
fn objects(blocks: &[&body::Block], schema: &Block) -> Json {
    let found = |block: &&body::Block| decode::references(&block.body, schema);
    let traversals: Vec<Traversal> = blocks.iter().flat_map(found).collect();
    let calls: Vec<_> = blocks
        .iter()
        .flat_map(|block| decode::function_calls(&block.body, schema))
        .collect();
    let nothing = Bindings::new(BTreeMap::new());
    let decoded = |block: &&body::Block| {
        let (value, diags) = decode::decode_block(&block.body, schema, &nothing);
        (!diags.has_errors()).then_some(value)
    };
    let constant = match traversals.is_empty() && calls.is_empty() {
        true => blocks.iter().map(decoded).collect::<Option<Vec<Value>>>(),
        false => None,
    };
    let mut references: Vec<String> = traversals.iter().flat_map(reference::texts).collect();
    references.extend(calls.iter().filter_map(|(name, _)| of_provider(name)));
    encode(constant.map(Value::tuple).as_ref(), references).into()
}

/// A provider's function is referenced by its name.
fn of_provider(name: &str) -> Option<String> {
    name.starts_with("provider::").then(|| name.to_owned())
}

fn encode(constant: Option<&Value>, references: Vec<String>) -> Map<String, Json> {
    let mut out = Map::new();
    if let Some(value) = constant {
        out.insert("constant_value".into(), masks::known_json(value));
    }
    if !references.is_empty() {
        out.insert("references".into(), references.into());
    }
    out
}
