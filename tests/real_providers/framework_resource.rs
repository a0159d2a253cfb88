//! Tests of a resource with every kind of attribute, from stage to destroy, with errors and a
//! panic.

use crate::provider_workspace::{ProviderWorkspace, attributes_of};
use serde_json::json;

const INTEROP: &str = r#"
terraform {
  required_providers {
    interop = {
      source = "acme/interop"
    }
  }
}

variable "file" {}

variable "name" {
  default = "first"
}

variable "text" {
  default = "one"
}

variable "mode" {
  default = "fast"
}

provider "interop" {
  file = var.file
}

resource "interop_record" "a" {
  name   = var.name
  text   = var.text
  ratio  = 0.1
  lines  = ["x", "y"]
  ports  = [443, 80, 443]
  labels = { env = "test" }
  secret = "hunter2"

  settings = {
    mode = var.mode
  }

  rules = [
    { match = "*", allow = true },
    { match = "a" },
  ]

  endpoint {
    host = "a.example"
    port = 80
  }

  endpoint {
    host = "b.example"
  }
}

resource "interop_record" "b" {
  name = "after-${interop_record.a.revision}"
  text = "needs ${interop_record.a.id}"
}

resource "interop_record" "apart" {
  name    = "apart"
  enabled = false
  amount  = 5
}

resource "interop_anything" "any" {
  value = { list = [1, "two", true], id = interop_record.apart.id }
}

data "interop_record" "again" {
  id = interop_record.a.id
}

output "again" {
  value = data.interop_record.again
}

output "secret" {
  value     = interop_record.a.secret
  sensitive = true
}
"#;

#[test]
fn framework_provider_from_stage_to_destroy() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", INTEROP)]) else {
        return;
    };
    let result = place.run(&["plugins", "--json"]).expect(0).result();
    assert_eq!(result["plugins"][0]["found"]["dialect"], "tfplugin6");

    assert_eq!(place.changes(&[], 2), json!({"create": 4, "read": 1}));
    let run = place.deploy(&[], 0);
    assert!(
        !run.stdout.contains("hunter2"),
        "a sensitive value is in the events"
    );
    let a = json!({
        "amount": 1, "enabled": true, "id": "record-first", "name": "first", "text": "one", "ratio": 0.1,
        "labels": {"env": "test"}, "lines": ["x", "y"], "ports": [80, 443], "revision": 1, "secret": "hunter2",
        "settings": {"mode": "fast", "retries": 3},
        "rules": [{"match": "*", "allow": true}, {"match": "a", "allow": false}],
        "endpoint": [{"host": "a.example", "port": 80}, {"host": "b.example", "port": null}],
    });
    let state = place.exported();
    assert_eq!(*attributes_of(&state, "interop_record", "a"), a);
    assert_eq!(
        attributes_of(&state, "interop_record", "b")["name"],
        "after-1"
    );
    let any = attributes_of(&state, "interop_anything", "any");
    assert_eq!(any["same"], any["value"]);
    assert_eq!(
        state["outputs"]["again"]["value"],
        json!({"id": "record-first", "text": "one", "revision": 1})
    );
    assert_eq!(state["outputs"]["secret"]["sensitive"], true);
    assert_eq!(
        place.provider_objects()["record-first"],
        json!({"revision": 1, "text": "one"})
    );
    let shown = place.run(&["state", "show", "interop_record.a"]).expect(0);
    assert!(
        shown.stdout.contains("record-first") && !shown.stdout.contains("hunter2"),
        "{shown:#?}"
    );

    assert_eq!(
        place.changes(&[], 0),
        json!({"no_op": 4}),
        "nothing changed"
    );

    // A new revision renames the dependent, and another name replaces it.
    let two = ["--var", "text=two"];
    assert_eq!(
        place.changes(&two, 2),
        json!({"update": 1, "replace": 1, "read": 1, "no_op": 2}),
        "what is read names what changes"
    );
    place.deploy(&two, 0);
    assert_eq!(place.attributes("interop_record.a")["revision"], 2);
    assert_eq!(
        place.provider_objects()["record-after-2"]["text"],
        "needs record-first"
    );
    assert_eq!(place.provider_objects().as_object().unwrap().len(), 3);

    // Changes and deletions outside flightdeck are found.
    let mut objects = place.provider_objects();
    objects["record-first"]["text"] = "theirs".into();
    objects.as_object_mut().unwrap().remove("record-apart");
    std::fs::write(place.objects(), objects.to_string()).unwrap();
    assert_eq!(place.changes(&two, 2)["create"], 1);
    place.deploy(&two, 0);
    assert_eq!(place.provider_objects()["record-first"]["text"], "two");
    assert!(place.provider_objects().get("record-apart").is_some());

    let result = place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0)
        .result();
    assert_eq!(
        (&result["outcome"], &result["operations"]["failed"]),
        (&json!("succeeded"), &json!(0))
    );
    assert_eq!(place.provider_objects(), json!({}));
    let state = place.exported();
    assert_eq!(
        (&state["resources"], &state["outputs"]),
        (&json!([]), &json!({})),
        "nothing is left, data sources neither"
    );
}

#[test]
fn error_of_a_framework_provider_has_its_place_and_the_rest_succeeds() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", INTEROP)]) else {
        return;
    };

    let refused = place
        .run(&["stage", "--json", "--var", "mode=never"])
        .expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(diagnostic["summary"], "Unsupported mode");
    assert_eq!(diagnostic["address"], "interop_record.a");
    let line = 1 + INTEROP
        .lines()
        .position(|l| l.contains("mode = var.mode"))
        .unwrap();
    assert_eq!(diagnostic["range"]["filename"], "main.tf");
    let from = diagnostic["range"]["start"]["line"].as_u64().unwrap() as usize;
    let to = diagnostic["range"]["end"]["line"].as_u64().unwrap() as usize;
    assert!(
        (from..=to).contains(&line) || from + 1 == line,
        "{diagnostic} is not about line {line}"
    );

    let run = place.deploy(&["--var", "text=refuse"], 5);
    let result = run.result();
    assert_eq!(result["outcome"], "failed");
    // a is refused; b and the data source depend on it; the other two do not.
    assert_eq!(
        result["operations"],
        json!({"done": 2, "failed": 1, "not_attempted": 2, "unknown": 0, "half_replaced": 0})
    );
    let diagnostic = &run.diagnostics()[0];
    assert_eq!(
        diagnostic["detail"],
        "the text \"refuse\" is refused on purpose"
    );
    let line = 1 + INTEROP
        .lines()
        .position(|l| l.contains("text   = var.text"))
        .unwrap();
    assert_eq!(diagnostic["range"]["start"]["line"], line);
    assert_eq!(
        place.addresses(),
        ["interop_anything.any", "interop_record.apart"]
    );

    let failures = place.run(&["failures", "--json"]).expect(0).result();
    assert_eq!(failures["failures"].as_array().unwrap().len(), 1);
    let words = failures["failures"][0].to_string();
    assert!(
        words.contains("Record not written") && words.contains("interop_record.a"),
        "{words}"
    );

    // After the repair the rest is deployed.
    place.deploy(&[], 0);
    assert_eq!(place.changes(&[], 0), json!({"no_op": 4}));
}

#[test]
fn panic_of_a_framework_provider_is_one_incident_with_its_last_output() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", INTEROP)]) else {
        return;
    };
    let run = place.deploy(&["--var", "text=panic"], 5);
    let crashes = run
        .lines()
        .into_iter()
        .filter(|l| l["type"] == "plugin" && l["what"] == "crash")
        .count();
    assert_eq!(crashes, 1, "{run:#?}");
    // The record that panicked, and other calls of the same process.
    let operations = run.result()["operations"].clone();
    assert!(operations["unknown"].as_u64().unwrap() >= 1, "{operations}");
    let failures = place.run(&["failures"]).expect(0).stdout;
    assert!(
        failures.contains("plugin crashed") && failures.contains("the record asked for it"),
        "{failures}"
    );
    assert!(!failures.contains("did not respond"));
    let logs = place
        .run(&["logs", "interop", "--level", "error"])
        .expect(0)
        .stdout;
    assert!(logs.contains("panic: the record asked for it"), "{logs}");

    let history = place.run(&["history", "--json"]).expect(0).result();
    assert_eq!(history["history"][0]["outcome"], "failed");
}
