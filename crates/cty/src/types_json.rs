//! JSON form of types, as in schemas and states: `"string"`, `["list","string"]`,
//! `["object",{"a":"string"},["a"]]` (the third member names optional attributes).

use std::sync::Arc;

use serde_json::Value as Json;

use crate::{ObjectType, Type};

/// Maximum nesting of types and encoded values. Deeper input is refused, because it could exhaust
/// the stack.
pub const MAX_DEPTH: usize = 128;

/// Failure to read a type from JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeJsonError {
    /// The text is not JSON.
    #[error("type is not valid JSON: {0}")]
    Syntax(String),
    /// The name is not a type.
    #[error("unknown type name {0:?}")]
    UnknownName(String),
    /// The JSON does not have the shape of a type.
    #[error("invalid type description: {0}")]
    Shape(&'static str),
    /// The nesting exceeds [`MAX_DEPTH`].
    #[error("type nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl Type {
    /// Parses a type from its JSON text.
    pub fn from_json(text: &[u8]) -> Result<Type, TypeJsonError> {
        let json: Json =
            serde_json::from_slice(text).map_err(|e| TypeJsonError::Syntax(e.to_string()))?;
        Type::from_json_value(&json)
    }

    /// Reads a type from parsed JSON.
    pub fn from_json_value(json: &Json) -> Result<Type, TypeJsonError> {
        read(json, 0)
    }

    /// Encodes the type as JSON text, with sorted attributes.
    pub fn to_json(&self) -> String {
        self.to_json_value().to_string()
    }

    /// Encodes the type as parsed JSON.
    pub fn to_json_value(&self) -> Json {
        let pair = |kind: &str, inner: Json| Json::Array(vec![Json::from(kind), inner]);
        match self {
            Type::String => "string".into(),
            Type::Number => "number".into(),
            Type::Bool => "bool".into(),
            Type::Dynamic => "dynamic".into(),
            Type::List(t) => pair("list", t.to_json_value()),
            Type::Set(t) => pair("set", t.to_json_value()),
            Type::Map(t) => pair("map", t.to_json_value()),
            Type::Tuple(ts) => pair(
                "tuple",
                Json::Array(ts.iter().map(Type::to_json_value).collect()),
            ),
            Type::Object(o) => {
                let attributes = o
                    .attributes
                    .iter()
                    .map(|(k, t)| (k.to_string(), t.to_json_value()))
                    .collect();
                // go-cty writes the third member only if needed.
                let mut parts = vec![Json::from("object"), Json::Object(attributes)];
                if !o.optional.is_empty() {
                    parts.push(Json::Array(
                        o.optional.iter().map(|n| Json::from(n.as_ref())).collect(),
                    ));
                }
                Json::Array(parts)
            }
        }
    }
}

fn read(json: &Json, depth: usize) -> Result<Type, TypeJsonError> {
    if depth > MAX_DEPTH {
        return Err(TypeJsonError::TooDeep);
    }
    match json {
        Json::String(name) => match name.as_str() {
            "string" => Ok(Type::String),
            "number" => Ok(Type::Number),
            "bool" => Ok(Type::Bool),
            "dynamic" => Ok(Type::Dynamic),
            other => Err(TypeJsonError::UnknownName(other.into())),
        },
        Json::Array(parts) => read_compound(parts, depth),
        _ => Err(TypeJsonError::Shape("neither a name nor an array")),
    }
}

fn read_compound(parts: &[Json], depth: usize) -> Result<Type, TypeJsonError> {
    let Some(Json::String(kind)) = parts.first() else {
        return Err(TypeJsonError::Shape("an array without the name of a kind"));
    };
    let Some(inner) = parts.get(1) else {
        return Err(TypeJsonError::Shape("a kind without its inner type"));
    };
    if parts.len() > if kind == "object" { 3 } else { 2 } {
        return Err(TypeJsonError::Shape("extra members after the type"));
    }
    match kind.as_str() {
        "list" => Ok(Type::list(read(inner, depth + 1)?)),
        "set" => Ok(Type::set(read(inner, depth + 1)?)),
        "map" => Ok(Type::map(read(inner, depth + 1)?)),
        "tuple" => {
            let Json::Array(elements) = inner else {
                return Err(TypeJsonError::Shape("a tuple without an array of types"));
            };
            Ok(Type::Tuple(
                elements
                    .iter()
                    .map(|e| read(e, depth + 1))
                    .collect::<Result<_, _>>()?,
            ))
        }
        "object" => {
            let Json::Object(members) = inner else {
                return Err(TypeJsonError::Shape("an object without its attributes"));
            };
            let mut object = ObjectType::default();
            for (name, ty) in members {
                object
                    .attributes
                    .insert(crate::text::normal(name), read(ty, depth + 1)?);
            }
            match parts.get(2) {
                None => {}
                Some(Json::Array(names)) => {
                    for name in names {
                        // An optional name without an attribute is an error.
                        let name = name
                            .as_str()
                            .map(crate::text::normal)
                            .filter(|n| object.attributes.contains_key(n));
                        object.optional.insert(name.ok_or(TypeJsonError::Shape(
                            "an optional attribute that the object does not have",
                        ))?);
                    }
                }
                Some(_) => {
                    return Err(TypeJsonError::Shape(
                        "optional attributes that are not an array of names",
                    ));
                }
            }
            Ok(Type::Object(Arc::new(object)))
        }
        other => Err(TypeJsonError::UnknownName(other.into())),
    }
}
