//! Tests of protocol 5 on terraform-plugin-sdk/v2, with the exceptions that its type system is
//! allowed.

use serde_json::{Value, json};

use crate::provider_workspace::{ProviderWorkspace, line};

pub(super) const THING: &str = r#"
terraform {
  required_providers {
    legacy = { source = "acme/legacy" }
  }
}

variable "file" {}

variable "note" {
  default = "note"
}

variable "same" {
  default = "same"
}

variable "size" {
  default = 5
}

variable "fail" {
  default = null
}

variable "step" {
  default = "two"
}

provider "legacy" {
  file = var.file
}

resource "legacy_thing" "t" {
  name                = "t"
  note                = var.note
  same                = var.same
  hashed              = "plain"
  ratio               = 0.5
  size                = var.size
  tags                = { a = "1", b = "" }
  names               = ["q", "p", "q"]
  secret              = "hush"
  password_wo         = "xyz"
  password_wo_version = 1
  fail                = var.fail

  rule {
    port = 80
  }

  rule {
    port  = 443
    proto = "udp"
    hosts = ["b", "a"]
  }

  step {
    run = "one"

    env {
      key = "k"
    }
  }

  step {
    run = var.step
  }

  limits {}

  route {
    to = "x"
  }

  timeouts {
    create = "10s"
  }
}

resource "legacy_thing" "bare" {
  name  = "bare"
  route = []
}

data "legacy_thing" "look" {
  name       = legacy_thing.t.name
  depends_on = [legacy_thing.t]
}

output "look" {
  value = data.legacy_thing.look.note
}
"#;

pub(super) const T: &str = "legacy_thing.t";

fn thing() -> Value {
    json!({
        "id": "thing-t", "name": "t", "note": "note", "same": "same", "hashed": "a116c9ed", "zone": "z1", "size": 5, "ratio": 0.5,
        "flag": null, "tags": {"a": "1", "b": ""}, "names": ["p", "q"], "secret": "hush", "former": null, "one_of": null,
        "password_wo": null, "password_wo_version": 1, "password_length": 3, "digest": "edb46562", "revision": 1, "fail": null,
        "rule": [{"port": 443, "proto": "udp", "hosts": ["a", "b"]}, {"port": 80, "proto": "tcp", "hosts": []}],
        "step": [{"run": "one", "env": [{"key": "k", "value": ""}]}, {"run": "two", "env": []}],
        "limits": [{"cpu": 1}],
        "route": [{"to": "x", "via": ""}],
        "timeouts": {"create": "10s", "delete": null},
    })
}

#[test]
fn legacy_provider_from_stage_to_destroy() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", THING)]) else {
        return;
    };
    let found = place.run(&["plugins", "--json"]).expect(0).result();
    assert_eq!(found["plugins"][0]["found"]["dialect"], "tfplugin5");

    let plan = place.plan(&[]);
    let change = plan.change(T);
    let after = &change["after"];
    assert_eq!(
        after["hashed"], "a116c9ed",
        "the plan has what the provider makes of the value, which is not what is configured"
    );
    assert_eq!(
        (&after["limits"], &after["route"]),
        (&json!([{"cpu": 1}]), &json!([{"to": "x", "via": null}])),
        "an attribute written as blocks"
    );
    assert_eq!(
        after["rule"],
        json!([{"port": 443, "proto": "udp", "hosts": ["a", "b"]}, {"port": 80, "proto": "tcp", "hosts": []}])
    );
    assert_eq!(
        after["step"][0]["env"],
        json!([{"key": "k", "value": null}])
    );
    let unknown = &change["after_unknown"];
    assert_eq!(
        (
            &unknown["id"],
            &unknown["zone"],
            &unknown["digest"],
            &unknown["note"]
        ),
        (&json!(true), &json!(true), &json!(true), &json!(null))
    );
    assert_eq!(change["after_sensitive"]["secret"], true);
    let bare = plan.change("legacy_thing.bare");
    assert_eq!(
        (
            &bare["after"]["note"],
            &bare["after"]["size"],
            &bare["after"]["timeouts"]
        ),
        (&json!(null), &json!(3), &json!(null))
    );
    assert_eq!(
        plan.reason("data.legacy_thing.look"),
        "read_because_dependency_pending"
    );

    let run = place.deploy(&[], 0);
    assert!(
        !run.stdout.contains("hush") && !run.stdout.contains("xyz"),
        "{run:#?}"
    );
    let instance = place.instance(T);
    assert_eq!(instance["attributes"], thing());
    assert_eq!(
        (&instance["identity"], &instance["identity_schema_version"]),
        (&json!({"name": "t"}), &json!(0))
    );
    assert!(instance["private"].is_string(), "the timeouts are in it");
    let bare = place.attributes("legacy_thing.bare");
    assert_eq!(
        (&bare["note"], &bare["zone"], &bare["route"], &bare["flag"]),
        (&json!(""), &json!("z1"), &json!([]), &json!(null))
    );
    assert_eq!(place.exported()["outputs"]["look"]["value"], "note");
    assert_eq!(
        place.changes(&[], 0),
        json!({"no_op": 2}),
        "an empty text in the state and nothing in the configuration are the same"
    );

    // A difference that the provider suppresses.
    assert_eq!(
        place.changes(&["--var", "same=SAME"], 0),
        json!({"no_op": 2})
    );
    assert_eq!(place.attributes(T)["same"], "same");

    // Another note plans another digest; a smaller size forces a replacement.
    let other = ["--var", "note=other"];
    let plan = place.plan(&other);
    assert_eq!(plan.actions(T), ["update"]);
    let unknown: Vec<&String> = plan.change(T)["after_unknown"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, v)| **v == json!(true))
        .map(|(k, _)| k)
        .collect();
    assert_eq!(unknown, ["digest", "revision"]);
    assert_eq!(
        plan.change(T)["after"]["zone"],
        "z1",
        "what is computed and not configured keeps its value"
    );
    place.deploy(&other, 0);
    assert_eq!(
        (
            &place.attributes(T)["revision"],
            &place.attributes(T)["note"]
        ),
        (&json!(2), &json!("other"))
    );
    assert_eq!(
        place.changes(&["--var", "note=other", "--var", "size=6"], 2),
        json!({"update": 1, "no_op": 1, "read": 1})
    );
    let smaller = ["--var", "note=", "--var", "size=2"];
    let plan = place.plan(&smaller);
    assert_eq!(
        (plan.actions(T), &plan.change(T)["replace_paths"]),
        (vec!["delete", "create"], &json!([["size"]]))
    );
    place.deploy(&smaller, 0);
    let now = place.attributes(T);
    assert_eq!(
        (&now["note"], &now["revision"], &now["size"], &now["digest"]),
        (&json!(""), &json!(1), &json!(2), &json!("e3b0c442"))
    );
    assert_eq!(place.changes(&smaller, 0), json!({"no_op": 2}));

    // Somebody else changes one object and deletes the other.
    place.change_outside(|o| {
        o["thing-t"]["text"] = "theirs".into();
        o.as_object_mut().unwrap().remove("thing-bare");
    });
    let plan = place.plan(&smaller);
    assert_eq!(plan.drift(T).unwrap()["after"]["note"], "theirs");
    assert_eq!(
        (plan.actions(T), plan.actions("legacy_thing.bare")),
        (vec!["update"], vec!["create"])
    );
    place.deploy(&smaller, 0);
    assert_eq!(place.provider_objects()["thing-t"]["text"], "");

    place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(
        (place.provider_objects(), place.addresses()),
        (json!({}), Vec::new())
    );
}

#[test]
fn errors_and_warnings_of_a_legacy_provider_have_their_place() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", THING)]) else {
        return;
    };
    let refused = place
        .run(&["stage", "--json", "--var", "step=refuse"])
        .expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(
        (&diagnostic["summary"], &diagnostic["address"]),
        (&json!("Refused step"), &json!(T))
    );
    assert_eq!(
        diagnostic["range"]["start"]["line"],
        line(THING, "run = var.step"),
        "{diagnostic}"
    );
    let warned = place
        .run(&["stage", "--json", "--var", "step=odd"])
        .expect(0);
    let diagnostic = &warned.diagnostics()[0];
    assert_eq!(
        (
            &diagnostic["severity"],
            &diagnostic["range"]["start"]["line"]
        ),
        (&json!("warning"), &json!(line(THING, "run = var.step")))
    );
    let refused = place
        .run(&["stage", "--json", "--var", "fail=diff"])
        .expect(1);
    assert_eq!(
        refused.diagnostics()[0]["summary"],
        "the difference is refused on purpose"
    );

    place.workspace.write(
        "more.tf",
        "resource \"legacy_thing\" \"former\" {\n  name   = \"former\"\n  former = \"x\"\n}\n",
    );
    let warned = place.run(&["stage", "--json"]).expect(0);
    let diagnostic = &warned.diagnostics()[0];
    assert_eq!(
        (&diagnostic["severity"], &diagnostic["detail"]),
        (&json!("warning"), &json!("Use note.")),
        "{diagnostic}"
    );
    place.workspace.write("more.tf", "resource \"legacy_thing\" \"both\" {\n  name   = \"both\"\n  former = \"x\"\n  one_of = \"y\"\n}\n");
    let refused = place.run(&["stage", "--json"]).expect(1);
    let errors: Vec<Value> = refused
        .diagnostics()
        .into_iter()
        .filter(|d| d["severity"] == "error")
        .collect();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(
        (&errors[0]["summary"], &errors[0]["range"]["start"]["line"]),
        (&json!("Conflicting configuration arguments"), &json!(4))
    );
}
