//! Structs as schemas: the trait that the derives implement, and the functions that they call.

use cty::{Path, Type, Value};

use super::attribute::{AttributeType, Presence};
use super::computed::Computed;
use crate::diagnostics::{Diagnostic, Failure};
use crate::schema::{Attr, AttrType, Block, Schema};

/// Struct whose fields are attributes and blocks: a provider configuration, or an object nested in
/// a resource type. Implemented by `#[derive(Model)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "has no #[derive(Model)]",
    note = "derive Model for a struct with named fields, or use `()` for no arguments"
)]
pub trait Model: Sized + Send + Sync + 'static {
    /// Returns the attributes and blocks.
    fn block() -> Block;

    /// Reads the fields of an object.
    ///
    /// # Errors
    /// An attribute is missing, or is null or unknown where the field cannot be.
    fn from_object(object: &Value) -> Result<Self, Mismatch>;

    /// Converts to an object.
    fn to_object(&self) -> Value;
}

/// Model with a type name: a resource type, a data source or an ephemeral resource. Implemented by
/// `#[derive(Resource)]`, `#[derive(DataSource)]` and `#[derive(EphemeralResource)]`.
pub trait Named: Model {
    /// Type name, which begins with the provider's name: `lab_server`.
    const NAME: &'static str;

    /// Returns the schema.
    fn schema() -> Schema;
}

/// Configuration without arguments.
impl Model for () {
    fn block() -> Block {
        Block::new()
    }

    fn from_object(_: &Value) -> Result<(), Mismatch> {
        Ok(())
    }

    fn to_object(&self) -> Value {
        Value::empty_object()
    }
}

/// Value that a field cannot hold.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}: {problem}", display_path(path))]
pub struct Mismatch {
    /// Place of the value.
    pub path: Path,
    /// Problem, such as "is null".
    pub problem: String,
}

fn display_path(path: &Path) -> String {
    // The dot before the first attribute has no purpose in a message.
    path.to_string().trim_start_matches('.').to_owned()
}

impl Mismatch {
    pub(crate) fn new(problem: impl Into<String>) -> Mismatch {
        Mismatch {
            path: Path::root(),
            problem: problem.into(),
        }
    }

    /// Extends the path by the place of the containing value.
    pub(crate) fn within(self, outer: &Path) -> Mismatch {
        Mismatch {
            path: outer.join(&self.path),
            ..self
        }
    }

    /// Converts to the failure of a call.
    pub(crate) fn into_failure(self) -> Failure {
        let detail = format!("{self}; the value does not fit the type of the provider's field");
        Diagnostic::error("the provider cannot read the object", detail)
            .at(self.path)
            .into()
    }
}

/// Returns the place of the first unknown part of a value, such as `network.address`.
pub(super) fn first_unknown(value: &Value) -> Option<String> {
    let mut found = None;
    value.walk(&mut |path, value| {
        if found.is_none() && !value.is_known() {
            found = Some(display_path(path));
        }
        found.is_none() && !value.is_wholly_known()
    });
    found
}

/// Returns the result of a call that must set all of its computed attributes.
pub(super) fn known(value: Value) -> Result<Value, Failure> {
    match first_unknown(&value) {
        None => Ok(value),
        Some(place) => Err(Failure::new(
            "the provider returned an unknown value",
            format!("{place} must be set; this is a bug in the provider"),
        )),
    }
}

/// Reads one attribute of an object.
#[doc(hidden)]
pub fn read<T>(
    object: &Value,
    name: &str,
    from_value: impl FnOnce(&Value) -> Result<T, Mismatch>,
) -> Result<T, Mismatch> {
    // States of older versions can lack the attribute.
    let value = object.get_attr(name);
    let value = value.unwrap_or_else(|| Value::null(Type::Dynamic));
    from_value(&value).map_err(|error| error.within(&Path::root().attr(name)))
}

/// Creates the attribute of a field, with the presence that its type says.
#[doc(hidden)]
pub fn attribute<T: AttributeType>(name: &str) -> Attr {
    let attr = match T::ty() {
        // Objects are checked attribute by attribute.
        AttrType::Plain(ty) => Attr::new(name, ty).check(|value| given::<T>(value).map(drop)),
        AttrType::Nested(nesting, attrs) => Attr::nested(name, nesting, attrs),
    };
    match T::PRESENCE {
        Presence::Required => attr.required(),
        Presence::Optional => attr,
        Presence::Computed => attr.computed(),
    }
}

/// Converts a configured value; `None` if parts of it are unknown yet.
///
/// # Errors
/// The value does not fit the type of the field, such as a fraction for a whole number.
#[doc(hidden)]
pub fn given<T: AttributeType>(value: &Value) -> Result<Option<T>, String> {
    match value.is_wholly_known() {
        // The host validates again when the value is known.
        false => Ok(None),
        true => T::from_value(value)
            .map(Some)
            .map_err(|error| match error.path.is_empty() {
                true => error.problem,
                false => error.to_string(),
            }),
    }
}

/// Makes an attribute optional with a default.
#[doc(hidden)]
pub fn with_default(attr: Attr, value: Value) -> Attr {
    let optional = Attr {
        // The type of the field made it required, but a default replaces a missing argument.
        required: false,
        optional: true,
        ..attr
    };
    optional.default(value)
}

/// Type of a field that can be null. A write-only attribute of another type does not compile:
///
/// ```compile_fail,E0277
/// #[derive(sdk::Model)]
/// struct Config {
///     #[attr(write_only)]
///     password: String,
/// }
/// ```
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an attribute with `write_only` or `required` needs a field of Option<T>",
    label = "is never null",
    note = "the value of such an attribute is null in a state or can be missing there"
)]
pub trait Nullable {}

impl<T> Nullable for Option<T> {}
impl Nullable for Value {}

/// Fails to compile unless the type can be null.
#[doc(hidden)]
pub fn assert_nullable<T: Nullable>() {}

/// Type of a field that the provider sets. `optional` on another type does not compile:
///
/// ```compile_fail,E0277
/// #[derive(sdk::Model)]
/// struct Config {
///     #[attr(optional)]
///     zone: Option<String>,
/// }
/// ```
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`optional` is for a field of Computed<T>",
    label = "is not computed",
    note = "an attribute of Option<T> is optional already"
)]
pub trait SetByProvider {}

impl<T> SetByProvider for Computed<T> {}

/// Fails to compile unless the type is computed.
#[doc(hidden)]
pub fn assert_computed<T: SetByProvider>() {}
