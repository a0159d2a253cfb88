//! Conversion of schemas to `cty::schema`, whose plan rules the SDK uses.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::schema as common;

use super::{Attr, AttrType, Block, Nesting, Schema};

/// Converts a schema.
pub(crate) fn of(schema: &Schema) -> common::Schema {
    common::Schema::new(schema.version, block(&schema.block))
}

fn block(from: &Block) -> common::Block {
    let blocks = from.blocks.iter().map(|nested| {
        let inner = common::NestedBlock {
            min_items: nested.min.unsigned_abs(),
            max_items: nested.max.unsigned_abs(),
            ..common::NestedBlock::new(nesting(nested.nesting), block(&nested.block))
        };
        (nested.name.as_str().into(), inner)
    });
    common::Block {
        attributes: attributes(&from.attributes),
        blocks: blocks.collect(),
        ..common::Block::default()
    }
}

fn attributes(attrs: &[Attr]) -> BTreeMap<Arc<str>, common::Attribute> {
    let one = |attr: &Attr| {
        let nested = match &attr.ty {
            AttrType::Plain(_) => None,
            AttrType::Nested(how, attrs) => Some(common::NestedObject {
                attributes: attributes(attrs),
                nesting: nesting(*how),
            }),
        };
        let attribute = common::Attribute {
            ty: attr.ty(),
            nested,
            required: attr.required,
            optional: attr.optional,
            computed: attr.computed,
            sensitive: attr.sensitive,
            write_only: attr.write_only,
            ..common::Attribute::default()
        };
        (attr.name.as_str().into(), attribute)
    };
    attrs.iter().map(one).collect()
}

fn nesting(nesting: Nesting) -> common::Nesting {
    match nesting {
        Nesting::Single => common::Nesting::Single,
        Nesting::Group => common::Nesting::Group,
        Nesting::List => common::Nesting::List,
        Nesting::Set => common::Nesting::Set,
        Nesting::Map => common::Nesting::Map,
    }
}
