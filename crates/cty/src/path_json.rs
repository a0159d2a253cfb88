//! JSON form of paths, in which state files name sensitive attributes: an array of steps such as
//! `{"type":"get_attr","value":"tags"}` or `{"type":"index","value":{"value":0,"type":"number"}}`.

use serde_json::{Value as Json, json};

use crate::{CodecError, Path, PathStep, Type, json as value_json};

/// Failure to read a path from JSON.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("invalid path: {0}")]
pub struct PathJsonError(String);

impl Path {
    /// Encodes the path as JSON. Fails for keys that JSON cannot represent: unknown or marked ones,
    /// which only occur in sets.
    pub fn to_json_value(&self) -> Result<Json, CodecError> {
        let steps: Result<Vec<Json>, CodecError> = self
            .steps()
            .iter()
            .map(|step| match step {
                PathStep::Attr(name) => Ok(json!({"type": "get_attr", "value": name.as_ref()})),
                PathStep::Index(key) => {
                    let value = value_json::to_json_value(key)?;
                    Ok(json!({"type": "index", "value": {"value": value, "type": key.ty().to_json_value()}}))
                }
            })
            .collect();
        Ok(Json::Array(steps?))
    }

    /// Decodes a path from JSON.
    pub fn from_json_value(json: &Json) -> Result<Path, PathJsonError> {
        let steps = json
            .as_array()
            .ok_or_else(|| PathJsonError("not an array of steps".into()))?;
        steps
            .iter()
            .map(read_step)
            .collect::<Result<Vec<_>, _>>()
            .map(Path::new)
    }
}

fn read_step(step: &Json) -> Result<PathStep, PathJsonError> {
    match (step["type"].as_str(), &step["value"]) {
        (Some("get_attr"), Json::String(name)) => Ok(PathStep::Attr(crate::text::normal(name))),
        (Some("index"), key) => {
            let ty = Type::from_json_value(&key["type"])
                .map_err(|e| PathJsonError(format!("type of an index: {e}")))?;
            let key = value_json::decode_value(&key["value"], &ty)
                .map_err(|e| PathJsonError(format!("index: {e}")))?;
            Ok(PathStep::Index(key))
        }
        _ => Err(PathJsonError(format!("unknown step {step}"))),
    }
}
