//! Tests of objects that are not stable after a deploy: their values stay, they are marked, the
//! next stage reads them again, and the next deploy waits for them.

use crate::bench::{Bench, counts};
use crate::live::Live;
use crate::support::Run;
use serde_json::{Value, json};

const TIMEOUT: &str = "BLUELINK_DEPLOY_ENGINE_PLUGINS_V1_RESOURCE_STABILISATION_POLLING_TIMEOUT_MS";

fn thing(name: &str, looks: u32) -> String {
    format!(
        "resource \"fake_slow_thing\" \"s\" {{\n  name  = {name:?}\n  looks = {looks}\n}}\n\
         resource \"fake_box\" \"d\" {{\n  name = \"d\"\n  note = fake_slow_thing.s.endpoint\n}}\n"
    )
}

/// Workspace with a stable object, and one that depends on a computed value.
fn bench() -> Bench {
    let bench = Bench::new(&thing("s", 1));
    bench.tell("retry", "1 0.01 0.05 2");
    bench.deploy().expect(0);
    bench
}

fn looks(bench: &Bench) -> usize {
    bench.calls("ResourceHasStabilised").len()
}

fn endpoint(bench: &Bench) -> Value {
    bench.stored("fake_slow_thing")["attributes"]["endpoint"].clone()
}

fn summaries(run: &Run) -> Vec<String> {
    let all = run.diagnostics().into_iter();
    all.map(|d| d["summary"].as_str().unwrap().to_owned())
        .collect()
}

/// Methods of all calls that a command reported, in order.
fn methods(events: &[Value], kind: &str) -> Vec<String> {
    let calls = events.iter().filter(|e| e["type"] == kind);
    calls
        .map(|c| c["method"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn update_that_does_not_become_stable_keeps_computed_values_and_is_looked_at_again() {
    let table = [
        ("unexpected 1", "the cloud is on fire"),
        ("bad-input 1", "the box is too red; the lid is loose"),
        ("transient 2", "retryable error: throttled by the cloud"),
        ("crash 1", "deployed, but its stability is unknown"),
        ("hang 1", "deployed, but its stability is unknown"),
    ];
    for (trouble, summary) in table {
        let mut bench = bench();
        bench.set(TIMEOUT, "1000");
        bench.tell("troubles", &format!("ResourceHasStabilised {trouble}\n"));
        bench.main(&thing("t", 1));
        let run = bench.deploy().expect(5);
        assert!(
            summaries(&run).iter().any(|s| s == summary),
            "{trouble}: {run:#?}"
        );
        let stored = bench.stored("fake_slow_thing");
        assert_eq!(
            stored["attributes"]["name"], "t",
            "{trouble}: it was deployed"
        );
        assert_eq!(endpoint(&bench), "https://s-1", "{trouble}");
        assert_eq!(
            stored["status"],
            Value::Null,
            "{trouble}: it is not tainted"
        );

        let before = looks(&bench);
        let run = bench.stage().expect(0);
        assert_eq!(
            looks(&bench),
            before + 1,
            "{trouble}: the stage looks again"
        );
        assert_eq!(
            counts(&run),
            "",
            "{trouble}: it is stable by now, and nothing depends on null"
        );
        bench.deploy().expect(0);
        let settled = looks(&bench);
        bench.stage().expect(0);
        assert!(looks(&bench) <= settled + 1, "{trouble}");
    }
}

#[test]
fn object_that_is_still_not_stable_is_waited_for_without_another_deploy() {
    let mut bench = bench();
    bench.set(TIMEOUT, "200");
    bench.main(&thing("s", 3000));
    let run = bench.deploy().expect(5);
    assert!(
        summaries(&run).contains(&"failed to stabilise".to_owned()),
        "{run:#?}"
    );
    assert_eq!(endpoint(&bench), "https://s-1");

    let run = bench.stage().expect(0);
    assert_eq!(
        counts(&run),
        "update 2",
        "its values may change, and so may what depends on it"
    );
    let said = summaries(&run);
    assert!(
        said.contains(&"the object is not stable yet".to_owned()),
        "{said:?}"
    );

    let file = "world/s-1.json";
    let mut object: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.file(file)).unwrap()).unwrap();
    object["looked"] = 2997.into();
    bench.tell(file, &object.to_string());
    let (deploys, before) = (bench.calls("DeployResource").len(), looks(&bench));
    bench.deploy().expect(0);
    assert_eq!(
        bench.calls("DeployResource").len(),
        deploys,
        "it is deployed already"
    );
    assert!(looks(&bench) >= before + 3);
    assert_eq!(endpoint(&bench), "https://s-1");
    let settled = looks(&bench);
    assert_eq!(counts(&bench.stage().expect(0)), "");
    assert_eq!(
        looks(&bench),
        settled,
        "what is stable is not looked at again"
    );
}

#[test]
fn update_that_answers_without_computed_values_keeps_them() {
    // For a stable object a null is a value; before that, it is an unknown value.
    for (answer, trouble, health) in [
        ("nothing", "", json!("good")),
        (
            "nothing",
            "ResourceHasStabilised unexpected 1\n",
            json!("good"),
        ),
        ("nulls", "", Value::Null),
        (
            "nulls",
            "ResourceHasStabilised unexpected 1\n",
            json!("good"),
        ),
    ] {
        let bench = Bench::new("resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n");
        bench.deploy().expect(0);
        bench.main("resource \"fake_box\" \"a\" {\n  name = \"a\"\n  size = 9\n}\n");
        bench.tell("troubles", &format!("Answered {answer} 1\n{trouble}"));
        let run = bench.deploy();
        let code = if trouble.is_empty() { 0 } else { 5 };
        assert_eq!(run.code, Some(code), "{answer} {trouble}: {run:#?}");
        let stored = bench.stored("fake_box")["attributes"].clone();
        assert_eq!(
            (&stored["size"], &stored["health"]),
            (&json!(9), &health),
            "{answer} {trouble}"
        );
    }
}

#[test]
fn create_that_does_not_become_stable_is_tainted_and_can_be_kept_once_it_is_stable() {
    let bench = Bench::new(&thing("s", 1));
    bench.tell("troubles", "ResourceHasStabilised unexpected 1\n");
    bench.deploy().expect(5);
    assert_eq!(bench.stored("fake_slow_thing")["status"], "tainted");
    assert_eq!(bench.stored("fake_slow_thing")["attributes"]["id"], "s-1");
    assert_eq!(
        bench.calls("DeployResource").len(),
        1,
        "what depends on it waits"
    );

    let run = bench.stage().expect(0);
    assert_eq!(looks(&bench), 2, "the stage looks again");
    let said = summaries(&run);
    assert!(
        said.contains(&"the object has become stable".to_owned()),
        "{said:?}"
    );
    assert_eq!(counts(&run), "create 1, replace 1");
    bench
        .run(&["state", "untaint", "fake_slow_thing.s"])
        .expect(0);
    let run = bench.stage().expect(0);
    assert_eq!(counts(&run), "create 1", "{run:#?}");
    bench.deploy().expect(0);
    assert_eq!(endpoint(&bench), "https://s-1");
    assert_eq!(bench.calls("DestroyResource").len(), 0);
}

#[test]
fn update_that_fails_keeps_all_values_and_is_made_again() {
    let bench = bench();
    bench.main(&thing("t", 1));
    bench.tell("troubles", "DeployResource unexpected 1\n");
    bench.deploy().expect(5);
    let stored = bench.stored("fake_slow_thing")["attributes"].clone();
    assert_eq!(
        (&stored["name"], &stored["endpoint"]),
        (&json!("s"), &json!("https://s-1"))
    );
    let before = looks(&bench);
    bench.stage().expect(0);
    assert_eq!(
        looks(&bench),
        before,
        "nothing was deployed that could be unstable"
    );
    bench.deploy().expect(0);
    assert_eq!(bench.stored("fake_slow_thing")["attributes"]["name"], "t");
}

#[test]
fn failure_names_the_call_that_failed() {
    for (trouble, command, method) in [
        ("DeployResource unexpected 1", "deploy", "DeployResource"),
        ("DeployResource transient 2", "deploy", "DeployResource"),
        (
            "ResourceHasStabilised bad-input 1",
            "deploy",
            "ResourceHasStabilised",
        ),
        ("DestroyResource unexpected 9", "destroy", "DestroyResource"),
        ("Destroyed no 9", "destroy", "DestroyResource"),
    ] {
        let bench = bench();
        bench.main(&thing("t", 1));
        bench.tell("troubles", &format!("{trouble}\n"));
        let run = bench.run(&[command, "--auto-approve", "--json"]).expect(5);
        assert!(!run.stdout.contains("(gRPC"), "{trouble}: {run:#?}");
        let record = bench.run(&["history", "2", "--json"]).expect(0).result();
        let all = record["history"][0]["operation_list"].as_array().unwrap();
        let failure = all.iter().find_map(|o| o["failure"].as_object());
        let failure = failure.unwrap_or_else(|| panic!("{trouble}: {record:#}"));
        assert_eq!(failure["method"], method, "{trouble}: {failure:#?}");
    }
}

#[test]
fn wait_that_is_interrupted_keeps_values_and_is_taken_up_again() {
    let bench = bench();
    bench.main(&thing("t", 100_000));
    let mut deploy = Live::deploy(&bench);
    let waits = |e: &Value| e["type"] == "operation" && !e["stabilising"].is_null();
    let operation = deploy.until("the wait", waits);
    assert_eq!(operation["retry"], Value::Null, "{operation:#}");
    assert_eq!(operation["attempt"], 1, "a look is no attempt");
    deploy.interrupt();
    deploy.until("the cancel", |e| e["rung"] == "ask_plugins");
    let (code, events) = deploy.end();
    assert_ne!(code, Some(0));
    let said = json!(events).to_string();
    assert!(said.contains("cancelled before it was stable"), "{said}");
    assert_eq!(endpoint(&bench), "https://s-1");
    let before = looks(&bench);
    assert_eq!(counts(&bench.stage().expect(0)), "update 2");
    assert_eq!(looks(&bench), before + 1);
}

#[test]
fn wait_that_ends_with_a_killed_host_is_an_unknown_outcome_and_loses_no_values() {
    let bench = bench();
    bench.main(&thing("t", 100_000));
    let mut deploy = Live::deploy(&bench);
    deploy.until("the wait", |e| {
        e["type"] == "operation" && !e["stabilising"].is_null()
    });
    deploy.kill();
    let run = bench.run(&["stage"]);
    assert!(run.stderr.contains("Unknown outcome"), "{run:#?}");
    assert_eq!(endpoint(&bench), "https://s-1");
}

#[test]
fn every_attempt_and_look_is_a_call_under_its_own_name_in_the_slot_of_its_operation() {
    let bench = Bench::new(&thing("s", 2));
    bench.tell("retry", "3 0.01 0.05 2");
    bench.tell(
        "troubles",
        "DeployResource transient 1\nGetResourceExternalState transient 1\n",
    );
    let run = bench.deploy().expect(0);
    let events = run.lines();
    let of = |method: &str, kind: &str| -> Vec<Value> {
        let is_it = |e: &&Value| e["type"] == kind && e["method"] == method;
        events.iter().filter(is_it).cloned().collect()
    };
    // Two objects, one of them after a failed attempt.
    assert_eq!(of("DeployResource", "call_started").len(), 3, "{events:#?}");
    assert_eq!(of("ResourceHasStabilised", "call_started").len(), 3);
    assert!(
        of("DeployResource", "call_started")
            .iter()
            .all(|c| c["slot"].as_u64() > Some(0))
    );
    let failed = &of("DeployResource", "call_finished")[0];
    assert_eq!(failed["outcome"], "error", "{failed:#}");
    assert_eq!(failed["again"]["attempt"], 2);
    assert_eq!(
        failed["again"]["reason"],
        "retryable error: throttled by the cloud"
    );
    let retry = events
        .iter()
        .find(|e| e["type"] == "operation" && !e["retry"].is_null());
    assert_eq!(
        retry.unwrap()["retry"]["reason"],
        "retryable error: throttled by the cloud"
    );

    bench.main(&thing("t", 1));
    let mut all = methods(&events, "call_started");
    all.extend(methods(&bench.deploy().expect(0).lines(), "call_started"));
    all.extend(methods(
        &bench
            .run(&["destroy", "--auto-approve", "--json"])
            .expect(0)
            .lines(),
        "call_started",
    ));
    for name in [
        "CustomValidateResource",
        "GetResourceExternalState",
        "DestroyResource",
    ] {
        assert!(all.iter().any(|m| m == name), "{name}: {all:?}");
    }
    let foreign = [
        "ApplyResourceChange",
        "ReadResource",
        "PlanResourceChange",
        "UpgradeResourceState",
        "ValidateResourceConfig",
    ];
    assert!(
        all.iter().all(|m| !foreign.contains(&m.as_str())),
        "{all:?}"
    );
}

#[test]
fn progress_lines_tell_attempts_with_their_reason_and_the_wait_until_stable() {
    let bench = Bench::new(&thing("s", 3));
    bench.tell("retry", "3 0.01 0.05 2");
    bench.tell("troubles", "DeployResource transient 1\n");
    let run = bench.run(&["deploy", "--auto-approve"]).expect(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    let waits = "fake_slow_thing.s: applied, waiting until stable: 1st check, next in 1 s";
    assert!(said.contains(waits), "{said}");
    assert_eq!(said.matches("waiting until stable").count(), 1, "{said}");
    assert!(said.contains("throttled by the cloud"), "{said}");
    assert!(said.contains("attempt 2 of 4"), "{said}");
    assert!(!said.contains("of 721"), "{said}");
}
