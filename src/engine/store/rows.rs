//! The state as rows for people: attributes flattened to leaves, what is sensitive masked.

use super::model::{State, StateObject};
use crate::engine::api::StateRow;
use lang::addr::{AbsInstance, Mode};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

const MASK: &str = "(sensitive)";

/// One row an object, in the state's order.
pub fn rows(state: &State) -> Vec<StateRow> {
    let parsed: Vec<Option<AbsInstance>> = state.objects.iter().map(|o| o.address.parse().ok()).collect();
    let mut dependents: HashMap<&str, BTreeSet<String>> = HashMap::new();
    for (object, address) in state.objects.iter().zip(&parsed) {
        let Some(address) = address else { continue };
        for needed in &object.dependencies {
            dependents.entry(needed).or_default().insert(address.config().to_string());
        }
    }
    state.objects.iter().zip(&parsed).map(|(object, address)| row(object, address.as_ref(), &dependents)).collect()
}

fn row(object: &StateObject, address: Option<&AbsInstance>, dependents: &HashMap<&str, BTreeSet<String>>) -> StateRow {
    let config = address.map(|a| a.config().to_string()).unwrap_or_default();
    StateRow {
        address: object.address.clone(),
        deposed: (!object.deposed.is_empty()).then(|| object.deposed.clone()),
        module: address.map(|a| a.module.to_string()).unwrap_or_default(),
        data: address.is_some_and(|a| a.resource.mode == Mode::Data),
        resource_type: address.map(|a| a.resource.kind.to_string()).unwrap_or_default(),
        name: address.map(|a| a.resource.name.to_string()).unwrap_or_default(),
        provider: object.provider.clone(),
        tainted: object.tainted,
        dependencies: object.dependencies.clone(),
        dependents: dependents.get(config.as_str()).map(|all| all.iter().cloned().collect()).unwrap_or_default(),
        attributes: attributes(object),
    }
}

/// Leaves of the attributes that are not null.
fn attributes(object: &StateObject) -> Vec<(String, String)> {
    let mut out = Vec::new();
    match (serde_json::from_str::<Value>(&object.attributes), serde_json::from_str::<Vec<Vec<Value>>>(&object.sensitive)) {
        (Ok(value), Ok(secrets)) => {
            let secrets: Vec<&[Value]> = secrets.iter().map(Vec::as_slice).collect();
            flatten(&value, "", &secrets, &mut out);
        }
        // What cannot be told from a secret is treated as one.
        _ => out.push(("*".into(), MASK.into())),
    }
    out
}

/// `secrets`: what is left of each sensitive path that leads through here.
fn flatten(value: &Value, path: &str, secrets: &[&[Value]], out: &mut Vec<(String, String)>) {
    let value = dynamic(value).unwrap_or(value);
    if value.is_null() {
        return;
    }
    let hidden = secrets.iter().any(|rest| match rest.first() {
        None => true,
        Some(step) => !fits(step, value),
    });
    if hidden {
        out.push((path.to_owned(), MASK.into()));
        return;
    }
    match value {
        Value::Object(all) if !all.is_empty() => {
            for (key, inner) in all {
                flatten(inner, &joined(path, key), &through(secrets, &Value::String(key.clone())), out);
            }
        }
        Value::Array(all) if !all.is_empty() => {
            for (n, inner) in all.iter().enumerate() {
                flatten(inner, &format!("{path}[{n}]"), &through(secrets, &n.into()), out);
            }
        }
        leaf => out.push((path.to_owned(), leaf.to_string())),
    }
}

/// What is within the pair of value and type by which an attribute of any type is kept.
fn dynamic(value: &Value) -> Option<&Value> {
    let pair = value.as_object().filter(|pair| pair.len() == 2)?;
    cty::Type::from_json_value(pair.get("type")?).ok()?;
    pair.get("value")
}

/// The key of a step: the attribute's name, or the index's value.
fn key(step: &Value) -> &Value {
    let value = &step["value"];
    if step["type"] == "index" { value.get("value").unwrap_or(value) } else { value }
}

/// Whether a step leads into this value. One that does not (an element of a set is named by its whole value) hides all of it.
fn fits(step: &Value, value: &Value) -> bool {
    match value {
        Value::Object(_) => key(step).is_string(),
        Value::Array(_) => key(step).is_u64(),
        _ => false,
    }
}

fn through<'a>(secrets: &[&'a [Value]], to: &Value) -> Vec<&'a [Value]> {
    secrets.iter().filter_map(|rest| rest.split_first()).filter(|(step, _)| key(step) == to).map(|(_, rest)| rest).collect()
}

fn joined(path: &str, key: &str) -> String {
    let plain =
        key.starts_with(|c: char| c.is_alphabetic() || c == '_') && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), plain) {
        (true, _) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}[{}]", lang::addr::quote(key)),
    }
}
