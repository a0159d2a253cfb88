//! Data model of schemas: blocks, nested blocks and attributes. Plain data; `types` and `values`
//! derive types and values from it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::{Type, Value};

/// Schema with its version: of a resource type, a data source or a provider configuration.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// Version of the stored state that this schema describes.
    pub version: i64,
    /// Attributes and nested blocks of the object.
    pub block: Block,
    pub(crate) implied: OnceLock<Type>,
    pub(crate) empty: OnceLock<Value>,
}

/// Format of a description.
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
    /// Description for users.
    pub description: String,
    /// Format of `description`.
    pub description_kind: TextKind,
    /// Must no longer be used.
    pub deprecated: bool,
    /// Replacement of the deprecated block, if the provider names one.
    pub deprecation_message: String,
}

/// Schema of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Type; ignored if `nested` is set.
    pub ty: Type,
    /// Schema of the nested attributes, if the attribute is an object or a collection of objects
    /// with schemas of their own.
    pub nested: Option<NestedObject>,
    /// The configuration must set it.
    pub required: bool,
    /// The configuration may set it.
    pub optional: bool,
    /// The provider sets it: always, or (with `optional`) if the configuration does not.
    pub computed: bool,
    /// Must not be shown.
    pub sensitive: bool,
    /// Sent to the provider and never stored.
    pub write_only: bool,
    /// Must no longer be used.
    pub deprecated: bool,
    /// Replacement of the deprecated attribute, if the provider names one.
    pub deprecation_message: String,
    /// Description for users.
    pub description: String,
    /// Format of `description`.
    pub description_kind: TextKind,
}

impl Default for Attribute {
    /// Returns a string that is neither required, optional nor computed, for struct update syntax.
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

/// Objects of an attribute with nested attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedObject {
    /// Attributes by name.
    pub attributes: BTreeMap<Arc<str>, Attribute>,
    /// Nesting: one object, or a list, set or map of them. Never `Group`.
    pub nesting: Nesting,
}

/// Number of nested blocks or objects, and their identification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nesting {
    /// At most one; null if absent.
    Single,
    /// Ordered list.
    List,
    /// Unordered set without duplicates.
    Set,
    /// Map by key.
    Map,
    /// Exactly one; an object of nulls if absent.
    Group,
}

/// Schema of a nested block.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedBlock {
    /// Attributes and nested blocks of each block.
    pub block: Block,
    /// Number and identification of the blocks.
    pub nesting: Nesting,
    /// Least number of blocks; 1 means required for `Single`.
    pub min_items: u64,
    /// Greatest number of blocks; 0 means no limit.
    pub max_items: u64,
}

impl Schema {
    /// Creates a schema of this version.
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
    /// Creates an attribute that must be set.
    pub fn required(ty: Type) -> Attribute {
        Attribute {
            ty,
            required: true,
            ..Default::default()
        }
    }

    /// Creates an attribute that may be set.
    pub fn optional(ty: Type) -> Attribute {
        Attribute {
            ty,
            optional: true,
            ..Default::default()
        }
    }

    /// Creates an attribute that the provider sets.
    pub fn computed(ty: Type) -> Attribute {
        Attribute {
            ty,
            computed: true,
            ..Default::default()
        }
    }

    /// Creates an attribute that may be set, and that the provider sets otherwise.
    pub fn optional_computed(ty: Type) -> Attribute {
        Attribute {
            ty,
            optional: true,
            computed: true,
            ..Default::default()
        }
    }

    /// Marks the attribute as sensitive.
    pub fn sensitive(mut self) -> Attribute {
        self.sensitive = true;
        self
    }

    /// Sets the description.
    pub fn describe(mut self, text: &str) -> Attribute {
        self.description = text.to_string();
        self
    }
}

impl NestedBlock {
    /// Creates a nested block without limits on its number.
    pub fn new(nesting: Nesting, block: Block) -> NestedBlock {
        NestedBlock {
            block,
            nesting,
            min_items: 0,
            max_items: 0,
        }
    }
}
