//! Compares apply, second plan and destroy of one configuration. Both programs use the same
//! external systems one after the other, so each cleans up first.

use super::compare::{self, Verdict};
use super::program::{ApplyResult, Programs};
use color_eyre::eyre::Result;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Applies with both programs, tofu first: if tofu fails, flightdeck is not to blame.
pub fn held(
    programs: &Programs,
    planned: Value,
    there: &Path,
    here: &Path,
    within: Duration,
) -> Result<(Verdict, Vec<String>)> {
    let theirs = match programs.tofu_applies(there, planned, within)? {
        Ok(made) => made,
        Err(said) => return Ok((Verdict::TofuCannotApply, said)),
    };
    // flightdeck must find the external systems as tofu found them.
    programs.world_anew(within)?;
    let ours = match programs.flightdeck_applies(here, within)? {
        Ok(made) => made,
        Err(said) => return Ok((Verdict::TofuAloneApplies, said)),
    };
    Ok(compared(&theirs, &ours))
}

fn compared(theirs: &ApplyResult, ours: &ApplyResult) -> (Verdict, Vec<String>) {
    let mut said = Vec::new();
    // Values unknown in the plan, such as generated ids, differ between any two runs.
    let knew = known(&theirs.planned);
    let (a, b) = (objects(&theirs.state, &knew), objects(&ours.state, &knew));
    for name in a.keys().chain(b.keys().filter(|n| !a.contains_key(*n))) {
        match (a.get(name), b.get(name)) {
            (Some(a), Some(b)) => compare::differences(&format!("state {name}"), a, b, &mut said),
            (Some(_), None) => said.push(format!("state {name}: tofu alone has it")),
            _ => said.push(format!("state {name}: flightdeck alone has it")),
        }
    }
    // A provider whose plans never converge shows changes in both programs.
    let (a, b) = (changing(&theirs.again), changing(&ours.again));
    said.extend(
        a.iter()
            .filter(|x| !b.contains(x))
            .map(|x| format!("planned again {x}: tofu alone would change it")),
    );
    said.extend(
        b.iter()
            .filter(|x| !a.contains(x))
            .map(|x| format!("planned again {x}: flightdeck alone would change it")),
    );
    said.extend(
        objects(&ours.left, &BTreeMap::new())
            .into_keys()
            .map(|name| format!("left {name}: flightdeck did not destroy it")),
    );
    // Changes that both would make are listed below, but are no difference.
    let verdict = if said.is_empty() {
        Verdict::SameState
    } else {
        Verdict::OtherState
    };
    said.extend(
        a.iter()
            .filter(|x| b.contains(x))
            .map(|x| format!("planned again {x}: both would change it")),
    );
    (verdict, said)
}

/// Addresses with planned changes.
fn changing(plan: &Value) -> Vec<&str> {
    let rests = |c: &&Value| c["change"]["actions"] != serde_json::json!(["no-op"]);
    plan["resource_changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(rests)
        .filter_map(|c| c["address"].as_str())
        .collect()
}

/// Unknown values of a plan by address: a tree with `true` at unknown places.
fn known(plan: &Value) -> BTreeMap<String, Value> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    changes
        .filter_map(|c| {
            Some((
                c["address"].as_str()?.to_owned(),
                c["change"]["after_unknown"].clone(),
            ))
        })
        .collect()
}

/// Managed objects of a state by address, without attributes that the plan did not know.
fn objects(state: &Value, knew: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for resource in state["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|r| r["mode"] == "managed")
    {
        let module = resource["module"]
            .as_str()
            .map_or_else(String::new, |m| format!("{m}."));
        let (kind, name) = (
            resource["type"].as_str().unwrap_or(""),
            resource["name"].as_str().unwrap_or(""),
        );
        for instance in resource["instances"].as_array().into_iter().flatten() {
            let key = if instance["index_key"].is_null() {
                String::new()
            } else {
                format!("[{}]", instance["index_key"])
            };
            let address = format!("{module}{kind}.{name}{key}");
            // An object without a planned change keeps only its address in the comparison.
            let attributes = knew.get(&address).map_or(Value::Null, |unknown| {
                without(&instance["attributes"], unknown)
            });
            found.insert(address, attributes);
        }
    }
    found
}

/// Removes unknown parts from a value. A list with an unknown element is removed completely: it may
/// be a set, whose elements change places once they are known.
fn without(value: &Value, unknown: &Value) -> Value {
    match (value, unknown) {
        (_, Value::Bool(true)) => Value::Null,
        (Value::Object(all), Value::Object(none)) => {
            let rest = all.iter().map(|(name, v)| {
                (
                    name.clone(),
                    without(v, none.get(name).unwrap_or(&Value::Null)),
                )
            });
            Value::Object(rest.collect::<Map<_, _>>())
        }
        (_, some) if some.to_string().contains("true") => Value::Null,
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(id: &str, name: &str, action: &str) -> ApplyResult {
        let unknown = json!({ "id": true, "tags": [] });
        let plan = |action: &str| json!({ "resource_changes": [{ "address": "module.m.a.b[\"k\"]", "change": { "actions": [action], "after_unknown": unknown } }] });
        let state = json!({ "resources": [{ "mode": "managed", "module": "module.m", "type": "a", "name": "b",
            "instances": [{ "index_key": "k", "attributes": { "id": id, "name": name } }] }] });
        ApplyResult {
            planned: plan("create"),
            state,
            again: plan(action),
            left: json!({}),
        }
    }

    #[test]
    fn applied_states_are_compared_by_values_known_in_the_plan() {
        let theirs = made("1", "x", "no-op");
        assert_eq!(
            compared(&theirs, &made("2", "x", "no-op")).0,
            Verdict::SameState
        );
        let (verdict, said) = compared(&theirs, &made("1", "y", "update"));
        assert_eq!(verdict, Verdict::OtherState);
        assert_eq!(
            said,
            [
                "state module.m.a.b[\"k\"].name: tofu \"x\", flightdeck \"y\"",
                "planned again module.m.a.b[\"k\"]: flightdeck alone would change it"
            ]
        );
        let (verdict, said) = compared(&made("1", "x", "update"), &theirs);
        assert_eq!(
            (verdict, said),
            (
                Verdict::OtherState,
                vec!["planned again module.m.a.b[\"k\"]: tofu alone would change it".to_owned()]
            )
        );
        let (verdict, said) = compared(&made("1", "x", "update"), &made("1", "x", "update"));
        assert_eq!(
            (verdict, said),
            (
                Verdict::SameState,
                vec!["planned again module.m.a.b[\"k\"]: both would change it".to_owned()]
            )
        );
        let left = ApplyResult {
            left: theirs.state.clone(),
            ..made("1", "x", "no-op")
        };
        assert_eq!(
            compared(&theirs, &left).1,
            ["left module.m.a.b[\"k\"]: flightdeck did not destroy it"]
        );
        assert_eq!(
            compared(
                &theirs,
                &ApplyResult {
                    state: json!({}),
                    ..made("1", "x", "no-op")
                }
            )
            .1,
            ["state module.m.a.b[\"k\"]: tofu alone has it"]
        );
        assert_eq!(
            without(&json!([{ "a": 1 }]), &json!([{ "a": true }])),
            Value::Null
        );
    }
}
