//! Tests of failing links: retries, the state after a failure in one of the three phases, and
//! unknown outcomes after a crash.

use crate::links::{link_attributes, linked_workspace, recorded_link_phases};
use crate::running_deploy::{RunningDeploy, operation, until};
use crate::support::Run;
use crate::workspace::{TestWorkspace, change_counts};
use serde_json::{Value, json};

const PHASES: [(&str, &str); 3] = [
    ("UpdateLinkResourceA", "A"),
    ("UpdateLinkResourceB", "B"),
    ("UpdateLinkIntermediaryResources", "between"),
];

/// Link whose plugin writes to both ends.
const WRITE: &str = "link \"ab\" {\n  from = fake_box.a\n  to   = fake_box.b\n  annotations = { \"fake.link.mode\" = \"write\" }\n}\n";

fn write_link(bench: &TestWorkspace) {
    bench.main(&format!("{}{}{WRITE}", crate::links::A, crate::links::B));
}

fn output_text(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr).replace('\\', "")
}

fn ends(bench: &TestWorkspace) -> Vec<String> {
    let beside = operation(bench, "link.ab")["beside"].clone();
    let all = beside.as_array().unwrap().iter();
    all.map(|b| b["end"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn s2_13_retryable_failure_of_each_link_phase_is_retried() {
    let bench = linked_workspace();
    let transient = PHASES.map(|(name, _)| format!("{name} transient 2\n"));
    bench.write_fault_file("troubles", &transient.concat());
    bench.deploy().expect(0);
    let of = |short: &str| vec![format!("create {short}"); 3];
    assert_eq!(
        recorded_link_phases(&bench),
        [of("A"), of("B"), of("between")].concat()
    );
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
    assert_eq!(ends(&bench), ["done", "done", "done"]);
}

#[test]
fn s2_13_no_other_call_about_links_is_retried() {
    for method in [
        "StageLinkChanges",
        "ValidateLink",
        "GetLinkKind",
        "GetLinkPriorityResource",
        "GetLinkAnnotationDefinitions",
    ] {
        let bench = linked_workspace();
        bench.write_fault_file("troubles", &format!("{method} transient 1\n"));
        let run = bench.stage();
        assert_ne!(run.code, Some(0), "{method}");
        assert_eq!(bench.calls(method).len(), 1, "{method}");
    }
    let bench = linked_workspace();
    bench.deploy().expect(0);
    let method = "GetLinkIntermediaryExternalState";
    let before = bench.calls(method).len();
    bench.write_fault_file("troubles", &format!("{method} transient 1\n"));
    let run = bench.stage();
    assert_ne!(run.code, Some(0));
    assert!(
        output_text(&run).contains("could not read the intermediary resources of the link"),
        "{run:#?}"
    );
    assert_eq!(bench.calls(method).len(), before + 1);
}

#[test]
fn failed_create_keeps_finished_phases_and_the_next_deploy_completes_it() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = linked_workspace();
        bench.write_fault_file("troubles", &format!("{method} bad-input 1\n"));
        let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
        let words = "failed: the box is too red; the lid is loose (bad input)";
        assert!(run.stdout.contains(words), "{short}: {run:#?}");
        let mut wanted = vec!["done"; at];
        wanted.push("failed");
        assert_eq!(ends(&bench), wanted, "{short}");
        let staged = bench.stage().expect(0);
        if at == 0 {
            assert!(link_attributes(&bench).is_null());
            assert_eq!(change_counts(&staged), "create 1", "nothing of it is there");
        } else {
            assert!(
                output_text(&run).contains("Completed before: link the resource at `from`"),
                "{run:#?}"
            );
            let left = &["resource_b", "intermediaries"][at - 1..];
            assert_eq!(
                link_attributes(&bench)["unfinished"],
                json!(left),
                "{short}"
            );
            assert_eq!(
                link_attributes(&bench)["resource_a"]["value"]["fake_box_a"]["label"],
                "b-3"
            );
            assert_eq!(
                change_counts(&staged),
                "replace 1",
                "what there is of it is taken away first"
            );
        }
        bench.deploy().expect(0);
        assert_eq!(link_attributes(&bench)["unfinished"], Value::Null);
        assert_eq!(
            bench.plugin_objects().len(),
            3,
            "{short}: {:#?}",
            bench.plugin_objects()
        );
        assert_eq!(change_counts(&bench.stage().expect(0)), "", "{short}");
    }
}

#[test]
fn failed_update_is_continued_by_the_next_deploy() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = linked_workspace();
        bench.deploy().expect(0);
        write_link(&bench);
        bench.write_fault_file("troubles", &format!("{method} unexpected 1\n"));
        let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
        assert!(
            run.stdout.contains("failed: the cloud is on fire"),
            "{run:#?}"
        );
        let left = ["resource_a", "resource_b", "intermediaries"];
        assert_eq!(
            link_attributes(&bench)["unfinished"],
            json!(left[at..]),
            "{short}"
        );
        let mode = if at == 0 { "read" } else { "write" };
        assert_eq!(
            link_attributes(&bench)["resource_a"]["value"]["fake_box_a"]["mode"],
            mode
        );
        assert_eq!(
            change_counts(&bench.stage().expect(0)),
            "update 1",
            "{short}"
        );
        bench.deploy().expect(0);
        let all = recorded_link_phases(&bench);
        assert_eq!(
            all[all.len() - 3..],
            ["update A", "update B", "update between"]
        );
        assert_eq!(
            link_attributes(&bench)["resource_a"]["value"]["fake_box_a"]["mode"],
            "write"
        );
        assert_eq!(change_counts(&bench.stage().expect(0)), "", "{short}");
    }
}

#[test]
fn link_with_a_failed_destroy_can_be_completed_or_destroyed_again() {
    let bench = linked_workspace();
    bench.deploy().expect(0);
    bench.write_fault_file("troubles", "UpdateLinkResourceB unexpected 2\n");
    let run = bench.run(&["destroy", "--auto-approve"]).expect(5);
    assert!(
        output_text(&run).contains("could not unlink the resource at `to`"),
        "{run:#?}"
    );
    assert!(
        output_text(&run).contains("Completed before: unlink the resource at `from`"),
        "{run:#?}"
    );
    assert!(bench.plugin_objects()[0]["labels"]["linked"].is_null());
    let all = json!(["resource_a", "resource_b", "intermediaries"]);
    assert_eq!(link_attributes(&bench)["unfinished"], all);
    // The link is wanted again, so the next deploy creates all its parts.
    assert_eq!(change_counts(&bench.stage().expect(0)), "update 1");
    bench.write_fault_file("troubles", "");
    bench.deploy().expect(0);
    assert_eq!(bench.plugin_objects()[0]["labels"]["linked"], "b-3");
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(bench.plugin_objects(), Vec::<Value>::new());
}

#[test]
fn crash_in_a_phase_is_an_unknown_outcome_with_finished_phases_recorded() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = linked_workspace();
        bench.write_fault_file("troubles", &format!("{method} crash 1\n"));
        let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
        assert!(
            run.stdout.contains("link.ab: unknown outcome"),
            "{short}: {run:#?}"
        );
        assert_eq!(bench.calls(method).len(), 1, "it is not made again");
        let mut wanted = vec!["done"; at];
        wanted.push("unknown");
        assert_eq!(ends(&bench), wanted, "{short}");
        let told = output_text(&bench.stage());
        assert!(
            told.contains("The create of link.ab in deploy #1 has no recorded outcome"),
            "{told}"
        );
        assert!(
            !told.contains("state import"),
            "a link cannot be imported: {told}"
        );
        // After the operator has discarded both unknown outcomes, the link is created.
        bench.run(&["state", "forget", "link.ab"]).expect(0);
        let beside = told.split("state forget '").nth(1).unwrap();
        let beside = beside.split('\'').next().unwrap();
        bench.run(&["state", "forget", beside]).expect(0);
        bench.deploy().expect(0);
        assert_eq!(change_counts(&bench.stage().expect(0)), "", "{short}");
    }
}

#[test]
fn create_of_a_link_is_unknown_after_a_kill_with_finished_phases_recorded() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = linked_workspace();
        bench.write_fault_file("troubles", &format!("{method} hang 1\n"));
        let deploy = RunningDeploy::deploy(&bench);
        until("the phase", || !bench.calls(method).is_empty());
        deploy.kill();
        assert_eq!(operation(&bench, "link.ab")["state"], "unknown", "{short}");
        let mut wanted = vec!["done"; at];
        wanted.push("unknown");
        assert_eq!(ends(&bench), wanted, "{short}");
        let told = output_text(&bench.stage());
        assert!(
            told.contains("The create of link.ab in deploy #1 has no recorded outcome"),
            "{told}"
        );
    }
}

#[test]
fn link_phase_holds_the_lock_of_its_resource_and_the_plugin_can_take_it() {
    let bench = linked_workspace();
    bench.write_fault_file("locks", "");
    let run = bench.deploy().expect(0);
    let locks = run
        .lines()
        .into_iter()
        .filter(|e| e["type"] == "resource_lock");
    let one = |e: Value| format!("{} {}", e["name"], e["held"]).replace('"', "");
    assert_eq!(
        locks.map(one).collect::<Vec<_>>(),
        [
            "fake_box.a true",
            "fake_box.a false",
            "fake_box.b true",
            "fake_box.b false",
            "fake_box.a true",
            "fake_box.a false"
        ],
        "each phase has its own, and they end with it"
    );
}

#[test]
fn intermediary_can_be_created_by_another_plugin_through_the_host() {
    let bench = TestWorkspace::with_two_plugins("");
    let head = bench.workspace.read("main.tf");
    let used = "resource \"other_box\" \"used\" {\n  name = \"used\"\n}\n";
    let (a, b, link) = (crate::links::A, crate::links::B, crate::links::LINK);
    bench
        .workspace
        .write("main.tf", &format!("{head}{used}{a}{b}{link}"));
    bench.write_fault_file("links", "fake/box::fake/box\n");
    bench.write_fault_file("between", "other/box");
    bench.deploy().expect(0);
    let made: Vec<Value> = bench
        .other_plugin_objects()
        .iter()
        .map(|o| o["name"].clone())
        .collect();
    assert_eq!(made, [json!("between-a"), json!("used")]);
    let beside = operation(&bench, "link.ab")["beside"].clone();
    let kinds: Vec<&Value> = beside
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["kind"])
        .collect();
    assert_eq!(
        kinds,
        ["resource_a", "resource_b", "intermediaries", "other/box"]
    );
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(bench.other_plugin_objects(), Vec::<Value>::new());
}

#[test]
fn failed_destroy_names_the_intermediaries_that_remain() {
    let bench = linked_workspace();
    bench.deploy().expect(0);
    bench.write_fault_file("troubles", "UpdateLinkIntermediaryResources unexpected 1\n");
    let run = bench.run(&["destroy", "--auto-approve"]).expect(5);
    let words = output_text(&run);
    assert!(
        words.contains("could not remove the intermediary resources"),
        "{words}"
    );
    assert!(!words.contains("could not set up"), "{words}");
}
