//! Checks the form of `sensitive_attributes`: a list of paths, each a list of steps.

use crate::error::ReadError;
use serde_json::Value;
use serde_json::value::RawValue;

/// Checks the paths of one object; `at` is their place in the file.
///
/// # Errors
/// A path or a step has another form than OpenTofu reads.
pub(crate) fn check(raw: &RawValue, at: &str) -> Result<(), ReadError> {
    let paths: Option<Vec<Option<Vec<Value>>>> =
        serde_json::from_str(raw.get()).map_err(|source| ReadError::Field {
            at: at.to_owned(),
            source,
        })?;
    let steps = paths.iter().flatten().flatten().flatten();
    for step in steps {
        if let Some(expected) = fault(step) {
            return Err(ReadError::Value {
                at: at.to_owned(),
                found: step.to_string(),
                expected,
            });
        }
    }
    Ok(())
}

/// The expected form of a step that has another one.
fn fault(step: &Value) -> Option<&'static str> {
    match step["type"].as_str() {
        Some("get_attr") if step["value"].is_string() => None,
        Some("get_attr") => Some("the \"value\" of a \"get_attr\" step is a name"),
        Some("index") => {
            let key = &step["value"];
            let typed = key.get("type").is_some() && key.get("value").is_some();
            (!typed).then_some("the \"value\" of an \"index\" step is a key with its type")
        }
        _ => Some("the \"type\" of a step is \"get_attr\" or \"index\""),
    }
}
