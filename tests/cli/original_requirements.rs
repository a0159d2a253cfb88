//! Tests of the original requirements on whole deploys: order of the graph walk, order of calls to
//! a plugin, and independent crashes of plugins.

use crate::lab_deploys::Lab;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

/// The second object depends on the first.
const CHAIN: &str = r#"
resource "lab_bucket" "b" {
  name = "b-${lab_bucket.a.name}"
}

resource "lab_bucket" "a" {
  name = "a"
}
"#;

fn of<'e>(events: &'e [Value], address: &str) -> Vec<&'e Value> {
    let its = |e: &&Value| e["type"] == "operation" && e["address"] == address;
    events.iter().filter(its).collect()
}

#[test]
fn s0_15_operation_events_have_state_dependencies_and_plugin() {
    let lab = Lab::new(CHAIN);
    let run = lab.deploy().expect(0);
    let events: Vec<Value> = run.lines();
    let second = of(&events, "lab_bucket.b");
    let states: Vec<&str> = second.iter().filter_map(|o| o["state"].as_str()).collect();
    assert_eq!(states, ["waiting", "running", "done"]);
    assert_eq!(second[0]["waits_for"][0], "lab_bucket.a");
    assert!(second.iter().all(|o| o["plugin"] == "bundled/lab"));
    // An operation begins only after its dependencies are done.
    let at = |address: &str, state: &str| {
        let one = of(&events, address)
            .into_iter()
            .find(|o| o["state"] == state);
        one.and_then(|o| o["seq"].as_u64()).unwrap()
    };
    assert!(at("lab_bucket.a", "done") < at("lab_bucket.b", "running"));
}

#[test]
fn s1_07_schema_is_fetched_once_and_calls_are_visible_in_order() {
    let lab = Lab::new(CHAIN);
    let run = lab.deploy().expect(0);
    let events = run.lines();
    let ended: Vec<&Value> = events
        .iter()
        .filter(|e| e["what"] == "attempt" && !e["attempt"]["verdict"].is_null())
        .collect();
    assert_eq!(ended.len(), 1, "one process, launched once");
    let phases = ended[0]["attempt"]["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(
        names,
        ["exec", "first_output", "handshake", "connected", "schema"]
    );
    let calls: Vec<&Value> = events
        .iter()
        .filter(|e| e["type"] == "call_finished" && e["resource"] == "lab_bucket.a")
        .collect();
    let methods: Vec<&str> = calls.iter().filter_map(|c| c["method"].as_str()).collect();
    assert_eq!(
        methods,
        [
            "ValidateResourceConfig",
            "ValidateResourceConfig",
            "PlanResourceChange",
            "PlanResourceChange",
            "ApplyResourceChange"
        ],
        "checked as it is written and as it comes out, planned, planned again, and made"
    );
    assert!(calls.iter().all(|c| c["took_ms"].is_u64()), "{calls:#?}");
    let schemas = events
        .iter()
        .filter(|e| e["type"] == "call_finished" && e["method"] == "GetProviderSchema");
    assert_eq!(schemas.count(), 0, "it came with the launch");
}

/// Three plugins; the second one is slow.
const THREE: &str = r#"
provider "lab" {
  alias = "other"
  file  = "other.json"
}

resource "lab_thing" "slow" {
  name = "slow"
  fault {
    kind = "hang"
  }
}

resource "lab_bucket" "other" {
  provider   = lab.other
  name       = "other"
  depends_on = [terraform_data.gate]
}

resource "local_file" "note" {
  filename   = "note.txt"
  content    = "here"
  depends_on = [terraform_data.gate]
}

resource "terraform_data" "gate" {
  provisioner "local-exec" {
    command = "for n in $(seq 600); do [ -e go ] && exit 0; sleep 0.1; done; exit 1"
  }
}
"#;

#[test]
fn s0_02_killed_plugin_does_not_affect_other_plugins() {
    let lab = Lab::new(THREE);
    let both = lab.workspace.read("provider.tf").replace(
        "required_providers {",
        "required_providers {\n    local = { source = \"flightdeck.internal/bundled/local\" }",
    );
    lab.workspace.write("provider.tf", &both);
    let args = ["deploy", "--auto-approve", "--json"];
    let mut deploy = lab.workspace.command(&args).spawn().unwrap();
    let lines = BufReader::new(deploy.stdout.take().unwrap()).lines();
    let mut events: Vec<Value> = Vec::new();
    let mut killed = false;
    for line in lines {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let sent = event["type"] == "call_started" && event["method"] == "ApplyResourceChange";
        let hangs = sent && event["resource"] == "lab_thing.slow";
        events.push(event);
        if hangs && !killed {
            let plugin = events.last().and_then(|e| e["plugin"].as_str());
            let pid = pid_of(&events, plugin.unwrap());
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            killed = true;
        }
        // The two others are called after the first plugin has crashed.
        if killed && events.last().is_some_and(|e| e["what"] == "crash") {
            lab.workspace.write("go", "");
        }
    }
    let ends = Instant::now() + Duration::from_secs(60);
    while deploy.try_wait().unwrap().is_none() {
        assert!(Instant::now() < ends, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let last = |address: &str| of(&events, address).last().unwrap()["state"].clone();
    assert_eq!(last("lab_thing.slow"), "unknown");
    assert_eq!(last("lab_bucket.other"), "done");
    assert_eq!(last("local_file.note"), "done");
    let crashes = events.iter().filter(|e| e["what"] == "crash").count();
    assert_eq!(crashes, 1);
}

/// Pid of a plugin's last launch.
fn pid_of(events: &[Value], plugin: &str) -> i32 {
    let its = |e: &&Value| e["what"] == "attempt" && e["plugin"] == plugin;
    let pid = events.iter().rev().find(its).unwrap()["attempt"]["pid"].as_i64();
    i32::try_from(pid.unwrap()).unwrap()
}
