//! Tests of creates, updates and destroys that fail half way, and of timeouts.

use crate::provider_workspace::{ProviderWorkspace, line};
use serde_json::json;

const BRITTLE: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}

variable "file" {}

variable "text" {
  default = "one"
}

variable "fail" {
  default = null
}

variable "delay" {
  default = "0s"
}

variable "limit" {
  default = "30s"
}

provider "interop" {
  file = var.file
}

resource "interop_brittle" "b" {
  name  = "b"
  text  = var.text
  fail  = var.fail
  delay = var.delay

  timeouts {
    create = var.limit
  }
}
"#;

const B: &str = "interop_brittle.b";

#[test]
fn partial_results_are_in_the_state() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", BRITTLE)]) else {
        return;
    };

    let run = place.deploy(&["--var", "fail=create"], 5);
    assert_eq!(
        run.result()["operations"],
        json!({"done": 0, "failed": 1, "not_attempted": 0, "unknown": 0, "half_replaced": 0})
    );
    let diagnostic = &run.diagnostics()[0];
    assert_eq!(
        (
            &diagnostic["summary"],
            &diagnostic["range"]["start"]["line"]
        ),
        (
            &json!("Brittle broke"),
            &json!(line(BRITTLE, "fail  = var.fail"))
        )
    );
    let instance = place.instance(B);
    assert_eq!(
        (&instance["status"], &instance["attributes"]["done"]),
        (&json!("tainted"), &json!("begun")),
        "it is there, and no good"
    );

    // A tainted object is replaced.
    let plan = place.plan(&[]);
    assert_eq!(
        (plan.actions(B), plan.reason(B)),
        (vec!["delete", "create"], &json!("replace_because_tainted"))
    );
    place.deploy(&[], 0);
    let instance = place.instance(B);
    assert_eq!(
        (&instance["status"], &instance["attributes"]["done"]),
        (&json!(null), &json!("created"))
    );

    // A failed update stores its partial result without a taint; the next plan starts from there.
    let two = ["--var", "text=two", "--var", "fail=update"];
    let run = place.deploy(&two, 5);
    assert_eq!(
        run.diagnostics()[0]["range"]["start"]["line"],
        line(BRITTLE, "text  = var.text")
    );
    let instance = place.instance(B);
    assert_eq!(instance["status"], json!(null));
    assert_eq!(
        (
            &instance["attributes"]["text"],
            &instance["attributes"]["done"]
        ),
        (&json!("two"), &json!("updated half"))
    );
    assert_eq!(
        place.changes(&two, 0),
        json!({"no_op": 1}),
        "the object is as it should be"
    );
    assert_eq!(
        place.changes(&["--var", "text=two"], 2),
        json!({"update": 1})
    );
    place.deploy(&["--var", "text=two"], 0);
    assert_eq!(place.attributes(B)["done"], "updated");

    // A refused destroy leaves the object.
    place.change_outside(|o| o["brittle-b"]["fields"] = json!({"held": "somebody"}));
    let run = place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(5);
    assert_eq!(run.diagnostics()[0]["detail"], "It is held by somebody.");
    assert_eq!(
        (place.addresses(), place.instance(B)["status"].clone()),
        (vec![B.to_owned()], json!(null))
    );
    place.change_outside(|o| o["brittle-b"]["fields"] = json!({}));
    place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(place.addresses(), Vec::<String>::new());
    let failures = place.run(&["failures", "--json"]).expect(0).result();
    assert_eq!(
        failures["failures"].as_array().unwrap().len(),
        3,
        "{failures:#}"
    );
}

#[test]
fn timeouts_reach_the_provider_and_end_slow_operations() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", BRITTLE)]) else {
        return;
    };
    let plan = place.plan(&[]);
    assert_eq!(
        plan.change(B)["after"]["timeouts"],
        json!({"create": "30s", "delete": null})
    );
    let run = place.deploy(&["--var", "delay=1h", "--var", "limit=50ms"], 5);
    let diagnostic = &run.diagnostics()[0];
    assert_eq!(
        (&diagnostic["summary"], &diagnostic["detail"]),
        (
            &json!("Brittle not finished"),
            &json!("It took longer than 50ms.")
        )
    );
    assert_eq!(place.instance(B)["status"], "tainted");
    place.deploy(&["--var", "delay=20ms"], 0);
    assert_eq!(place.attributes(B)["done"], "created");

    let refused = place
        .run(&["stage", "--json", "--var", "limit=soon"])
        .expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(
        diagnostic["range"]["start"]["line"],
        line(BRITTLE, "create = var.limit"),
        "{diagnostic}"
    );
}
