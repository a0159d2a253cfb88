//! Hash of the configuration of a group's member: of its evaluated arguments, so that the size of
//! the group and the order of keys have no effect. Pure.

use super::change::Change;
use super::groups::key_in;
use super::masks::known_json;
use cty::{Path, Value};
use group::declared::DeclaredGroup;
use group::{ConfigHash, MemberKey};
use model::Action;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Returns the hash of evaluated arguments. `object` is the planned object, whose marks have the
/// sensitive attributes of the schema.
pub fn of_arguments(arguments: &Value, object: &Value) -> ConfigHash {
    ConfigHash::of(&[&known_json(&without_secrets(arguments, object))])
}

/// Returns the hash of the configuration that a member has once the change is done; `None` if the
/// change removes it, or if the stage does not keep its arguments.
pub fn of_change(group: &DeclaredGroup, change: &Change) -> Option<(MemberKey, ConfigHash)> {
    let key = key_in(group, change)?;
    if matches!(change.action(), Action::Destroy | Action::Forget) {
        return None;
    }
    let hash = match group.hashes.get(&key) {
        Some(committed) => committed.clone(),
        None => of_arguments(change.config()?, &change.after.value),
    };
    Some((key, hash))
}

/// Returns the hashes of the members that a stage does not change.
pub fn of_unchanged(group: &DeclaredGroup, changes: &[Change]) -> BTreeMap<String, String> {
    let unchanged = changes.iter().filter(|c| c.action() == Action::NoOp);
    let hashes = unchanged.filter_map(|change| of_change(group, change));
    hashes
        .map(|(key, hash)| (key.to_string(), hash.to_string()))
        .collect()
}

/// Replaces sensitive and ephemeral values by null: a hash of a short secret would reveal it.
fn without_secrets(arguments: &Value, object: &Value) -> Value {
    let is_secret = |path: &Path| {
        let of = [arguments, object];
        of.iter().any(|value| value.shown_prefix(path).is_some())
    };
    let hidden = arguments.transform::<Infallible>(&mut |path, value| {
        let is_leaf = value.as_map().is_none() && value.as_slice().is_none();
        Ok(match is_leaf && is_secret(path) {
            true => Value::null(value.ty().clone()),
            false => value,
        })
    });
    match hidden {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::{Mark, Type};

    fn arguments(size: i64, secret: &str) -> Value {
        Value::object([
            ("size", Value::int(size)),
            ("password", Value::string(secret).mark(Mark::Sensitive)),
            ("key", Value::string(secret)),
            (
                "tags",
                Value::map(
                    Type::String,
                    [("a", "1"), ("b", "2")].map(|(k, v)| (k, Value::string(v))),
                ),
            ),
        ])
    }

    /// The schema marks `key`.
    fn object() -> Value {
        let key = Value::unknown(Type::String).mark(Mark::Sensitive);
        Value::object([("size", Value::int(1)), ("key", key)])
    }

    #[test]
    fn hash_depends_on_the_arguments_but_not_on_secrets() {
        let of = |size, secret| of_arguments(&arguments(size, secret), &object());
        assert_eq!(of(1, "x"), of(1, "x"));
        assert_ne!(of(1, "x"), of(2, "x"));
        assert_eq!(of(1, "x"), of(1, "y"));
    }

    #[test]
    fn unknown_arguments_have_a_hash() {
        let unknown = Value::object([("size", Value::unknown(Type::Number))]);
        let null = Value::null(Type::Dynamic);
        assert_ne!(
            of_arguments(&unknown, &null),
            of_arguments(&arguments(1, ""), &null)
        );
    }
}
