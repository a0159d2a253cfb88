//! Tests of sensitive values, write-only values and private state.

use crate::provider_workspace::{ProviderWorkspace, private_of};
use serde_json::json;

const VAULT: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}

variable "file" {}

variable "password" {
  ephemeral = true
}

variable "turn" {
  default = 1
}

provider "interop" {
  file = var.file
}

resource "interop_vault" "v" {
  name                = "v"
  password_wo         = var.password
  password_wo_version = var.turn
}

output "token" {
  value     = interop_vault.v.token
  sensitive = true
}
"#;

/// SHA-256 of "first password" and of "second password".
const DIGESTS: [&str; 2] = [
    "ee545ed113b09f47698d242a8feb44d33fe428f2ce6f08db39666ac0965ca656",
    "8f2edcf480d832a6fe0d90f56e7f2a0f2be8cf706ed027d410708374ba5cd819",
];

#[test]
fn write_only_value_reaches_the_provider_only() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", VAULT)]) else {
        return;
    };
    let one = ["--var", "password=first password"];
    let plan = place.plan(&one);
    let change = plan.change("interop_vault.v");
    assert_eq!(
        change["after"],
        json!({"name": "v", "password_wo": null, "password_wo_version": 1})
    );
    assert_eq!(
        change["after_sensitive"],
        json!({"password_wo": true, "token": true})
    );
    assert!(!plan.0.to_string().contains("first password"));

    let run = place.deploy(&one, 0);
    assert!(
        !run.stdout.contains("first password") && !run.stdout.contains("token-of-v"),
        "{run:#?}"
    );
    assert_eq!(
        place.provider_objects()["vault-v"]["text"],
        DIGESTS[0],
        "the provider got it"
    );
    let instance = place.instance("interop_vault.v");
    let attributes = &instance["attributes"];
    assert_eq!(
        (
            &attributes["password_wo"],
            &attributes["token"],
            &attributes["digest_before"]
        ),
        (&json!(null), &json!("token-of-v"), &json!(null))
    );
    assert_eq!(private_of(&instance)["digest"], DIGESTS[0]);
    let state = place.exported();
    assert_eq!(
        state["outputs"]["token"],
        json!({"type": "string", "value": "token-of-v", "sensitive": true})
    );

    // A new password without a new version is no change, because write-only values are not stored.
    assert_eq!(
        place.changes(&["--var", "password=second password"], 0),
        json!({"no_op": 1})
    );

    let two = ["--var", "password=second password", "--var", "turn=2"];
    let plan = place.plan(&two);
    assert_eq!(plan.actions("interop_vault.v"), ["update"]);
    assert_eq!(
        plan.change("interop_vault.v")["after_unknown"],
        json!({"digest_before": true, "planned_with": true, "token": true})
    );
    place.deploy(&two, 0);
    let instance = place.instance("interop_vault.v");
    let attributes = &instance["attributes"];
    assert_eq!(
        attributes["digest_before"], DIGESTS[0],
        "the private state of the create came to the update"
    );
    assert_eq!(
        attributes["planned_with"], "by the plan",
        "so did what the plan added to it"
    );
    let private = private_of(&instance);
    assert_eq!(
        (&private["digest"], &private["seen"]),
        (
            &place.provider_objects()["vault-v"]["text"],
            &json!(DIGESTS[0])
        ),
        "what reading added is kept"
    );
    assert_ne!(private["digest"], DIGESTS[0]);

    for file in std::fs::read_dir(place.workspace.store().parent().unwrap())
        .unwrap()
        .flatten()
        .filter(|f| f.path().is_file())
    {
        let bytes = std::fs::read(file.path()).unwrap();
        for word in ["first password", "second password"] {
            assert!(
                !bytes.windows(word.len()).any(|w| w == word.as_bytes()),
                "{word:?} is in {}",
                file.path().display()
            );
        }
    }
    place
        .run(&[&["destroy", "--auto-approve", "--json"][..], &one].concat())
        .expect(0);
    assert_eq!(place.provider_objects(), json!({}));
}
