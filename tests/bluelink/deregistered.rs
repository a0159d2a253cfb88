//! Tests of calls to a plugin that deregisters while it is in use.

use crate::launches::{attempts, logs};
use crate::workspace::TestWorkspace;
use serde_json::Value;

const BOXES: &str =
    "resource \"fake_box\" \"all\" {\n  count = 4\n  name  = \"box-${count.index}\"\n}\n";

/// Calls that the plugin received after the host had accepted its deregistration.
fn late_calls(bench: &TestWorkspace) -> Vec<Value> {
    let text = std::fs::read_to_string(bench.file("calls")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|call: &Value| call["after_deregistration"] == true)
        .collect()
}

fn crashes(stdout: &str) -> Vec<String> {
    let events = stdout.lines().filter_map(|l| serde_json::from_str(l).ok());
    let is_crash = |event: &Value| event["type"] == "plugin" && event["what"] == "crash";
    let crashes = events.filter(is_crash);
    crashes.map(|event| event["text"].to_string()).collect()
}

#[test]
fn deregistered_plugin_gets_no_further_call_and_its_successor_gets_the_queued_ones() {
    let mut bench = TestWorkspace::with_plugin(BOXES);
    bench.set("FLIGHTDECK_SLOTS", "1");
    bench.write_fault_file("troubles", "DeployResource deregister 1\n");
    let run = bench.deploy();
    assert_eq!(late_calls(&bench), Vec::<Value>::new());
    assert!(logs(&bench).contains("the plugin has deregistered and receives no further calls"));
    // The running call ended with its answer, the others were made by the next process.
    assert_eq!(bench.calls("DeployResource").len(), 4, "{run:#?}");
    assert_eq!(bench.plugin_objects().len(), 4, "{run:#?}");
    let state = bench.workspace.read("terraform.tfstate");
    assert_eq!(state.matches("\"index_key\"").count(), 4, "{state}");
    let told = run.diagnostics();
    let unknown = "deployed, but its stability is unknown";
    let of_first = |d: &&Value| d["summary"] == unknown;
    assert_eq!(told.iter().filter(of_first).count(), 1, "{told:#?}");
    assert_eq!(run.code, Some(5), "{run:#?}");
    bench.deploy().expect(0);
}

#[test]
fn calls_in_other_slots_end_with_their_answers_when_the_plugin_deregisters() {
    let bench = TestWorkspace::with_plugin(BOXES);
    bench.write_fault_file("troubles", "DeployResource deregister 1\n");
    let run = bench.deploy();
    assert_eq!(late_calls(&bench), Vec::<Value>::new(), "{run:#?}");
    assert_eq!(bench.plugin_objects().len(), 4, "{run:#?}");
    assert!(!run.stdout.contains("unknown outcome"), "{run:#?}");
}

#[test]
fn plugin_that_deregisters_during_its_launch_is_not_called_and_is_launched_again() {
    let bench = TestWorkspace::with_plugin("provider \"fake\" {}\n");
    bench.write_fault_file("troubles", "GetNamespace deregister 1\n");
    let (run, plugin) = bench.plugin();
    run.expect(0);
    let [first, second] = &attempts(&plugin)[..] else {
        panic!("{plugin:#}")
    };
    assert_eq!(first["verdict"]["kind"], "deregistered");
    assert_eq!(second["verdict"]["kind"], "ready");
    assert_eq!(late_calls(&bench), Vec::<Value>::new());
}

#[test]
fn incident_of_a_deregistered_plugin_says_that_it_deregistered() {
    let bench = TestWorkspace::with_plugin(BOXES);
    bench.write_fault_file("troubles", "DeployResource deregister 1\n");
    let run = bench.deploy();
    let told = crashes(&run.stdout);
    let cause = "it deregistered without exiting and was killed";
    assert!(told.iter().any(|text| text.contains(cause)), "{run:#?}");
}
