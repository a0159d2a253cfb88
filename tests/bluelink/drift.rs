//! Tests of drift: changes outside flightdeck, and the fields that are compared.

use crate::workspace::{TestWorkspace, change_counts};
use serde_json::{Value, json};

const MAIN: &str = "resource \"fake_box\" \"a\" {\n  name   = \"a\"\n  labels = { x = \"1\" }\n  ports  = []\n  parts  = [{ name = \"lid\" }, { name = \"base\" }]\n}\n";

#[test]
fn only_fields_tracked_by_the_schema_are_drift() {
    type Change = fn(&mut Value);
    let table: [(&str, Change, &str); 9] = [
        ("nothing", |_| {}, ""),
        (
            "what the plugin sets",
            |o| o["lastSeen"] = json!("never"),
            "",
        ),
        (
            "what is to be ignored",
            |o| o["note"] = json!("by hand"),
            "",
        ),
        (
            "an empty list in the place of none",
            |o| o["ports"] = json!([]),
            "",
        ),
        (
            "parts in another order",
            |o| o["parts"].as_array_mut().unwrap().reverse(),
            "",
        ),
        (
            "what the plugin sets and wants tracked",
            |o| o["health"] = json!("bad"),
            "health: \"good\" → \"bad\"",
        ),
        (
            "an entry of a map",
            |o| o["labels"]["x"] = json!("9"),
            "labels[\"x\"]: \"1\" → \"9\"",
        ),
        (
            "a field that was not set",
            |o| o["colour"] = json!("red"),
            "colour: null → \"red\"",
        ),
        (
            "a field that is gone",
            |o| o["labels"] = Value::Null,
            "labels[\"x\"]: \"1\" → null",
        ),
    ];
    let bench = TestWorkspace::with_plugin(MAIN);
    bench.deploy().expect(0);
    let clean = bench.plugin_objects().remove(0);
    for (what, change, shown) in table {
        bench.change_outside(change);
        let run = bench.run(&["stage"]).expect(0);
        assert_eq!(
            run.stdout.contains("changed outside"),
            !shown.is_empty(),
            "{what}: {run:#?}"
        );
        assert!(run.stdout.contains(shown), "{what}: {run:#?}");
        bench.change_outside(|object| *object = clean.clone());
    }
}

#[test]
fn deleted_object_is_created_again() {
    let bench = TestWorkspace::with_plugin(MAIN);
    bench.deploy().expect(0);
    std::fs::remove_dir_all(bench.file("world")).unwrap();
    assert_eq!(change_counts(&bench.stage().expect(0)), "create 1");
}

#[test]
fn unreadable_object_is_not_treated_as_deleted() {
    let bench = TestWorkspace::with_plugin(MAIN);
    bench.deploy().expect(0);
    bench.write_fault_file("troubles", "GetResourceExternalState unexpected 1\n");
    let run = bench.run(&["stage"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("the cloud is on fire"), "{run:#?}");
    assert!(
        run.stderr.contains("The object may or may not exist"),
        "{run:#?}"
    );
    assert_eq!(
        bench.state_attributes("fake_box")["attributes"]["id"],
        "a-1"
    );
}
