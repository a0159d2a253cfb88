//! Tests of requests that a plugin sends to its host during a deploy: deploy, destroy or look up an
//! object of another plugin. Such calls are visible, recorded with the operation, and in no state.
//! Also tests crashes between request and answer.

use crate::running_deploy::{RunningDeploy, operation, until};
use crate::support::Run;
use crate::workspace::{TestWorkspace, change_counts};
use serde_json::{Value, json};

const A: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";
/// Keeps the second plugin in use.
const OTHER: &str = "resource \"other_box\" \"used\" {\n  name = \"used\"\n}\n";

/// Answers that the plugin received to its requests.
fn recorded_answers(bench: &TestWorkspace) -> Vec<Value> {
    let all = bench.calls("Asked").into_iter();
    all.map(|a| match a.get("ok") {
        Some(good) => good.clone(),
        None => a["error"].clone(),
    })
    .collect()
}

/// Workspace where the second plugin has a deployed object, and `a` is new.
fn bench(asks: &str) -> TestWorkspace {
    let bench = TestWorkspace::with_two_plugins(OTHER);
    bench.deploy().expect(0);
    let head = bench.workspace.read("main.tf");
    bench.workspace.write("main.tf", &format!("{head}{A}"));
    bench.write_fault_file("asks", asks);
    bench
}

fn output_text(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr).replace('\\', "")
}

#[test]
fn s2_11_requested_deploy_is_a_visible_recorded_call_in_no_state() {
    let bench = bench("a deploy other/box inner\na update other/box inner\n");
    let run = bench.deploy().expect(0);
    let lines = run.lines();
    let asked = "asked by bluelink/fake for fake_box.a";
    let call = lines
        .iter()
        .find(|e| e["type"] == "call_started" && e["resource"] == asked);
    let call = call.unwrap_or_else(|| panic!("{run:#?}"));
    assert_eq!(
        (&call["method"], &call["plugin"], &call["slot"]),
        (
            &json!("DeployResource"),
            &json!("bluelink/other"),
            &json!(0)
        )
    );
    assert_eq!(call["deadline_ms"], 120_000);
    let names: Vec<Value> = bench
        .other_plugin_objects()
        .iter()
        .map(|o| o["name"].clone())
        .collect();
    assert!(names.contains(&json!("inner")), "{names:?}");
    assert!(
        recorded_answers(&bench)[0]["spec.id"].is_string(),
        "{:?}",
        recorded_answers(&bench)
    );
    let told = bench.calls_of_other("DeployResource");
    assert_eq!(
        (&told[1]["state"], &told[2]["state"]),
        (&json!(false), &json!(true))
    );
    let state = bench.workspace.read("terraform.tfstate");
    assert!(!state.contains("inner"), "it is in no state: {state}");

    let operation = operation(&bench, "fake_box.a");
    let beside = operation["beside"].as_array().unwrap();
    let short = |b: &Value| (b["action"].clone(), b["name"].clone(), b["end"].clone());
    assert_eq!(
        beside.iter().map(short).collect::<Vec<_>>(),
        [
            (json!("create"), json!("inner"), json!("done")),
            (json!("update"), json!("inner"), json!("done")),
        ]
    );
    assert_eq!(beside[0]["asked_by"], "bluelink/fake");
    assert!(beside[0]["took_ms"].is_u64());
    let text = bench.run(&["history", "2"]).expect(0).stdout;
    let line = "also requested: create of other/box \"inner\", requested by bluelink/fake: done";
    assert!(text.contains(line), "{text}");
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
}

#[test]
fn requested_deploy_waits_until_stable_and_returns_late_values() {
    let bench = bench("a deploy-stable other/slow/thing s\n");
    bench.deploy().expect(0);
    assert_eq!(bench.calls_of_other("ResourceHasStabilised").len(), 3);
    let answer = &recorded_answers(&bench)[0];
    let endpoint = answer["spec.endpoint"].as_str().unwrap();
    assert!(endpoint.starts_with("https://s-"), "{answer}");
}

#[test]
fn requested_destroy_is_recorded_with_the_objects_id() {
    let bench = bench("a destroy other/box used-1\n");
    bench.deploy().expect(0);
    assert_eq!(recorded_answers(&bench), [json!(true)]);
    assert_eq!(bench.other_plugin_objects(), Vec::<Value>::new());
    let beside = operation(&bench, "fake_box.a")["beside"][0].clone();
    assert_eq!(
        (&beside["action"], &beside["end"]),
        (&json!("destroy"), &json!("done"))
    );
    // The second plugin reports that it did not destroy the object.
    std::fs::write(bench.other("troubles"), "Destroyed not 1\n").unwrap();
    bench.write_fault_file("asks", "try b destroy other/box used-1\n");
    let head = bench.workspace.read("main.tf");
    let more = "resource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";
    bench.workspace.write("main.tf", &format!("{head}{more}"));
    bench
        .run(&["deploy", "--auto-approve", "--refresh=false"])
        .expect(0);
    assert_eq!(recorded_answers(&bench)[1], json!(false));
    let beside = operation(&bench, "fake_box.b")["beside"][0].clone();
    assert_eq!(beside["end"], "failed");
}

#[test]
fn object_of_the_state_is_looked_up_by_its_plugin_id() {
    let bench = bench(
        "a lookup other/box used-1\ntry a lookup other/box nobody\ntry a lookup other/nothing x\ntry a lookup-elsewhere other/box used-1\n",
    );
    let run = bench.deploy().expect(0);
    let all = recorded_answers(&bench);
    assert_eq!(
        (&all[0]["name"], &all[0]["type"], &all[0]["spec"]["name"]),
        (
            &json!("other_box.used"),
            &json!("other/box"),
            &json!("used")
        )
    );
    let created = &bench.calls_of_other("DeployResource")[0];
    assert_eq!(
        all[0]["id"], created["resource"],
        "as the host has always called it"
    );
    for (answer, words) in [
        (&all[1], "the state has no other/box whose id is \"nobody\""),
        (
            &all[2],
            "no plugin in use has a resource type \"other/nothing\"",
        ),
        (&all[3], "unknown instance \"elsewhere\""),
    ] {
        assert!(answer.as_str().unwrap().contains(words), "{answer}");
    }
    let lines = run.lines();
    let looks = lines
        .iter()
        .filter(|e| e["type"] == "call_finished" && e["method"] == "LookupResourceInState");
    let ends: Vec<&Value> = looks.map(|e| &e["outcome"]).collect();
    assert_eq!(ends, ["ok", "error", "error", "error"]);
}

#[test]
fn unknown_type_and_endless_requests_are_refused() {
    let bench =
        bench("try a deploy third/box x\na deploy fake/box loop\nloop deploy fake/box loop\n");
    let run = bench.deploy().expect(5);
    let nobody = "no plugin in use has a resource type \"third/box\"";
    assert_eq!(recorded_answers(&bench)[0], nobody);
    let endless = "more than 64 levels deep; the last request is for \"fake/box\"";
    assert!(output_text(&run).contains(endless), "{}", output_text(&run));
    let operation = operation(&bench, "fake_box.a");
    let beside = operation["beside"].as_array().unwrap();
    assert_eq!(beside.len(), 63, "what is refused is none");
    assert!(beside.iter().all(|b| b["end"] == "failed"), "{operation:#}");
    assert_eq!(beside[1]["asked_by"], "bluelink/fake for fake/box loop");
}

#[test]
fn request_without_context_is_refused_if_ambiguous_or_late() {
    let bench = bench(
        "a meet b\ntry a deploy-bare other/box bare\na later deploy other/box late\na deploy other/box told\n\
         b meet a\nb wait late-done\nb deploy-bare other/box last\n",
    );
    let head = bench.workspace.read("main.tf");
    let more = "resource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";
    bench.workspace.write("main.tf", &format!("{head}{more}"));
    let mut deploy = RunningDeploy::deploy(&bench);
    deploy.read_until("the end of a", |e| {
        e["type"] == "operation" && e["address"] == "fake_box.a" && e["state"] == "done"
    });
    bench.write_fault_file("later-now", "");
    let of = |name: &str| {
        let mut all = bench.calls("Asked").into_iter();
        all.rfind(|a| a["asked"][2] == name || a["asked"][3] == name)
    };
    until("what comes too late", || of("late").is_some());
    bench.write_fault_file("late-done", "");
    let (code, events) = deploy.end();
    assert_eq!(code, Some(0), "{events:#?}");
    let error = of("bare").unwrap()["error"].to_string();
    let several = "2 calls of bluelink/fake are running, and the request does not name one of them";
    assert!(error.contains(several), "{error}");
    let error = of("late").unwrap()["error"].to_string();
    let late = "bluelink/fake has no running call that deploys or destroys a resource";
    assert!(error.contains(late), "{error}");
    let name = |address: &str| operation(&bench, address)["beside"][0]["name"].clone();
    assert_eq!(
        (name("fake_box.a"), name("fake_box.b")),
        (json!("told"), json!("last"))
    );
}

#[test]
fn requested_deploy_without_an_answer_is_unknown_until_settled() {
    let bench = bench("a deploy other/box inner\n");
    std::fs::write(bench.other("troubles"), "Deployed crash 1\n").unwrap();
    let run = bench.deploy().expect(5);
    assert!(
        output_text(&run).contains("the host says: "),
        "{}",
        output_text(&run)
    );
    let told = "fake_box.a: side effect: create of other/box \"inner\", requested by bluelink/fake: unknown outcome: bluelink/other crashed";
    assert!(output_text(&run).contains(told), "{}", output_text(&run));
    let operation = operation(&bench, "fake_box.a");
    assert_eq!(operation["state"], "failed", "its own end is known");
    assert_eq!(operation["beside"][0]["end"], "unknown", "{operation:#}");
    assert_eq!(bench.other_plugin_objects().len(), 2, "it was carried out");

    let told = output_text(&bench.stage());
    let words = "in deploy #2, bluelink/fake requested the create of other/box \"inner\", which has no recorded outcome";
    assert!(told.contains(words), "{told}");
    // A creation with an unknown outcome blocks the next deploy.
    let again = output_text(&bench.deploy().expect(1));
    assert!(again.contains("Object may already exist"), "{again}");
    assert_eq!(bench.other_plugin_objects().len(), 2);
    let name = told.split("state forget '").nth(1).unwrap();
    let name = name.split('\'').next().unwrap();
    assert!(name.starts_with("fake_box.a (beside "), "{name}");
    bench.run(&["state", "forget", name]).expect(0);
    assert!(!output_text(&bench.stage()).contains("Unknown outcome"));
    bench.deploy().expect(0);
    assert_eq!(
        bench.state_attributes("fake_box")["attributes"]["name"],
        "a"
    );
}

#[test]
fn requested_call_finishes_after_its_requester_crashed() {
    let bench = bench("a deploy-and-exit other/box inner\n");
    std::fs::write(bench.other("asks"), "inner wait go\n").unwrap();
    let mut deploy = RunningDeploy::deploy(&bench);
    until("the deed", || {
        bench.calls_of_other("DeployResource").len() == 2
    });
    bench.write_fault_file("exit-now", "");
    // The second plugin answers only after the requesting plugin has crashed.
    deploy.read_until("the crash", |e| {
        e["type"] == "plugin" && e["plugin"] == "bluelink/fake" && e.to_string().contains("crash")
    });
    std::fs::write(bench.other("go"), "").unwrap();
    let (code, events) = deploy.end();
    assert_eq!(code, Some(5), "{events:#?}");
    let operation = operation(&bench, "fake_box.a");
    assert_eq!(
        operation["state"], "unknown",
        "nobody has said what became of a"
    );
    assert_eq!(operation["beside"][0]["end"], "done", "{operation:#}");
    assert_eq!(bench.other_plugin_objects().len(), 2);
}

#[test]
fn requested_call_and_its_requester_are_unknown_after_a_kill() {
    let bench = bench("a deploy other/box inner\n");
    std::fs::write(bench.other("asks"), "inner wait never\n").unwrap();
    let deploy = RunningDeploy::deploy(&bench);
    until("the deed", || {
        bench.calls_of_other("DeployResource").len() == 2
    });
    deploy.kill();
    let operation = operation(&bench, "fake_box.a");
    assert_eq!(operation["state"], "unknown");
    assert_eq!(operation["beside"][0]["end"], "unknown", "{operation:#}");
    let told = || output_text(&bench.run(&["stage", "--json"]));
    let (own, beside) = (
        "The create of fake_box.a in deploy #2 has no recorded outcome",
        "requested the create of other/box \"inner\", which has no recorded outcome",
    );
    let first = told();
    assert!(first.contains(own) && first.contains(beside), "{first}");
    // The object and the requested call are discarded under different names.
    bench.run(&["state", "forget", "fake_box.a"]).expect(0);
    let then = told();
    assert!(!then.contains(own) && then.contains(beside), "{then}");
}
