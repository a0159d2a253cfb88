//! Encodings of values: msgpack or JSON on the wire, by the type of a schema; JSON for stored
//! states and for data of the provider's own code.

use cty::{Type, Value};
use proto::tfplugin6 as pb;

use crate::diagnostics::Failure;

/// Decodes a value from the host; an empty message counts as null.
pub(crate) fn decode(value: Option<pb::DynamicValue>, ty: &Type) -> Result<Value, Failure> {
    let value = value.unwrap_or_default();
    // Hosts send msgpack; JSON is allowed by the protocol.
    let decoded = if !value.msgpack.is_empty() {
        cty::msgpack::decode(&value.msgpack, ty).map_err(|error| error.to_string())
    } else if !value.json.is_empty() {
        cty::json::decode(&value.json, ty).map_err(|error| error.to_string())
    } else {
        Ok(Value::null(ty.clone()))
    };
    decoded.map_err(|problem| {
        Failure::new(
            "the host sent a value that does not fit the schema",
            problem,
        )
    })
}

/// Encodes a value for the host.
pub(crate) fn encode(value: &Value, ty: &Type) -> Result<pb::DynamicValue, Failure> {
    let msgpack = cty::msgpack::encode(value, ty).map_err(|error| {
        Failure::new(
            "the provider's value does not fit its schema",
            format!("{error}; this is a bug in the provider"),
        )
    })?;
    Ok(pb::DynamicValue {
        msgpack: msgpack.into(),
        ..Default::default()
    })
}

/// Decodes a stored state. Attributes that the schema does not have are dropped, and missing ones
/// are null.
pub(crate) fn from_state_json(mut json: serde_json::Value, ty: &Type) -> Result<Value, Failure> {
    fit_to_type(&mut json, ty);
    from_json(&json, ty)
}

/// Encodes a known value as JSON.
///
/// # Errors
/// A part of the value is unknown, or the value is not of that type.
pub fn to_json(value: &Value, ty: &Type) -> Result<serde_json::Value, Failure> {
    let wrong = |problem: String| Failure::new("the value cannot be written as JSON", problem);
    let text = cty::json::encode(value, ty).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// Decodes a value of a type from JSON.
///
/// # Errors
/// The JSON does not fit the type; the detail names the place.
pub fn from_json(json: &serde_json::Value, ty: &Type) -> Result<Value, Failure> {
    cty::json::decode_value(json, ty)
        .map_err(|error| Failure::new("the JSON does not fit the schema", error.to_string()))
}

/// Gives objects exactly the attributes of their type. Other mismatches are left to the decoder.
fn fit_to_type(json: &mut serde_json::Value, ty: &Type) {
    match (ty, json) {
        (Type::Object(object), serde_json::Value::Object(members)) => {
            // Older schema versions can have attributes that no longer exist.
            members.retain(|name, _| object.attributes.contains_key(name.as_str()));
            for (name, ty) in &object.attributes {
                fit_to_type(
                    members
                        .entry(name.to_string())
                        .or_insert(serde_json::Value::Null),
                    ty,
                );
            }
        }
        (Type::List(element) | Type::Set(element), serde_json::Value::Array(elements)) => {
            elements
                .iter_mut()
                .for_each(|inner| fit_to_type(inner, element));
        }
        (Type::Map(element), serde_json::Value::Object(members)) => {
            members
                .values_mut()
                .for_each(|inner| fit_to_type(inner, element));
        }
        (Type::Tuple(types), serde_json::Value::Array(elements)) => {
            elements
                .iter_mut()
                .zip(types.iter())
                .for_each(|(inner, ty)| fit_to_type(inner, ty));
        }
        _ => {}
    }
}
