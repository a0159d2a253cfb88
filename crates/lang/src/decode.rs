//! Decodes bodies to values by schema: converts arguments, collects nested blocks, expands
//! `dynamic` blocks. Callers remove meta-arguments from the body first.

mod attributes;
mod blocks;
mod dynamic;
mod ephemeral;
mod outline;
mod references;
mod shape;
mod traversal;
mod value_span;

pub use ephemeral::refuse_ephemeral;
pub use outline::Outline;
pub use references::{function_calls, live_references, lookups, references};
pub use shape::{object_schema, written_as_blocks};
pub use traversal::traversal_fault;
pub use value_span::place_of;

use cty::schema::Block;
use cty::{Marks, Value};

use crate::body::{Body, Content};
use crate::diag::Diagnostics;
use crate::eval::Scope;

/// Decodes a body to a value of the schema's implied type. Parts with errors are unknown.
pub fn decode_block(body: &Body, schema: &Block, scope: &dyn Scope) -> (Value, Diagnostics) {
    Outline::new(body, schema, shape::may_be_blocks(schema)).decode(schema, scope)
}

/// Context of decoding: scope, marks added by a sensitive `for_each`, and a flag for an unknown
/// number of blocks.
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
    Outline::new(body, schema, lenient).value(schema, place, diags)
}

/// Content of one body with its schema.
struct Decoder<'a> {
    content: &'a Content,
    schema: &'a Block,
    lenient: bool,
    place: &'a Place<'a>,
}
