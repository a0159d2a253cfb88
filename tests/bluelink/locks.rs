//! Tests of locks that plugins take on resources: shown with owner and waiting operations, released
//! with the call, refused if the wait would never end.

use crate::running_deploy::{RunningDeploy, operation, until};
use crate::workspace::TestWorkspace;
use serde_json::{Value, json};

const TWO: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\nresource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";

fn bench(asks: &str) -> TestWorkspace {
    let bench = TestWorkspace::with_plugin(TWO);
    bench.write_fault_file("asks", asks);
    bench
}

fn is_waiting(event: &Value, address: &str) -> bool {
    event["type"] == "call_queued"
        && event["method"] == "AcquireResourceLock"
        && event["resource"] == address
}

/// Reported states of locks: owner, waiting operations, and if the lock is held.
fn reported_locks(events: &[Value]) -> Vec<Value> {
    let all = events.iter().filter(|e| e["type"] == "resource_lock");
    all.map(|l| json!([l["name"], l["holder"], l["waiters"], l["held"]]))
        .collect()
}

/// Answer that a box received to its request.
fn answer(bench: &TestWorkspace, of: &str, asked: &[&str]) -> Option<Value> {
    let mut all = bench.calls("Asked").into_iter();
    all.rfind(|a| a["box"] == of && a["asked"] == json!(asked))
}

#[test]
fn s2_11_lock_is_waited_for_until_its_call_ends_and_its_owner_is_shown() {
    let bench = bench("a lock roles\na meet b\na wait in-line\nb meet a\nb lock roles\n");
    let mut deploy = RunningDeploy::deploy(&bench);
    let call = deploy.read_until("the call of a", |e| {
        e["type"] == "call_started"
            && e["method"] == "DeployResource"
            && e["resource"] == "fake_box.a"
    });
    let line = deploy.read_until("b in line", |e| is_waiting(e, "fake_box.b"));
    assert_eq!(line["waits_for"], "lock on \"roles\", held by fake_box.a");
    assert_eq!(line["blocker"], call["call"]);
    assert_eq!(line["plugin"], "bluelink/fake");
    assert_eq!(line["deadline_ms"], 900_000, "every wait has an end");
    assert_eq!(answer(&bench, "b", &["lock", "roles"]), None);
    bench.write_fault_file("in-line", "");
    let (code, events) = deploy.end();
    assert_eq!(code, Some(0), "{events:#?}");
    let of = |holder: &str, waiters: &[&str], held: bool| json!(["roles", holder, waiters, held]);
    assert_eq!(
        reported_locks(&events),
        [
            of("fake_box.a", &[], true),
            of("fake_box.a", &["fake_box.b"], true),
            of("fake_box.a", &[], false),
            of("fake_box.b", &[], true),
            of("fake_box.b", &[], false),
        ]
    );
    let ended = events
        .iter()
        .find(|e| e["type"] == "call_finished" && e["call"] == line["call"]);
    assert_eq!(ended.unwrap()["outcome"], "ok");
}

#[test]
fn s2_11_lock_request_that_would_deadlock_is_refused_and_reported_to_both() {
    let bench =
        bench("a lock roles\na meet b\na lock tables\nb lock tables\nb meet a\nb lock roles\n");
    let (code, events) = RunningDeploy::deploy(&bench).end();
    assert_eq!(code, Some(5), "{events:#?}");
    let (a, b) = (
        operation(&bench, "fake_box.a"),
        operation(&bench, "fake_box.b"),
    );
    // The operation that requested its second lock later fails, which depends on timing.
    let (lost, won, lacks, has) = match a["state"] == "failed" {
        true => (a, b, "tables", "roles"),
        false => (b, a, "roles", "tables"),
    };
    assert_eq!(
        (&lost["state"], &won["state"]),
        (&json!("failed"), &json!("done"))
    );
    let words = format!(
        "the lock on {lacks:?} is refused: {0} would deadlock: it would wait for the lock on {lacks:?}, held by {1}, which waits for the lock on {has:?}, held by {0}",
        lost["address"].as_str().unwrap(),
        won["address"].as_str().unwrap()
    );
    let why = lost["failure"]["summary"].as_str().unwrap();
    assert!(why.contains(&words), "{words}\n{why}");
    for operation in [&lost, &won] {
        assert_eq!(operation["warnings"], json!([words]), "{operation:#}");
    }
    let notice = events.iter().find(|e| e["type"] == "notice");
    assert_eq!(notice.unwrap()["text"], words);
    let line = events
        .iter()
        .rfind(|e| is_waiting(e, won["address"].as_str().unwrap()));
    let line = line.unwrap()["waits_for"].as_str().unwrap();
    let meanwhile =
        format!("requested the lock on {lacks:?} and was refused to prevent a deadlock");
    assert!(line.contains(&meanwhile), "{line}");
}

#[test]
fn lock_is_released_when_its_plugin_ends() {
    let bench = TestWorkspace::with_two_plugins(
        "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\nresource \"other_box\" \"b\" {\n  name = \"b\"\n}\n",
    );
    bench.write_fault_file("asks", "a lock roles\na wait go\na exit\n");
    std::fs::write(bench.other("asks"), "b wait go\nb lock roles\n").unwrap();
    let mut deploy = RunningDeploy::deploy(&bench);
    deploy.read_until("the lock", |e| e["type"] == "resource_lock");
    std::fs::write(bench.other("go"), "").unwrap();
    deploy.read_until("b in line", |e| is_waiting(e, "other_box.b"));
    bench.write_fault_file("go", "");
    let (code, events) = deploy.end();
    assert_eq!(code, Some(5), "{events:#?}");
    let last = reported_locks(&events);
    assert_eq!(
        last.last(),
        Some(&json!(["roles", "other_box.b", [], false]))
    );
    assert_eq!(operation(&bench, "fake_box.a")["state"], "unknown");
    assert_eq!(operation(&bench, "other_box.b")["state"], "done");
}

#[test]
fn wait_for_a_lock_has_a_deadline() {
    let mut bench = bench("a lock roles\na meet b\na wait refused\nb meet a\ntry b lock roles\n");
    bench.set("FLIGHTDECK_RESOURCE_LOCK_MS", "200");
    let deploy = RunningDeploy::deploy(&bench);
    until("the refusal", || {
        answer(&bench, "b", &["lock", "roles"]).is_some()
    });
    let refused = answer(&bench, "b", &["lock", "roles"]).unwrap();
    assert_eq!(
        refused["error"],
        "failed to acquire the lock on \"roles\": it was not released within 200 ms (lock on \"roles\", held by fake_box.a)"
    );
    bench.write_fault_file("refused", "");
    let (code, events) = deploy.end();
    assert_eq!(code, Some(0), "{events:#?}");
    let all = reported_locks(&events);
    assert_eq!(all[2], json!(["roles", "fake_box.a", [], true]), "{all:?}");
}

#[test]
fn repeated_lock_requests_of_a_call_and_its_requested_calls_succeed() {
    let asks = [
        "a lock roles link",
        "a lock roles link",
        "a lock roles",
        "a deploy fake/box inner",
        "inner lock roles",
        "try a lock roles another",
        "a lock tables",
        "a deploy fake/box second",
        "try second lock roles another",
        "",
    ];
    let bench = bench(&asks.join("\n"));
    let (code, events) = RunningDeploy::deploy(&bench).end();
    assert_eq!(code, Some(0), "{events:#?}");
    assert_eq!(
        answer(&bench, "inner", &["lock", "roles"]).unwrap()["ok"],
        true
    );
    let refused = answer(&bench, "a", &["lock", "roles", "another"]).unwrap();
    let own = "fake_box.a (another) would deadlock: it would wait for the lock on \"roles\", held by fake_box.a (link)";
    assert!(
        refused["error"].to_string().replace('\\', "").contains(own),
        "{refused}"
    );
    let refused = answer(&bench, "second", &["lock", "roles", "another"]).unwrap();
    let behind = "held by fake_box.a (link), which waits for a call made on its behalf";
    assert!(refused["error"].to_string().contains(behind), "{refused}");
    let ends: Vec<Value> = reported_locks(&events)
        .into_iter()
        .filter(|l| l[3] == false)
        .collect();
    assert_eq!(ends.len(), 2, "each is given back once: {ends:?}");
}
