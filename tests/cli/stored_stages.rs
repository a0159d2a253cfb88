//! Tests of stored stages: deployed by number or name, and refused when stale. Also tests the
//! permissions of plan and state files.

use crate::deploy_lifecycle::{TWO, deploy, workspace_with_two_resources};
use crate::support::mode;
use serde_json::{Value, json};

#[test]
fn plan_and_state_files_are_readable_by_their_owner_only() {
    let w = workspace_with_two_resources();
    w.write("plan.json", "what was there before, longer than nothing");
    w.run(&["stage", "--json", "--plan-json", "plan.json"])
        .expect(0);
    let file = w.path().join("plan.json");
    let plan: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(plan["format_version"], "1.2");
    assert_eq!(plan["resource_changes"].as_array().unwrap().len(), 2);
    assert_eq!(mode(&file), 0o600);
    deploy(&w);
    w.run(&["state", "export", "out.tfstate"]).expect(0);
    assert_eq!(mode(&w.path().join("out.tfstate")), 0o600);
    let run = w
        .run(&["state", "export", "no/such/folder.tfstate"])
        .expect(1);
    assert!(run.stderr.contains("no/such/folder.tfstate"), "{run:?}");
}

#[test]
fn stage_is_deployed_by_number_or_name() {
    let w = workspace_with_two_resources();
    w.run(&["stage", "--target", "terraform_data.a"]).expect(0);
    assert_eq!(
        w.run(&["deploy", "1", "--json"]).expect(0).result()["operations"]["done"],
        1
    );
    w.run(&["stage", "--out", "the rest"]).expect(0);
    let result = w.run(&["deploy", "the rest", "--json"]).expect(0).result();
    assert_eq!(
        (&result["stage"], &result["operations"]["done"]),
        (&json!(2), &json!(1))
    );
    assert!(
        w.run(&["deploy", "no such name"])
            .expect(1)
            .stderr
            .contains("no such name")
    );
    assert!(w.run(&["deploy", "99"]).expect(1).stderr.contains("99"));
}

#[test]
fn stale_stage_is_refused() {
    let w = workspace_with_two_resources();
    w.run(&["stage"]).expect(0);
    w.write("main.tf", &TWO.replace("one", "other"));
    let run = w.run(&["deploy", "1"]).expect(1);
    assert!(run.stderr.contains("stale"), "{run:?}");
    assert_eq!(
        w.run(&["history", "--json"]).expect(0).result()["history"],
        json!([])
    );
    w.run(&["stage"]).expect(0);
    deploy(&w);
    let run = w.run(&["deploy", "2"]).expect(1);
    assert!(run.stderr.contains("stale"), "the state moved on: {run:?}");
}
