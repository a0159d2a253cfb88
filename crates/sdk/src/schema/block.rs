//! Schemas and their blocks.

use cty::{Type, Value};

use super::attr::Attr;
use super::timeouts::Timeouts;

/// Schema of a provider, a resource type or a data source.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Version, to be raised when the state of an older version must be upgraded.
    pub version: i64,
    /// Version of the identity, to be raised when stored identities must be upgraded.
    pub identity_version: i64,
    /// Attributes and nested blocks.
    pub block: Block,
    /// Default time limits of operations; with them the type has a block `timeouts`.
    pub timeouts: Option<Timeouts>,
}

/// Attributes and nested blocks.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Attributes in order of declaration.
    pub attributes: Vec<Attr>,
    /// Nested blocks in order of declaration.
    pub blocks: Vec<Nested>,
    /// Description for users, in Markdown.
    pub description: String,
    /// Reason of the deprecation; empty if not deprecated.
    pub deprecated: String,
}

/// Number of nested blocks or objects, and their identification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// At most one.
    Single,
    /// At most one; an object of nulls if absent. Blocks only.
    Group,
    /// Ordered list.
    List,
    /// Unordered set without duplicates.
    Set,
    /// Map by key.
    Map,
}

/// Nested block.
#[derive(Clone, Debug)]
pub struct Nested {
    /// Type name.
    pub name: String,
    /// Number and identification of the blocks.
    pub nesting: Nesting,
    /// Attributes and nested blocks.
    pub block: Block,
    /// Least number; 1 means required for a single block.
    pub min: i64,
    /// Greatest number; 0 means no limit.
    pub max: i64,
}

impl Schema {
    /// Creates an empty schema of version 0.
    pub fn new() -> Schema {
        Schema::default()
    }

    /// Creates a schema of version 0 from a block.
    pub fn of(block: Block) -> Schema {
        Schema {
            block,
            ..Schema::default()
        }
    }

    /// Adds a block `timeouts`, by which operators set the time limits of operations.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Schema {
        self.block.blocks.push(timeouts.block());
        self.timeouts = Some(timeouts);
        self
    }

    /// Sets the version.
    #[must_use]
    pub fn version(mut self, version: i64) -> Schema {
        self.version = version;
        self
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn describe(mut self, text: &str) -> Schema {
        self.block.description = text.to_owned();
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attr(mut self, attr: Attr) -> Schema {
        self.block.attributes.push(attr);
        self
    }

    /// Adds several attributes.
    #[must_use]
    pub fn attrs(mut self, attrs: impl IntoIterator<Item = Attr>) -> Schema {
        self.block.attributes.extend(attrs);
        self
    }

    /// Adds a nested block.
    #[must_use]
    pub fn block(mut self, nested: Nested) -> Schema {
        self.block.blocks.push(nested);
        self
    }

    /// Returns the value with nothing set: attributes are null, repeated blocks are empty.
    pub fn empty_value(&self) -> Value {
        let ty = self.implied_type();
        let attributes = ty
            .as_object()
            .map(|object| object.attributes.iter())
            .into_iter()
            .flatten();
        self.block.with_empty_blocks(Value::object(
            attributes.map(|(name, ty)| (name, Value::null(ty.clone()))),
        ))
    }

    /// Returns the type of values of this schema.
    pub fn implied_type(&self) -> Type {
        self.block.implied_type()
    }
}

impl Block {
    /// Creates an empty block.
    pub fn new() -> Block {
        Block::default()
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attr(mut self, attr: Attr) -> Block {
        self.attributes.push(attr);
        self
    }

    /// Adds a nested block.
    #[must_use]
    pub fn block(mut self, nested: Nested) -> Block {
        self.blocks.push(nested);
        self
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn describe(mut self, text: &str) -> Block {
        self.description = text.to_owned();
        self
    }

    /// Returns the type of values of this block: an object of all attributes and nested blocks.
    pub fn implied_type(&self) -> Type {
        let attributes = self
            .attributes
            .iter()
            .map(|attr| (attr.name.clone(), attr.ty()));
        let blocks = self
            .blocks
            .iter()
            .map(|nested| (nested.name.clone(), nested.ty()));
        Type::object(attributes.chain(blocks))
    }
}

impl Nested {
    /// Creates a nested block without limits on its number.
    pub fn new(name: &str, nesting: Nesting, block: Block) -> Nested {
        Nested {
            name: name.to_owned(),
            nesting,
            block,
            min: 0,
            max: 0,
        }
    }

    /// Sets the least number.
    #[must_use]
    pub fn min(self, min: i64) -> Nested {
        Nested { min, ..self }
    }

    /// Sets the greatest number.
    #[must_use]
    pub fn max(self, max: i64) -> Nested {
        Nested { max, ..self }
    }

    /// Returns the type of the block's value in its parent.
    pub fn ty(&self) -> Type {
        nest(self.nesting, self.block.implied_type())
    }
}

pub(super) fn nest(nesting: Nesting, object: Type) -> Type {
    match nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List => Type::list(object),
        Nesting::Set => Type::set(object),
        Nesting::Map => Type::map(object),
    }
}
