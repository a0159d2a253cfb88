//! Sensitive parts of a stored object. Follows its sensitive paths, also through the pairs of value
//! and type that store dynamically typed values. Used to display, mask and learn stored values.
//! Pure.

use super::records::{State, StateObject};
use model::secrets::Secrets;
use serde_json::Value;

/// Sensitive paths of an object.
pub struct Paths(Vec<Vec<Value>>);

impl Paths {
    /// Paths of a stored object. If they cannot be parsed, all of it is sensitive.
    pub fn of_stored_object(object: &StateObject) -> Self {
        Self(serde_json::from_str(&object.sensitive).unwrap_or_else(|_| vec![Vec::new()]))
    }

    /// Paths for display: a `terraform_data` returns its input as its output, so both are equally
    /// sensitive.
    pub fn for_display(object: &StateObject, resource_type: &str) -> Self {
        let Self(mut all) = Self::of_stored_object(object);
        if resource_type == "terraform_data" {
            let given = all
                .iter()
                .filter(|path| path.first().is_some_and(|step| key(step) == "input"))
                .cloned();
            let back = |mut path: Vec<Value>| {
                path[0] = serde_json::json!({"type": "get_attr", "value": "output"});
                path
            };
            let back: Vec<Vec<Value>> = given.map(back).collect();
            all.extend(back);
        }
        Self(all)
    }

    /// No paths: everything is shown.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Place of the complete object, to start a walk.
    pub fn from<'a>(&'a self, value: &'a Value) -> SensitivePart<'a> {
        SensitivePart::new(value, self.0.iter().map(Vec::as_slice).collect(), false)
    }
}

/// A value inside a stored object, with the rest of each sensitive path that leads to it.
pub struct SensitivePart<'a> {
    /// The value without the type of a pair.
    pub value: &'a Value,
    remaining: Vec<&'a [Value]>,
    /// The type of everything inside is known, so no more pairs follow.
    typed: bool,
}

impl<'a> SensitivePart<'a> {
    fn new(value: &'a Value, left: Vec<&'a [Value]>, typed: bool) -> Self {
        match dynamic(value).filter(|_| !typed) {
            Some((inner, ty)) => Self {
                value: inner,
                remaining: left,
                typed: !ty.has_dynamic(),
            },
            None => Self {
                value,
                remaining: left,
                typed,
            },
        }
    }

    /// Is all of it sensitive? Also true where a path cannot be followed further, such as an
    /// element of a set, which is named by its value.
    pub fn is_all_sensitive(&self) -> bool {
        self.remaining.iter().any(|rest| {
            rest.first()
                .is_none_or(|step| !step_matches(step, self.value))
        })
    }

    /// Members of an object or map, by name.
    pub fn members(&self) -> impl Iterator<Item = (&'a str, SensitivePart<'a>)> {
        let all = self.value.as_object().into_iter().flatten();
        all.map(|(name, inner)| {
            (
                name.as_str(),
                Self::new(
                    inner,
                    self.paths_into(|step| key(step) == name.as_str()),
                    self.typed,
                ),
            )
        })
    }

    /// Elements of a sequence, in order.
    pub fn elements(&self) -> impl Iterator<Item = SensitivePart<'a>> {
        let all = self.value.as_array().into_iter().flatten().enumerate();
        all.map(|(n, inner)| {
            Self::new(
                inner,
                self.paths_into(|step| key(step).as_u64() == u64::try_from(n).ok()),
                self.typed,
            )
        })
    }

    fn paths_into(&self, leads: impl Fn(&Value) -> bool) -> Vec<&'a [Value]> {
        self.remaining
            .iter()
            .filter_map(|rest| rest.split_first())
            .filter(|(step, _)| leads(step))
            .map(|(_, rest)| rest)
            .collect()
    }
}

/// Splits the pair that stores a dynamically typed value. Its members are in the order value, type;
/// an object with the same members has them sorted by name.
fn dynamic(value: &Value) -> Option<(&Value, cty::Type)> {
    let mut pair = value.as_object().filter(|pair| pair.len() == 2)?.iter();
    let (inner, ty) = (pair.next()?, pair.next()?);
    (inner.0 == "value" && ty.0 == "type").then_some(())?;
    Some((inner.1, cty::Type::from_json_value(ty.1).ok()?))
}

/// Key of a step: an attribute's name or an index's value.
fn key(step: &Value) -> &Value {
    let value = &step["value"];
    if step["type"] == "index" {
        value.get("value").unwrap_or(value)
    } else {
        value
    }
}

/// Can a step be followed into this value?
fn step_matches(step: &Value, value: &Value) -> bool {
    match value {
        Value::Object(_) => key(step).is_string(),
        Value::Array(_) => key(step).is_u64(),
        // A null has nothing inside to reveal.
        Value::Null => true,
        _ => false,
    }
}

/// Registers the sensitive values of a state for redaction.
pub fn register_state(secrets: &Secrets, state: &State) {
    // Most objects have no sensitive paths, and then need no parsing.
    for object in state
        .objects
        .iter()
        .filter(|o| o.sensitive.len() > "[]".len())
    {
        if let Ok(attributes) = serde_json::from_str(&object.attributes) {
            register_at(secrets, &Paths::of_stored_object(object).from(&attributes));
        }
    }
    for output in state.outputs.iter().filter(|o| o.sensitive) {
        if let Ok(value) = serde_json::from_str(&output.value) {
            secrets.register_json(&value);
        }
    }
}

/// Registers the values at the sensitive paths of a stored object.
fn register_at(secrets: &Secrets, at: &SensitivePart<'_>) {
    if at.is_all_sensitive() {
        secrets.register_json(at.value);
    } else {
        at.members()
            .for_each(|(_, inner)| register_at(secrets, &inner));
        at.elements().for_each(|inner| register_at(secrets, &inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use serde_json::json;

    fn leaves(place: &SensitivePart<'_>, hidden: bool, out: &mut Vec<String>) {
        let hidden = hidden || place.is_all_sensitive();
        if place.value.is_object() || place.value.is_array() {
            place
                .members()
                .for_each(|(_, inner)| leaves(&inner, hidden, out));
            place
                .elements()
                .for_each(|inner| leaves(&inner, hidden, out));
        } else {
            out.push(format!("{}{}", if hidden { "!" } else { "" }, place.value));
        }
    }

    fn seen(value: Value, sensitive: &str, shown: bool) -> Vec<String> {
        let object = StateObject {
            sensitive: sensitive.into(),
            ..object()
        };
        let paths = if shown {
            Paths::for_display(&object, "terraform_data")
        } else {
            Paths::of_stored_object(&object)
        };
        let mut out = Vec::new();
        leaves(&paths.from(&value), false, &mut out);
        out
    }

    /// The path `[input, key]`.
    fn path(key: Value) -> String {
        json!([[{"type": "get_attr", "value": "input"}, key]]).to_string()
    }

    #[test]
    fn sensitive_path_resolves_through_a_value_stored_with_its_type() {
        let kept = || json!({"value": {"a": 1, "b": 2}, "type": ["object", {"a": "number", "b": "number"}]});
        let b = path(json!({"type": "get_attr", "value": "b"}));
        assert_eq!(
            seen(json!({"input": kept(), "output": kept()}), &b, false),
            ["1", "!2", "1", "2"]
        );
        assert_eq!(
            seen(json!({"input": kept(), "output": kept()}), &b, true),
            ["1", "!2", "1", "!2"]
        );
    }

    #[test]
    fn object_with_type_and_value_members_is_not_a_typed_value() {
        let inner = json!({"type": "string", "value": "x"});
        let value = path(json!({"type": "get_attr", "value": "value"}));
        assert_eq!(
            seen(json!({"input": inner}), &value, false),
            ["\"string\"", "!\"x\""]
        );
        let kept =
            json!({"input": {"value": {"value": "x"}, "type": ["object", {"value": "string"}]}});
        assert_eq!(seen(kept, &value, false), ["!\"x\""]);
    }

    #[test]
    fn unresolvable_sensitive_path_redacts_the_whole_value() {
        let set = path(json!({"type": "index", "value": {"value": null, "type": "dynamic"}}));
        assert_eq!(seen(json!({"input": [1, 2]}), &set, false), ["!1", "!2"]);
        assert_eq!(seen(json!({"a": 1}), "no json", false), ["!1"]);
        assert_eq!(
            seen(
                json!({"input": 7}),
                &path(json!({"type": "get_attr", "value": "b"})),
                false
            ),
            ["!7"]
        );
    }

    #[test]
    fn sensitive_values_of_stored_objects_are_learned() {
        let secrets = Secrets::default();
        let attributes = r#"{"a": {"list": [{"open": "open-word", "key": "closed-word"}]}, "b": "other-word",
            "input": {"value": {"key": "inner-word", "open": "object"}, "type": ["object", {"key": "string", "open": "string"}]}}"#;
        let list = r#"[{"type":"get_attr","value":"a"},{"type":"get_attr","value":"list"},{"type":"index","value":{"value":0,"type":"number"}},{"type":"get_attr","value":"key"}]"#;
        let input = r#"[{"type":"get_attr","value":"input"},{"type":"get_attr","value":"key"}]"#;
        let nothing = r#"[{"type":"get_attr","value":"nothing"}]"#;
        let object = StateObject {
            attributes: attributes.into(),
            sensitive: format!("[{list},{input},{nothing}]"),
            ..object()
        };
        let state = State {
            objects: vec![object],
            ..State::default()
        };
        register_state(&secrets, &state);
        let said = secrets
            .redact("open-word closed-word inner-word other-word object")
            .into_owned();
        assert_eq!(said, "open-word (sensitive) (sensitive) other-word object");
    }
}
