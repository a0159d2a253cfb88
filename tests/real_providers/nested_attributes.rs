//! Tests of nested attributes and blocks of every kind, on the official framework.

use crate::provider_workspace::{ProviderWorkspace, line};
use serde_json::json;

const NEST: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}

variable "file" {}

variable "name" {
  default = "a"
}

variable "turn" {
  type    = number
  default = 1
}

variable "word" {
  default = "w2"
}

variable "map_text" {
  default = "m"
}

provider "interop" {
  file = var.file
}

resource "interop_nest" "a" {
  name   = var.name
  single = { text = "s${var.turn}", secret = "hush", kind = var.turn < 3 ? "k" : "other" }
  list   = concat(var.turn == 2 ? [{ text = "front" }] : [], [{ text = "l0" }, { text = "l1", weight = 5 }])
  set    = [{ text = "y" }, { text = "x", weight = 2 }, { text = "y" }]
  map    = var.turn == 1 ? { k = { text = var.map_text }, j = { text = "n" } } : { k = { text = "m2" } }

  one {
    zone = "z"
    size = var.turn
  }

  many {
    text = "first"

    inner {
      word = "w1"
    }

    inner {
      word = var.word
    }
  }

  many {
    text = "second"
  }

  any {
    port = 80
  }

  any {
    port  = 443
    proto = var.turn == 2 ? "udp" : null
  }
}
"#;

const NEST_A: &str = "interop_nest.a";

#[test]
fn nested_attributes_are_planned_stored_and_refreshed_by_the_schema() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", NEST)]) else {
        return;
    };

    let plan = place.plan(&[]);
    let change = plan.change(NEST_A);
    assert_eq!(
        (plan.actions(NEST_A), &change["before"]),
        (vec!["create"], &json!(null))
    );
    let planned = json!({
        "name": "a", "upper": "A",
        "single": {"text": "s1", "weight": 1, "kind": "k", "secret": "hush"},
        "list": [{"text": "l0", "weight": 1}, {"text": "l1", "weight": 5}],
        "set": [{"text": "x", "weight": 2}, {"text": "y", "weight": null}],
        "map": {"j": {"text": "n", "weight": 1}, "k": {"text": "m", "weight": 1}},
        "one": {"zone": "z", "size": 1},
        "many": [{"text": "first", "weight": 1, "inner": [{"word": "w1"}, {"word": "w2"}]}, {"text": "second", "weight": 1, "inner": []}],
        "any": [{"port": 443, "proto": null}, {"port": 80, "proto": null}],
    });
    assert_eq!(
        change["after"], planned,
        "defaults are in, what is made up is not"
    );
    let unknown = json!({
        "id": true, "stamp": true,
        "single": {"made": true},
        "list": [{"made": true}, {"made": true}],
        "set": [{}, {}],
        "map": {"j": {"made": true}, "k": {"made": true}},
        "one": {},
        "many": [{"made": true, "inner": [{}, {}]}, {"made": true, "inner": []}],
        "any": [{}, {}],
    });
    assert_eq!(change["after_unknown"], unknown);
    assert_eq!(change["after_sensitive"]["single"], json!({"secret": true}));

    place.deploy(&[], 0);
    let made = json!({
        "id": "nest-a", "name": "a", "upper": "A", "stamp": "revision 1",
        "single": {"text": "s1", "weight": 1, "kind": "k", "secret": "hush", "made": "single.made made at 1"},
        "list": [
            {"text": "l0", "weight": 1, "made": "list.0.made made at 1"},
            {"text": "l1", "weight": 5, "made": "list.1.made made at 1"},
        ],
        "set": [{"text": "x", "weight": 2}, {"text": "y", "weight": null}],
        "map": {"j": {"text": "n", "weight": 1, "made": "map.j.made made at 1"}, "k": {"text": "m", "weight": 1, "made": "map.k.made made at 1"}},
        "one": {"zone": "z", "size": 1},
        "many": [
            {"text": "first", "weight": 1, "made": "many.0.made made at 1", "inner": [{"word": "w1"}, {"word": "w2"}]},
            {"text": "second", "weight": 1, "made": "many.1.made made at 1", "inner": []},
        ],
        "any": [{"port": 443, "proto": null}, {"port": 80, "proto": null}],
    });
    let instance = place.instance(NEST_A);
    assert_eq!(instance["attributes"], made);
    assert_eq!(
        instance["sensitive_attributes"],
        json!([[{"type": "get_attr", "value": "single"}, {"type": "get_attr", "value": "secret"}]])
    );
    assert_eq!(place.changes(&[], 0), json!({"no_op": 1}));

    // Update in place: existing elements keep their computed values, and a new element gets new
    // ones.
    let two = ["--var", "turn=2"];
    let plan = place.plan(&two);
    let change = plan.change(NEST_A);
    assert_eq!(plan.actions(NEST_A), ["update"]);
    assert_eq!(change["before"], made);
    assert_eq!(
        change["after"]["single"],
        json!({"text": "s2", "weight": 1, "kind": "k", "secret": "hush", "made": "single.made made at 1"})
    );
    assert_eq!(
        change["after"]["list"][0],
        json!({"text": "front", "weight": 1, "made": "list.0.made made at 1"})
    );
    assert_eq!(
        change["after_unknown"]["list"],
        json!([{}, {}, {"made": true}])
    );
    assert_eq!(
        change["after"]["map"],
        json!({"k": {"text": "m2", "weight": 1, "made": "map.k.made made at 1"}})
    );
    assert_eq!(
        change["after"]["any"],
        json!([{"port": 443, "proto": "udp"}, {"port": 80, "proto": null}])
    );
    assert_eq!(
        (
            &change["after_unknown"]["stamp"],
            &change["after_unknown"]["many"]
        ),
        (&json!(true), &json!([{"inner": [{}, {}]}, {"inner": []}]))
    );
    place.deploy(&two, 0);
    let now = place.attributes(NEST_A);
    assert_eq!(
        (&now["stamp"], &now["list"][2]["made"]),
        (&json!("revision 2"), &json!("list.2.made made at 2"))
    );
    assert_eq!(place.changes(&two, 0), json!({"no_op": 1}));

    // A deeply nested text is changed outside: that is drift, and a deploy restores it.
    place.change_outside(|o| {
        o["nest-a"]["fields"] = json!({"single.text": "theirs", "many.0.text": "theirs too"})
    });
    let plan = place.plan(&two);
    let drift = plan.drift(NEST_A).unwrap();
    assert_eq!(
        (
            &drift["actions"],
            &drift["before"]["single"]["text"],
            &drift["after"]["single"]["text"]
        ),
        (&json!(["update"]), &json!("s2"), &json!("theirs"))
    );
    assert_eq!(drift["after"]["many"][0]["text"], "theirs too");
    assert_eq!(
        (
            plan.actions(NEST_A),
            &plan.change(NEST_A)["after"]["single"]["text"]
        ),
        (vec!["update"], &json!("s2"))
    );
    place.deploy(&two, 0);
    assert_eq!(place.attributes(NEST_A)["many"][0]["text"], "first");

    // A nested attribute that forces a replacement.
    let three = ["--var", "turn=3"];
    let plan = place.plan(&three);
    assert_eq!(
        (plan.actions(NEST_A), plan.reason(NEST_A)),
        (
            vec!["delete", "create"],
            &json!("replace_because_cannot_update")
        )
    );
    assert_eq!(
        plan.change(NEST_A)["replace_paths"],
        json!([["single", "kind"]])
    );
    assert_eq!(plan.change(NEST_A)["after_unknown"]["id"], true);
    place.deploy(&three, 0);
    let now = place.attributes(NEST_A);
    assert_eq!(
        (
            &now["stamp"],
            &now["single"]["kind"],
            &now["list"][0]["made"]
        ),
        (
            &json!("revision 1"),
            &json!("other"),
            &json!("list.0.made made at 1")
        )
    );

    // The object is deleted outside, and created again.
    place.change_outside(|o| drop(o.as_object_mut().unwrap().remove("nest-a")));
    let plan = place.plan(&three);
    assert_eq!(
        (
            plan.actions(NEST_A),
            plan.drift(NEST_A).unwrap()["actions"].clone()
        ),
        (vec!["create"], json!(["delete"]))
    );
    place.deploy(&three, 0);
    place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(
        (place.provider_objects(), place.addresses()),
        (json!({}), Vec::new())
    );
}

#[test]
fn nested_errors_and_warnings_are_shown_at_their_place() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", NEST)]) else {
        return;
    };

    let refused = place
        .run(&["stage", "--json", "--var", "word=refuse"])
        .expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(
        (&diagnostic["summary"], &diagnostic["address"]),
        (&json!("Refused word"), &json!(NEST_A))
    );
    assert_eq!(
        diagnostic["range"]["start"]["line"],
        line(NEST, "word = var.word"),
        "the second inner block of the first block: {diagnostic}"
    );

    let refused = place
        .run(&["stage", "--json", "--var", "map_text=refuse"])
        .expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(
        (&diagnostic["summary"], &diagnostic["severity"]),
        (&json!("Refused text"), &json!("error"))
    );
    assert_eq!(
        diagnostic["range"]["start"]["line"],
        line(NEST, "map    = var.turn"),
        "{diagnostic}"
    );

    let warned = place
        .run(&["stage", "--json", "--var", "name=odd"])
        .expect(0);
    let diagnostic = &warned.diagnostics()[0];
    assert_eq!(
        (&diagnostic["summary"], &diagnostic["severity"]),
        (&json!("Odd name"), &json!("warning"))
    );
    assert_eq!(
        diagnostic["range"]["start"]["line"],
        line(NEST, "name   = var.name"),
        "{diagnostic}"
    );
}
