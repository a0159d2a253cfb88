//! Conversion of a value whose type is known to be convertible.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ConvertError;
use super::mismatch::message;
use super::rules::{convertible, element_for, fill_dynamic, map_element_for};
use super::unify::unified_type;
use crate::{Number, ObjectType, Path, PathStep, Type, Value};

type Result<T> = std::result::Result<T, ConvertError>;

/// Position inside the converted value.
#[derive(Default)]
pub(super) struct Position {
    pub(super) path: Path,
    /// First step to hide from errors, because its container is sensitive or ephemeral.
    hidden_from: Option<usize>,
}

impl Position {
    /// Returns the path up to the first hidden step.
    fn shown_path(&self) -> Path {
        let steps = self.path.steps();
        Path::new(steps[..self.hidden_from.unwrap_or(steps.len())].to_vec())
    }

    fn error_at(&self, message: impl Into<String>) -> ConvertError {
        ConvertError {
            path: self.shown_path(),
            message: message.into(),
        }
    }
}

/// Converts `value` to `out`. Unlike [`step`], it also rebuilds values that already have that type.
pub(super) fn apply(
    value: &Value,
    out: &Type,
    is_unsafe: bool,
    at: &mut Position,
) -> Result<Value> {
    if out.is_dynamic() {
        return Ok(value.clone());
    }
    let marks = value.marks().clone();
    let converted = if !value.is_known() {
        unknown(value, fill_dynamic(value.ty(), &out.without_optional()))
    } else if value.is_null() {
        Value::null(fill_dynamic(value.ty(), &out.without_optional()))
    } else {
        // Errors inside a hidden container must not show its keys; the limit ends with the
        // container.
        let outside = at.hidden_from;
        if marks.needs_redaction() {
            at.hidden_from.get_or_insert(at.path.len());
        }
        let converted = convert_known(value, out, is_unsafe, at);
        at.hidden_from = outside;
        converted?
    };
    Ok(converted.with_marks(&marks))
}

fn step(
    value: &Value,
    out: &Type,
    is_unsafe: bool,
    at: &mut Position,
    to: PathStep,
) -> Result<Value> {
    if value.ty() == out {
        return Ok(value.clone());
    }
    at.path.push(to);
    let converted = apply(value, out, is_unsafe, at);
    at.path.pop();
    converted
}

/// Returns an unknown value of type `ty` with the refinements of `from` that survive the
/// conversion.
fn unknown(from: &Value, ty: Type) -> Value {
    let range = from.range();
    let unknown = Value::unknown(ty.clone()).refine();
    let unknown = if range.definitely_not_null() {
        unknown.not_null()
    } else {
        unknown
    };
    match (from.ty(), &ty) {
        (Type::Object(o), Type::Map(_)) => unknown.length(o.attributes.len()),
        (Type::Tuple(t), Type::List(_)) => unknown.length(t.len()),
        // Elements of a set may be duplicates of each other: at least one remains.
        (Type::Tuple(t), Type::Set(_)) => unknown.length_min(t.len().min(1)).length_max(t.len()),
        (f, t) if f.is_collection() && t.is_collection() => {
            // Conversion to a set can remove duplicates, so only "not empty" survives as a lower
            // bound.
            let least = if t.is_set() {
                range.length_min().min(1)
            } else {
                range.length_min()
            };
            let unknown = unknown.length_min(least);
            match range.length_max() {
                Some(most) => unknown.length_max(most),
                None => unknown,
            }
        }
        _ => unknown,
    }
    .finish()
}

fn convert_known(value: &Value, out: &Type, is_unsafe: bool, at: &mut Position) -> Result<Value> {
    match (value.ty(), out) {
        (Type::Number, Type::String) => Ok(Value::string(
            value.as_number().map(Number::to_text).unwrap_or_default(),
        )),
        (Type::Bool, Type::String) => Ok(Value::string(if value.as_bool() == Some(true) {
            "true"
        } else {
            "false"
        })),
        (Type::String, Type::Number) => match Number::parse(value.as_str().unwrap_or_default()) {
            Ok(number) => Ok(Value::number(number)),
            Err(_) => Err(at.error_at("a number is required")),
        },
        (Type::String, Type::Bool) => text_to_bool(value.as_str().unwrap_or_default(), at),
        (Type::Object(_), Type::Object(o)) => object_to_object(value, o, is_unsafe, at),
        (Type::Map(element), Type::Object(o)) => map_to_object(value, element, o, is_unsafe, at),
        (Type::Tuple(_), Type::Tuple(types)) => {
            let elements = value
                .as_slice()
                .unwrap_or_default()
                .iter()
                .zip(types.iter())
                .enumerate();
            let converted: Result<Vec<Value>> = elements
                .map(|(i, (e, t))| step(e, t, is_unsafe, at, PathStep::Index(Value::number(i))))
                .collect();
            Ok(Value::tuple(converted?))
        }
        (Type::Tuple(types), Type::List(e)) => {
            let Some(element) = element_for(types, e, is_unsafe) else {
                return Err(mismatch(value, out, at));
            };
            // Without elements there is nothing to unify, and the element type stays as wanted.
            if types.is_empty() {
                return Ok(Value::list(element, Vec::new()));
            }
            let elements = convert_all(value, &element, is_unsafe, at)?;
            sequence(out, unify_all(elements, is_unsafe, at)?, at)
        }
        (Type::Tuple(types), Type::Set(e)) => {
            let Some(element) = element_for(types, e, is_unsafe) else {
                return Err(mismatch(value, out, at));
            };
            if types.is_empty() {
                return Ok(Value::set(element, Vec::new()));
            }
            sequence(out, convert_all(value, &element, is_unsafe, at)?, at)
        }
        (Type::List(from) | Type::Set(from), Type::List(to) | Type::Set(to)) => {
            let element = if to.is_dynamic() {
                (**from).clone()
            } else {
                to.without_optional()
            };
            // A set with unknown elements has no fixed length, so a list of it cannot be built yet.
            let settled = value.length().is_none_or(|l| l.is_known());
            match out {
                Type::List(_) if !settled => {
                    Ok(Value::unknown(Type::list(fill_dynamic(from, &element))))
                }
                Type::List(_) if value.is_empty() => Ok(Value::list(element, Vec::new())),
                _ if value.is_empty() => Ok(Value::set(element, Vec::new())),
                _ => sequence(out, convert_all(value, to, is_unsafe, at)?, at),
            }
        }
        (Type::Map(from), Type::Map(to)) => {
            if value.is_empty() {
                let element = if to.is_dynamic() {
                    (**from).clone()
                } else {
                    to.without_optional()
                };
                return Ok(Value::map(element, std::iter::empty::<(&str, Value)>()));
            }
            let members = convert_members(value, to, is_unsafe, at)?;
            mapping(to, members, false, "element", at)
        }
        (Type::Object(o), Type::Map(to)) => {
            if o.attributes.is_empty() {
                return Ok(Value::map(
                    to.without_optional(),
                    std::iter::empty::<(&str, Value)>(),
                ));
            }
            let Some(element) = map_element_for(o, to, is_unsafe) else {
                return Err(mismatch(value, out, at));
            };
            let members = convert_members(value, &element, is_unsafe, at)?;
            mapping(&element, members, is_unsafe, "attribute", at)
        }
        _ => Err(mismatch(value, out, at)),
    }
}

fn mismatch(value: &Value, out: &Type, at: &Position) -> ConvertError {
    at.error_at(message(
        value.ty(),
        out,
        !value.needs_redaction() && at.hidden_from.is_none(),
    ))
}

fn text_to_bool(text: &str, at: &Position) -> Result<Value> {
    match text {
        "true" | "1" => Ok(Value::bool(true)),
        "false" | "0" => Ok(Value::bool(false)),
        other => {
            let lower = other.to_lowercase();
            // Only the exact words are accepted; the hint quotes the value, so it is omitted if
            // hidden.
            Err(at.error_at(match lower.as_str() {
                "true" | "false" if at.hidden_from.is_none() => {
                    format!("a bool is required; to convert from string, use lowercase \"{lower}\"")
                }
                _ => "a bool is required".to_string(),
            }))
        }
    }
}

fn object_to_object(
    value: &Value,
    out: &Arc<ObjectType>,
    is_unsafe: bool,
    at: &mut Position,
) -> Result<Value> {
    let mut attributes = BTreeMap::new();
    for (name, want) in &out.attributes {
        let converted = match value.as_map().and_then(|m| m.get(name)) {
            Some(have) => step(have, want, is_unsafe, at, PathStep::Attr(name.clone()))?,
            // Only optional attributes can be missing here: `convertible` checked the required
            // ones.
            None => Value::null(want.clone()),
        };
        attributes.insert(name.clone(), converted);
    }
    Ok(Value::object_of_type(out, attributes))
}

fn map_to_object(
    value: &Value,
    element: &Type,
    out: &ObjectType,
    is_unsafe: bool,
    at: &mut Position,
) -> Result<Value> {
    let mut attributes = BTreeMap::new();
    // Keys without an attribute are dropped, as the attributes of objects are.
    for (name, have) in value.as_map().into_iter().flatten() {
        let Some(want) = out.attributes.get(name) else {
            continue;
        };
        // The map's element type may fit only some attributes, so each present key is checked.
        if element != want && !convertible(element, want, is_unsafe) {
            let why = message(
                have.ty(),
                want,
                !value.needs_redaction() && at.hidden_from.is_none(),
            );
            return Err(at.error_at(format!(
                "map element type is incompatible with attribute {name:?}: {why}"
            )));
        }
        attributes.insert(
            name.clone(),
            step(
                have,
                want,
                is_unsafe,
                at,
                PathStep::Index(Value::string(name)),
            )?,
        );
    }
    for (name, want) in &out.attributes {
        if attributes.contains_key(name) {
            continue;
        }
        if !out.optional.contains(name) {
            return Err(at.error_at(format!(
                "map has no element for required attribute {name:?}"
            )));
        }
        attributes.insert(name.clone(), Value::null(want.clone()));
    }
    Ok(Value::object_from_map(attributes))
}

fn convert_all(
    value: &Value,
    element: &Type,
    is_unsafe: bool,
    at: &mut Position,
) -> Result<Vec<Value>> {
    let elements = value.as_slice().unwrap_or_default().iter().enumerate();
    elements
        .map(|(i, e)| step(e, element, is_unsafe, at, PathStep::Index(Value::number(i))))
        .collect()
}

type Members = BTreeMap<Arc<str>, Value>;

fn convert_members(
    value: &Value,
    element: &Type,
    is_unsafe: bool,
    at: &mut Position,
) -> Result<Members> {
    let mut members = Members::new();
    for (name, member) in value.as_map().into_iter().flatten() {
        members.insert(
            name.clone(),
            step(
                member,
                element,
                is_unsafe,
                at,
                PathStep::Index(Value::string(name)),
            )?,
        );
    }
    Ok(members)
}

/// Converts elements to one common type. They can have different types after conversion if the
/// wanted type has dynamic parts.
fn unify_all(elements: Vec<Value>, is_unsafe: bool, at: &mut Position) -> Result<Vec<Value>> {
    let types: Vec<Type> = elements.iter().map(|e| e.ty().clone()).collect();
    let Some(unified) = unified_type(&types, is_unsafe) else {
        return Err(at.error_at("cannot find a common base type for all elements"));
    };
    let numbered = elements.iter().enumerate();
    numbered
        .map(|(i, e)| {
            step(
                e,
                &unified,
                is_unsafe,
                at,
                PathStep::Index(Value::number(i)),
            )
        })
        .collect()
}

fn sequence(out: &Type, elements: Vec<Value>, at: &Position) -> Result<Value> {
    let (made, kind) = match out {
        Type::Set(_) => (Value::try_set(Type::Dynamic, elements), "set"),
        _ => (Value::try_list(Type::Dynamic, elements), "list"),
    };
    made.map_err(|_| {
        at.error_at(format!(
            "element types must all match for conversion to {kind}"
        ))
    })
}

fn mapping(
    element: &Type,
    members: Members,
    is_unsafe: bool,
    noun: &str,
    at: &mut Position,
) -> Result<Value> {
    let members = if element.is_collection() || element.is_object() {
        let (names, values): (Vec<Arc<str>>, Vec<Value>) = members.into_iter().unzip();
        names
            .into_iter()
            .zip(unify_all(values, is_unsafe, at)?)
            .collect()
    } else {
        members
    };
    Value::try_map(Type::Dynamic, members)
        .map_err(|_| at.error_at(format!("{noun} types must all match for conversion to map")))
}
