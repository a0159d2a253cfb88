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
