//! Names that a body may use by its schema, and arguments that it may write as blocks: lists and
//! sets of objects in legacy-style schemas, where the schema allows no other interpretation.

use std::collections::BTreeSet;
use std::sync::Arc;

use cty::Type;
use cty::schema::{Attribute, Block, Nesting};

use crate::body::{Body, BodySchema};

/// Returns true for a legacy-style schema: no nested attribute types or other types that only newer
/// SDKs have.
pub(super) fn may_be_blocks(schema: &Block) -> bool {
    schema.attributes.values().all(is_old_style)
        && schema.blocks.values().all(|b| may_be_blocks(&b.block))
}

fn is_old_style(attribute: &Attribute) -> bool {
    if attribute.nested.is_some() {
        return false;
    }
    match &attribute.ty {
        Type::Tuple(_) | Type::Object(_) => false,
        // Only newer SDKs have maps of objects.
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

/// Arguments that the body may write as blocks by its schema, and does not write as arguments.
pub fn written_as_blocks<'s>(body: &Body, schema: &'s Block) -> BTreeSet<&'s str> {
    match may_be_blocks(schema) {
        true => not_arguments(body, schema),
        false => BTreeSet::new(),
    }
}

/// Same, for callers that have already checked [`may_be_blocks`].
pub(super) fn not_arguments<'s>(body: &Body, schema: &'s Block) -> BTreeSet<&'s str> {
    let names = schema
        .attributes
        .iter()
        .filter(|(_, a)| ambiguous(a))
        .map(|(name, _)| &**name);
    names.filter(|name| !body.has_attribute(name)).collect()
}

/// Schema of a body's names, including `dynamic`.
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
    // A provider's own block type of this name takes precedence over that of the language.
    if !schema.blocks.contains_key("dynamic") {
        out = out.block("dynamic", &["type"]);
    }
    out
}

/// Schema of a block for an object of this type; all attributes are optional.
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
