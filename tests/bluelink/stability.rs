//! Tests of objects that are not stable after a deploy: their values stay, they are marked, the
//! next stage reads them again, and the next deploy waits for them.

use crate::running_deploy::RunningDeploy;
use crate::support::Run;
use crate::workspace::{TestWorkspace, change_counts};
use serde_json::{Value, json};

const TIMEOUT: &str = "BLUELINK_DEPLOY_ENGINE_PLUGINS_V1_RESOURCE_STABILISATION_POLLING_TIMEOUT_MS";

fn thing(name: &str, looks: u32) -> String {
    format!(
        "resource \"fake_slow_thing\" \"s\" {{\n  name  = {name:?}\n  looks = {looks}\n}}\n\
         resource \"fake_box\" \"d\" {{\n  name = \"d\"\n  note = fake_slow_thing.s.endpoint\n}}\n"
    )
}

/// Workspace with a stable object, and one that depends on a computed value.
fn bench() -> TestWorkspace {
    let bench = TestWorkspace::with_plugin(&thing("s", 1));
    bench.write_fault_file("retry", "1 0.01 0.05 2");
    bench.deploy().expect(0);
    bench
}

fn stability_polls(bench: &TestWorkspace) -> usize {
    bench.calls("ResourceHasStabilised").len()
}

fn endpoint(bench: &TestWorkspace) -> Value {
    bench.state_attributes("fake_slow_thing")["attributes"]["endpoint"].clone()
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
fn unstable_update_keeps_computed_values_and_is_read_again() {
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
        bench.write_fault_file("troubles", &format!("ResourceHasStabilised {trouble}\n"));
        bench.main(&thing("t", 1));
        let run = bench.deploy().expect(5);
        assert!(
            summaries(&run).iter().any(|s| s == summary),
            "{trouble}: {run:#?}"
        );
        let stored = bench.state_attributes("fake_slow_thing");
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

        let before = stability_polls(&bench);
        let run = bench.stage().expect(0);
        assert_eq!(
            stability_polls(&bench),
            before + 1,
            "{trouble}: the stage looks again"
        );
        assert_eq!(
            change_counts(&run),
            "",
            "{trouble}: it is stable by now, and nothing depends on null"
        );
        bench.deploy().expect(0);
        let settled = stability_polls(&bench);
        bench.stage().expect(0);
        assert!(stability_polls(&bench) <= settled + 1, "{trouble}");
    }
}

#[test]
fn unstable_object_is_polled_without_another_deploy_call() {
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
        change_counts(&run),
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
    bench.write_fault_file(file, &object.to_string());
    // The former limit must run out; this one must not, on a machine under load, too.
    bench.set(TIMEOUT, "60000");
    let (deploys, before) = (bench.calls("DeployResource").len(), stability_polls(&bench));
    bench.deploy().expect(0);
    assert_eq!(
        bench.calls("DeployResource").len(),
        deploys,
        "it is deployed already"
    );
    assert!(stability_polls(&bench) >= before + 3);
    assert_eq!(endpoint(&bench), "https://s-1");
    let settled = stability_polls(&bench);
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
    assert_eq!(
        stability_polls(&bench),
        settled,
        "what is stable is not looked at again"
    );
}

#[test]
fn update_without_computed_values_in_its_answer_keeps_them() {
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
        let bench =
            TestWorkspace::with_plugin("resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n");
        bench.deploy().expect(0);
        bench.main("resource \"fake_box\" \"a\" {\n  name = \"a\"\n  size = 9\n}\n");
        bench.write_fault_file("troubles", &format!("Answered {answer} 1\n{trouble}"));
        let run = bench.deploy();
        let code = if trouble.is_empty() { 0 } else { 5 };
        assert_eq!(run.code, Some(code), "{answer} {trouble}: {run:#?}");
        let stored = bench.state_attributes("fake_box")["attributes"].clone();
        assert_eq!(
            (&stored["size"], &stored["health"]),
            (&json!(9), &health),
            "{answer} {trouble}"
        );
    }
}

#[test]
fn unstable_create_is_tainted_and_can_be_kept_once_stable() {
    let bench = TestWorkspace::with_plugin(&thing("s", 1));
    bench.write_fault_file("troubles", "ResourceHasStabilised unexpected 1\n");
    bench.deploy().expect(5);
    assert_eq!(
        bench.state_attributes("fake_slow_thing")["status"],
        "tainted"
    );
    assert_eq!(
        bench.state_attributes("fake_slow_thing")["attributes"]["id"],
        "s-1"
    );
    assert_eq!(
        bench.calls("DeployResource").len(),
        1,
        "what depends on it waits"
    );

    let run = bench.stage().expect(0);
    assert_eq!(stability_polls(&bench), 2, "the stage looks again");
    let said = summaries(&run);
    assert!(
        said.contains(&"the object has become stable".to_owned()),
        "{said:?}"
    );
    assert_eq!(change_counts(&run), "create 1, replace 1");
    bench
        .run(&["state", "untaint", "fake_slow_thing.s"])
        .expect(0);
    let run = bench.stage().expect(0);
    assert_eq!(change_counts(&run), "create 1", "{run:#?}");
    bench.deploy().expect(0);
    assert_eq!(endpoint(&bench), "https://s-1");
    assert_eq!(bench.calls("DestroyResource").len(), 0);
}

#[test]
fn failed_update_keeps_all_values_and_is_repeated() {
    let bench = bench();
    bench.main(&thing("t", 1));
    bench.write_fault_file("troubles", "DeployResource unexpected 1\n");
    bench.deploy().expect(5);
    let stored = bench.state_attributes("fake_slow_thing")["attributes"].clone();
    assert_eq!(
        (&stored["name"], &stored["endpoint"]),
        (&json!("s"), &json!("https://s-1"))
    );
    let before = stability_polls(&bench);
    bench.stage().expect(0);
    assert_eq!(
        stability_polls(&bench),
        before,
        "nothing was deployed that could be unstable"
    );
    bench.deploy().expect(0);
    assert_eq!(
        bench.state_attributes("fake_slow_thing")["attributes"]["name"],
        "t"
    );
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
        bench.write_fault_file("troubles", &format!("{trouble}\n"));
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
fn interrupted_wait_keeps_values_and_is_resumed() {
    let bench = bench();
    bench.main(&thing("t", 100_000));
    let mut deploy = RunningDeploy::deploy(&bench);
    let waits = |e: &Value| e["type"] == "operation" && !e["waits_until_ready"].is_null();
    let operation = deploy.read_until("the wait", waits);
    assert_eq!(operation["retry"], Value::Null, "{operation:#}");
    assert_eq!(operation["attempt"], 1, "a look is no attempt");
    deploy.interrupt();
    deploy.read_until("the cancel", |e| e["rung"] == "ask_plugins");
    let (code, events) = deploy.end();
    assert_ne!(code, Some(0));
    let said = json!(events).to_string();
    assert!(said.contains("cancelled before it was stable"), "{said}");
    assert_eq!(endpoint(&bench), "https://s-1");
    let before = stability_polls(&bench);
    assert_eq!(change_counts(&bench.stage().expect(0)), "update 2");
    assert_eq!(stability_polls(&bench), before + 1);
}

#[test]
fn wait_ended_by_a_kill_is_an_unknown_outcome_and_keeps_values() {
    let bench = bench();
    bench.main(&thing("t", 100_000));
    let mut deploy = RunningDeploy::deploy(&bench);
    deploy.read_until("the wait", |e| {
        e["type"] == "operation" && !e["waits_until_ready"].is_null()
    });
    deploy.kill();
    let run = bench.run(&["stage"]);
    assert!(run.stderr.contains("Unknown outcome"), "{run:#?}");
    assert_eq!(endpoint(&bench), "https://s-1");
}

#[test]
fn every_attempt_and_poll_is_a_call_in_the_slot_of_its_operation() {
    let bench = TestWorkspace::with_plugin(&thing("s", 2));
    bench.write_fault_file("retry", "3 0.01 0.05 2");
    bench.write_fault_file(
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
fn progress_lines_show_attempts_reasons_and_the_wait() {
    let bench = TestWorkspace::with_plugin(&thing("s", 3));
    bench.write_fault_file("retry", "3 0.01 0.05 2");
    bench.write_fault_file("troubles", "DeployResource transient 1\n");
    let run = bench.run(&["deploy", "--auto-approve"]).expect(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    let waits = "fake_slow_thing.s: created, waiting until ready: 1st look, next in 1 s";
    assert!(said.contains(waits), "{said}");
    assert_eq!(said.matches("waiting until ready").count(), 1, "{said}");
    assert!(said.contains("throttled by the cloud"), "{said}");
    assert!(said.contains("attempt 2 of 4"), "{said}");
    assert!(!said.contains("of 721"), "{said}");
}
