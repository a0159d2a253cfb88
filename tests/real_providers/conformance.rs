//! Tests of `plugin conform` with providers on the official SDKs: they pass, whatever a type lacks.

use crate::provider_workspace::ProviderWorkspace;
use serde_json::Value;

const TIME: &str = r#"
resource "time_offset" "any" {
  base_rfc3339 = "2026-11-21T10:00:00Z"
  offset_days  = 7
}

resource "time_rotating" "any" {
  rotation_days = 30
}

resource "time_sleep" "any" {
  create_duration = "10ms"
}

resource "time_static" "any" {}
"#;

/// Starters are used for the types.
const INTEROP: &str = "provider \"interop\" {\n  file = \"interop.json\"\n}\n";

/// With an empty `route`, because the SDK plans a null one anew each time.
const LEGACY: &str = r#"
provider "legacy" {
  file = "legacy.json"
}

resource "legacy_thing" "any" {
  name  = "conform"
  route = []
}
"#;

/// All but `interop_heir`, which is never created.
const INTEROP_TYPES: &[&str] = &[
    "anything", "brittle", "disk", "nest", "null", "pet", "record", "vault",
];

fn check<'r>(report: &'r Value, type_name: &str, id: &str) -> &'r Value {
    let mut types = report["types"].as_array().unwrap().iter();
    let of = types.find(|of| of["type_name"] == type_name).unwrap();
    let mut checks = of["checks"].as_array().unwrap().iter();
    checks.find(|check| check["id"] == id).unwrap()
}

#[test]
fn providers_on_the_official_sdks_pass() {
    for (plugin, config, types) in [
        (
            "hashicorp/time",
            TIME,
            &["offset", "rotating", "sleep", "static"][..],
        ),
        ("acme/interop", INTEROP, INTEROP_TYPES),
        ("acme/legacy", LEGACY, &["disk", "thing"]),
    ] {
        let files = [("given.hcl", config)];
        let Some(place) = ProviderWorkspace::with_built_providers(&files) else {
            return;
        };
        let prefix = plugin.rsplit('/').next().unwrap();
        let types: Vec<String> = types
            .iter()
            .map(|name| format!("{prefix}_{name}"))
            .collect();
        let mut words = vec![
            "plugin",
            "conform",
            plugin,
            "--config",
            "given.hcl",
            "--yes",
            "--json",
        ];
        words.extend(types.iter().flat_map(|name| ["--type", name]));
        let report = &place.run(&words).expect(0).result()["report"];
        let all = report["types"].as_array().unwrap();
        assert_eq!(all.len(), types.len(), "{report:#}");
        for of in all {
            let name = of["type_name"].as_str().unwrap();
            for id in [
                "create",
                "read",
                "no-op-plan",
                "replace",
                "destroy",
                "destroy-again",
            ] {
                assert_eq!(
                    check(report, name, id)["status"],
                    "pass",
                    "{name} {id}: {of:#}"
                );
            }
        }
        if plugin == "acme/interop" {
            assert_eq!(check(report, "interop_disk", "identity")["status"], "pass");
            assert_eq!(check(report, "interop_disk", "import")["status"], "pass");
            assert_eq!(
                check(report, "interop_vault", "private-state")["status"],
                "pass"
            );
        }
    }
}
