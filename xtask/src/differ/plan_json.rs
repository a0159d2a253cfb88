//! Compares complete plan representations, including the order of members. Values that differ
//! between any two runs and version numbers are ignored.

use super::compare::{Verdict, plans};
use super::program::Planned;
use serde_json::Value;

/// Compares two documents as [`plans`] compares plans.
pub fn documents((theirs, ours): (&Planned, &Planned)) -> (Verdict, Vec<String>) {
    let (Ok(a), Ok(b)) = (theirs, ours) else {
        return plans((theirs, ours));
    };
    let (a, b) = (settled(a), settled(b));
    let mut said = Vec::new();
    differences("", &a, &b, &mut said);
    match said.is_empty() {
        true => (Verdict::SamePlan, said),
        false => (Verdict::OtherPlan, said),
    }
}

/// Document without the values that differ between any two runs.
fn settled(document: &Value) -> Value {
    let mut document = document.clone();
    for name in ["timestamp", "terraform_version"] {
        if let Some(value) = document.get_mut(name) {
            *value = Value::Null;
        }
    }
    if let Some(value) = document.pointer_mut("/prior_state/terraform_version") {
        *value = Value::Null;
    }
    // tofu does not order the attributes of one resource.
    if let Some(Value::Array(all)) = document.get_mut("relevant_attributes") {
        all.sort_by_cached_key(ToString::to_string);
    }
    // It does not order nested modules either.
    if let Some(root) = document.pointer_mut("/planned_values/root_module") {
        sort_modules(root);
    }
    document
}

fn sort_modules(module: &mut Value) {
    if let Some(Value::Array(all)) = module.get_mut("child_modules") {
        all.sort_by_cached_key(|one| one["address"].to_string());
        all.iter_mut().for_each(sort_modules);
    }
}

fn differences(at: &str, theirs: &Value, ours: &Value, said: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, inner) in a {
                match b.get(name) {
                    Some(other) => differences(&below(at, name), inner, other, said),
                    None => said.push(format!("{}: tofu alone has it", below(at, name))),
                }
            }
            let alone = b.keys().filter(|name| !a.contains_key(*name));
            said.extend(alone.map(|name| format!("{}: flightdeck alone has it", below(at, name))));
            // Absent members are reported above; only equal sets can differ in their order alone.
            if a.len() == b.len() && a.keys().ne(b.keys()) && a.keys().all(|n| b.contains_key(n)) {
                said.push(format!("{at}: members in another order"));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (n, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{at}[{n}]"), a, b, said);
            }
        }
        (a, b) if a == b => {}
        (a, b) => said.push(format!("{at}: tofu {a}, flightdeck {b}")),
    }
}

fn below(at: &str, name: &str) -> String {
    match at.is_empty() {
        true => name.to_owned(),
        false => format!("{at}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, documents};
    use serde_json::{Value, json};

    #[test]
    fn document_comparison_covers_all_members_and_member_order() {
        let held = |theirs: Value, ours: Value| documents((&Ok(theirs), &Ok(ours)));
        let (verdict, said) = held(
            json!({ "timestamp": "1", "a": null, "b": { "x": 1, "y": [2] } }),
            json!({ "timestamp": "2", "b": { "y": [3], "x": 1 }, "c": 1 }),
        );
        assert_eq!(verdict, Verdict::OtherPlan);
        assert_eq!(
            said,
            [
                "a: tofu alone has it",
                "b.y[0]: tofu 2, flightdeck 3",
                "b: members in another order",
                "c: flightdeck alone has it",
            ]
        );
        let modules = |first: &str, second: &str| json!({ "planned_values": { "root_module": { "child_modules": [{ "address": first }, { "address": second }] } } });
        let (verdict, _) = held(
            modules("module.a", "module.b"),
            modules("module.b", "module.a"),
        );
        assert_eq!(verdict, Verdict::SamePlan);
    }
}
