//! A stage is applied as it was read, or not at all.

use crate::{CHAIN, Lab};

fn staged(lab: &Lab) -> String {
    lab.workspace.run(&["stage", "--json"]).expect(0).result()["stage"].to_string()
}

#[test]
fn a_stage_is_deployed_by_its_number_in_another_process() {
    let lab = Lab::new(CHAIN);
    let stage = staged(&lab);
    let run = lab.workspace.run(&["deploy", &stage, "--json"]).expect(0);
    assert_eq!(run.result()["stage"].to_string(), stage);
    assert_eq!(lab.objects().len(), 4);
}

#[test]
fn a_stage_of_another_configuration_is_stale() {
    let lab = Lab::new(CHAIN);
    let stage = staged(&lab);
    lab.configure(&CHAIN.replace("name = \"d\"", "name = \"e\""));
    let run = lab.workspace.run(&["deploy", &stage]).expect(1);
    assert!(run.stderr.contains("stale") && run.stderr.contains("main.tf"), "{run:#?}");
    assert!(!lab.file().exists() || lab.objects().is_empty());
}

#[test]
fn a_stage_on_another_state_is_stale() {
    let lab = Lab::new(CHAIN);
    let stage = staged(&lab);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let run = lab.workspace.run(&["deploy", &stage]).expect(1);
    assert!(run.stderr.contains("stale") && run.stderr.contains("serial"), "{run:#?}");
}

#[test]
fn what_changed_in_the_world_is_drift_and_is_put_right() {
    let lab = Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"one\"\n}\n");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let id = providers::lab::control::objects(&lab.file()).unwrap()[0].id.clone();
    providers::lab::control::tamper(&lab.file(), &id, "kind", "two".into()).unwrap();
    let plan = lab.workspace.path().join("plan.json");
    let run = lab.workspace.run(&["stage", "--json", "--plan-json", plan.to_str().unwrap()]).expect(0);
    assert_eq!(run.result()["changes"]["update"], 1);
    let text = std::fs::read_to_string(&plan).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(plan["resource_drift"][0]["address"], "lab_thing.a");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(lab.workspace.run(&["stage", "--json"]).expect(0).result()["changes"]["no_op"], 1);
}
