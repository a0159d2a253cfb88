//! Conversion of schemas to protocol 6. The schemas have been validated.

use proto::tfplugin6 as pb;
use proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use proto::tfplugin6::schema::object::NestingMode as ObjectNesting;

use crate::schema::{Attr, AttrType, Block, Nested, Nesting, Schema};

/// Converts a schema.
pub(crate) fn to_wire(schema: &Schema) -> pb::Schema {
    pb::Schema {
        version: schema.version,
        block: Some(block(&schema.block)),
    }
}

fn block(from: &Block) -> pb::schema::Block {
    pb::schema::Block {
        // The version belongs to the whole schema; blocks have none of their own.
        version: 0,
        attributes: from.attributes.iter().map(attribute).collect(),
        block_types: from.blocks.iter().map(nested).collect(),
        description: from.description.clone(),
        description_kind: pb::StringKind::Markdown as i32,
        deprecated: !from.deprecated.is_empty(),
        deprecation_message: from.deprecated.clone(),
    }
}

fn attribute(from: &Attr) -> pb::schema::Attribute {
    let mut attribute = pb::schema::Attribute {
        name: from.name.clone(),
        description: from.description.clone(),
        required: from.required,
        optional: from.optional,
        computed: from.computed,
        sensitive: from.sensitive,
        description_kind: pb::StringKind::Markdown as i32,
        deprecated: !from.deprecated.is_empty(),
        write_only: from.write_only,
        deprecation_message: from.deprecated.clone(),
        ..Default::default()
    };
    match &from.ty {
        AttrType::Plain(ty) => attribute.r#type = ty.to_json().into_bytes().into(),
        AttrType::Nested(nesting, attributes) => {
            let nesting = match nesting {
                Nesting::Single | Nesting::Group => ObjectNesting::Single,
                Nesting::List => ObjectNesting::List,
                Nesting::Set => ObjectNesting::Set,
                Nesting::Map => ObjectNesting::Map,
            };
            attribute.nested_type = Some(pb::schema::Object {
                attributes: attributes.iter().map(self::attribute).collect(),
                nesting: nesting as i32,
                ..Default::default()
            });
        }
    }
    attribute
}

fn nested(from: &Nested) -> pb::schema::NestedBlock {
    let nesting = match from.nesting {
        Nesting::Single => BlockNesting::Single,
        Nesting::Group => BlockNesting::Group,
        Nesting::List => BlockNesting::List,
        Nesting::Set => BlockNesting::Set,
        Nesting::Map => BlockNesting::Map,
    };
    // Hosts refuse a single block whose limits differ: it is required (1 and 1) or not (0 and 0).
    let (min_items, max_items) = match from.nesting {
        Nesting::Single if from.min > 0 => (1, 1),
        Nesting::Single | Nesting::Group => (0, 0),
        _ => (from.min, from.max),
    };
    pb::schema::NestedBlock {
        type_name: from.name.clone(),
        block: Some(block(&from.block)),
        nesting: nesting as i32,
        min_items,
        max_items,
    }
}
