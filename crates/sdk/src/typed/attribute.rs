//! Types of fields: how they appear in a schema, and their conversion from and to values.

use std::collections::{BTreeMap, BTreeSet};

use cty::{Number, Path, Type, Value};

use super::model::{Mismatch, Model};
use crate::schema::{Attr, AttrType, Nested, Nesting};

/// Source of an attribute's value: the configuration, the provider, or either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The configuration must set it.
    Required,
    /// The configuration can set it.
    Optional,
    /// The provider sets it.
    Computed,
}

/// Type of a field that is an attribute: `String`, `bool`, `i64`, `f64`, a struct with
/// `#[derive(Model)]`, and `Vec`, `BTreeSet`, `BTreeMap<String, _>`, `Option` and
/// [`super::Computed`] of them. `Option` makes the attribute optional, and `Computed` computed; all
/// other types make it required. A [`Value`] holds any type.
///
/// Other types do not compile:
///
/// ```compile_fail,E0277
/// #[derive(sdk::Model)]
/// struct Config {
///     started: std::time::Instant,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of an attribute",
    label = "not a type of an attribute",
    note = "use String, bool, i64, f64, a struct with #[derive(Model)], or Option, Computed, Vec, \
            BTreeSet or BTreeMap<String, _> of them"
)]
pub trait AttributeType: Sized + Send + Sync + 'static {
    /// Source of the attribute's value.
    const PRESENCE: Presence = Presence::Required;

    /// Returns the type in a schema.
    fn ty() -> AttrType;

    /// Converts from a value.
    ///
    /// # Errors
    /// The value is null, unknown or of another type.
    fn from_value(value: &Value) -> Result<Self, Mismatch>;

    /// Converts to a value.
    fn to_value(&self) -> Value;
}

/// Type of a field that is a nested block: a struct with `#[derive(Model)]` in a `Vec` (any number
/// of blocks) or in an `Option` (at most one).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a block",
    label = "not a type of a block",
    note = "use Vec<T> or Option<T>, where T is a struct with #[derive(Model)]"
)]
pub trait BlockType: AttributeType {
    /// Returns the block with this type name and description.
    fn nested(name: &str, description: &str) -> Nested;
}

impl<T: Model> BlockType for Vec<T> {
    fn nested(name: &str, description: &str) -> Nested {
        Nested::new(name, Nesting::List, described::<T>(description))
    }
}

impl<T: Model> BlockType for Option<T> {
    fn nested(name: &str, description: &str) -> Nested {
        Nested::new(name, Nesting::Single, described::<T>(description))
    }
}

/// Returns the block of a model; the description of the field replaces that of the struct.
fn described<T: Model>(description: &str) -> crate::schema::Block {
    match description.is_empty() {
        true => T::block(),
        false => T::block().describe(description),
    }
}

/// Returns the type of a field's values.
pub(super) fn value_type<T: AttributeType>() -> Type {
    // The name has no part in the type.
    Attr {
        ty: T::ty(),
        ..Attr::string("")
    }
    .ty()
}

/// Returns the problem of a value that is not of the wanted type.
fn mismatch(value: &Value, wanted: &str) -> Mismatch {
    let problem = match value {
        value if !value.is_known() => "is unknown".to_owned(),
        value if value.is_null() => "is null".to_owned(),
        value => format!("is {}, not {wanted}", value.ty().friendly_name()),
    };
    Mismatch::new(problem)
}

impl AttributeType for String {
    fn ty() -> AttrType {
        AttrType::Plain(Type::String)
    }

    fn from_value(value: &Value) -> Result<String, Mismatch> {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| mismatch(value, "a string"))
    }

    fn to_value(&self) -> Value {
        Value::string(self)
    }
}

impl AttributeType for bool {
    fn ty() -> AttrType {
        AttrType::Plain(Type::Bool)
    }

    fn from_value(value: &Value) -> Result<bool, Mismatch> {
        value.as_bool().ok_or_else(|| mismatch(value, "a bool"))
    }

    fn to_value(&self) -> Value {
        Value::bool(*self)
    }
}

impl AttributeType for i64 {
    fn ty() -> AttrType {
        AttrType::Plain(Type::Number)
    }

    fn from_value(value: &Value) -> Result<i64, Mismatch> {
        let number = value
            .as_number()
            .ok_or_else(|| mismatch(value, "a number"))?;
        // Truncation would change a fraction or a large number silently, so both are errors.
        let whole = number.to_i64();
        whole.ok_or_else(|| Mismatch::new(format!("{number} is not a whole number of 64 bits")))
    }

    fn to_value(&self) -> Value {
        Value::int(*self)
    }
}

impl AttributeType for f64 {
    fn ty() -> AttrType {
        AttrType::Plain(Type::Number)
    }

    fn from_value(value: &Value) -> Result<f64, Mismatch> {
        let number = value
            .as_number()
            .ok_or_else(|| mismatch(value, "a number"))?;
        // A value can have more digits than an `f64`, which then takes the nearest number.
        Ok(number.to_f64().0)
    }

    fn to_value(&self) -> Value {
        // "Not a number" has no representation; the check of the result reports the null.
        Number::from_f64(*self).map_or_else(|_| Value::null(Type::Number), Value::number)
    }
}

/// Value of any type, which can be null.
impl AttributeType for Value {
    const PRESENCE: Presence = Presence::Optional;

    fn ty() -> AttrType {
        AttrType::Plain(Type::Dynamic)
    }

    fn from_value(value: &Value) -> Result<Value, Mismatch> {
        Ok(value.clone())
    }

    fn to_value(&self) -> Value {
        self.clone()
    }
}

impl<T: Model> AttributeType for T {
    fn ty() -> AttrType {
        // In the protocol, an attribute cannot contain blocks.
        AttrType::Nested(Nesting::Single, T::block().attributes)
    }

    fn from_value(value: &Value) -> Result<T, Mismatch> {
        match value.is_given() {
            true => T::from_object(value),
            false => Err(mismatch(value, "an object")),
        }
    }

    fn to_value(&self) -> Value {
        self.to_object()
    }
}

impl<T: AttributeType> AttributeType for Option<T> {
    const PRESENCE: Presence = Presence::Optional;

    fn ty() -> AttrType {
        T::ty()
    }

    fn from_value(value: &Value) -> Result<Option<T>, Mismatch> {
        match value.is_null() {
            true => Ok(None),
            false => T::from_value(value).map(Some),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            // A null has a type as well, which must be that of the schema.
            None => Value::null(value_type::<T>()),
            Some(value) => value.to_value(),
        }
    }
}

/// Returns the type of a collection: objects keep the flags of their attributes.
fn collection<T: AttributeType>(nesting: Nesting, plain: fn(Type) -> Type) -> AttrType {
    match T::ty() {
        AttrType::Nested(Nesting::Single, attrs) => AttrType::Nested(nesting, attrs),
        // Collections of collections have no flags inside.
        _ => AttrType::Plain(plain(value_type::<T>())),
    }
}

/// Reads the elements of a collection.
fn elements<T: AttributeType, C: FromIterator<T>>(value: &Value) -> Result<C, Mismatch> {
    if !value.is_given() {
        // A null differs from an empty collection, and only an `Option` can hold it.
        return Err(mismatch(value, "a collection"));
    }
    let element = |(key, element): (Value, &Value)| {
        T::from_value(element).map_err(|error| error.within(&Path::root().index(key)))
    };
    value.elements().map(element).collect()
}

impl<T: AttributeType> AttributeType for Vec<T> {
    fn ty() -> AttrType {
        collection::<T>(Nesting::List, Type::list)
    }

    fn from_value(value: &Value) -> Result<Vec<T>, Mismatch> {
        elements::<T, _>(value)
    }

    fn to_value(&self) -> Value {
        let elements = self.iter().map(T::to_value).collect();
        // The type comes from the field, because an empty list has no element with it.
        Value::list(value_type::<T>(), elements)
    }
}

impl<T: AttributeType + Ord> AttributeType for BTreeSet<T> {
    fn ty() -> AttrType {
        collection::<T>(Nesting::Set, Type::set)
    }

    fn from_value(value: &Value) -> Result<BTreeSet<T>, Mismatch> {
        elements::<T, _>(value)
    }

    fn to_value(&self) -> Value {
        let elements = self.iter().map(T::to_value).collect();
        Value::set(value_type::<T>(), elements)
    }
}

impl<T: AttributeType> AttributeType for BTreeMap<String, T> {
    fn ty() -> AttrType {
        collection::<T>(Nesting::Map, Type::map)
    }

    fn from_value(value: &Value) -> Result<BTreeMap<String, T>, Mismatch> {
        let values: Vec<T> = elements(value)?;
        let keys = value.elements().map(|(key, _)| key);
        let keys = keys.map(|key| key.as_str().unwrap_or_default().to_owned());
        // Both iterations have the same order, so each key gets its value.
        Ok(keys.zip(values).collect())
    }

    fn to_value(&self) -> Value {
        let members = self.iter().map(|(key, value)| (key, value.to_value()));
        Value::map(value_type::<T>(), members)
    }
}
