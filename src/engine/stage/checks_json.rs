//! Encodes check results for the JSON representations of plans and states.

use lang::addr::{AbsInstance, InstanceKey};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// Encodes one checked object; `address` is that of the declaration.
pub(super) fn check(address: &str, status: &str, instances: Vec<Json>) -> Json {
    let (module, rest) = split_module_path(address);
    let parts: Vec<&str> = rest.split('.').collect();
    let (kind, of_resource, name) = match parts[..] {
        ["output", name] => ("output_value", None, name),
        ["check", name] => ("check", None, name),
        ["var", name] => ("var", None, name),
        ["data", kind, name] => ("resource", Some(("data", kind)), name),
        ["ephemeral", kind, name] => ("resource", Some(("ephemeral", kind)), name),
        [kind, name] => ("resource", Some(("managed", kind)), name),
        _ => ("resource", None, rest),
    };
    let mut at = Map::new();
    at.insert("kind".into(), kind.into());
    if let Some((mode, _)) = of_resource {
        at.insert("mode".into(), mode.into());
    }
    if !module.is_empty() {
        at.insert("module".into(), module.into());
    }
    at.insert("name".into(), name.into());
    at.insert("to_display".into(), address.into());
    if let Some((_, kind)) = of_resource {
        at.insert("type".into(), kind.into());
    }
    let mut out = Map::new();
    out.insert("address".into(), at.into());
    out.insert("status".into(), status.into());
    if !instances.is_empty() {
        out.insert("instances".into(), instances.into());
    }
    out.into()
}

/// Splits an address into its module path and the rest; modules may have keys.
pub(super) fn split_module_path(address: &str) -> (&str, &str) {
    let mut rest = address;
    while let Some(after) = rest.strip_prefix("module.") {
        let mut quoted = false;
        let mut before = ' ';
        let end = after.find(|c| {
            quoted ^= c == '"' && before != '\\';
            // An escaped backslash does not escape the quote after it.
            before = if c == '\\' && before == '\\' { ' ' } else { c };
            c == '.' && !quoted
        });
        let Some(end) = end else { break };
        rest = &after[end + 1..];
    }
    (
        address[..address.len() - rest.len()].trim_end_matches('.'),
        rest,
    )
}

/// Check result as in a state of version 4.
#[derive(Deserialize)]
struct CheckRecord {
    config_addr: String,
    status: String,
    #[serde(default)]
    objects: Option<Vec<KeptInstance>>,
}

#[derive(Deserialize)]
struct KeptInstance {
    object_addr: String,
    status: String,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
}

/// Returns the checked objects recorded in a state; empty if they cannot be parsed.
pub(super) fn of_state(text: &str) -> Vec<Json> {
    let mut kept: Vec<CheckRecord> = serde_json::from_str(text).unwrap_or_default();
    kept.sort_by(|a, b| a.config_addr.cmp(&b.config_addr));
    let all = kept.into_iter().map(|one| {
        let mut instances = one.objects.unwrap_or_default();
        instances.sort_by(|a, b| a.object_addr.cmp(&b.object_addr));
        let instances = instances.into_iter().map(instance).collect();
        check(&one.config_addr, &one.status, instances)
    });
    all.collect()
}

fn instance(kept: KeptInstance) -> Json {
    let (module, rest) = split_module_path(&kept.object_addr);
    let key = match kept.object_addr.parse::<AbsInstance>() {
        Ok(address) if rest.ends_with(']') => address.key,
        _ => InstanceKey::None,
    };
    let mut at = Map::new();
    match key {
        InstanceKey::None => {}
        InstanceKey::Int(n) => drop(at.insert("instance_key".into(), n.into())),
        InstanceKey::Str(text) => drop(at.insert("instance_key".into(), text.as_ref().into())),
    }
    if !module.is_empty() {
        at.insert("module".into(), module.into());
    }
    at.insert("to_display".into(), kept.object_addr.as_str().into());
    let mut out = Map::new();
    out.insert("address".into(), at.into());
    out.insert("status".into(), kept.status.into());
    // Sorted, because OpenTofu records them in no particular order.
    let mut problems = kept.failure_messages.unwrap_or_default();
    problems.sort();
    if !problems.is_empty() {
        let problems = problems.iter().map(|message| json!({ "message": message }));
        out.insert("problems".into(), problems.collect());
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_split_behind_its_modules() {
        for (address, module, rest) in [
            ("lab_thing.a", "", "lab_thing.a"),
            ("module.m.lab_thing.a", "module.m", "lab_thing.a"),
            (
                "module.m.module.n.output.o",
                "module.m.module.n",
                "output.o",
            ),
            ("module.m[0].check.c", "module.m[0]", "check.c"),
            // Dots and quotes within a key.
            ("module.m[\"a.b\"].var.v", "module.m[\"a.b\"]", "var.v"),
            (
                "module.m[\"a\\\".b\"].var.v",
                "module.m[\"a\\\".b\"]",
                "var.v",
            ),
            ("module.m[\"a\\\\\"].var.v", "module.m[\"a\\\\\"]", "var.v"),
            ("module.m", "", "module.m"),
        ] {
            assert_eq!(split_module_path(address), (module, rest), "{address}");
        }
    }

    #[test]
    fn object_is_described_by_its_kind() {
        for (address, described) in [
            ("output.o", json!({ "kind": "output_value", "name": "o" })),
            ("check.c", json!({ "kind": "check", "name": "c" })),
            ("var.v", json!({ "kind": "var", "name": "v" })),
            (
                "module.m.data.x.y",
                json!({ "kind": "resource", "mode": "data", "module": "module.m", "name": "y", "type": "x" }),
            ),
            (
                "x.y",
                json!({ "kind": "resource", "mode": "managed", "name": "y", "type": "x" }),
            ),
        ] {
            let mut got = check(address, "pass", Vec::new());
            assert_eq!(got["address"]["to_display"], address);
            got["address"]
                .as_object_mut()
                .expect("an object")
                .remove("to_display");
            assert_eq!(got, json!({ "address": described, "status": "pass" }));
        }
    }

    #[test]
    fn results_of_a_state_are_sorted_and_unreadable_ones_are_none() {
        let text = r#"[
            {"config_addr": "x.b", "status": "pass", "objects": null},
            {"config_addr": "x.a", "status": "fail", "objects": [
                {"object_addr": "x.a[1]", "status": "pass"},
                {"object_addr": "x.a[0]", "status": "fail", "failure_messages": ["z", "a"]}
            ]}
        ]"#;
        let all = of_state(text);
        let addresses = all.iter().map(|one| one["address"]["to_display"].as_str());
        assert_eq!(addresses.collect::<Vec<_>>(), [Some("x.a"), Some("x.b")]);
        let first = &all[0]["instances"][0];
        assert_eq!(first["address"]["instance_key"], 0);
        assert_eq!(
            first["problems"],
            json!([{ "message": "a" }, { "message": "z" }])
        );
        assert!(of_state("{").is_empty());
    }
}
