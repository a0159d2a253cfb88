//! References of a body, without the names bound by its `dynamic` blocks: either all of them,
//! without evaluation, or only those of blocks that exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;
use cty::schema::Block;

use super::{dynamic, shape};
use crate::body::{Body, Content};
use crate::eval::{Bindings, Scope, evaluate};
use crate::source::Span;
use crate::syntax::{Expr, Lookup, Traversal};

/// Every reference in the body, in no particular order across blocks.
pub fn references(body: &Body, schema: &Block) -> Vec<Traversal> {
    free_references(body, schema, DynamicBlock::All)
}

/// References that decoding evaluates. The content of a `dynamic` block counts only if it is known
/// to make a block.
pub fn live_references(body: &Body, schema: &Block, scope: &dyn Scope) -> Vec<Traversal> {
    let mut found = free_references(body, schema, DynamicBlock::In(scope));
    // Blocks made from one content have the same references.
    found.sort_by_key(Traversal::span);
    found.dedup_by_key(|t| t.span());
    found
}

/// Returns true if the body has a `dynamic` block for a block type of the schema, at any depth.
pub(super) fn has_dynamic(body: &Body, schema: &Block) -> bool {
    let mut any = false;
    let lenient = shape::may_be_blocks(schema);
    each_expression(
        body,
        schema,
        lenient,
        DynamicBlock::None,
        &[],
        &mut |_, _| {
            any = true;
        },
    );
    any
}

fn free_references(body: &Body, schema: &Block, made: DynamicBlock<'_>) -> Vec<Traversal> {
    let mut found = Vec::new();
    each_expression(
        body,
        schema,
        shape::may_be_blocks(schema),
        made,
        &[],
        &mut |expr, bound| {
            let free = expr
                .traversals()
                .into_iter()
                .filter(|t| !bound.contains(&t.root));
            found.extend(free.cloned());
        },
    );
    found
}

/// Returns [`references`] with the keys looked up directly in each. Keys that use an iterator are
/// left out.
pub fn lookups(body: &Body, schema: &Block) -> Vec<Lookup> {
    let mut found = Vec::new();
    each_expression(
        body,
        schema,
        shape::may_be_blocks(schema),
        DynamicBlock::All,
        &[],
        &mut |expr, bound| {
            let free = expr
                .lookups()
                .into_iter()
                .filter(|l| !bound.contains(&l.traversal.root));
            found.extend(free.map(|l| Lookup {
                // An iterator has no value outside of its block.
                key: l.key.filter(|key| !key.mentions(bound)),
                ..l
            }));
        },
    );
    found
}

/// The names of all functions that the body calls, with source positions.
pub fn function_calls(body: &Body, schema: &Block) -> Vec<(Arc<str>, Span)> {
    let mut found = Vec::new();
    each_expression(
        body,
        schema,
        shape::may_be_blocks(schema),
        DynamicBlock::All,
        &[],
        &mut |expr, _| {
            found.extend(
                expr.calls()
                    .into_iter()
                    .map(|call| (call.name.clone(), call.name_span)),
            );
        },
    );
    found
}

type Visit<'v> = &'v mut dyn FnMut(&Expr, &[Arc<str>]);

/// Blocks assumed to be made by `dynamic` blocks.
#[derive(Clone, Copy)]
enum DynamicBlock<'s> {
    /// All blocks that `dynamic` blocks may make.
    All,
    /// Blocks that exist in this scope.
    In(&'s dyn Scope),
    /// None at this level: only the expressions of `dynamic` blocks inside are visited.
    None,
}

/// Visits all expressions; `bound` has the names of enclosing iterators.
fn each_expression(
    body: &Body,
    schema: &Block,
    lenient: bool,
    made: DynamicBlock<'_>,
    bound: &[Arc<str>],
    visit: Visit<'_>,
) {
    let as_blocks = if lenient {
        shape::not_arguments(body, schema)
    } else {
        Default::default()
    };
    // Errors are ignored here, because decoding reports them.
    let (content, _, _) = body.partial_content(&shape::body_schema(schema, &as_blocks));
    if !matches!(made, DynamicBlock::None) {
        content
            .attributes
            .values()
            .for_each(|attribute| visit(&attribute.expr, bound));
    }
    for block in &content.blocks {
        let is_dynamic = &*block.type_name == "dynamic" && !schema.blocks.contains_key("dynamic");
        let name = if is_dynamic {
            block.labels.first().map(|l| l.text.clone())
        } else {
            Some(block.type_name.clone())
        };
        let Some(name) = name else { continue };
        let objects;
        let (inner, inner_lenient) = match schema.blocks.get(&*name) {
            Some(nested) => (&nested.block, lenient),
            None => {
                // Not a block type: an argument that the body writes as blocks.
                let element = schema
                    .attributes
                    .get(&*name)
                    .and_then(|a| a.ty.element_type());
                let Some(element) = element else { continue };
                objects = shape::object_schema(element);
                (&objects, shape::may_be_blocks(&objects))
            }
        };
        if is_dynamic {
            each_of_dynamic(&block.body, &name, inner, inner_lenient, made, bound, visit);
        } else {
            each_expression(&block.body, inner, inner_lenient, made, bound, visit);
        }
    }
}

fn each_of_dynamic(
    body: &Body,
    name: &Arc<str>,
    schema: &Block,
    lenient: bool,
    made: DynamicBlock<'_>,
    bound: &[Arc<str>],
    visit: Visit<'_>,
) {
    let (content, _, _) = body.partial_content(&dynamic::spec_schema(true));
    let iterator = content
        .attribute("iterator")
        .and_then(|given| given.expr.as_static_traversal())
        .map(|t| t.root);
    let iterator = iterator.unwrap_or_else(|| name.clone());
    let mut inside = bound.to_vec();
    inside.push(iterator.clone());
    // The iterator is bound in the labels and the content, but not in its own for_each.
    if let Some(each) = content.attribute("for_each") {
        visit(&each.expr, bound);
    }
    if let Some(labels) = content.attribute("labels") {
        visit(&labels.expr, &inside);
    }
    for block in content.blocks_of("content") {
        let mut content_of = |made: DynamicBlock<'_>| {
            each_expression(&block.body, schema, lenient, made, &inside, visit)
        };
        match made {
            // Visited once per block, because a nested for_each may use the iterator.
            DynamicBlock::In(scope) => match iterator_values(&content, scope) {
                rounds if rounds.is_empty() => content_of(DynamicBlock::None),
                rounds => rounds.into_iter().for_each(|item| {
                    content_of(DynamicBlock::In(&Bindings::extending(
                        scope,
                        BTreeMap::from([(iterator.clone(), item)]),
                    )));
                }),
            },
            made => content_of(made),
        }
    }
}

/// Iterator values, one for each block made; empty if for_each is unknown or invalid.
fn iterator_values(content: &Content, scope: &dyn Scope) -> Vec<Value> {
    let Some(each) = content.attribute("for_each") else {
        return Vec::new();
    };
    let (value, diags) = evaluate(&each.expr, scope);
    if diags.has_errors() {
        return Vec::new();
    }
    value
        .unmark()
        .0
        .elements()
        .map(|(key, value)| Value::object([("key", key), ("value", value.clone())]))
        .collect()
}
