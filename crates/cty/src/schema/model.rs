//! The parts of a schema. Plain data: whoever builds it owns it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::{Type, Value};

/// A schema with its version, as of a resource type, a data source or a provider's configuration.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// The version of stored state that this schema describes.
    pub version: i64,
    /// The content.
    pub block: Block,
    pub(crate) implied: OnceLock<Type>,
    pub(crate) empty: OnceLock<Value>,
}

/// How a description is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextKind {
    /// Plain text.
    #[default]
    Plain,
    /// Markdown.
    Markdown,
}

/// Attributes and nested blocks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// Attributes by name.
    pub attributes: BTreeMap<Arc<str>, Attribute>,
    /// Nested blocks by name.
    pub blocks: BTreeMap<Arc<str>, NestedBlock>,
    /// For people.
    pub description: String,
    /// How `description` is written.
    pub description_kind: TextKind,
    /// Not to be used any more.
    pub deprecated: bool,
    /// What to use instead, where the provider says so.
    pub deprecation_message: String,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// The type; ignored where `nested` is given.
    pub ty: Type,
    /// The attribute is an object, or a collection of objects, whose attributes have schemas of
    /// their own.
    pub nested: Option<NestedObject>,
    /// Must be set.
    pub required: bool,
    /// May be set.
    pub optional: bool,
    /// The provider sets it, always or (with `optional`) where the configuration does not.
    pub computed: bool,
    /// Not to be shown.
    pub sensitive: bool,
    /// Given to the provider and never stored.
    pub write_only: bool,
    /// Not to be used any more.
    pub deprecated: bool,
    /// What to use instead, where the provider says so.
    pub deprecation_message: String,
    /// For people.
    pub description: String,
    /// How `description` is written.
    pub description_kind: TextKind,
}

impl Default for Attribute {
    /// A string that is neither required, optional nor computed: a start for struct update syntax.
    fn default() -> Attribute {
        Attribute {
            ty: Type::String,
            nested: None,
            required: false,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: false,
            deprecation_message: String::new(),
            description: String::new(),
            description_kind: TextKind::Plain,
        }
    }
}

/// The objects of an attribute with nested attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedObject {
    /// Attributes by name.
    pub attributes: BTreeMap<Arc<str>, Attribute>,
    /// One object, or a list, set or map of them. Never `Group`.
    pub nesting: Nesting,
}

/// How often something nested occurs, and how it is told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nesting {
    /// At most once; absent is null.
    Single,
    /// In order.
    List,
    /// Without order, each once.
    Set,
    /// By a key.
    Map,
    /// Exactly once; absent is an object of nulls.
    Group,
}

/// A nested block.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedBlock {
    /// The content.
    pub block: Block,
    /// How often it occurs.
    pub nesting: Nesting,
    /// Least number of blocks; for `Single`, 1 means required.
    pub min_items: u64,
    /// Greatest number of blocks; 0 means any.
    pub max_items: u64,
}

impl Schema {
    /// A schema of this version.
    pub fn new(version: i64, block: Block) -> Schema {
        Schema {
            version,
            block,
            implied: OnceLock::new(),
            empty: OnceLock::new(),
        }
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.version == other.version && self.block == other.block
    }
}

impl Attribute {
    /// An attribute that must be set.
    pub fn required(ty: Type) -> Attribute {
        Attribute {
            ty,
            required: true,
            ..Default::default()
        }
    }

    /// An attribute that may be set.
    pub fn optional(ty: Type) -> Attribute {
        Attribute {
            ty,
            optional: true,
            ..Default::default()
        }
    }

    /// An attribute that the provider sets.
    pub fn computed(ty: Type) -> Attribute {
        Attribute {
            ty,
            computed: true,
            ..Default::default()
        }
    }

    /// An attribute that may be set, and which the provider sets otherwise.
    pub fn optional_computed(ty: Type) -> Attribute {
        Attribute {
            ty,
            optional: true,
            computed: true,
            ..Default::default()
        }
    }

    /// The same, not to be shown.
    pub fn sensitive(mut self) -> Attribute {
        self.sensitive = true;
        self
    }

    /// The same, with words for people.
    pub fn describe(mut self, text: &str) -> Attribute {
        self.description = text.to_string();
        self
    }
}

impl NestedBlock {
    /// A nested block of any number.
    pub fn new(nesting: Nesting, block: Block) -> NestedBlock {
        NestedBlock {
            block,
            nesting,
            min_items: 0,
            max_items: 0,
        }
    }
}
