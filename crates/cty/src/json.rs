//! JSON encoding of values, as in state files and some provider responses. The output is byte for
//! byte that of go-cty. Unknown and marked values cannot be encoded. Numbers keep all digits.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::codec::{CodecError, Place, Step, collect_elements, collect_members, conforming};
use crate::{Number, ObjectType, Type, Value};

/// Encodes the value as JSON text of type `ty`. Dynamic parts carry their type:
/// `{"value":…,"type":…}`.
pub fn encode(value: &Value, ty: &Type) -> Result<String, CodecError> {
    let value = conforming(value, ty)?;
    let mut out = String::new();
    write(&value, ty, &mut out, &Place::default())?;
    Ok(out)
}

/// Encodes the value as parsed JSON of its own type.
pub fn to_json_value(value: &Value) -> Result<Json, CodecError> {
    let text = encode(value, value.ty())?;
    serde_json::from_str(&text).map_err(|e| Place::default().error(e.to_string()))
}

/// Decodes a value of `ty` from JSON text. Absent attributes are null; attributes that `ty` does
/// not have are errors.
pub fn decode(text: &[u8], ty: &Type) -> Result<Value, CodecError> {
    let json: Json = serde_json::from_slice(text)
        .map_err(|e| Place::default().error(format!("not valid JSON: {e}")))?;
    decode_value(&json, ty)
}

/// Decodes a value of `ty` from parsed JSON.
pub fn decode_value(json: &Json, ty: &Type) -> Result<Value, CodecError> {
    let ty = ty.without_optional();
    read(json, &ty, &Place::default())
}

/// Returns the type that JSON implies: arrays are tuples, objects are objects, null is dynamic.
pub fn implied_type(json: &Json) -> Type {
    match json {
        Json::Null => Type::Dynamic,
        Json::Bool(_) => Type::Bool,
        Json::Number(_) => Type::Number,
        Json::String(_) => Type::String,
        Json::Array(elements) => Type::tuple(elements.iter().map(implied_type).collect::<Vec<_>>()),
        Json::Object(members) => Type::object(members.iter().map(|(k, v)| (k, implied_type(v)))),
    }
}

/// Decodes JSON text as a value of the type that it implies.
pub fn decode_implied(text: &[u8]) -> Result<Value, CodecError> {
    let json: Json = serde_json::from_slice(text)
        .map_err(|e| Place::default().error(format!("not valid JSON: {e}")))?;
    decode_value(&json, &implied_type(&json))
}

/// Encodes a type as JSON text with Go's escapes.
pub(crate) fn type_text(ty: &Type) -> String {
    // Most types need no escapes, and most calls are for such types.
    let text = ty.to_json();
    if text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        escape_html(&text)
    } else {
        text
    }
}

fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// Writes a JSON string with Go's escapes, which include `<`, `>`, `&`, U+2028 and U+2029.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write(value: &Value, ty: &Type, out: &mut String, at: &Place<'_>) -> Result<(), CodecError> {
    if value.is_marked() {
        return at.fail("value has marks, so it cannot be serialized as JSON");
    }
    if !value.is_known() {
        return at.fail("value is not known");
    }
    // A dynamic type in `ty` means that the reader cannot know the type, so it is written along. A
    // null of dynamic type has no type to write.
    if ty.is_dynamic() && !value.ty().is_dynamic() {
        out.push_str("{\"value\":");
        at.one_level_deeper(|at| write(value, value.ty(), out, at))?;
        out.push_str(",\"type\":");
        out.push_str(&type_text(value.ty()));
        out.push('}');
        return Ok(());
    }
    if value.is_null() {
        out.push_str("null");
        return Ok(());
    }
    match ty {
        Type::String => write_string(value.as_str().unwrap_or_default(), out),
        Type::Bool => out.push_str(if value.as_bool() == Some(true) {
            "true"
        } else {
            "false"
        }),
        Type::Number => match value.as_number() {
            Some(n) if !n.is_infinite() => out.push_str(&n.to_text()),
            _ => return at.fail("cannot serialize infinity as JSON"),
        },
        Type::List(element) | Type::Set(element) => write_array(value, |_| Some(element), out, at)?,
        Type::Tuple(types) => write_array(value, |i| types.get(i), out, at)?,
        Type::Map(element) => write_members(value, |_| Some(element), out, at)?,
        Type::Object(object) => write_members(value, |name| object.attributes.get(name), out, at)?,
        Type::Dynamic => return at.fail("cannot serialize a value without a type"),
    }
    Ok(())
}

fn write_array<'t>(
    value: &Value,
    ty: impl Fn(usize) -> Option<&'t Type>,
    out: &mut String,
    at: &Place<'_>,
) -> Result<(), CodecError> {
    out.push('[');
    for (i, (key, inner)) in value.elements().enumerate() {
        out.push_str(if i > 0 { "," } else { "" });
        at.at_step(Step::Element(&key), |at| match ty(i) {
            Some(ty) => write(inner, ty, out, at),
            // `conforming` converted the value before, so this is only a guard.
            None => at.fail("more elements than the type has"),
        })?;
    }
    out.push(']');
    Ok(())
}

fn write_members<'t>(
    value: &Value,
    ty: impl Fn(&str) -> Option<&'t Type>,
    out: &mut String,
    at: &Place<'_>,
) -> Result<(), CodecError> {
    out.push('{');
    for (i, (key, inner)) in value.elements().enumerate() {
        let name = key.as_arc_str().unwrap_or_else(|| Arc::from(""));
        out.push_str(if i > 0 { "," } else { "" });
        write_string(&name, out);
        out.push(':');
        let step = match value.ty() {
            Type::Object(_) => Step::Attr(&name),
            _ => Step::Key(&name),
        };
        at.at_step(step, |at| match ty(&name) {
            Some(ty) => write(inner, ty, out, at),
            None => at.fail("the type has no such attribute"),
        })?;
    }
    out.push('}');
    Ok(())
}

fn read(json: &Json, ty: &Type, at: &Place<'_>) -> Result<Value, CodecError> {
    // The accepted mismatches (text for bool and number, number and bool for text) are go-cty's.
    match (json, ty) {
        (Json::Null, _) => Ok(Value::null(ty.clone())),
        (_, Type::Dynamic) => read_dynamic(json, at),
        (Json::Bool(b), Type::Bool) => Ok(Value::bool(*b)),
        (Json::String(s), Type::Bool) => {
            crate::convert(&Value::string(s), &Type::Bool).map_err(|e| at.error(e.message))
        }
        (_, Type::Bool) => at.fail("bool is required"),
        // `serde_json` keeps arbitrary precision here, so the text has all digits.
        (Json::Number(n), Type::Number) => read_number(&n.to_string(), at),
        (Json::String(s), Type::Number) => read_number(s, at),
        (_, Type::Number) => at.fail("number is required"),
        (Json::String(s), Type::String) => Ok(Value::string(s)),
        (Json::Number(n), Type::String) => Ok(Value::string(n.to_string())),
        (Json::Bool(b), Type::String) => Ok(Value::string(if *b { "true" } else { "false" })),
        (_, Type::String) => at.fail("string is required"),
        (Json::Array(elements), Type::List(element)) => {
            let elements = read_array(elements, |_| Some(element), at)?;
            collect_elements(false, element, elements, at)
        }
        (Json::Array(elements), Type::Set(element)) => {
            let elements = read_array(elements, |_| Some(element), at)?;
            collect_elements(true, element, elements, at)
        }
        (Json::Array(elements), Type::Tuple(types)) => {
            if elements.len() != types.len() {
                return at.fail(format!(
                    "a tuple of length {} is required, not {}",
                    types.len(),
                    elements.len()
                ));
            }
            Ok(Value::tuple(read_array(elements, |i| types.get(i), at)?))
        }
        (Json::Object(members), Type::Map(element)) => {
            let mut read_members = Vec::with_capacity(members.len());
            for (key, inner) in members {
                let inner = at.at_step(Step::Key(key), |at| read(inner, element, at))?;
                read_members.push((key.clone(), inner));
            }
            collect_members(element, read_members, at)
        }
        (Json::Object(members), Type::Object(object)) => read_object(members, object, at),
        (_, Type::List(_)) => at.fail("a list is required"),
        (_, Type::Set(_)) => at.fail("a set is required"),
        (_, Type::Tuple(_)) => at.fail("a tuple is required"),
        (_, Type::Map(_)) => at.fail("a map is required"),
        (_, Type::Object(_)) => at.fail("an object is required"),
    }
}

fn read_number(text: &str, at: &Place<'_>) -> Result<Value, CodecError> {
    Number::parse(text)
        .map(Value::number)
        .map_err(|e| at.error(e.to_string()))
}

fn read_array<'t>(
    elements: &[Json],
    ty: impl Fn(usize) -> Option<&'t Type>,
    at: &Place<'_>,
) -> Result<Vec<Value>, CodecError> {
    let mut values = Vec::with_capacity(elements.len());
    for (i, inner) in elements.iter().enumerate() {
        let Some(ty) = ty(i) else { break };
        values.push(at.at_step(Step::Nth(i), |at| read(inner, ty, at))?);
    }
    Ok(values)
}

fn read_object(
    members: &serde_json::Map<String, Json>,
    object: &Arc<ObjectType>,
    at: &Place<'_>,
) -> Result<Value, CodecError> {
    let mut attributes: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for (key, inner) in members {
        let Some((name, ty)) = object.attribute(key) else {
            return at.fail(format!("unsupported attribute {key:?}"));
        };
        let inner = at.at_step(Step::Attr(name), |at| read(inner, ty, at))?;
        attributes.insert(name.clone(), inner);
    }
    for (name, ty) in &object.attributes {
        if !attributes.contains_key(name) {
            attributes.insert(name.clone(), Value::null(ty.clone()));
        }
    }
    Ok(Value::object_of_type(object, attributes))
}

fn read_dynamic(json: &Json, at: &Place<'_>) -> Result<Value, CodecError> {
    let Json::Object(members) = json else {
        return at.fail("a dynamic value must be an object of value and type");
    };
    if let Some(other) = members.keys().find(|k| *k != "type" && *k != "value") {
        return at.fail(format!("invalid key {other:?} in dynamically-typed value"));
    }
    let Some(ty) = members.get("type") else {
        return at.fail("missing type in dynamically-typed value");
    };
    let Some(inner) = members.get("value") else {
        return at.fail("missing value in dynamically-typed value");
    };
    let ty = Type::from_json_value(ty)
        .map_err(|e| at.error(e.to_string()))?
        .without_optional();
    at.one_level_deeper(|at| read(inner, &ty, at))
}
