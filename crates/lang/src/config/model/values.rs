//! Variables, locals and outputs, with the conditions on their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Type, Value};

use crate::source::Span;
use crate::syntax::ast::{Expr, Traversal};

/// The type of a variable: a type with optional attributes, and defaults for them at any depth.
#[derive(Clone, Debug)]
pub struct TypeConstraint {
    /// The type, with optional attributes.
    pub ty: Type,
    /// Defaults of optional attributes, where there are any.
    pub defaults: Option<Arc<Defaults>>,
}

/// Defaults of optional attributes, in the shape of the type.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// For an object: the default of each attribute that has one.
    pub values: BTreeMap<Arc<str>, Value>,
    /// Defaults of nested values: attributes of an object by name, elements of a tuple by index as
    /// text, `""` for the elements of a collection.
    pub children: BTreeMap<Arc<str>, Defaults>,
}

/// A condition with its message: validation, precondition, postcondition, assert.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Expression that must be true.
    pub condition: Expr,
    /// Error message if it is false.
    pub message: Expr,
    /// The block.
    pub span: Span,
}

/// A `variable` block.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// Type constraint; `any` if none is written.
    pub ty: TypeConstraint,
    /// True if a type is written.
    pub typed: bool,
    /// The default, converted to the type; `None` for a required variable.
    pub default: Option<Value>,
    /// The default's source position.
    pub default_span: Option<Span>,
    /// Description.
    pub description: String,
    /// Values are sensitive.
    pub sensitive: bool,
    /// Values are never stored.
    pub ephemeral: bool,
    /// `const`, if given: true if the variable may be used while modules are loaded.
    pub constant: Option<bool>,
    /// True if null is allowed (the default).
    pub nullable: bool,
    /// Deprecation message, if any.
    pub deprecated: Option<String>,
    /// Validation blocks.
    pub validations: Vec<Condition>,
    /// The block's header.
    pub span: Span,
}

/// One local value.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its expression.
    pub expr: Expr,
    /// The whole attribute.
    pub span: Span,
}

/// An `output` block.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Expr,
    /// Description.
    pub description: String,
    /// Declared sensitive.
    pub sensitive: bool,
    /// Declared ephemeral.
    pub ephemeral: bool,
    /// Deprecation message, if any.
    pub deprecated: Option<String>,
    /// Explicit dependencies.
    pub depends_on: Vec<Traversal>,
    /// Checked before the value is evaluated.
    pub preconditions: Vec<Condition>,
    /// The block's header.
    pub span: Span,
}
