//! Schemas in the words of protocol 6, checked on the way: what no host would accept is said at the
//! start.

use proto::tfplugin6 as pb;
use proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use proto::tfplugin6::schema::object::NestingMode as ObjectNesting;

use crate::schema::{Attr, AttrType, Block, Nested, Nesting, Schema};

/// A schema for the wire; the error names `what` and the attribute at fault.
pub(crate) fn to_wire(what: &str, schema: &Schema) -> Result<pb::Schema, String> {
    let block = block(&schema.block).map_err(|problem| format!("{what}: {problem}"))?;
    Ok(pb::Schema {
        version: schema.version,
        block: Some(block),
    })
}

fn block(from: &Block) -> Result<pb::schema::Block, String> {
    let mut names: Vec<&str> = from
        .attributes
        .iter()
        .map(|a| &*a.name)
        .chain(from.blocks.iter().map(|b| &*b.name))
        .collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("{} is declared twice", twice[0]));
    }
    Ok(pb::schema::Block {
        version: 0,
        attributes: from
            .attributes
            .iter()
            .map(attribute)
            .collect::<Result<_, _>>()?,
        block_types: from.blocks.iter().map(nested).collect::<Result<_, _>>()?,
        description: from.description.clone(),
        description_kind: pb::StringKind::Markdown as i32,
        deprecated: !from.deprecated.is_empty(),
        deprecation_message: from.deprecated.clone(),
    })
}

fn attribute(from: &Attr) -> Result<pb::schema::Attribute, String> {
    let fault = |problem: &str| Err(format!("{}: {problem}", from.name));
    if from.required && (from.optional || from.computed) {
        return fault("a required attribute cannot be optional or computed, nor have a default");
    }
    if !from.required && !from.optional && !from.computed {
        return fault("an attribute is required, optional or computed");
    }
    if from.write_only && from.computed {
        return fault("a write-only attribute cannot be computed");
    }
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
            if *nesting != Nesting::Single && from.ty().has_dynamic() {
                return fault("a collection of objects cannot have attributes of any type");
            }
            let nesting = match nesting {
                Nesting::Single => ObjectNesting::Single,
                Nesting::List => ObjectNesting::List,
                Nesting::Set => ObjectNesting::Set,
                Nesting::Map => ObjectNesting::Map,
                Nesting::Group => return fault("only blocks are nested as a group"),
            };
            let attributes = attributes
                .iter()
                .map(self::attribute)
                .collect::<Result<_, _>>()
                .map_err(|inner| format!("{}.{inner}", from.name))?;
            attribute.nested_type = Some(pb::schema::Object {
                attributes,
                nesting: nesting as i32,
                ..Default::default()
            });
        }
    }
    Ok(attribute)
}

fn nested(from: &Nested) -> Result<pb::schema::NestedBlock, String> {
    let single = matches!(from.nesting, Nesting::Single | Nesting::Group);
    if !single && from.ty().has_dynamic() {
        return Err(format!(
            "{}: a repeated block cannot have attributes of any type",
            from.name
        ));
    }
    let nesting = match from.nesting {
        Nesting::Single => BlockNesting::Single,
        Nesting::Group => BlockNesting::Group,
        Nesting::List => BlockNesting::List,
        Nesting::Set => BlockNesting::Set,
        Nesting::Map => BlockNesting::Map,
    };
    // hosts refuse a single block whose limits differ: it is required (1 and 1) or not (0 and 0)
    let (min_items, max_items) = match from.nesting {
        Nesting::Single if from.min > 0 => (1, 1),
        Nesting::Single | Nesting::Group => (0, 0),
        _ if from.max > 0 && from.min > from.max => {
            return Err(format!(
                "{}: at least {} and at most {}",
                from.name, from.min, from.max
            ));
        }
        _ => (from.min, from.max),
    };
    Ok(pb::schema::NestedBlock {
        type_name: from.name.clone(),
        block: Some(block(&from.block).map_err(|inner| format!("{}.{inner}", from.name))?),
        nesting: nesting as i32,
        min_items,
        max_items,
    })
}
