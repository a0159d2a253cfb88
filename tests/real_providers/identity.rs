//! Tests of identities, schema upgrades between versions of a provider, imports, and moves between
//! types.

use crate::provider_workspace::{ProviderWorkspace, line, private_of};
use serde_json::json;

const DISK: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
  }
}

variable "file" {}

provider "interop" {
  file = var.file
}
"#;

const OLD: &str = r#"
resource "interop_disk" "d" {
  name = "d"
  size = "12GB"
}
"#;

const NEW: &str = r#"
resource "interop_disk" "d" {
  name = "d"
  size = 12
}
"#;

fn disk(rest: &str) -> Option<ProviderWorkspace> {
    ProviderWorkspace::with_built_providers(&[("main.tf", DISK), ("disk.tf", rest)])
}

#[test]
fn identity_is_stored_in_the_state_and_sent_back() {
    let Some(place) = disk(NEW) else { return };
    place.deploy(&[], 0);
    let instance = place.instance("interop_disk.d");
    assert_eq!(instance["identity"], json!({"region": "here", "name": "d"}));
    assert_eq!(
        (
            &instance["identity_schema_version"],
            &instance["schema_version"]
        ),
        (&json!(1), &json!(2))
    );

    // The provider warns about a read without an identity, and refuses changes without the right
    // one.
    let run = place.run(&["stage", "--json"]).expect(0);
    assert_eq!(run.diagnostics(), Vec::<serde_json::Value>::new());
    assert_eq!(place.changes(&[], 0), json!({"no_op": 1}));
    place.workspace.write("disk.tf", &NEW.replace("12", "13"));
    let plan = place.plan(&[]);
    let change = plan.change("interop_disk.d");
    let identity = json!({"region": "here", "name": "d"});
    assert_eq!(
        (&change["before_identity"], &change["after_identity"]),
        (&identity, &identity)
    );
    place.deploy(&[], 0);
    let instance = place.instance("interop_disk.d");
    assert_eq!(
        (&instance["attributes"]["told"], &instance["identity"]),
        (&json!("here d"), &identity)
    );

    // A replaced object has another identity; the old object is destroyed by its own.
    place
        .workspace
        .write("disk.tf", &NEW.replace("name = \"d\"", "name = \"e\""));
    let plan = place.plan(&[]);
    assert_eq!(plan.actions("interop_disk.d"), ["delete", "create"]);
    assert_eq!(plan.change("interop_disk.d")["before_identity"], identity);
    place.deploy(&[], 0);
    assert_eq!(
        place.instance("interop_disk.d")["identity"],
        json!({"region": "here", "name": "e"})
    );
    assert_eq!(
        place
            .provider_objects()
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["disk-e"]
    );
    place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(place.provider_objects(), json!({}));
}

#[test]
fn older_state_and_identity_are_upgraded_and_newer_ones_refused() {
    let Some(mut place) = disk(OLD) else { return };
    place.set("INTEROP_OLD", "1");
    place.deploy(&[], 0);
    let instance = place.instance("interop_disk.d");
    assert_eq!(
        instance["attributes"],
        json!({"id": "disk-d", "name": "d", "size": "12GB"})
    );
    assert_eq!(
        (&instance["identity"], &instance["identity_schema_version"]),
        (&json!({"path": "here/d"}), &json!(0))
    );

    place.set("INTEROP_OLD", "0");
    place.workspace.write("disk.tf", NEW);
    let plan = place.plan(&[]);
    assert_eq!(
        plan.actions("interop_disk.d"),
        ["no-op"],
        "{:#}",
        plan.0["resource_changes"]
    );
    assert_eq!(plan.change("interop_disk.d")["before"]["size"], 12);
    place.deploy(&[], 0);
    let instance = place.instance("interop_disk.d");
    let told = json!("nothing, it was upgraded");
    assert_eq!(
        instance["attributes"],
        json!({"id": "disk-d", "name": "d", "size": 12, "unit": "GB", "told": told})
    );
    assert_eq!(
        (
            &instance["schema_version"],
            &instance["identity_schema_version"]
        ),
        (&json!(2), &json!(1))
    );
    assert_eq!(instance["identity"], json!({"region": "here", "name": "d"}));

    place.set("INTEROP_OLD", "1");
    place.workspace.write("disk.tf", OLD);
    let refused = place.run(&["stage", "--json"]).expect(1);
    assert_eq!(
        refused.diagnostics()[0]["summary"],
        "Resource instance managed by newer provider version"
    );
    assert_eq!(refused.diagnostics()[0]["address"], "interop_disk.d");
}

/// Creates a disk that is in no state.
fn create_disk_outside(place: &ProviderWorkspace) {
    std::fs::write(
        place.objects(),
        json!({"disk-d": {"revision": 12, "text": "d", "fields": {"unit": "GB"}}}).to_string(),
    )
    .unwrap();
}

#[test]
fn object_is_imported_by_id_or_identity() {
    let by_id = format!(
        "{}\nimport {{\n  to = interop_disk.d\n  id = \"disk-d\"\n}}\n",
        NEW.replace("12", "13")
    );
    let Some(place) = disk(&by_id) else { return };
    let identity = json!({"region": "here", "name": "d"});
    create_disk_outside(&place);
    let plan = place.plan(&[]);
    let change = plan.change("interop_disk.d");
    assert_eq!(
        (plan.actions("interop_disk.d"), &change["importing"]),
        (vec!["update"], &json!({"id": "disk-d"}))
    );
    place.deploy(&[], 0);
    assert_eq!(place.instance("interop_disk.d")["identity"], identity);
    assert_eq!(
        place.attributes("interop_disk.d")["told"],
        "here d",
        "the identity of the import came to the update"
    );

    let by_identity = format!(
        "{NEW}\nimport {{\n  to = interop_disk.d\n  identity = {{\n    name = \"d\"\n  }}\n}}\n"
    );
    let Some(place) = disk(&by_identity) else {
        return;
    };
    create_disk_outside(&place);
    let plan = place.plan(&[]);
    assert_eq!(
        plan.change("interop_disk.d")["importing"],
        json!({"identity": {"name": "d"}})
    );
    place.deploy(&[], 0);
    let instance = place.instance("interop_disk.d");
    assert_eq!(
        (&instance["identity"], &instance["attributes"]["size"]),
        (&identity, &json!(12))
    );
    assert_eq!(place.changes(&[], 0), json!({"no_op": 1}));

    for (wrong, words) in [
        ("nom = \"d\"", "has no attribute \"nom\""),
        (
            "region = \"here\"",
            "the required attribute \"name\" is missing",
        ),
        ("name = [\"d\"]", "the attribute \"name\" is invalid"),
        ("name = null", "the required attribute \"name\" is missing"),
    ] {
        let text = by_identity.replace("name = \"d\"\n  }", &format!("{wrong}\n  }}"));
        assert_ne!(text, by_identity);
        let Some(place) = disk(&text) else { return };
        create_disk_outside(&place);
        let refused = place.run(&["stage", "--json"]).expect(1);
        let diagnostic = &refused.diagnostics()[0];
        assert_eq!(diagnostic["summary"], "Invalid import identity argument");
        assert!(
            diagnostic["detail"].as_str().unwrap().contains(words),
            "{wrong}: {diagnostic}"
        );
        assert_eq!(
            diagnostic["range"]["start"]["line"],
            line(&text, "identity = {")
        );
    }

    // Errors of the provider for an invalid identity and for an unknown id.
    let Some(place) = disk(&by_identity.replace(
        "name = \"d\"\n  }",
        "name = \"d\"\n    region = \"there\"\n  }",
    )) else {
        return;
    };
    create_disk_outside(&place);
    assert_eq!(
        place.run(&["stage", "--json"]).expect(1).diagnostics()[0]["summary"],
        "No such region"
    );
    let Some(place) = disk(&by_id) else { return };
    let refused = place.run(&["stage", "--json"]).expect(1);
    assert_eq!(
        refused.diagnostics()[0]["summary"],
        "Cannot import non-existent remote object"
    );
}

const HEIR: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
    legacy  = { source = "acme/legacy" }
  }
}

variable "file" {}

provider "interop" {
  file = var.file
}

provider "legacy" {
  file = var.file
}
"#;

#[test]
fn state_moves_to_another_type_of_the_same_or_another_provider() {
    let before = r#"
resource "interop_record" "old" {
  name = "r"
  text = "kept"
}

resource "legacy_thing" "old" {
  name = "t"
}
"#;
    let after = r#"
moved {
  from = interop_record.old
  to   = interop_heir.record
}

resource "interop_heir" "record" {
  name = "r"
}

moved {
  from = legacy_thing.old
  to   = interop_heir.thing
}

resource "interop_heir" "thing" {
  name = "t"
}
"#;
    let Some(place) =
        ProviderWorkspace::with_built_providers(&[("main.tf", HEIR), ("rest.tf", before)])
    else {
        return;
    };
    place.deploy(&[], 0);
    let objects = place.provider_objects();

    place.workspace.write("rest.tf", after);
    let plan = place.plan(&[]);
    for address in ["interop_heir.record", "interop_heir.thing"] {
        assert_eq!(
            plan.actions(address),
            ["no-op"],
            "{:#}",
            plan.change(address)
        );
    }
    let previous = |a: &str| {
        plan.0["resource_changes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|r| r["address"] == a)
            .unwrap()["previous_address"]
            .clone()
    };
    assert_eq!(previous("interop_heir.thing"), "legacy_thing.old");
    place.deploy(&[], 0);
    assert_eq!(
        place.addresses(),
        ["interop_heir.record", "interop_heir.thing"]
    );
    let record = place.instance("interop_heir.record");
    assert_eq!(
        record["attributes"],
        json!({"id": "record-r", "name": "r", "from": "interop_record", "revision": 1})
    );
    assert_eq!(private_of(&record)["moved"], "from a record");
    let thing = place.attributes("interop_heir.thing");
    assert_eq!(
        thing,
        json!({"id": "thing-t", "name": "t", "from": "legacy_thing", "revision": 1})
    );
    assert_eq!(
        place.provider_objects(),
        objects,
        "nothing was made or destroyed"
    );
    assert_eq!(place.changes(&[], 0), json!({"no_op": 2}));

    // A type that does not support the move refuses it, with the type's name.
    let Some(place) =
        ProviderWorkspace::with_built_providers(&[("main.tf", HEIR), ("rest.tf", before)])
    else {
        return;
    };
    place.deploy(&[], 0);
    place
        .workspace
        .write("rest.tf", &after.replace("interop_heir", "interop_nest"));
    let refused = place.run(&["stage", "--json"]).expect(1);
    let diagnostics = refused.diagnostics();
    assert!(
        diagnostics
            .iter()
            .any(|d| d["address"] == "interop_nest.record"),
        "{diagnostics:#?}"
    );
    assert!(
        diagnostics
            .iter()
            .any(|d| d["summary"] == "Unable to Move Resource State"),
        "{diagnostics:#?}"
    );
    place
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(1);
}
