//! State version 3, written by versions before 0.12. Accepted only without resources: current
//! programs cannot use their provider references, and OpenTofu refuses them as well.

use crate::document::{Output, StateFile};
use crate::error::ReadError;
use crate::fields::{Fields, Raw};
use crate::members::Members;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Module {
    path: Vec<String>,
    #[serde(default)]
    outputs: BTreeMap<String, OldOutput>,
    #[serde(default)]
    resources: BTreeMap<String, serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct OldOutput {
    #[serde(default)]
    sensitive: bool,
    value: Raw,
}

/// Parses the rest of a version 3 file, after its version was removed.
pub(crate) fn read(mut fields: Members<'_>) -> Result<StateFile, ReadError> {
    let modules: Vec<Module> = fields.take("modules", "")?.unwrap_or_default();
    if modules.iter().any(|module| !module.resources.is_empty()) {
        return Err(ReadError::Old(3));
    }
    let mut outputs = Vec::new();
    // Only outputs of the root module exist in version 4.
    for module in modules.into_iter().filter(|module| module.path == ["root"]) {
        for (name, output) in module.outputs {
            let value: Value =
                serde_json::from_str(output.value.get()).map_err(|source| ReadError::Field {
                    at: format!("\"modules\", \"outputs\", {name:?}"),
                    source,
                })?;
            outputs.push(Output {
                name,
                value: Box::<str>::from(output.value).into_string(),
                ty: as_one_type(&type_of(&value)).to_string(),
                sensitive: output.sensitive,
                unknown_fields: Fields::default(),
            });
        }
    }
    Ok(StateFile {
        terraform_version: fields
            .take("terraform_version", "")?
            .filter(|version: &String| !version.is_empty())
            // Lower than any version that could have written the file.
            .unwrap_or_else(|| "0.0.0".to_owned()),
        serial: fields.take("serial", "")?.unwrap_or_default(),
        lineage: fields.take("lineage", "")?.unwrap_or_default(),
        outputs,
        ..StateFile::default()
    })
}

/// Returns the type that a value implies, as JSON.
fn type_of(value: &Value) -> Value {
    match value {
        Value::Null => json!("dynamic"),
        Value::Bool(_) => json!("bool"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
        Value::Array(all) => json!(["tuple", all.iter().map(type_of).collect::<Vec<_>>()]),
        Value::Object(all) => {
            let types = all.iter().map(|(name, one)| (name.clone(), type_of(one)));
            json!(["object", types.collect::<serde_json::Map<_, _>>()])
        }
    }
}

/// Converts a tuple or object type to a list or map type if all elements have one type: version 3
/// had no tuples and objects.
fn as_one_type(ty: &Value) -> Value {
    let parts: Vec<&Value> = match &ty[1] {
        Value::Array(all) => all.iter().collect(),
        Value::Object(all) => all.values().collect(),
        _ => Vec::new(),
    };
    let Some((first, others)) = parts.split_first() else {
        return ty.clone();
    };
    if others.iter().any(|other| other != first) {
        return ty.clone();
    }
    let kind = if ty[0] == "tuple" { "list" } else { "map" };
    json!([kind, as_one_type(first)])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use crate::{ReadError, StateFile};

    fn read(modules: &str) -> Result<StateFile, ReadError> {
        let text = format!(
            r#"{{"version": 3, "terraform_version": "0.11.14", "serial": 3, "lineage": "l3", "modules": [{modules}]}}"#
        );
        Ok(StateFile::read(text.as_bytes())?.unwrap())
    }

    #[test]
    fn version_3_state_without_resources_keeps_its_outputs() {
        let file = read(
            r#"{"path": ["root"], "outputs": {
                "a": {"sensitive": true, "type": "string", "value": "old"},
                "b": {"type": "list", "value": ["x", "y"]},
                "c": {"type": "map", "value": {"x": ["1"], "y": ["2"]}},
                "d": {"type": "list", "value": []},
                "e": {"type": "list", "value": ["x", 1]}
            }, "resources": {}, "depends_on": []},
            {"path": ["root", "m"], "outputs": {"x": {"value": "1"}}, "resources": {}}"#,
        )
        .unwrap();
        let outputs: Vec<(&str, &str, bool)> = file
            .outputs
            .iter()
            .map(|o| (o.name.as_str(), o.ty.as_str(), o.sensitive))
            .collect();
        assert_eq!(
            outputs,
            [
                ("a", r#""string""#, true),
                ("b", r#"["list","string"]"#, false),
                ("c", r#"["map",["list","string"]]"#, false),
                ("d", r#"["tuple",[]]"#, false),
                ("e", r#"["tuple",["string","number"]]"#, false),
            ]
        );
        assert_eq!((file.serial, file.lineage.as_str()), (3, "l3"));
    }

    #[test]
    fn version_3_state_with_resources_or_bad_fields_is_rejected() {
        let with = r#"{"path": ["root"], "resources": {"aws_vpc.a": {"type": "aws_vpc"}}}"#;
        assert!(matches!(read(with), Err(ReadError::Old(3))));
        assert!(matches!(
            read(r#"{"path": 1}"#),
            Err(ReadError::Field { .. })
        ));
    }
}
