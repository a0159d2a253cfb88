//! Evaluates attribute access (`.name`) and indexes (`[key]`), with their error messages.

use cty::{Type, Value};

use crate::diag::{Diagnostic, Diagnostics, Message};
use crate::syntax::{Step, StepKind};

const INVALID: &str = "Invalid index";
const UNSUPPORTED: &str = "Unsupported attribute";
const NO_SUCH: &str = "The given key does not identify an element in this collection value";

/// Applies constant steps until the first error.
pub(crate) fn apply_steps(
    mut value: Value,
    steps: &[Step],
    mut diags: Diagnostics,
) -> (Value, Diagnostics) {
    for step in steps {
        let next = match &step.kind {
            StepKind::Attr(name) => attribute(&value, name),
            StepKind::Index(key) => index(&value, key),
        };
        match next {
            Ok(found) => value = found,
            Err(fault) => {
                diags.push(fault.at(step.span));
                return (Value::dynamic(), diags);
            }
        }
    }
    (value, diags)
}

/// Evaluates `value.name`: an attribute of an object or an element of a map.
///
/// # Errors
/// A diagnostic without a source position.
pub fn attribute(value: &Value, name: &str) -> Result<Value, Diagnostic> {
    if value.is_null() {
        let detail = "This value is null, so it does not have any attributes.";
        return Err(Diagnostic::error(
            "Attempt to get attribute from null value",
            detail,
        ));
    }
    // The name comes from the configuration, so it is safe to quote.
    let refuse = |detail: String| Err(Diagnostic::error(UNSUPPORTED, Message::plain(detail)));
    match value.ty() {
        Type::Object(_) => match value.get_attr(name) {
            Some(found) => Ok(found),
            None => refuse(format!("This object does not have an attribute named {name:?}.")),
        },
        Type::Map(element) => {
            if !value.is_known() {
                return Ok(Value::unknown((**element).clone()).with_marks(value.marks()));
            }
            value.index_str(name).ok_or_else(|| {
                let detail = Message::plain(format!("This map does not have an element with the key {name:?}."));
                Diagnostic::error("Missing map element", detail)
            })
        }
        Type::Dynamic => Ok(Value::dynamic().with_marks(value.marks())),
        Type::List(element) if element.is_object() => refuse(match element.attribute(name) {
            Some(_) => format!(
                "Can't access attributes on a list of objects. Did you mean to access attribute {name:?} for a specific element \
                 of the list, or across all elements of the list?"
            ),
            None => "Can't access attributes on a list of objects. Did you mean to access an attribute for a specific element of \
                     the list, or across all elements of the list?"
                .to_owned(),
        }),
        Type::Set(element) if element.is_object() => refuse(
            "Can't access attributes on a set of objects. Did you mean to access an attribute across all elements of the set?".to_owned(),
        ),
        ty if ty.is_primitive() => refuse(format!("Can't access attributes on a primitive-typed value ({}).", ty.friendly_name())),
        _ => refuse("This value does not have any attributes.".to_owned()),
    }
}

/// Evaluates `collection[key]`.
///
/// # Errors
/// A diagnostic without a source position.
pub fn index(collection: &Value, key: &Value) -> Result<Value, Diagnostic> {
    let refuse = |detail: String| Err(Diagnostic::error(INVALID, Message::plain(detail)));
    if collection.is_null() {
        let detail = "This value is null, so it does not have any indices.";
        return Err(Diagnostic::error("Attempt to index null value", detail));
    }
    if key.is_null() {
        return refuse("Can't use a null value as an indexing key.".to_owned());
    }
    // The type of one side is not known yet, so the access may still be valid.
    if key.ty().is_dynamic() || collection.ty().is_dynamic() {
        return Ok(Value::dynamic().with_marks(collection.marks()));
    }
    match collection.ty() {
        Type::List(_) | Type::Tuple(_) | Type::Map(_) => element(collection, key),
        Type::Object(_) => object_attribute(collection, key),
        Type::Set(_) => refuse(
            "Elements of a set are identified only by their value and don't have any separate index or key to select with, so it's \
             only possible to perform operations across all elements of the set."
                .to_owned(),
        ),
        _ => refuse("This value does not have any indices.".to_owned()),
    }
}

fn element(collection: &Value, key: &Value) -> Result<Value, Diagnostic> {
    let ty = collection.ty();
    let want = if ty.is_map() {
        Type::String
    } else {
        Type::Number
    };
    let key = cty::convert(key, &want).map_err(|e| {
        Diagnostic::error(
            INVALID,
            Message::from(&e).wrap(|e| format!("{NO_SUCH}: {e}.")),
        )
    })?;
    let (has, _) = collection.has_index(&key).unmark();
    match has.as_bool() {
        None => {
            // The key or the collection is unknown, so the element may still exist.
            let unknown = ty
                .element_type()
                .map_or_else(Value::dynamic, |e| Value::unknown(e.clone()));
            Ok(unknown.with_marks(collection.marks()))
        }
        Some(true) => collection
            .index(&key)
            .ok_or_else(|| Diagnostic::error(INVALID, Message::plain(format!("{NO_SUCH}.")))),
        Some(false) => Err(Diagnostic::error(
            INVALID,
            Message::plain(missing(collection, &key)),
        )),
    }
}

/// Error text for a known key without an element.
fn missing(collection: &Value, key: &Value) -> String {
    let Some(number) = key.as_number() else {
        return format!("{NO_SUCH}.");
    };
    if !number.is_integer() {
        return format!(
            "{NO_SUCH}: indexing a sequence requires a whole number, but the given index has a fractional part."
        );
    }
    if number.is_negative() {
        return format!("{NO_SUCH}: a negative number is not a valid index for a sequence.");
    }
    // Messages do not tell the length of a marked collection.
    match collection.length() {
        Some(length) if length.is_known() && !length.is_marked() => {
            if length.as_number().is_some_and(cty::Number::is_zero) {
                format!("{NO_SUCH}: the collection has no elements.")
            } else {
                format!(
                    "{NO_SUCH}: the given index is greater than or equal to the length of the collection."
                )
            }
        }
        _ => format!("{NO_SUCH}."),
    }
}

fn object_attribute(object: &Value, key: &Value) -> Result<Value, Diagnostic> {
    // The conversion turns numbers into text, so their type must be checked before it.
    let was_number = *key.ty() == Type::Number;
    let key = cty::convert(key, &Type::String).map_err(|e| {
        Diagnostic::error(
            INVALID,
            Message::from(&e).wrap(|e| format!("{NO_SUCH}: {e}.")),
        )
    })?;
    let Some(name) = key.as_str() else {
        return Ok(Value::dynamic().with_marks(object.marks()));
    };
    object.get_attr(name).ok_or_else(|| {
        let hint = if was_number {
            " An object only supports looking up attributes by name, not by numeric index."
        } else {
            ""
        };
        Diagnostic::error(INVALID, Message::plain(format!("{NO_SUCH}.{hint}")))
    })
}
