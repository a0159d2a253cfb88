//! Bodies of configuration into values by schema: arguments converted, nested blocks gathered,
//! `dynamic` blocks expanded. The meta-arguments of a block are taken out of its body before it
//! comes here.

mod attributes;
mod blocks;
mod dynamic;
mod ephemeral;
mod place;
mod references;
mod shape;
mod traversal;

pub use ephemeral::refuse_ephemeral;
pub use place::place_of;
pub use references::{function_calls, live_references, lookups, references};
pub use shape::{object_schema, written_as_blocks};
pub use traversal::traversal_fault;

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::schema::Block;
use cty::{Marks, Value};

use crate::body::{Body, Content};
use crate::diag::Diagnostics;
use crate::eval::Scope;

/// The value of a body by its schema, of the schema's implied type. With errors the parts at fault
/// are unknown.
pub fn decode_block(body: &Body, schema: &Block, scope: &dyn Scope) -> (Value, Diagnostics) {
    let mut diags = Diagnostics::new();
    let place = Place {
        scope,
        marks: Marks::none(),
        unknown: false,
    };
    let value = body_value(
        body,
        schema,
        shape::may_be_blocks(schema),
        &place,
        &mut diags,
    );
    (value, diags)
}

/// Where a body is decoded: names, marks that a sensitive `for_each` lends to everything inside,
/// and whether the number of such bodies is not known yet.
struct Place<'a> {
    scope: &'a dyn Scope,
    marks: Marks,
    unknown: bool,
}

/// `lenient`: arguments that are lists of objects may be written as blocks.
fn body_value(
    body: &Body,
    schema: &Block,
    lenient: bool,
    place: &Place<'_>,
    diags: &mut Diagnostics,
) -> Value {
    let as_blocks = if lenient {
        shape::not_arguments(body, schema)
    } else {
        Default::default()
    };
    let (content, found) = body.content(&shape::body_schema(schema, &as_blocks));
    diags.append(found);
    let decoder = Decoder {
        content: &content,
        schema,
        lenient,
        place,
    };
    decoder.unknown_dynamics(&as_blocks, diags);
    let mut members: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for (name, attribute) in &schema.attributes {
        let value = if as_blocks.contains(&**name) {
            decoder.blocks_as_attribute(name, attribute, diags)
        } else {
            decoder.attribute(name, attribute, diags)
        };
        members.insert(name.clone(), value);
    }
    for (name, nested) in schema
        .blocks
        .iter()
        .filter(|(name, _)| !schema.attributes.contains_key(*name))
    {
        members.insert(name.clone(), decoder.nested(name, nested, diags));
    }
    Value::object_from_map(members)
}

/// One body's content beside its schema.
struct Decoder<'a> {
    content: &'a Content,
    schema: &'a Block,
    lenient: bool,
    place: &'a Place<'a>,
}
