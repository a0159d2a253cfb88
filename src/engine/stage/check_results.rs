//! What the conditions of a configuration came to, as a state of version 4 keeps it. The order is
//! none with the reference engine; here it is that of addresses.

use super::checked::Checked;
use super::checks_json::apart;
use super::conditions::{Status, Statuses};
use serde_json::{Value as Json, json};

/// The results of all that is declared with conditions; `None` where nothing is.
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
    // Of what has no instances only staging could tell whether that is known.
    let status = worst.unwrap_or(staged);
    let objects: Vec<Json> = instances
        .iter()
        .map(|(address, one)| {
            let mut all = json!({ "object_addr": address, "status": one.status.word() });
            if !one.problems.is_empty() {
                all["failure_messages"] = one.problems.as_slice().into();
            }
            all
        })
        .collect();
    json!({
        "object_kind": kind(apart(object).1),
        "config_addr": object,
        "status": status.word(),
        "objects": Some(objects).filter(|o| !o.is_empty()),
    })
}

/// What it is that has conditions, by its address in its module.
fn kind(address: &str) -> &'static str {
    match address.split('.').collect::<Vec<_>>()[..] {
        ["output", _] => "output",
        ["check", _] => "check",
        ["var", _] => "var",
        _ => "resource",
    }
}
