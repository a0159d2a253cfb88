//! Tests of stored stages: deployed by number or name, and refused when stale. Also tests the
//! permissions of plan and state files.

use crate::deploy_lifecycle::{TWO, deploy, workspace_with_two_resources};
use crate::support::Workspace;
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

#[test]
fn history_of_a_deploy_names_edits_of_the_state() {
    let thing =
        |name: &str| format!("resource \"terraform_data\" \"{name}\" {{\n  input = \"x\"\n}}\n");
    let before = [thing("a"), thing("b"), thing("c")].concat();
    let w = Workspace::new(&[("main.tf", &before)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let after = [
        thing("moved"),
        thing("c"),
        "moved {\n  from = terraform_data.a\n  to   = terraform_data.moved\n}\n".to_owned(),
        "removed {\n  from = terraform_data.b\n  lifecycle {\n    destroy = false\n  }\n}\n"
            .to_owned(),
        "output \"o\" {\n  value = 1\n}\n".to_owned(),
    ];
    w.write("main.tf", &after.concat());
    let run = w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(run.stdout.contains("Deploy #2 succeeded"), "{run:?}");
    let shown = w.run(&["history", "2"]).expect(0).stdout;
    for part in [
        "move terraform_data.a → terraform_data.moved",
        "terraform_data.b",
        "output o",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json = w.run(&["history", "2", "--json"]).expect(0).result();
    let deploy = &json["history"][0];
    let moved = serde_json::json!([["terraform_data.a", "terraform_data.moved"]]);
    assert_eq!(deploy["moves"], moved, "{json}");
    assert_eq!(deploy["outputs"], serde_json::json!(["o"]), "{json}");
    let first = w.run(&["history", "1"]).expect(0).stdout;
    assert!(!first.contains("edits of the state"), "{first}");
}

#[test]
fn deploy_that_changes_only_an_output_says_that_no_objects_changed() {
    let w = Workspace::new(&[("main.tf", "output \"o\" {\n  value = 1\n}\n")]);
    let run = w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(
        run.stdout.contains("succeeded: no objects changed"),
        "{run:?}"
    );
}
