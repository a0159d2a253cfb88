//! Tests of requests that a plugin sends to its host during a deploy: deploy, destroy or look up an
//! object of another plugin. Such calls are visible, recorded with the operation, and in no state.
//! Also tests crashes between request and answer.

use crate::bench::{Bench, counts};
use crate::live::{Live, operation, until};
use crate::support::Run;
use serde_json::{Value, json};

const A: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";
/// Keeps the second plugin in use.
const OTHER: &str = "resource \"other_box\" \"used\" {\n  name = \"used\"\n}\n";

/// Answers that the plugin received to its requests.
fn answers(bench: &Bench) -> Vec<Value> {
    let all = bench.calls("Asked").into_iter();
    all.map(|a| match a.get("ok") {
        Some(good) => good.clone(),
        None => a["error"].clone(),
    })
    .collect()
}

/// Workspace where the second plugin has a deployed object, and `a` is new.
fn bench(asks: &str) -> Bench {
    let bench = Bench::two(OTHER);
    bench.deploy().expect(0);
    let head = bench.workspace.read("main.tf");
    bench.workspace.write("main.tf", &format!("{head}{A}"));
    bench.tell("asks", asks);
    bench
}

fn said(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr).replace('\\', "")
}

#[test]
fn s2_11_what_a_plugin_has_another_deploy_is_a_call_that_is_seen_on_record_and_in_no_state() {
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
        .world_of_other()
        .iter()
        .map(|o| o["name"].clone())
        .collect();
    assert!(names.contains(&json!("inner")), "{names:?}");
    assert!(
        answers(&bench)[0]["spec.id"].is_string(),
        "{:?}",
        answers(&bench)
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
    assert_eq!(counts(&bench.stage().expect(0)), "");
}

#[test]
fn what_is_to_be_stable_is_waited_for_and_what_is_set_late_comes_with_the_answer() {
    let bench = bench("a deploy-stable other/slow/thing s\n");
    bench.deploy().expect(0);
    assert_eq!(bench.calls_of_other("ResourceHasStabilised").len(), 3);
    let answer = &answers(&bench)[0];
    let endpoint = answer["spec.endpoint"].as_str().unwrap();
    assert!(endpoint.starts_with("https://s-"), "{answer}");
}

#[test]
fn what_a_plugin_has_another_destroy_is_on_record_with_the_id_that_it_had() {
    let bench = bench("a destroy other/box used-1\n");
    bench.deploy().expect(0);
    assert_eq!(answers(&bench), [json!(true)]);
    assert_eq!(bench.world_of_other(), Vec::<Value>::new());
    let beside = operation(&bench, "fake_box.a")["beside"][0].clone();
    assert_eq!(
        (&beside["action"], &beside["end"]),
        (&json!("destroy"), &json!("done"))
    );
    // The second plugin reports that it did not destroy the object.
    std::fs::write(bench.other("troubles"), "Destroyed not 1\n").unwrap();
    bench.tell("asks", "try b destroy other/box used-1\n");
    let head = bench.workspace.read("main.tf");
    let more = "resource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";
    bench.workspace.write("main.tf", &format!("{head}{more}"));
    bench
        .run(&["deploy", "--auto-approve", "--refresh=false"])
        .expect(0);
    assert_eq!(answers(&bench)[1], json!(false));
    let beside = operation(&bench, "fake_box.b")["beside"][0].clone();
    assert_eq!(beside["end"], "failed");
}

#[test]
fn an_object_of_the_state_is_looked_up_by_the_id_that_the_world_has_for_it() {
    let bench = bench(
        "a lookup other/box used-1\ntry a lookup other/box nobody\ntry a lookup other/nothing x\ntry a lookup-elsewhere other/box used-1\n",
    );
    let run = bench.deploy().expect(0);
    let all = answers(&bench);
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
fn what_nobody_deploys_and_what_has_no_end_is_refused_to_the_plugin_in_words() {
    let bench =
        bench("try a deploy third/box x\na deploy fake/box loop\nloop deploy fake/box loop\n");
    let run = bench.deploy().expect(5);
    let nobody = "no plugin in use has a resource type \"third/box\"";
    assert_eq!(answers(&bench)[0], nobody);
    let endless = "more than 64 levels deep; the last request is for \"fake/box\"";
    assert!(said(&run).contains(endless), "{}", said(&run));
    let operation = operation(&bench, "fake_box.a");
    let beside = operation["beside"].as_array().unwrap();
    assert_eq!(beside.len(), 63, "what is refused is none");
    assert!(beside.iter().all(|b| b["end"] == "failed"), "{operation:#}");
    assert_eq!(beside[1]["asked_by"], "bluelink/fake for fake/box loop");
}

#[test]
fn for_which_of_several_calls_something_is_must_be_told_and_be_under_way() {
    let bench = bench(
        "a meet b\ntry a deploy-bare other/box bare\na later deploy other/box late\na deploy other/box told\n\
         b meet a\nb wait late-done\nb deploy-bare other/box last\n",
    );
    let head = bench.workspace.read("main.tf");
    let more = "resource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";
    bench.workspace.write("main.tf", &format!("{head}{more}"));
    let mut deploy = Live::deploy(&bench);
    deploy.until("the end of a", |e| {
        e["type"] == "operation" && e["address"] == "fake_box.a" && e["state"] == "done"
    });
    bench.tell("later-now", "");
    let of = |name: &str| {
        let mut all = bench.calls("Asked").into_iter();
        all.rfind(|a| a["asked"][2] == name || a["asked"][3] == name)
    };
    until("what comes too late", || of("late").is_some());
    bench.tell("late-done", "");
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
fn what_a_plugin_does_not_answer_that_was_to_deploy_for_another_is_unknown_until_it_is_seen_to() {
    let bench = bench("a deploy other/box inner\n");
    std::fs::write(bench.other("troubles"), "Deployed crash 1\n").unwrap();
    let run = bench.deploy().expect(5);
    assert!(said(&run).contains("the host says: "), "{}", said(&run));
    let told = "fake_box.a: side effect: create of other/box \"inner\", requested by bluelink/fake: unknown outcome: bluelink/other crashed";
    assert!(said(&run).contains(told), "{}", said(&run));
    let operation = operation(&bench, "fake_box.a");
    assert_eq!(operation["state"], "failed", "its own end is known");
    assert_eq!(operation["beside"][0]["end"], "unknown", "{operation:#}");
    assert_eq!(bench.world_of_other().len(), 2, "it was carried out");

    let told = said(&bench.stage());
    let words = "in deploy #2, bluelink/fake requested the create of other/box \"inner\", which has no recorded outcome";
    assert!(told.contains(words), "{told}");
    // A creation with an unknown outcome blocks the next deploy.
    let again = said(&bench.deploy().expect(1));
    assert!(again.contains("Object may already exist"), "{again}");
    assert_eq!(bench.world_of_other().len(), 2);
    let name = told.split("state forget '").nth(1).unwrap();
    let name = name.split('\'').next().unwrap();
    assert!(name.starts_with("fake_box.a (beside "), "{name}");
    bench.run(&["state", "forget", name]).expect(0);
    assert!(!said(&bench.stage()).contains("Unknown outcome"));
    bench.deploy().expect(0);
    assert_eq!(bench.stored("fake_box")["attributes"]["name"], "a");
}

#[test]
fn a_deed_goes_on_to_its_end_when_who_asked_for_it_is_gone() {
    let bench = bench("a deploy-and-exit other/box inner\n");
    std::fs::write(bench.other("asks"), "inner wait go\n").unwrap();
    let mut deploy = Live::deploy(&bench);
    until("the deed", || {
        bench.calls_of_other("DeployResource").len() == 2
    });
    bench.tell("exit-now", "");
    // The second plugin answers only after the requesting plugin has crashed.
    deploy.until("the crash", |e| {
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
    assert_eq!(bench.world_of_other().len(), 2);
}

#[test]
fn what_was_asked_for_when_flightdeck_was_killed_is_unknown_and_so_is_who_asked() {
    let bench = bench("a deploy other/box inner\n");
    std::fs::write(bench.other("asks"), "inner wait never\n").unwrap();
    let deploy = Live::deploy(&bench);
    until("the deed", || {
        bench.calls_of_other("DeployResource").len() == 2
    });
    deploy.kill();
    let operation = operation(&bench, "fake_box.a");
    assert_eq!(operation["state"], "unknown");
    assert_eq!(operation["beside"][0]["end"], "unknown", "{operation:#}");
    let told = || said(&bench.run(&["stage", "--json"]));
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
