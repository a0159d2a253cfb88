//! Tests of the released terraform-provider-time, over protocol 5.

use crate::provider_workspace::{ProviderWorkspace, attributes_of};
use serde_json::json;

const TIME: &str = r#"
terraform {
  required_providers {
    time = {
      source  = "hashicorp/time"
      version = "~> 0.13"
    }
  }
}

variable "days" {
  type    = number
  default = 7
}

variable "start" {
  default = "2026-11-21T10:00:00Z"
}

resource "time_static" "start" {
  rfc3339 = var.start
}

resource "time_offset" "later" {
  base_rfc3339 = time_static.start.rfc3339
  offset_days  = var.days
}

resource "time_sleep" "short" {
  create_duration = "10ms"
  triggers = {
    later = time_offset.later.rfc3339
  }
}

output "later" {
  value = time_offset.later.rfc3339
}
"#;

#[test]
fn protocol_5_provider_from_stage_to_destroy() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", TIME)]) else {
        return;
    };

    let result = place.run(&["plugins", "--json"]).expect(0).result();
    let plugin = &result["plugins"][0];
    assert_eq!(
        plugin["found"]["address"],
        "registry.terraform.io/hashicorp/time"
    );
    assert_eq!(plugin["found"]["version"], "0.13.1");
    assert_eq!(plugin["found"]["dialect"], "tfplugin5");
    assert!(
        plugin["found"]["source"]
            .as_str()
            .unwrap()
            .contains("mirror"),
        "{plugin}"
    );
    let phases: Vec<&str> = plugin["attempts"][0]["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        phases,
        ["exec", "first_output", "handshake", "connected", "schema"]
    );
    assert_eq!(plugin["attempts"][0]["verdict"]["kind"], "ready");

    assert_eq!(place.changes(&[], 2), json!({"create": 3}));
    let result = place.deploy(&[], 0).result();
    assert_eq!(result["outcome"], "succeeded");
    assert_eq!(
        result["operations"],
        json!({"done": 3, "failed": 0, "not_attempted": 0, "unknown": 0, "half_replaced": 0})
    );
    assert_eq!(
        place.addresses(),
        ["time_offset.later", "time_sleep.short", "time_static.start"]
    );
    let shown = place
        .run(&["state", "show", "time_offset.later", "--json"])
        .expect(0)
        .result();
    assert!(
        shown["resources"][0]["attributes"]
            .to_string()
            .contains("2026-11-28T10:00:00Z"),
        "{shown}"
    );
    let state = place.exported();
    assert_eq!(state["version"], 4);
    assert_eq!(
        state["outputs"]["later"],
        json!({"type": "string", "value": "2026-11-28T10:00:00Z"})
    );
    assert_eq!(
        attributes_of(&state, "time_static", "start")["unix"],
        1_795_255_200
    );
    assert_eq!(place.attributes("time_offset.later")["day"], 28);

    assert_eq!(
        place.changes(&[], 0),
        json!({"no_op": 3}),
        "nothing changed"
    );

    // The offset is updated in place, and the resource that it triggers is replaced.
    assert_eq!(
        place.changes(&["--var", "days=8"], 2),
        json!({"update": 1, "replace": 1, "no_op": 1})
    );
    place.deploy(&["--var", "days=8"], 0);
    assert_eq!(
        place.attributes("time_offset.later")["rfc3339"],
        "2026-11-29T10:00:00Z"
    );
    assert_eq!(
        place.attributes("time_sleep.short")["triggers"]["later"],
        "2026-11-29T10:00:00Z"
    );
    assert_eq!(place.changes(&["--var", "days=8"], 0), json!({"no_op": 3}));

    // An error of the provider has the place of the attribute.
    let refused = place
        .run(&["stage", "--json", "--var", "start=yesterday"])
        .expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(diagnostic["address"], "time_static.start");
    assert_eq!(
        (
            &diagnostic["range"]["filename"],
            &diagnostic["range"]["start"]["line"]
        ),
        (&json!("main.tf"), &json!(21)),
        "{diagnostic}"
    );

    let result = place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0)
        .result();
    assert_eq!(
        (&result["command"], &result["outcome"]),
        (&json!("destroy"), &json!("succeeded"))
    );
    assert_eq!(place.addresses(), Vec::<String>::new());

    let history = place.run(&["history", "--json"]).expect(0).result();
    let outcomes: Vec<&str> = history["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["succeeded"; 3]);
    let logs = place.run(&["logs", "time", "--json"]).expect(0);
    assert!(logs.result()["lines"].as_u64().unwrap() > 0, "{logs:#?}");
    let failures = place.run(&["failures", "--json"]).expect(0).result();
    assert_eq!(failures["failures"], json!([]));
}
