//! Tests of the types that the benchmarks use, for correctness only: an object without a world, and
//! a large schema.

use crate::provider_workspace::ProviderWorkspace;
use serde_json::json;

const PETS: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}

variable "keeper" {
  default = "k"
}

resource "interop_pet" "p" {
  count   = 3
  keepers = { n = "${var.keeper}${count.index}" }
  prefix  = count.index == 1 ? "my" : null
}

resource "interop_null" "n" {
  for_each = { for i, p in interop_pet.p : i => p.id }
  triggers = { pet = each.value }
}
"#;

#[test]
fn objects_without_a_world_are_created_kept_and_replaced() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", PETS)]) else {
        return;
    };
    let plan = place.plan(&[]);
    let change = plan.change("interop_pet.p[1]");
    assert_eq!(
        change["after"],
        json!({"keepers": {"n": "k1"}, "length": 2, "prefix": "my"})
    );
    assert_eq!(
        plan.change("interop_null.n[\"2\"]")["after_unknown"],
        json!({"id": true, "triggers": {"pet": true}})
    );
    place.deploy(&[], 0);
    let ids = || -> Vec<String> {
        let state = place.exported();
        let pets = state["resources"]
            .as_array()
            .unwrap()
            .iter()
            .find(|r| r["type"] == "interop_pet")
            .unwrap();
        pets["instances"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["attributes"]["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = ids();
    assert!(
        first[1].starts_with("my-") && first[0].split('-').count() == 3,
        "{first:?}"
    );
    assert_eq!(place.changes(&[], 0), json!({"no_op": 6}));
    assert_eq!(ids(), first);

    let other = ["--var", "keeper=other"];
    let plan = place.plan(&other);
    assert_eq!(
        plan.change("interop_pet.p[0]")["replace_paths"],
        json!([["keepers"]])
    );
    assert_eq!(place.changes(&other, 2), json!({"replace": 6}));
    place.deploy(&other, 0);
    assert!(ids().iter().all(|id| !first.contains(id)));
    place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(place.addresses(), Vec::<String>::new());
}

#[test]
fn schema_of_megabytes_is_read_and_used() {
    let text = format!(
        "{}\nresource \"interop_big\" \"b\" {{\n  section_007 = {{ attribute_007_009 = \"x\" }}\n}}\n",
        PETS
    );
    let Some(mut place) = ProviderWorkspace::with_built_providers(&[("main.tf", &text)]) else {
        return;
    };
    let refused = place.run(&["stage", "--json"]).expect(1);
    assert_eq!(
        refused.diagnostics()[0]["summary"],
        "Invalid resource type",
        "it is left out unless asked for"
    );
    place.set("INTEROP_BIG_SCHEMA", "1");
    place.deploy(&["--target", "interop_big.b"], 0);
    let attributes = place.attributes("interop_big.b");
    assert_eq!(attributes["section_007"]["attribute_007_009"], "x");
    assert_eq!(attributes.as_object().unwrap().len(), 129);
}
