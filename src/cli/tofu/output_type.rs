//! Types of outputs in JSON output.

use model::OutputValue;
use serde_json::Value;

/// Returns the type in the notation of state files. Attribute names in an object type may be
/// secrets, so such a type of a sensitive output is "dynamic".
pub(super) fn shown_type(output: &OutputValue) -> Value {
    let ty: Value = serde_json::from_str(&output.ty).unwrap_or_default();
    match output.sensitive && has_names(&ty) {
        true => "dynamic".into(),
        false => ty,
    }
}

fn has_names(ty: &Value) -> bool {
    match ty {
        Value::Object(members) => !members.is_empty(),
        Value::Array(parts) => parts.iter().any(has_names),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_names_of_sensitive_outputs_are_omitted() {
        let object = r#"["list",["tuple",[["object",{"key":"string"}]]]]"#;
        for (ty, sensitive, shown) in [
            (object, true, r#""dynamic""#),
            (object, false, object),
            (r#""string""#, true, r#""string""#),
            (r#"["map","string"]"#, true, r#"["map","string"]"#),
            (r#"["object",{}]"#, true, r#"["object",{}]"#),
        ] {
            let output = OutputValue {
                name: "o".into(),
                value: "null".into(),
                ty: ty.into(),
                sensitive,
            };
            assert_eq!(shown_type(&output).to_string(), shown);
        }
    }
}
