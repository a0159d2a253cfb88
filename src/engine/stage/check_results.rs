//! Encodes check results for a state of version 4. OpenTofu writes them in no particular order;
//! here they are sorted by address.

use super::checked::Checked;
use super::checks_json::split_module_path;
use super::conditions::{Status, Statuses};
use serde_json::{Value as Json, json};

/// Returns the results of all objects with conditions; `None` if there are none.
pub fn text(statuses: &Statuses, checked: &Checked) -> Option<String> {
    let all: Vec<Json> = statuses
        .0
        .iter()
        .map(|(object, status)| result(object, *status, checked))
        .collect();
    (!all.is_empty()).then(|| Json::Array(all).to_string())
}

fn result(object: &str, staged: Status, checked: &Checked) -> Json {
    let instances = checked.of(object);
    let worst = instances.iter().map(|(_, one)| one.status).max();
    // An object without instances has only the status of the stage: pass if it was evaluated.
    let status = worst.unwrap_or(staged);
    let objects: Vec<Json> = instances
        .iter()
        .map(|(address, one)| {
            let mut all = json!({ "object_addr": address, "status": one.status.plan_name() });
            if !one.problems.is_empty() {
                all["failure_messages"] = one.problems.as_slice().into();
            }
            all
        })
        .collect();
    json!({
        "object_kind": kind(split_module_path(object).1),
        "config_addr": object,
        "status": status.plan_name(),
        "objects": Some(objects).filter(|o| !o.is_empty()),
    })
}

/// Returns the kind of a checked object from its address within the module.
fn kind(address: &str) -> &'static str {
    match address.split('.').collect::<Vec<_>>()[..] {
        ["output", _] => "output",
        ["check", _] => "check",
        ["var", _] => "var",
        _ => "resource",
    }
}
