//! The state as rows for people: attributes flattened to leaves, what is sensitive masked.

use super::model::{State, StateObject};
use super::sensitive::{Paths, Place};
use crate::engine::cores;
use crate::engine::words::{OutputValue, StateRow};
use lang::addr::{AbsInstance, Mode};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

const MASK: &str = "(sensitive)";

/// The outputs of a state.
pub fn outputs(state: State) -> Vec<OutputValue> {
    let outputs = state.outputs.into_iter();
    outputs
        .map(|output| OutputValue {
            name: output.name,
            value: output.value,
            ty: output.ty,
            sensitive: output.sensitive,
        })
        .collect()
}

/// One row an object, in the state's order.
pub fn rows(state: &State) -> Vec<StateRow> {
    let parsed: Vec<Option<AbsInstance>> = state
        .objects
        .iter()
        .map(|o| o.address.parse().ok())
        .collect();
    let mut dependents: HashMap<&str, BTreeSet<String>> = HashMap::new();
    for (object, address) in state.objects.iter().zip(&parsed) {
        let Some(address) = address else { continue };
        for needed in &object.dependencies {
            dependents
                .entry(needed)
                .or_default()
                .insert(address.config().to_string());
        }
    }
    let objects = state.objects.iter().zip(&parsed).collect();
    cores::each(objects, |(object, address)| {
        row(object, address.as_ref(), &dependents)
    })
}

fn row(
    object: &StateObject,
    address: Option<&AbsInstance>,
    dependents: &HashMap<&str, BTreeSet<String>>,
) -> StateRow {
    let config = address.map(|a| a.config().to_string()).unwrap_or_default();
    let resource_type = address
        .map(|a| a.resource.kind.to_string())
        .unwrap_or_default();
    StateRow {
        address: object.address.clone(),
        deposed: (!object.deposed.is_empty()).then(|| object.deposed.clone()),
        module: address.map(|a| a.module.to_string()).unwrap_or_default(),
        data: address.is_some_and(|a| a.resource.mode == Mode::Data),
        attributes: attributes(object, &resource_type),
        resource_type,
        name: address
            .map(|a| a.resource.name.to_string())
            .unwrap_or_default(),
        provider: object.provider.clone(),
        tainted: object.tainted,
        drift: None,
        dependencies: object.dependencies.clone(),
        dependents: dependents
            .get(config.as_str())
            .map(|all| all.iter().cloned().collect())
            .unwrap_or_default(),
    }
}

/// Leaves of the attributes that are not null.
fn attributes(object: &StateObject, resource_type: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    match serde_json::from_str::<Value>(&object.attributes) {
        Ok(value) => flatten(
            &Paths::to_show(object, resource_type).from(&value),
            "",
            &mut out,
        ),
        // What cannot be told from a secret is treated as one.
        Err(_) => out.push(("*".into(), MASK.into())),
    }
    out
}

fn flatten(at: &Place<'_>, path: &str, out: &mut Vec<(String, String)>) {
    match at.value {
        Value::Null => {}
        _ if at.hidden() => out.push((
            if path.is_empty() { "*" } else { path }.to_owned(),
            MASK.into(),
        )),
        Value::Object(all) if !all.is_empty() => {
            for (key, inner) in at.members() {
                flatten(&inner, &joined(path, key), out);
            }
        }
        Value::Array(all) if !all.is_empty() => {
            for (n, inner) in at.elements().enumerate() {
                flatten(&inner, &format!("{path}[{n}]"), out);
            }
        }
        leaf => out.push((path.to_owned(), leaf.to_string())),
    }
}

fn joined(path: &str, key: &str) -> String {
    let plain = key.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), plain) {
        (true, _) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}[{}]", lang::addr::quote(key)),
    }
}
