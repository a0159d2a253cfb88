//! Decodes nested blocks: single, list, set, or map by label, with limits on their number.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;
use cty::schema::{NestedBlock, Nesting};

use super::dynamic::Found;
use super::{Decoder, body_value};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;

/// One decoded block.
struct Item {
    value: Value,
    key: Option<Arc<str>>,
    def_span: Span,
    /// Source position of errors about the whole block.
    body_span: Span,
}

impl Decoder<'_> {
    pub(super) fn nested(
        &self,
        name: &str,
        schema: &NestedBlock,
        diags: &mut Diagnostics,
    ) -> Value {
        let labels: &[&str] = if schema.nesting == Nesting::Map {
            &["key"]
        } else {
            &[]
        };
        let single = matches!(schema.nesting, Nesting::Single | Nesting::Group);
        let mut items = Vec::new();
        let mut unknown = false;
        self.each_block(name, labels, diags, &mut |found: Found<'_>, diags| {
            // After a `dynamic` block with an unknown number of blocks, the whole result is
            // unknown, so the blocks that follow are skipped.
            if unknown {
                return;
            }
            // A single block that may not exist is decoded with unknown arguments instead.
            unknown = found.place.unknown && !single;
            // A surplus block, or a body whose key is missing, is not decoded either.
            let value =
                if (single && !items.is_empty()) || (unknown && schema.nesting == Nesting::Map) {
                    Value::dynamic()
                } else {
                    body_value(
                        &found.body,
                        &schema.block,
                        self.lenient,
                        &found.place,
                        diags,
                    )
                    .with_marks(&found.place.marks)
                };
            let body_span = found.body.missing_span();
            items.push(Item {
                value,
                key: found.labels.into_iter().next(),
                def_span: found.def_span,
                body_span,
            });
        });
        if single {
            return self.single(name, schema, items, diags);
        }
        if unknown {
            // The number of blocks is not known yet, so the limits cannot be checked.
            return Value::unknown(wrapped_type(schema));
        }
        match schema.nesting {
            Nesting::Map => map(name, schema, items, diags),
            _ => {
                self.check_count(name, schema, &items, diags);
                collection(schema, items)
            }
        }
    }

    fn single(
        &self,
        name: &str,
        schema: &NestedBlock,
        items: Vec<Item>,
        diags: &mut Diagnostics,
    ) -> Value {
        if let Some(second) = items.get(1) {
            let detail = format!("Only one block of type {name:?} is allowed.");
            diags.push(
                Diagnostic::error(format!("Duplicate {name} block"), detail)
                    .at(second.def_span)
                    .within(items[0].def_span),
            );
        }
        match items.into_iter().next() {
            Some(item) => item.value,
            None => {
                if schema.min_items == 1 {
                    let detail = format!("A block of type {name:?} is required here.");
                    diags.push(
                        Diagnostic::error(format!("Missing {name} block"), detail)
                            .at(self.content.missing),
                    );
                }
                schema.empty_value()
            }
        }
    }

    fn check_count(
        &self,
        name: &str,
        schema: &NestedBlock,
        items: &[Item],
        diags: &mut Diagnostics,
    ) {
        let count = items.len() as u64;
        if count < schema.min_items {
            let detail = format!(
                "At least {} {name:?} blocks are required.",
                schema.min_items
            );
            diags.push(
                Diagnostic::error(format!("Insufficient {name} blocks"), detail)
                    .at(self.content.missing),
            );
        } else if schema.max_items > 0 && count > schema.max_items {
            let detail = format!(
                "No more than {} {name:?} blocks are allowed",
                schema.max_items
            );
            let place = items[schema.max_items as usize].body_span;
            diags.push(Diagnostic::error(format!("Too many {name} blocks"), detail).at(place));
        }
    }
}

/// Type of all blocks of one block type together.
fn wrapped_type(schema: &NestedBlock) -> cty::Type {
    let inner = schema.block.implied_type();
    match schema.nesting {
        Nesting::Set => cty::Type::set(inner),
        // Elements with dynamic parts may differ in type, so they form a tuple or an object.
        _ if inner.has_dynamic() => cty::Type::Dynamic,
        Nesting::Map => cty::Type::map(inner),
        _ => cty::Type::list(inner),
    }
}

fn collection(schema: &NestedBlock, items: Vec<Item>) -> Value {
    let ty = wrapped_type(schema);
    let values: Vec<Value> = items.into_iter().map(|item| item.value).collect();
    let made = match &ty {
        cty::Type::Set(element) => Value::try_set((**element).clone(), values),
        cty::Type::List(element) => Value::try_list((**element).clone(), values),
        _ => Ok(Value::tuple(values)),
    };
    // All blocks were converted to one type, so this fails only for sets with dynamic parts, which
    // are not valid in a schema.
    made.unwrap_or_else(|_| Value::unknown(ty))
}

fn map(name: &str, schema: &NestedBlock, items: Vec<Item>, diags: &mut Diagnostics) -> Value {
    let mut members: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for item in items {
        let key = item.key.unwrap_or_else(|| Arc::from(""));
        if members.contains_key(&key) {
            let detail = format!(
                "A block for {name} {key:?} was already defined. The {name} labels must be unique."
            );
            diags.push(
                Diagnostic::error(format!("Duplicate {name} block"), detail).at(item.def_span),
            );
            continue;
        }
        members.insert(key, item.value);
    }
    let ty = wrapped_type(schema);
    match &ty {
        cty::Type::Map(element) => Value::try_map((**element).clone(), members)
            .unwrap_or_else(|_| Value::unknown(ty.clone())),
        _ => Value::object_from_map(members),
    }
}
