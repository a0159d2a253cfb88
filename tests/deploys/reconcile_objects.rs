//! Tests of the reconcile loop for objects outside of groups: looks, observations, repair by type.

use crate::Lab;
use serde_json::{Value, json};

const TWO: &str = r#"
resource "lab_thing" "a" {
  name     = "a"
  kind     = "small"
  triggers = { k = "v" }
}
resource "lab_bucket" "b" { name = "b" }
"#;

/// Deployed workspace whose thing was changed outside.
fn changed(overlay: &str, attribute: &str, value: Value) -> Lab {
    let lab = Lab::new(TWO);
    if !overlay.is_empty() {
        lab.workspace.write("types.flightdeck.hcl", overlay);
    }
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let text = std::fs::read_to_string(lab.file()).unwrap();
    let mut cloud: Value = serde_json::from_str(&text).unwrap();
    let objects = cloud["objects"].as_object_mut().unwrap();
    let thing = objects.values_mut().find(|o| o["name"] == "a").unwrap();
    thing["attributes"][attribute] = value;
    std::fs::write(lab.file(), cloud.to_string()).unwrap();
    lab
}

/// Value of an attribute in the lab.
fn real(lab: &Lab, attribute: &str) -> Value {
    let text = std::fs::read_to_string(lab.file()).unwrap();
    let cloud: Value = serde_json::from_str(&text).unwrap();
    let objects = cloud["objects"].as_object().unwrap();
    let thing = objects.values().find(|o| o["name"] == "a").unwrap();
    thing["attributes"][attribute].clone()
}

/// Output of one round of the loop.
fn reconciled(lab: &Lab, more: &[&str]) -> String {
    let args = [&["reconcile", "--once"], more].concat();
    let run = lab.workspace.run(&args).expect(0);
    format!("{}{}", run.stdout, run.stderr)
}

fn observed(lab: &Lab) -> Value {
    let rows = lab
        .workspace
        .run(&["state", "list", "--json"])
        .expect(0)
        .result();
    let rows = rows["resources"].as_array().unwrap().clone();
    let row = rows.iter().find(|r| r["name"] == "a").unwrap();
    row["observation"].clone()
}

#[test]
fn s1_20_look_records_drift_and_changes_nothing() {
    let lab = changed("", "kind", "large".into());
    let run = reconciled(&lab, &[]);
    let said = "objects outside of groups: drift found: 1 changed outside; next run";
    assert!(run.contains(said), "{run}");
    assert!(
        run.contains("lab_thing.a  attribute drift: update needed"),
        "{}",
        run
    );
    assert_eq!(real(&lab, "kind"), "large");
    let seen = observed(&lab);
    assert_eq!(seen["drift"], json!(["update_needed"]), "{seen}");
    assert_eq!(
        (&seen["exists"], &seen["readiness"]),
        (&json!(true), &json!("available")),
        "{seen}"
    );
    // A look stores no stage.
    let stages = lab.workspace.run(&["stage"]).expect(0).stdout;
    assert!(stages.contains("Stage #2"), "{stages}");
}

#[test]
fn type_with_a_policy_has_runs_of_its_own_and_paused_ones_have_none() {
    let overlay = "type \"lab_thing\" {\n  reconcile {\n    every = \"1m\"\n  }\n}\ntype \"lab_bucket\" {\n  reconcile {\n    mode = \"paused\"\n  }\n}\n";
    let lab = changed(overlay, "kind", "large".into());
    let run = reconciled(&lab, &[]);
    assert!(run.contains("type lab_thing: drift found"), "{}", run);
    assert!(!run.contains("lab_bucket"), "{run}");
    assert!(!run.contains("outside of groups"), "{run}");
}

#[test]
fn policy_of_a_provider_is_that_of_its_types_without_one() {
    let overlay = "provider \"flightdeck.internal/bundled/lab\" {\n  reconcile {\n    every = \"2m\"\n  }\n}\ntype \"lab_bucket\" {\n  reconcile {\n    every = \"1m\"\n  }\n}\n";
    let lab = changed(overlay, "kind", "large".into());
    let run = reconciled(&lab, &[]);
    assert!(
        run.contains("provider flightdeck.internal/bundled/lab: drift found"),
        "{run}"
    );
    assert!(run.contains("type lab_bucket: in sync"), "{run}");
    assert!(!run.contains("outside of groups"), "{run}");
    let types = lab.workspace.run(&["types", "lab_thing"]).expect(0).stdout;
    assert!(types.contains("reconcile.every"), "{types}");
    assert!(
        types.contains("workspace, types.flightdeck.hcl:3"),
        "{types}"
    );
    let bucket = lab.workspace.run(&["types", "lab_bucket"]).expect(0).stdout;
    assert!(bucket.contains("types.flightdeck.hcl:8"), "{bucket}");
}

#[test]
fn enforced_provider_is_repaired_with_the_trust_of_the_workspace() {
    let overlay = "provider \"flightdeck.internal/bundled/lab\" {\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";
    let lab = changed(overlay, "kind", "large".into());
    let said = reconciled(&lab, &[]);
    assert!(said.contains("needs your trust"), "{said}");
    assert_eq!(real(&lab, "kind"), "large");
    let run = reconciled(&lab, &["--trust-workspace"]);
    assert!(
        run.contains("provider flightdeck.internal/bundled/lab: repaired"),
        "{run}"
    );
    assert_eq!(real(&lab, "kind"), "small");
}

#[test]
fn replacements_that_the_workspace_allows_need_trust_also_below_your_own_policy() {
    let allows = "type \"lab_thing\" {\n  reconcile {\n    allow_replace = true\n  }\n}\n";
    let lab = changed(allows, "triggers", json!({ "k": "other" }));
    lab.workspace
        .write("home/flightdeck/types/mine.hcl", ENFORCE);
    let mut command = lab.workspace.command(&["reconcile", "--once"]);
    command.env("XDG_CONFIG_HOME", lab.workspace.path().join("home"));
    let run = crate::support::Run::from_command(&mut command).expect(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("needs your trust"), "{said}");
    assert_eq!(real(&lab, "triggers"), json!({ "k": "other" }));
}

const ENFORCE: &str = "type \"lab_thing\" {\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";

#[test]
fn enforced_type_is_repaired_with_the_trust_of_the_workspace() {
    let lab = changed(ENFORCE, "kind", "large".into());
    let said = reconciled(&lab, &[]);
    assert!(said.contains("needs your trust"), "{said}");
    assert_eq!(real(&lab, "kind"), "large");
    let run = reconciled(&lab, &["--trust-workspace"]);
    assert!(run.contains("type lab_thing: repaired"), "{}", run);
    assert_eq!(real(&lab, "kind"), "small");
}

#[test]
fn replacement_by_the_loop_needs_an_approval() {
    let lab = changed(ENFORCE, "triggers", json!({ "k": "other" }));
    let run = reconciled(&lab, &["--trust-workspace"]);
    assert!(run.contains("type lab_thing: awaits approval"), "{}", run);
    assert_eq!(real(&lab, "triggers"), json!({ "k": "other" }));
}
