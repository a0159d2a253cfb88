//! Tests of drift: changes outside flightdeck, and the fields that are compared.

use crate::bench::{Bench, counts};
use serde_json::{Value, json};

const MAIN: &str = "resource \"fake_box\" \"a\" {\n  name   = \"a\"\n  labels = { x = \"1\" }\n  ports  = []\n  parts  = [{ name = \"lid\" }, { name = \"base\" }]\n}\n";

#[test]
fn drift_is_what_the_schema_has_so_and_nothing_else() {
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
    let bench = Bench::new(MAIN);
    bench.deploy().expect(0);
    let clean = bench.world().remove(0);
    for (what, change, shown) in table {
        bench.meddle(change);
        let run = bench.run(&["stage"]).expect(0);
        assert_eq!(
            run.stdout.contains("changed outside"),
            !shown.is_empty(),
            "{what}: {run:#?}"
        );
        assert!(run.stdout.contains(shown), "{what}: {run:#?}");
        bench.meddle(|object| *object = clean.clone());
    }
}

#[test]
fn what_is_gone_is_to_be_made_again() {
    let bench = Bench::new(MAIN);
    bench.deploy().expect(0);
    std::fs::remove_dir_all(bench.file("world")).unwrap();
    assert_eq!(counts(&bench.stage().expect(0)), "create 1");
}

#[test]
fn what_cannot_be_read_is_not_taken_for_gone() {
    let bench = Bench::new(MAIN);
    bench.deploy().expect(0);
    bench.tell("troubles", "GetResourceExternalState unexpected 1\n");
    let run = bench.run(&["stage"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("the cloud is on fire"), "{run:#?}");
    assert!(
        run.stderr.contains("The object may or may not exist"),
        "{run:#?}"
    );
    assert_eq!(bench.stored("fake_box")["attributes"]["id"], "a-1");
}
