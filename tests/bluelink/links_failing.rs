//! Tests of failing links: retries, the state after a failure in one of the three phases, and
//! unknown outcomes after a crash.

use crate::bench::{Bench, counts};
use crate::links::{kept, phases, whole};
use crate::live::{Live, operation, until};
use crate::support::Run;
use serde_json::{Value, json};

const PHASES: [(&str, &str); 3] = [
    ("UpdateLinkResourceA", "A"),
    ("UpdateLinkResourceB", "B"),
    ("UpdateLinkIntermediaryResources", "between"),
];

/// Link whose plugin writes to both ends.
const WRITE: &str = "link \"ab\" {\n  from = fake_box.a\n  to   = fake_box.b\n  annotations = { \"fake.link.mode\" = \"write\" }\n}\n";

fn change(bench: &Bench) {
    bench.main(&format!("{}{}{WRITE}", crate::links::A, crate::links::B));
}

fn said(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr).replace('\\', "")
}

fn ends(bench: &Bench) -> Vec<String> {
    let beside = operation(bench, "link.ab")["beside"].clone();
    let all = beside.as_array().unwrap().iter();
    all.map(|b| b["end"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn s2_13_each_of_the_three_phases_is_asked_again_where_the_plugin_says_that_it_would_help() {
    let bench = whole();
    let transient = PHASES.map(|(name, _)| format!("{name} transient 2\n"));
    bench.tell("troubles", &transient.concat());
    bench.deploy().expect(0);
    let of = |short: &str| vec![format!("create {short}"); 3];
    assert_eq!(phases(&bench), [of("A"), of("B"), of("between")].concat());
    assert_eq!(counts(&bench.stage().expect(0)), "");
    assert_eq!(ends(&bench), ["done", "done", "done"]);
}

#[test]
fn s2_13_no_other_call_about_links_is_asked_again() {
    for method in [
        "StageLinkChanges",
        "ValidateLink",
        "GetLinkKind",
        "GetLinkPriorityResource",
        "GetLinkAnnotationDefinitions",
    ] {
        let bench = whole();
        bench.tell("troubles", &format!("{method} transient 1\n"));
        let run = bench.stage();
        assert_ne!(run.code, Some(0), "{method}");
        assert_eq!(bench.calls(method).len(), 1, "{method}");
    }
    let bench = whole();
    bench.deploy().expect(0);
    let method = "GetLinkIntermediaryExternalState";
    let before = bench.calls(method).len();
    bench.tell("troubles", &format!("{method} transient 1\n"));
    let run = bench.stage();
    assert_ne!(run.code, Some(0));
    assert!(
        said(&run).contains("could not read the intermediary resources of the link"),
        "{run:#?}"
    );
    assert_eq!(bench.calls(method).len(), before + 1);
}

#[test]
fn a_create_that_fails_in_a_phase_is_told_kept_as_far_as_it_got_and_made_by_the_next_deploy() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = whole();
        bench.tell("troubles", &format!("{method} bad-input 1\n"));
        let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
        let words = "failed: the box is too red; the lid is loose (bad input)";
        assert!(run.stdout.contains(words), "{short}: {run:#?}");
        let mut wanted = vec!["done"; at];
        wanted.push("failed");
        assert_eq!(ends(&bench), wanted, "{short}");
        let staged = bench.stage().expect(0);
        if at == 0 {
            assert!(kept(&bench).is_null());
            assert_eq!(counts(&staged), "create 1", "nothing of it is there");
        } else {
            assert!(
                said(&run).contains("Completed before: link the resource at `from`"),
                "{run:#?}"
            );
            let left = &["resource_b", "intermediaries"][at - 1..];
            assert_eq!(kept(&bench)["unfinished"], json!(left), "{short}");
            assert_eq!(
                kept(&bench)["resource_a"]["value"]["fake_box_a"]["label"],
                "b-3"
            );
            assert_eq!(
                counts(&staged),
                "replace 1",
                "what there is of it is taken away first"
            );
        }
        bench.deploy().expect(0);
        assert_eq!(kept(&bench)["unfinished"], Value::Null);
        assert_eq!(bench.world().len(), 3, "{short}: {:#?}", bench.world());
        assert_eq!(counts(&bench.stage().expect(0)), "", "{short}");
    }
}

#[test]
fn an_update_that_fails_in_a_phase_is_gone_on_with() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = whole();
        bench.deploy().expect(0);
        change(&bench);
        bench.tell("troubles", &format!("{method} unexpected 1\n"));
        let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
        assert!(
            run.stdout.contains("failed: the cloud is on fire"),
            "{run:#?}"
        );
        let left = ["resource_a", "resource_b", "intermediaries"];
        assert_eq!(kept(&bench)["unfinished"], json!(left[at..]), "{short}");
        let mode = if at == 0 { "read" } else { "write" };
        assert_eq!(
            kept(&bench)["resource_a"]["value"]["fake_box_a"]["mode"],
            mode
        );
        assert_eq!(counts(&bench.stage().expect(0)), "update 1", "{short}");
        bench.deploy().expect(0);
        let all = phases(&bench);
        assert_eq!(
            all[all.len() - 3..],
            ["update A", "update B", "update between"]
        );
        assert_eq!(
            kept(&bench)["resource_a"]["value"]["fake_box_a"]["mode"],
            "write"
        );
        assert_eq!(counts(&bench.stage().expect(0)), "", "{short}");
    }
}

#[test]
fn a_link_whose_end_failed_halfway_is_there_still_and_can_be_had_whole_or_not_at_all() {
    let bench = whole();
    bench.deploy().expect(0);
    bench.tell("troubles", "UpdateLinkResourceB unexpected 2\n");
    let run = bench.run(&["destroy", "--auto-approve"]).expect(5);
    assert!(
        said(&run).contains("could not unlink the resource at `to`"),
        "{run:#?}"
    );
    assert!(
        said(&run).contains("Completed before: unlink the resource at `from`"),
        "{run:#?}"
    );
    assert!(bench.world()[0]["labels"]["linked"].is_null());
    let all = json!(["resource_a", "resource_b", "intermediaries"]);
    assert_eq!(kept(&bench)["unfinished"], all);
    // The link is wanted again, so the next deploy creates all its parts.
    assert_eq!(counts(&bench.stage().expect(0)), "update 1");
    bench.tell("troubles", "");
    bench.deploy().expect(0);
    assert_eq!(bench.world()[0]["labels"]["linked"], "b-3");
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(bench.world(), Vec::<Value>::new());
}

#[test]
fn a_plugin_that_dies_in_a_phase_leaves_an_unknown_outcome_and_what_was_done_on_record() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = whole();
        bench.tell("troubles", &format!("{method} crash 1\n"));
        let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
        assert!(
            run.stdout.contains("link.ab: unknown outcome"),
            "{short}: {run:#?}"
        );
        assert_eq!(bench.calls(method).len(), 1, "it is not made again");
        let mut wanted = vec!["done"; at];
        wanted.push("unknown");
        assert_eq!(ends(&bench), wanted, "{short}");
        let told = said(&bench.stage());
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
        assert_eq!(counts(&bench.stage().expect(0)), "", "{short}");
    }
}

#[test]
fn a_link_that_was_being_made_when_flightdeck_was_killed_is_unknown_and_says_how_far_it_got() {
    for (at, (method, short)) in PHASES.into_iter().enumerate() {
        let bench = whole();
        bench.tell("troubles", &format!("{method} hang 1\n"));
        let deploy = Live::deploy(&bench);
        until("the phase", || !bench.calls(method).is_empty());
        deploy.kill();
        assert_eq!(operation(&bench, "link.ab")["state"], "unknown", "{short}");
        let mut wanted = vec!["done"; at];
        wanted.push("unknown");
        assert_eq!(ends(&bench), wanted, "{short}");
        let told = said(&bench.stage());
        assert!(
            told.contains("The create of link.ab in deploy #1 has no recorded outcome"),
            "{told}"
        );
    }
}

#[test]
fn a_phase_holds_the_lock_of_its_resource_and_the_plugin_gets_it_by_the_name_that_it_was_told() {
    let bench = whole();
    bench.tell("locks", "");
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
fn what_is_between_can_be_made_by_another_plugin_through_its_host() {
    let bench = Bench::two("");
    let head = bench.workspace.read("main.tf");
    let used = "resource \"other_box\" \"used\" {\n  name = \"used\"\n}\n";
    let (a, b, link) = (crate::links::A, crate::links::B, crate::links::LINK);
    bench
        .workspace
        .write("main.tf", &format!("{head}{used}{a}{b}{link}"));
    bench.tell("links", "fake/box::fake/box\n");
    bench.tell("between", "other/box");
    bench.deploy().expect(0);
    let made: Vec<Value> = bench
        .world_of_other()
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
    assert_eq!(bench.world_of_other(), Vec::<Value>::new());
}

#[test]
fn destroy_that_fails_in_its_last_phase_says_what_it_could_not_remove() {
    let bench = whole();
    bench.deploy().expect(0);
    bench.tell("troubles", "UpdateLinkIntermediaryResources unexpected 1\n");
    let run = bench.run(&["destroy", "--auto-approve"]).expect(5);
    let words = said(&run);
    assert!(
        words.contains("could not remove the intermediary resources"),
        "{words}"
    );
    assert!(!words.contains("could not set up"), "{words}");
}
