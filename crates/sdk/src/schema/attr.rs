//! Attributes: type, flags, default and check.

use std::sync::Arc;

use cty::{Type, Value};

use super::block::{Nesting, nest};

/// Type of an attribute.
#[derive(Clone, Debug)]
pub enum AttrType {
    /// Any type, including `Type::Dynamic`.
    Plain(Type),
    /// Object, or collection of objects, whose attributes have their own flags.
    Nested(Nesting, Vec<Attr>),
}

/// Check of a known value that is not null; the error is a sentence for the operator.
pub type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// Attribute. Optional by default.
#[derive(Clone)]
pub struct Attr {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: AttrType,
    /// The configuration must set it.
    pub required: bool,
    /// The configuration can set it.
    pub optional: bool,
    /// The provider sets it if the configuration does not.
    pub computed: bool,
    /// Must not be shown.
    pub sensitive: bool,
    /// Never part of the state.
    pub write_only: bool,
    /// Description for users, in Markdown.
    pub description: String,
    /// Reason of the deprecation; empty if not deprecated.
    pub deprecated: String,
    /// A change requires replacement of the object.
    pub replaces: bool,
    /// Computed, and unchanged by an update.
    pub stable: bool,
    /// Part of the object's identity, by which it can be imported.
    pub identity: bool,
    /// Value if none is configured.
    pub default: Option<Value>,
    /// Check of configured values.
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
    /// Creates an optional attribute of a type.
    pub fn new(name: &str, ty: Type) -> Attr {
        Attr::with(name, AttrType::Plain(ty))
    }

    /// Creates an optional string.
    pub fn string(name: &str) -> Attr {
        Attr::new(name, Type::String)
    }

    /// Creates an optional number.
    pub fn number(name: &str) -> Attr {
        Attr::new(name, Type::Number)
    }

    /// Creates an optional bool.
    pub fn bool(name: &str) -> Attr {
        Attr::new(name, Type::Bool)
    }

    /// Creates an optional map of strings.
    pub fn strings(name: &str) -> Attr {
        Attr::new(name, Type::map(Type::String))
    }

    /// Creates an optional list of strings.
    pub fn list(name: &str) -> Attr {
        Attr::new(name, Type::list(Type::String))
    }

    /// Creates an optional set of strings.
    pub fn set(name: &str) -> Attr {
        Attr::new(name, Type::set(Type::String))
    }

    /// Creates an optional object (or collection of objects) whose attributes have their own flags.
    /// `Group` is for blocks only.
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
            identity: false,
            default: None,
            check: None,
        }
    }

    /// Makes the attribute required.
    #[must_use]
    pub fn required(self) -> Attr {
        Attr {
            required: true,
            optional: false,
            ..self
        }
    }

    /// Makes the attribute computed: only the provider sets it.
    #[must_use]
    pub fn computed(self) -> Attr {
        Attr {
            computed: true,
            optional: false,
            ..self
        }
    }

    /// Makes the attribute optional and computed: the provider sets it if the configuration does
    /// not.
    #[must_use]
    pub fn optional_computed(self) -> Attr {
        Attr {
            computed: true,
            optional: true,
            ..self
        }
    }

    /// Marks the attribute as sensitive.
    #[must_use]
    pub fn sensitive(self) -> Attr {
        Attr {
            sensitive: true,
            ..self
        }
    }

    /// Makes the attribute write-only: the provider receives it in the configuration only, and it
    /// is never stored.
    #[must_use]
    pub fn write_only(self) -> Attr {
        Attr {
            write_only: true,
            ..self
        }
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn describe(self, text: &str) -> Attr {
        Attr {
            description: text.to_owned(),
            ..self
        }
    }

    /// Marks the attribute as deprecated, with the reason.
    #[must_use]
    pub fn deprecated(self, why: &str) -> Attr {
        Attr {
            deprecated: why.to_owned(),
            ..self
        }
    }

    /// Requires replacement of the object if the attribute changes.
    #[must_use]
    pub fn replaces(self) -> Attr {
        Attr {
            replaces: true,
            ..self
        }
    }

    /// Marks a computed attribute as unchanged by updates, so that plans keep its value.
    #[must_use]
    pub fn stable(self) -> Attr {
        Attr {
            stable: true,
            ..self
        }
    }

    /// Makes the attribute a part of the object's identity, by which hosts can import the object.
    /// Only strings, numbers, bools and lists of them can be.
    #[must_use]
    pub fn identity(self) -> Attr {
        Attr {
            identity: true,
            ..self
        }
    }

    /// Sets the default value, which also makes the attribute computed.
    #[must_use]
    pub fn default(self, value: Value) -> Attr {
        Attr {
            computed: true,
            default: Some(value),
            ..self
        }
    }

    /// Sets a check; it is called only for known values that are not null.
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

    /// Restricts the attribute to these strings.
    #[must_use]
    pub fn one_of(self, words: &'static [&'static str]) -> Attr {
        self.check(move |value| match value.as_str() {
            Some(text) if words.contains(&text) => Ok(()),
            _ => Err(format!("must be one of: {}", words.join(", "))),
        })
    }

    /// Returns the type of the attribute's value.
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
