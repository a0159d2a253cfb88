//! What a body refers to, without evaluating it: `dynamic` blocks are looked into, and the names they bind are left out.

use std::sync::Arc;

use cty::schema::Block;

use super::{dynamic, shape};
use crate::body::Body;
use crate::source::Span;
use crate::syntax::{Expr, Lookup, Traversal};

/// Every reference in the body, in no particular order across blocks.
pub fn references(body: &Body, schema: &Block) -> Vec<Traversal> {
    let mut found = Vec::new();
    each_expression(body, schema, shape::may_be_blocks(schema), &[], &mut |expr, bound| {
        let free = expr.traversals().into_iter().filter(|t| !bound.contains(&t.root));
        found.extend(free.cloned());
    });
    found
}

/// The same, each with what is looked up in it right away. A key in which an iterator has a part is left out.
pub fn lookups(body: &Body, schema: &Block) -> Vec<Lookup> {
    let mut found = Vec::new();
    each_expression(body, schema, shape::may_be_blocks(schema), &[], &mut |expr, bound| {
        let free = expr.lookups().into_iter().filter(|l| !bound.contains(&l.traversal.root));
        found.extend(free.map(|l| Lookup { key: l.key.filter(|key| !key.mentions(bound)), ..l }));
    });
    found
}

/// The names of all functions that the body calls, with places.
pub fn function_calls(body: &Body, schema: &Block) -> Vec<(Arc<str>, Span)> {
    let mut found = Vec::new();
    each_expression(body, schema, shape::may_be_blocks(schema), &[], &mut |expr, _| {
        found.extend(expr.calls().into_iter().map(|call| (call.name.clone(), call.name_span)));
    });
    found
}

type Visit<'v> = &'v mut dyn FnMut(&Expr, &[Arc<str>]);

/// `bound`: the names of the iterators around.
fn each_expression(body: &Body, schema: &Block, lenient: bool, bound: &[Arc<str>], visit: Visit<'_>) {
    let as_blocks = if lenient { shape::written_as_blocks(body, schema) } else { Default::default() };
    let (content, _, _) = body.partial_content(&shape::body_schema(schema, &as_blocks));
    for attribute in content.attributes.values() {
        visit(&attribute.expr, bound);
    }
    for block in &content.blocks {
        let made = &*block.type_name == "dynamic" && !schema.blocks.contains_key("dynamic");
        let name = if made { block.labels.first().map(|l| l.text.clone()) } else { Some(block.type_name.clone()) };
        let Some(name) = name else { continue };
        let objects;
        let (inner, inner_lenient) = match schema.blocks.get(&*name) {
            Some(nested) => (&nested.block, lenient),
            None => {
                let element = schema.attributes.get(&*name).and_then(|a| a.ty.element_type());
                let Some(element) = element else { continue };
                objects = shape::of_object(element);
                (&objects, shape::may_be_blocks(&objects))
            }
        };
        if made {
            each_of_dynamic(&block.body, &name, inner, inner_lenient, bound, visit);
        } else {
            each_expression(&block.body, inner, inner_lenient, bound, visit);
        }
    }
}

fn each_of_dynamic(body: &Body, name: &Arc<str>, schema: &Block, lenient: bool, bound: &[Arc<str>], visit: Visit<'_>) {
    let (content, _, _) = body.partial_content(&dynamic::spec_schema(true));
    let iterator = content.attribute("iterator").and_then(|given| given.expr.as_static_traversal()).map(|t| t.root);
    let mut inside = bound.to_vec();
    inside.push(iterator.unwrap_or_else(|| name.clone()));
    if let Some(each) = content.attribute("for_each") {
        visit(&each.expr, bound);
    }
    if let Some(labels) = content.attribute("labels") {
        visit(&labels.expr, &inside);
    }
    for block in content.blocks_of("content") {
        each_expression(&block.body, schema, lenient, &inside, visit);
    }
}
