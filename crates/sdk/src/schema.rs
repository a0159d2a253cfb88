//! Schemas, said in a few words: attributes and nested blocks, and beside what the wire knows of
//! them also how they plan (defaults, what forces replacement, what stays) and which values they
//! take.

use std::sync::Arc;

use cty::{Type, Value};

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

/// The type of an attribute.
#[derive(Clone, Debug)]
pub enum AttrType {
    /// Any type, `Type::Dynamic` included.
    Plain(Type),
    /// An object, or a collection of objects, whose attributes have flags of their own.
    Nested(Nesting, Vec<Attr>),
}

/// A check of a known, non-null value; the error is a sentence for the operator.
pub type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// An attribute. Optional until it is told otherwise.
#[derive(Clone)]
pub struct Attr {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: AttrType,
    /// Must be set.
    pub required: bool,
    /// May be set.
    pub optional: bool,
    /// The provider says what it is, where the configuration does not.
    pub computed: bool,
    /// Must not be shown.
    pub sensitive: bool,
    /// Is never part of the state.
    pub write_only: bool,
    /// For people; Markdown.
    pub description: String,
    /// Why not to use it any more; empty: not deprecated.
    pub deprecated: String,
    /// A change of it replaces the object.
    pub replaces: bool,
    /// Computed, and not changed by an update.
    pub stable: bool,
    /// The value where none is set.
    pub default: Option<Value>,
    /// Which values it takes.
    pub check: Option<Check>,
}

impl std::fmt::Debug for Attr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attr")
            .field("name", &self.name)
            .field("ty", &self.ty)
            .finish_non_exhaustive()
    }
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

fn nest(nesting: Nesting, object: Type) -> Type {
    match nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List => Type::list(object),
        Nesting::Set => Type::set(object),
        Nesting::Map => Type::map(object),
    }
}

impl Attr {
    /// An optional attribute of a type.
    pub fn new(name: &str, ty: Type) -> Attr {
        Attr::with(name, AttrType::Plain(ty))
    }

    /// An optional string.
    pub fn string(name: &str) -> Attr {
        Attr::new(name, Type::String)
    }

    /// An optional number.
    pub fn number(name: &str) -> Attr {
        Attr::new(name, Type::Number)
    }

    /// An optional bool.
    pub fn bool(name: &str) -> Attr {
        Attr::new(name, Type::Bool)
    }

    /// An optional map of strings.
    pub fn strings(name: &str) -> Attr {
        Attr::new(name, Type::map(Type::String))
    }

    /// An optional list of strings.
    pub fn list(name: &str) -> Attr {
        Attr::new(name, Type::list(Type::String))
    }

    /// An optional set of strings.
    pub fn set(name: &str) -> Attr {
        Attr::new(name, Type::set(Type::String))
    }

    /// An optional object (or collection of objects) whose attributes have flags of their own.
    /// `Group` is for blocks alone.
    pub fn nested(name: &str, nesting: Nesting, attributes: impl Into<Vec<Attr>>) -> Attr {
        Attr::with(name, AttrType::Nested(nesting, attributes.into()))
    }

    fn with(name: &str, ty: AttrType) -> Attr {
        Attr {
            name: name.to_owned(),
            ty,
            required: false,
            optional: true,
            computed: false,
            sensitive: false,
            write_only: false,
            description: String::new(),
            deprecated: String::new(),
            replaces: false,
            stable: false,
            default: None,
            check: None,
        }
    }

    /// Must be set.
    #[must_use]
    pub fn required(self) -> Attr {
        Attr {
            required: true,
            optional: false,
            ..self
        }
    }

    /// Is said by the provider alone.
    #[must_use]
    pub fn computed(self) -> Attr {
        Attr {
            computed: true,
            optional: false,
            ..self
        }
    }

    /// May be set; is said by the provider where it is not.
    #[must_use]
    pub fn optional_computed(self) -> Attr {
        Attr {
            computed: true,
            optional: true,
            ..self
        }
    }

    /// Must not be shown.
    #[must_use]
    pub fn sensitive(self) -> Attr {
        Attr {
            sensitive: true,
            ..self
        }
    }

    /// Never becomes part of the state; the provider sees it in the configuration alone.
    #[must_use]
    pub fn write_only(self) -> Attr {
        Attr {
            write_only: true,
            ..self
        }
    }

    /// Describes it, in Markdown.
    #[must_use]
    pub fn describe(self, text: &str) -> Attr {
        Attr {
            description: text.to_owned(),
            ..self
        }
    }

    /// Says why not to use it any more.
    #[must_use]
    pub fn deprecated(self, why: &str) -> Attr {
        Attr {
            deprecated: why.to_owned(),
            ..self
        }
    }

    /// A change of it replaces the object.
    #[must_use]
    pub fn replaces(self) -> Attr {
        Attr {
            replaces: true,
            ..self
        }
    }

    /// Computed once: an update leaves it as it is, and the plan says so.
    #[must_use]
    pub fn stable(self) -> Attr {
        Attr {
            stable: true,
            ..self
        }
    }

    /// The value where none is set (which makes it computed too).
    #[must_use]
    pub fn default(self, value: Value) -> Attr {
        Attr {
            computed: true,
            default: Some(value),
            ..self
        }
    }

    /// Which values it takes; asked only about known values that are not null.
    #[must_use]
    pub fn check(
        self,
        check: impl Fn(&Value) -> Result<(), String> + Send + Sync + 'static,
    ) -> Attr {
        Attr {
            check: Some(Arc::new(check)),
            ..self
        }
    }

    /// Takes these words alone.
    #[must_use]
    pub fn one_of(self, words: &'static [&'static str]) -> Attr {
        self.check(move |value| match value.as_str() {
            Some(text) if words.contains(&text) => Ok(()),
            _ => Err(format!("must be one of: {}", words.join(", "))),
        })
    }

    /// The type of its value.
    pub fn ty(&self) -> Type {
        match &self.ty {
            AttrType::Plain(ty) => ty.clone(),
            AttrType::Nested(nesting, attributes) => nest(
                *nesting,
                Type::object(attributes.iter().map(|attr| (attr.name.clone(), attr.ty()))),
            ),
        }
    }
}
