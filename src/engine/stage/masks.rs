//! Values as the plan representation writes them: known parts as JSON, and masks of what is unknown
//! and what is sensitive. Pure.

use cty::Value;
use serde_json::{Map, Value as Json};

/// The value without what is unknown: absent from objects and maps, null in sequences (their order
/// tells what is unknown). Null for a value that is unknown itself.
pub fn known_json(value: &Value) -> Json {
    if !value.is_known() || value.is_null() {
        return Json::Null;
    }
    if let Some(text) = value.as_str() {
        text.into()
    } else if let Some(n) = value.as_number() {
        // All digits are kept; infinity has no JSON.
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

/// True where the value is unknown; known members of objects and maps are left out.
pub fn unknown(value: &Value) -> Json {
    mask(value, &|v| !v.is_known(), &|_| Json::Bool(false))
}

/// True where the value is sensitive; other members of objects and maps are left out.
pub fn sensitive(value: &Value) -> Json {
    // Of an unknown container nothing is known of what is inside.
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
