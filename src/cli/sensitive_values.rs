//! Sensitive values of a stage for `--show-sensitive`, read from its plan representation. They are
//! printed and never stored.

use model::StageSummary;
use serde_json::Value;

/// Copies the stage and fills in its sensitive values, as far as the plan contains them.
pub(super) fn reveal(summary: &StageSummary, plan: &Value) -> StageSummary {
    let mut shown = summary.clone();
    for change in &mut shown.changes {
        let Some(planned) = planned(plan, "resource_changes", &change.address) else {
            continue;
        };
        for attribute in change.attributes.iter_mut().filter(|a| a.sensitive) {
            let former = attribute.before_path.as_ref().unwrap_or(&attribute.path);
            let before = revealed_side(&planned["before"], former, &attribute.before);
            // Unknown values are not in the plan, so their text stays.
            let after = match attribute.unknown {
                true => Some(attribute.after.clone()),
                false => revealed_side(&planned["after"], &attribute.path, &attribute.after),
            };
            // Both sides or none: a half-revealed attribute would show a wrong change.
            if let (Some(before), Some(after)) = (before, after) {
                (attribute.before, attribute.after) = (before, after);
                attribute.sensitive = false;
            }
        }
    }
    for output in shown.outputs.iter_mut().filter(|o| o.sensitive) {
        let planned = &plan["output_changes"][&output.name];
        let is_unknown = planned["after_unknown"] == Value::Bool(true);
        let before = revealed_side(&planned["before"], "*", &output.before);
        let after = match is_unknown {
            true => Some(Some("(known after apply)".to_owned())),
            false => revealed_side(&planned["after"], "*", &output.after),
        };
        if let (Some(before), Some(after)) = (before, after) {
            (output.before, output.after) = (before, after);
            output.sensitive = false;
        }
    }
    shown
}

/// Returns the change of the current object at an address.
fn planned<'p>(plan: &'p Value, list: &str, address: &str) -> Option<&'p Value> {
    let all = plan[list].as_array()?;
    let found = all
        .iter()
        .find(|one| one["address"] == address && one.get("deposed").is_none())?;
    found.get("change")
}

/// Returns the text of one side: `Some(None)` if it has no value, `None` if the plan does not
/// contain the value.
fn revealed_side(whole: &Value, path: &str, masked: &Option<String>) -> Option<Option<String>> {
    if masked.is_none() {
        return Some(None);
    }
    let found = match path {
        "*" => whole,
        path => at(whole, path)?,
    };
    Some(Some(found.to_string()))
}

/// Returns the value at a path in a stage's notation: `tags["name"]`, `rule[0].port`.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    match value {
        Value::Object(all) => all.iter().find_map(|(key, inner)| {
            let quoted = format!("[{}]", lang::addr::quote(key));
            // Attribute names without dots or brackets are written without quotes.
            let plain = path
                .strip_prefix('.')
                .unwrap_or(path)
                .strip_prefix(key.as_str())
                .filter(|_| !key.contains(['.', '[']));
            let rest = path.strip_prefix(quoted.as_str()).or(plain)?;
            let ends = rest.is_empty() || rest.starts_with(['.', '[']);
            ends.then(|| at(inner, rest))?
        }),
        Value::Array(all) => {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            at(all.get(index.parse::<usize>().ok()?)?, rest)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::at;
    use serde_json::json;

    #[test]
    fn sensitive_paths_resolve_to_plan_values() {
        let value = json!({
            "a": {"b.c": [1, {"d": 2}], "b": 3},
            "ab": 4,
            "a.b": 5,
        });
        let table = [
            ("a.b", Some(json!(3))),
            ("a[\"b.c\"][1].d", Some(json!(2))),
            ("a[\"b.c\"][0]", Some(json!(1))),
            ("ab", Some(json!(4))),
            ("a[\"b.c\"][2]", None),
            ("c", None),
            ("a.b.c", None),
        ];
        for (path, expected) in table {
            assert_eq!(at(&value, path).cloned(), expected, "{path}");
        }
    }
}
