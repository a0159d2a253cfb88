//! Tests of functions, data sources, ephemeral resources, and the provider's own configuration.

use crate::provider_workspace::{ProviderWorkspace, line};
use serde_json::json;

const FUNCTIONS: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}

variable "number" {
  default = 42
}

resource "interop_null" "n" {}

locals {
  parts = ["a", "b"]
}

output "all" {
  value = {
    joined  = provider::interop::joined("-", "x", "y", "z")
    spread  = provider::interop::joined("+", local.parts...)
    none    = provider::interop::joined("-")
    half    = provider::interop::half("84")
    null    = provider::interop::sort(null)
    list    = provider::interop::sort(tolist(["a"]))
    caught  = try(provider::interop::half(3), "odd")
  }
}

output "half" {
  value = provider::interop::half(var.number)
}

output "later" {
  value = provider::interop::joined("-", "id", interop_null.n.id)
}

output "unknown" {
  value = provider::interop::sort(interop_null.n.id)
}
"#;

#[test]
fn provider_functions_are_called_with_their_parameters() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", FUNCTIONS)]) else {
        return;
    };
    let plan = place.plan(&[]);
    let outputs = &plan.0["output_changes"];
    let all = json!({
        "joined": "x-y-z", "spread": "a+b", "none": "", "half": 42, "null": "null",
        "list": "types.ListType[basetypes.StringType]", "caught": "odd",
    });
    assert_eq!(outputs["all"]["after"], all);
    assert_eq!(outputs["half"]["after"], 21);
    assert_eq!(
        outputs["later"]["after_unknown"], true,
        "a parameter that takes no unknown values leaves the result unknown"
    );
    assert_eq!(
        outputs["unknown"]["after"], "unknown",
        "one that does is told"
    );
    place.deploy(&[], 0);
    let state = place.exported();
    let id = state["resources"][0]["instances"][0]["attributes"]["id"]
        .as_str()
        .unwrap();
    assert_eq!(state["outputs"]["later"]["value"], format!("id-{id}"));

    let refused = place
        .run(&["stage", "--json", "--var", "number=7"])
        .expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert!(
        diagnostic["detail"]
            .as_str()
            .unwrap()
            .contains("an odd number has no half"),
        "{diagnostic}"
    );
    assert_eq!(
        diagnostic["range"]["start"]["line"],
        line(FUNCTIONS, "half(var.number)")
    );
    for (wrong, words) in [
        ("half()", "number"),
        ("half(\"x\")", "number"),
        ("half(null)", "null"),
        ("nothing(1)", "nothing"),
    ] {
        place.workspace.write(
            "wrong.tf",
            &format!("output \"wrong\" {{\n  value = provider::interop::{wrong}\n}}\n"),
        );
        let refused = place.run(&["stage", "--json"]).expect(1);
        let diagnostic = &refused.diagnostics()[0];
        assert!(
            diagnostic.to_string().contains(words),
            "{wrong}: {diagnostic}"
        );
        assert_eq!(diagnostic["range"]["filename"], "wrong.tf");
    }
}

const CONFIGURED: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
    legacy  = { source = "acme/legacy" }
  }
}

variable "file" {}

resource "interop_pet" "first" {}

provider "interop" {
  file = var.file
}

provider "interop" {
  alias = "later"
  file  = var.file
  note  = interop_pet.first.id
}

provider "legacy" {
  file = var.file
  note = interop_pet.first.id
}

data "interop_provider" "plain" {}

data "interop_provider" "later" {
  provider = interop.later
}

data "legacy_provider" "later" {}

resource "interop_record" "later" {
  provider = interop.later
  name     = "later"
}

resource "legacy_thing" "later" {
  name = "later"
}

output "notes" {
  value = [data.interop_provider.plain.note, data.interop_provider.later.note, data.legacy_provider.later.note]
}
"#;

#[test]
fn provider_is_configured_with_unknown_values_and_again_with_known_ones() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", CONFIGURED)]) else {
        return;
    };
    let plan = place.plan(&[]);
    let told = "(not known yet)";
    assert_eq!(
        plan.0["output_changes"]["notes"]["after"],
        json!([null, told, told]),
        "staged with an unknown note"
    );
    assert_eq!(plan.actions("interop_record.later"), ["create"]);
    place.deploy(&[], 0);
    let pet = place.attributes("interop_pet.first")["id"].clone();
    let names: Vec<String> = place
        .provider_objects()
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        names,
        ["record-later", "thing-later"],
        "both were made by the providers as configured in the end"
    );
    let plan = place.plan(&[]);
    assert_eq!(
        plan.0["output_changes"]["notes"]["after"],
        json!([null, pet, pet]),
        "everything is known now"
    );
    place.deploy(&[], 0);
    assert_eq!(
        place.exported()["outputs"]["notes"]["value"],
        json!([null, pet, pet])
    );
}

const LEASE: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}

variable "file" {}

provider "interop" {
  file = var.file
}

ephemeral "interop_lease" "l" {
  name = "l"
}

resource "interop_vault" "v" {
  name        = "v"
  password_wo = ephemeral.interop_lease.l.token
}
"#;

#[test]
fn ephemeral_resource_feeds_a_write_only_argument() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", LEASE)]) else {
        return;
    };
    let calls = || {
        let fields = &place.provider_objects()["lease-l"]["fields"];
        ["opened", "renewed", "closed"].map(|call| {
            fields[call]
                .as_str()
                .map_or(0, |n| n.parse::<u32>().unwrap())
        })
    };
    let plan = place.plan(&[]);
    assert_eq!(calls(), [1, 0, 1]);
    assert!(!plan.0.to_string().contains("token-for-l"), "{:#}", plan.0);
    assert_eq!(
        plan.0["resource_changes"].as_array().unwrap().len(),
        1,
        "{:#}",
        plan.0
    );
    let run = place.deploy(&[], 0);
    // A deploy without a stage makes one first.
    assert_eq!(calls(), [3, 0, 3]);
    assert!(!run.stdout.contains("token-for-l"), "{run:#?}");
    let digest = "c375fa0e024e4e12b236f871000af0c399326a2a53d2943456ff091b7ff92189";
    assert_eq!(
        place.provider_objects()["vault-v"]["text"],
        digest,
        "the provider got the token"
    );
    let plugin = place
        .run(&["plugins", "interop", "--json"])
        .expect(0)
        .result()["plugins"][0]
        .clone();
    assert_eq!(
        plugin["schema"]["ephemeral"]["interop_lease"]["block"]["attributes"]["token"]["sensitive"],
        true
    );
    // An error of the provider has the place of the argument.
    place.workspace.write(
        "main.tf",
        &LEASE.replace("name = \"l\"", "name = \"refuse\""),
    );
    let errors: Vec<serde_json::Value> = place
        .run(&["stage", "--json"])
        .expect(1)
        .diagnostics()
        .into_iter()
        .filter(|d| d["severity"] == "error")
        .collect();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(errors[0]["summary"], "Lease refused");
    assert_eq!(
        errors[0]["range"]["start"]["line"],
        line(LEASE, "name = \"l\"")
    );
}
