//! Encodes values for the plan representation: known parts as JSON, and masks of unknown and
//! sensitive parts. Pure.

use cty::Value;
use serde_json::{Map, Value as Json};

/// Encodes the known parts of a value. Unknown parts are absent from objects and maps, and null in
/// sequences, whose positions matter. An unknown value is null.
pub fn known_json(value: &Value) -> Json {
    if !value.is_known() || value.is_null() {
        return Json::Null;
    }
    if let Some(text) = value.as_str() {
        text.into()
    } else if let Some(n) = value.as_number() {
        // Keeps all digits; JSON has no infinity.
        serde_json::from_str(&n.to_text()).unwrap_or(Json::Null)
    } else if let Some(b) = value.as_bool() {
        b.into()
    } else if let Some(members) = value.as_map() {
        let known = members.iter().filter(|(_, v)| v.is_known());
        Json::Object(known.map(|(k, v)| (k.to_string(), known_json(v))).collect())
    } else {
        value.children().map(known_json).collect()
    }
}

/// Encodes true at unknown parts; known members of objects and maps are omitted.
pub fn unknown(value: &Value) -> Json {
    mask(value, &|v| !v.is_known(), &|_| Json::Bool(false))
}

/// Encodes true at sensitive parts; other members of objects and maps are omitted.
pub fn sensitive(value: &Value) -> Json {
    // The contents of an unknown container have no mask of their own.
    let unknown_container = |v: &Value| match () {
        () if v.is_known() || v.is_null() => Json::Bool(false),
        () if v.ty().is_object() || v.ty().is_map() => Json::Object(Map::new()),
        () if v.ty().is_list() || v.ty().is_set() || v.ty().is_tuple() => Json::Array(Vec::new()),
        () => Json::Bool(false),
    };
    mask(
        value,
        &|v| v.marks().is_sensitive() || v.marks().is_ephemeral(),
        &unknown_container,
    )
}

fn mask(value: &Value, chosen: &dyn Fn(&Value) -> bool, leaf: &dyn Fn(&Value) -> Json) -> Json {
    if chosen(value) {
        return Json::Bool(true);
    }
    if !value.is_known() || value.is_null() {
        return leaf(value);
    }
    if let Some(members) = value.as_map() {
        let mut out = Map::new();
        for (name, inner) in members {
            let inner = mask(inner, chosen, leaf);
            if inner != Json::Bool(false) {
                out.insert(name.to_string(), inner);
            }
        }
        return out.into();
    }
    if value.ty().is_set() || value.as_slice().is_some() {
        return value.children().map(|v| mask(v, chosen, leaf)).collect();
    }
    leaf(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::{Mark, Type};
    use serde_json::json;

    fn secret(text: &str) -> Value {
        Value::string(text).mark(Mark::Sensitive)
    }

    /// Rows: value, its known part, its unknown parts, its sensitive parts.
    #[test]
    fn value_is_known_json_with_masks_of_unknown_and_sensitive_parts() {
        let unknown = || Value::unknown(Type::String);
        let texts = Type::list(Type::String);
        for (value, known, unknown, sensitive) in [
            (Value::string("x"), json!("x"), json!(false), json!(false)),
            (secret("x"), json!("x"), json!(false), json!(true)),
            (unknown(), json!(null), json!(true), json!(false)),
            (
                Value::null(Type::String),
                json!(null),
                json!(false),
                json!(false),
            ),
            // Members without a mark are absent from masks of objects.
            (
                Value::object([("a", Value::int(1)), ("b", unknown()), ("c", secret("s"))]),
                json!({ "a": 1, "c": "s" }),
                json!({ "b": true }),
                json!({ "c": true }),
            ),
            // Elements keep their position.
            (
                Value::tuple(vec![Value::int(1), unknown(), secret("s")]),
                json!([1, null, "s"]),
                json!([false, true, false]),
                json!([false, false, true]),
            ),
            // The parts of an unknown container have no masks.
            (
                Value::unknown(texts.clone()),
                json!(null),
                json!(true),
                json!([]),
            ),
            (
                Value::unknown(Type::map(Type::String)),
                json!(null),
                json!(true),
                json!({}),
            ),
            // A mark of a container hides all of it.
            (
                Value::list(Type::String, vec![Value::string("x")]).mark(Mark::Sensitive),
                json!(["x"]),
                json!([false]),
                json!(true),
            ),
            (
                Value::string("x").mark(Mark::Ephemeral),
                json!("x"),
                json!(false),
                json!(true),
            ),
        ] {
            assert_eq!(known_json(&value), known, "{value:?}");
            assert_eq!(super::unknown(&value), unknown, "{value:?}");
            assert_eq!(super::sensitive(&value), sensitive, "{value:?}");
        }
    }
}
