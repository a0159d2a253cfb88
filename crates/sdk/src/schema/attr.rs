//! An attribute: its type, who sets it, what its value must be.

use std::sync::Arc;

use cty::{Type, Value};

use super::block::{Nesting, nest};

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
