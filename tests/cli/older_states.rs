//! Tests of a state that is older than the one that the workspace wrote: it is not planned on.

use crate::support::Workspace;
use serde_json::Value;

fn main_of(count: u32) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    lab = {{ source = \"flightdeck.internal/bundled/lab\" }}\n  }}\n}}\nprovider \"lab\" {{\n  file = \"cloud.json\"\n}}\nresource \"lab_thing\" \"a\" {{\n  count = {count}\n  name  = \"a-${{count.index}}\"\n}}\n"
    )
}

/// Workspace with three objects whose state file is the one of the first object. Returns the serial
/// of this file, and the newest one.
fn with_older_state() -> (Workspace, i64, i64) {
    let w = Workspace::new(&[("main.tf", &main_of(1))]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let older = w.read("terraform.tfstate");
    w.write("main.tf", &main_of(3));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let newest = serial(&w);
    w.write("terraform.tfstate", &older);
    let found = serial(&w);
    assert!(found < newest, "{found} {newest}");
    (w, found, newest)
}

fn serial(w: &Workspace) -> i64 {
    let state: Value = serde_json::from_str(&w.read("terraform.tfstate")).unwrap();
    state["serial"].as_i64().unwrap()
}

#[test]
fn older_state_is_refused_before_anything_is_planned() {
    let (w, older, newest) = with_older_state();
    let cloud = w.read("cloud.json");
    let accepts_another = format!("--accept-older-state={}", older + 1);
    for words in [
        &["stage"][..],
        &["deploy", "--auto-approve"],
        &["destroy", "--auto-approve"],
        &["refresh"],
        &["stage", &accepts_another],
    ] {
        let run = w.run(words).expect(1);
        for part in [
            format!("has the serial {older}"),
            format!("written serial {newest}"),
            "state use backend".to_owned(),
            format!("--accept-older-state {older}"),
        ] {
            assert!(run.stderr.contains(&part), "{words:?}: {run:?}");
        }
        assert!(!run.stdout.contains("lab_thing"), "{run:?}");
    }
    assert_eq!(w.read("cloud.json"), cloud);
}

#[test]
fn state_of_another_lineage_in_between_hides_no_older_state() {
    let (w, _, _) = with_older_state();
    let older = w.read("terraform.tfstate");
    let parsed: Value = serde_json::from_str(&older).unwrap();
    let lineage = parsed["lineage"].as_str().unwrap();
    w.write("terraform.tfstate", &older.replace(lineage, "another"));
    w.run(&["stage"]).expect(0);
    w.write("terraform.tfstate", &older);
    let run = w.run(&["stage"]).expect(1);
    assert!(run.stderr.contains("written serial"), "{run:?}");
}

#[test]
fn operator_chooses_one_of_both_states() {
    for (choice, says) in [
        ("record", "no changes"),
        ("backend", "2 to create"),
        ("home", "2 to create"),
    ] {
        let (w, _, _) = with_older_state();
        w.run(&["state", "use", choice]).expect(0);
        let run = w.run(&["stage"]).expect(0);
        assert!(run.stdout.contains(says), "{choice}: {run:?}");
    }
}

#[test]
fn accepted_older_state_is_planned_on() {
    let (w, older, _) = with_older_state();
    let accepts = format!("--accept-older-state={older}");
    let run = w.run(&["stage", &accepts]).expect(0);
    assert!(run.stdout.contains("2 to create"), "{run:?}");
    // Accepted once, the state is the newest one that is known.
    let run = w.run(&["stage"]).expect(0);
    assert!(run.stdout.contains("2 to create"), "{run:?}");
}

#[test]
fn newer_state_of_another_program_is_planned_on() {
    let (w, _, newest) = with_older_state();
    let mut state: Value = serde_json::from_str(&w.read("terraform.tfstate")).unwrap();
    state["serial"] = (newest + 5).into();
    w.write("terraform.tfstate", &state.to_string());
    let run = w.run(&["stage"]).expect(0);
    assert!(run.stdout.contains("2 to create"), "{run:?}");
}
