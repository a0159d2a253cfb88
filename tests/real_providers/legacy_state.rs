//! Tests of a legacy provider's state: upgraded, imported, and after a failure.

use serde_json::json;

use super::legacy_protocol_5::{T, THING};
use crate::provider_workspace::{ProviderWorkspace, line};

#[test]
fn partial_results_of_a_legacy_provider_are_in_the_state() {
    let Some(place) = ProviderWorkspace::with_built_providers(&[("main.tf", THING)]) else {
        return;
    };
    let target = ["--target", T];
    let run = place.deploy(&[&target[..], &["--var", "fail=create"]].concat(), 5);
    assert_eq!(
        (
            &run.diagnostics()[0]["summary"],
            &run.diagnostics()[0]["range"]["start"]["line"]
        ),
        (&json!("Thing broke"), &json!(line(THING, "= var.fail")))
    );
    let instance = place.instance(T);
    assert_eq!(
        (&instance["status"], &instance["attributes"]["id"]),
        (&json!("tainted"), &json!("thing-t"))
    );
    assert_eq!(place.plan(&target).reason(T), "replace_because_tainted");
    place.deploy(&target, 0);

    // A failed update without a partial result leaves the state unchanged.
    let before = place.instance(T);
    place.deploy(
        &[
            &target[..],
            &["--var", "fail=update", "--var", "note=other"],
        ]
        .concat(),
        5,
    );
    assert_eq!(place.instance(T)["attributes"], before["attributes"]);
    assert_eq!(place.instance(T)["status"], json!(null));

    // The provider applies the duration of the `timeouts` block.
    place.workspace.write(
        "slow.tf",
        "resource \"legacy_thing\" \"slow\" {\n  name = \"slow\"\n  fail = \"slow\"\n  timeouts {\n    create = \"100ms\"\n  }\n}\n",
    );
    let run = place.deploy(&["--target", "legacy_thing.slow"], 5);
    assert_eq!(run.diagnostics()[0]["detail"], "It took longer than 100ms.");
    assert_eq!(place.instance("legacy_thing.slow")["status"], "tainted");
}

const OLD_DISK: &str = r#"
terraform {
  required_providers {
    legacy = { source = "acme/legacy" }
  }
}

variable "file" {}

provider "legacy" {
  file = var.file
}

resource "legacy_disk" "d" {
  name = "d"
  size = "12"
}
"#;

#[test]
fn state_of_an_older_legacy_provider_is_upgraded() {
    let Some(mut place) = ProviderWorkspace::with_built_providers(&[("main.tf", OLD_DISK)]) else {
        return;
    };
    place.set("INTEROP_OLD", "1");
    place.deploy(&[], 0);
    assert_eq!(place.instance("legacy_disk.d")["schema_version"], 0);
    place.set("INTEROP_OLD", "0");
    assert_eq!(place.changes(&[], 0), json!({"no_op": 1}));
    place.deploy(&[], 0);
    let instance = place.instance("legacy_disk.d");
    assert_eq!(
        (&instance["schema_version"], &instance["attributes"]),
        (
            &json!(2),
            &json!({"id": "disk-d", "name": "d", "size": 12, "unit": "GB"})
        )
    );
    place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(place.provider_objects(), json!({}));
}

#[test]
fn object_is_imported_by_id_or_identity() {
    for by in ["id = \"thing-t\"", "identity = { name = \"t\" }"] {
        let text = OLD_DISK.split("resource").next().unwrap();
        let rest = format!(
            "import {{\n  to = legacy_thing.t\n  {by}\n}}\n\nresource \"legacy_thing\" \"t\" {{\n  name = \"t\"\n  note = \"there\"\n  route = []\n}}\n"
        );
        let Some(place) =
            ProviderWorkspace::with_built_providers(&[("main.tf", text), ("rest.tf", &rest)])
        else {
            return;
        };
        std::fs::write(
            place.objects(),
            json!({"thing-t": {"revision": 4, "text": "there", "fields": {"zone": "z9"}}})
                .to_string(),
        )
        .unwrap();
        let plan = place.plan(&[]);
        let key = if by.starts_with("id ") {
            "id"
        } else {
            "identity"
        };
        assert!(
            !plan.change(T)["importing"][key].is_null(),
            "{by}: {:#}",
            plan.change(T)
        );
        place.deploy(&[], 0);
        let instance = place.instance(T);
        let attributes = &instance["attributes"];
        assert_eq!(
            (
                &attributes["zone"],
                &attributes["size"],
                &instance["identity"]
            ),
            (&json!("z9"), &json!(3), &json!({"name": "t"})),
            "{by}"
        );
        assert_eq!(place.changes(&[], 0), json!({"no_op": 1}), "{by}");
    }
}
