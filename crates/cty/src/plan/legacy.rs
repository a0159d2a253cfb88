//! Normalization of values from providers that use the legacy SDK, which confuses null with empty
//! and leaves whole blocks unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::schema::{Block, NestedBlock, Nesting};
use crate::{Type, Value};

/// Returns the value in the shape that the engine expects of its schema. Marks are kept.
pub fn normalize_legacy(schema: &Block, value: &Value) -> Value {
    let (bare, marks) = value.clone().unmark_deep_with_paths();
    of_block(schema, &bare).mark_with_paths(&marks)
}

fn of_block(schema: &Block, value: &Value) -> Value {
    if value.is_null() {
        return Value::null(schema.implied_type());
    }
    let mut attributes: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for (name, attribute) in &schema.attributes {
        let value = value
            .get_attr(name)
            .unwrap_or_else(|| attribute.empty_value());
        attributes.insert(name.clone(), value);
    }
    for (name, nested) in &schema.blocks {
        let value = value.get_attr(name).unwrap_or_else(|| nested.empty_value());
        // With dynamic parts the blocks can be tuples or objects of any type, so they stay as sent.
        let value = if nested.block.implied_type().has_dynamic() {
            value
        } else {
            of_nested(nested, value)
        };
        attributes.insert(name.clone(), value);
    }
    Value::object_from_map(attributes)
}

fn of_nested(nested: &NestedBlock, value: Value) -> Value {
    let block = &nested.block;
    match nested.nesting {
        Nesting::Map => value,
        Nesting::Single | Nesting::Group if !value.is_known() => unknown_stub(block),
        Nesting::Group if value.is_null() => nested.empty_value(),
        Nesting::Single | Nesting::Group => of_block(block, &value),
        Nesting::List | Nesting::Set => {
            // The legacy SDK sends an unknown list for an unknown number of blocks.
            let elements = if !value.is_known() {
                vec![unknown_stub(block)]
            } else {
                value
                    .as_slice()
                    .unwrap_or_default()
                    .iter()
                    .map(|e| of_block(block, e))
                    .collect()
            };
            collect(nested.nesting, block.implied_type(), elements)
        }
    }
}

fn collect(nesting: Nesting, element: Type, elements: Vec<Value>) -> Value {
    let made = if nesting == Nesting::Set {
        Value::try_set(element, elements.clone())
    } else {
        Value::try_list(element, elements.clone())
    };
    // Elements of one schema without dynamic parts have one type; other responses stay visible as a
    // tuple.
    made.unwrap_or_else(|_| Value::tuple(elements))
}

/// Returns a block with all attributes unknown, for blocks that may or may not exist.
fn unknown_stub(schema: &Block) -> Value {
    let mut attributes: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for (name, attribute) in &schema.attributes {
        attributes.insert(name.clone(), Value::unknown(attribute.implied_type()));
    }
    for (name, nested) in &schema.blocks {
        let value = match nested.nesting {
            Nesting::Single | Nesting::Group => unknown_stub(&nested.block),
            Nesting::List | Nesting::Set => collect(
                nested.nesting,
                nested.block.implied_type(),
                vec![unknown_stub(&nested.block)],
            ),
            Nesting::Map => nested.empty_value(),
        };
        attributes.insert(name.clone(), value);
    }
    Value::object_from_map(attributes)
}
