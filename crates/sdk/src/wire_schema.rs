//! Conversion of schemas to protocol 6. Errors that every host would reject are reported at
//! startup.

use proto::tfplugin6 as pb;
use proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use proto::tfplugin6::schema::object::NestingMode as ObjectNesting;

use crate::schema::{Attr, AttrType, Block, Nested, Nesting, Schema};

/// Invalid schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// Type name, or the provider.
    pub subject: String,
    /// Names of blocks and attributes down to the invalid one; empty for the type itself.
    pub path: Vec<String>,
    /// Problem.
    pub flaw: SchemaFlaw,
}

/// Problem of a part of a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFlaw {
    /// Two parts have this name.
    #[error("is declared twice")]
    Twice,
    /// The attribute is required, and has a flag that excludes this.
    #[error("a required attribute cannot be optional or computed, nor have a default")]
    RequiredAndMore,
    /// The attribute is neither required, optional nor computed.
    #[error("an attribute must be required, optional or computed")]
    NobodySays,
    /// The attribute is write-only and computed.
    #[error("a write-only attribute cannot be computed")]
    ComputedWriteOnly,
    /// The objects of a collection must have one type.
    #[error("a collection of objects cannot have attributes of the type \"any\"")]
    DynamicObjects,
    /// Repeated blocks must have one type.
    #[error("a repeated block cannot have attributes of the type \"any\"")]
    DynamicBlocks,
    /// The attribute is nested as a group, which only blocks can be.
    #[error("nesting mode \"group\" is valid only for blocks")]
    Group,
    /// No number of blocks meets the limits.
    #[error("the minimum number of blocks ({min}) is greater than the maximum ({max})")]
    Limits {
        /// Least number.
        min: i64,
        /// Greatest number.
        max: i64,
    },
    /// The type name does not begin with the provider's name.
    #[error("type names must begin with {0}_, so that a host can find their provider")]
    Nobodys(String),
}

impl std::error::Error for SchemaError {}

impl std::fmt::Display for SchemaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            subject: of,
            path,
            flaw,
        } = self;
        write!(f, "{of}: ")?;
        let path = path.join(".");
        match flaw {
            flaw if path.is_empty() => write!(f, "{flaw}"),
            SchemaFlaw::Twice => write!(f, "{path} {flaw}"),
            flaw => write!(f, "{path}: {flaw}"),
        }
    }
}

/// Problem, with its path below the examined part.
struct Flawed(Vec<String>, SchemaFlaw);

impl Flawed {
    fn at(name: &str, flaw: SchemaFlaw) -> Self {
        Self(vec![name.to_owned()], flaw)
    }

    /// Extends the path by the name of the containing part.
    fn within(mut self, name: &str) -> Self {
        self.0.insert(0, name.to_owned());
        self
    }
}

/// Converts a schema; the error names `what` and the invalid attribute.
pub(crate) fn to_wire(what: &str, schema: &Schema) -> Result<pb::Schema, SchemaError> {
    let block = block(&schema.block).map_err(|Flawed(path, flaw)| SchemaError {
        subject: what.to_owned(),
        path,
        flaw,
    })?;
    Ok(pb::Schema {
        version: schema.version,
        block: Some(block),
    })
}

fn block(from: &Block) -> Result<pb::schema::Block, Flawed> {
    let mut names: Vec<&str> = from
        .attributes
        .iter()
        .map(|a| &*a.name)
        .chain(from.blocks.iter().map(|b| &*b.name))
        .collect();
    names.sort_unstable();
    // Attributes and blocks share one namespace in the object type.
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Flawed::at(twice[0], SchemaFlaw::Twice));
    }
    Ok(pb::schema::Block {
        // The version belongs to the whole schema; blocks have none of their own.
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

fn attribute(from: &Attr) -> Result<pb::schema::Attribute, Flawed> {
    let fault = |flaw| Err(Flawed::at(&from.name, flaw));
    if from.required && (from.optional || from.computed) {
        return fault(SchemaFlaw::RequiredAndMore);
    }
    if !from.required && !from.optional && !from.computed {
        return fault(SchemaFlaw::NobodySays);
    }
    if from.write_only && from.computed {
        return fault(SchemaFlaw::ComputedWriteOnly);
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
            // All elements of a collection have one type, which an attribute of any type would
            // break.
            if *nesting != Nesting::Single && from.ty().has_dynamic() {
                return fault(SchemaFlaw::DynamicObjects);
            }
            let nesting = match nesting {
                Nesting::Single => ObjectNesting::Single,
                Nesting::List => ObjectNesting::List,
                Nesting::Set => ObjectNesting::Set,
                Nesting::Map => ObjectNesting::Map,
                Nesting::Group => return fault(SchemaFlaw::Group),
            };
            let attributes = attributes
                .iter()
                .map(self::attribute)
                .collect::<Result<_, _>>()
                .map_err(|inner: Flawed| inner.within(&from.name))?;
            attribute.nested_type = Some(pb::schema::Object {
                attributes,
                nesting: nesting as i32,
                ..Default::default()
            });
        }
    }
    Ok(attribute)
}

fn nested(from: &Nested) -> Result<pb::schema::NestedBlock, Flawed> {
    let single = matches!(from.nesting, Nesting::Single | Nesting::Group);
    if !single && from.ty().has_dynamic() {
        return Err(Flawed::at(&from.name, SchemaFlaw::DynamicBlocks));
    }
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
        _ if from.max > 0 && from.min > from.max => {
            let (min, max) = (from.min, from.max);
            return Err(Flawed::at(&from.name, SchemaFlaw::Limits { min, max }));
        }
        _ => (from.min, from.max),
    };
    Ok(pb::schema::NestedBlock {
        type_name: from.name.clone(),
        block: Some(block(&from.block).map_err(|inner| inner.within(&from.name))?),
        nesting: nesting as i32,
        min_items,
        max_items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(schema: &Schema) -> String {
        to_wire("lab_thing", schema).unwrap_err().to_string()
    }

    #[test]
    fn schema_errors_name_the_attribute() {
        let twice = || Block::new().attr(Attr::string("b")).attr(Attr::string("b"));
        let of = |block: Block| Schema { version: 0, block };
        assert_eq!(said(&of(twice())), "lab_thing: b is declared twice");
        let within = Block::new().block(Nested::new("a", Nesting::List, twice()));
        assert_eq!(said(&of(within)), "lab_thing: a.b is declared twice");
        let both = Block::new().attr(Attr::string("b").required().computed());
        assert_eq!(
            said(&of(both)),
            "lab_thing: b: a required attribute cannot be optional or computed, nor have a default"
        );
    }
}
