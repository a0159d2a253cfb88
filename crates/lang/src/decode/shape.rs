//! Which names a body may hold by a schema, and which arguments may be written as blocks: lists and
//! sets of objects in schemas of the old kind, as long as nothing in the schema could be meant
//! otherwise.

use std::collections::BTreeSet;
use std::sync::Arc;

use cty::Type;
use cty::schema::{Attribute, Block, Nesting};

use crate::body::{Body, BodySchema};

/// Whether the schema is of the old kind.
pub(super) fn may_be_blocks(schema: &Block) -> bool {
    schema.attributes.values().all(old_style)
        && schema.blocks.values().all(|b| may_be_blocks(&b.block))
}

fn old_style(attribute: &Attribute) -> bool {
    if attribute.nested.is_some() {
        return false;
    }
    match &attribute.ty {
        Type::Tuple(_) | Type::Object(_) => false,
        Type::Map(element) if element.is_object() => false,
        Type::List(element) | Type::Set(element) | Type::Map(element) => match &**element {
            Type::List(inner) | Type::Set(inner) | Type::Map(inner) => inner.is_primitive(),
            _ => true,
        },
        _ => true,
    }
}

/// A list or set of objects.
fn ambiguous(attribute: &Attribute) -> bool {
    matches!(&attribute.ty, Type::List(element) | Type::Set(element) if element.is_object())
}

/// The arguments which this body does not set as arguments and may hold as blocks by its schema.
pub fn written_as_blocks<'s>(body: &Body, schema: &'s Block) -> BTreeSet<&'s str> {
    match may_be_blocks(schema) {
        true => not_arguments(body, schema),
        false => BTreeSet::new(),
    }
}

/// The arguments which this body does not set as arguments and may therefore hold as blocks.
pub(super) fn not_arguments<'s>(body: &Body, schema: &'s Block) -> BTreeSet<&'s str> {
    let names = schema
        .attributes
        .iter()
        .filter(|(_, a)| ambiguous(a))
        .map(|(name, _)| &**name);
    names.filter(|name| !body.has_attribute(name)).collect()
}

/// The names that a body of this schema may hold, `dynamic` included.
pub(super) fn body_schema(schema: &Block, as_blocks: &BTreeSet<&str>) -> BodySchema {
    let mut out = BodySchema::new();
    for (name, attribute) in &schema.attributes {
        if as_blocks.contains(&**name) {
            out.blocks.push((name.clone(), Vec::new()));
        } else {
            out.attributes.push((name.clone(), attribute.required));
        }
    }
    for (name, nested) in schema
        .blocks
        .iter()
        .filter(|(name, _)| !schema.attributes.contains_key(*name))
    {
        let labels = if nested.nesting == Nesting::Map {
            vec![Arc::from("key")]
        } else {
            Vec::new()
        };
        out.blocks.push((name.clone(), labels));
    }
    if !schema.blocks.contains_key("dynamic") {
        out = out.block("dynamic", &["type"]);
    }
    out
}

/// The schema of one block that stands for an object of this type: everything optional.
pub fn object_schema(ty: &Type) -> Block {
    let attributes = ty
        .as_object()
        .into_iter()
        .flat_map(|object| &object.attributes);
    let attributes = attributes.map(|(name, ty)| (name.clone(), Attribute::optional(ty.clone())));
    Block {
        attributes: attributes.collect(),
        ..Block::default()
    }
}
