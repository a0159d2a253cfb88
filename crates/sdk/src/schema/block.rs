//! Schemas, and the blocks in them.

use cty::{Type, Value};

use super::attr::Attr;

/// The schema of a provider, a resource type or a data source.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Grows when state that was written under an older one must be upgraded.
    pub version: i64,
    /// Attributes and nested blocks.
    pub block: Block,
}

/// Attributes and nested blocks.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// In order of declaration.
    pub attributes: Vec<Attr>,
    /// In order of declaration.
    pub blocks: Vec<Nested>,
    /// For people; Markdown.
    pub description: String,
    /// Why not to use it any more; empty: not deprecated.
    pub deprecated: String,
}

/// How often a nested block or nested object stands in its parent, and how its elements are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// At most one.
    Single,
    /// At most one; without one: an object of nulls. Blocks only.
    Group,
    /// In order.
    List,
    /// Without order.
    Set,
    /// By key.
    Map,
}

/// A nested block.
#[derive(Clone, Debug)]
pub struct Nested {
    /// Its type name.
    pub name: String,
    /// How often it may stand.
    pub nesting: Nesting,
    /// What is in it.
    pub block: Block,
    /// Least number; of a single block 1 means that it must stand.
    pub min: i64,
    /// Greatest number; 0: no limit.
    pub max: i64,
}

impl Schema {
    /// An empty schema of version 0.
    pub fn new() -> Schema {
        Schema::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn version(mut self, version: i64) -> Schema {
        self.version = version;
        self
    }

    /// Describes it, in Markdown.
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

    /// A value of this schema in which nothing is set: attributes are null, repeated blocks are
    /// empty.
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

    /// The type of a value of this schema.
    pub fn implied_type(&self) -> Type {
        self.block.implied_type()
    }
}

impl Block {
    /// An empty block.
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

    /// Describes it, in Markdown.
    #[must_use]
    pub fn describe(mut self, text: &str) -> Block {
        self.description = text.to_owned();
        self
    }

    /// The type of a value of this block: an object of all attributes and nested blocks.
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
    /// A nested block that may stand any number of times.
    pub fn new(name: &str, nesting: Nesting, block: Block) -> Nested {
        Nested {
            name: name.to_owned(),
            nesting,
            block,
            min: 0,
            max: 0,
        }
    }

    /// Must stand at least as often.
    #[must_use]
    pub fn min(self, min: i64) -> Nested {
        Nested { min, ..self }
    }

    /// May stand at most as often.
    #[must_use]
    pub fn max(self, max: i64) -> Nested {
        Nested { max, ..self }
    }

    /// The type of its value in its parent.
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
