//! Tests of events in a plugin's use: killed, hanging, replaced, and restarted.

use crate::observed_run::{FaultWorkspace, Running, assert_contains};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

const DEPLOY: &[&str] = &["deploy", "--auto-approve", "--json"];
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts a deploy and waits for the fake's apply; returns the fake's pid.
fn start_hanging_deploy(bench: &FaultWorkspace) -> (Running, Pid) {
    let running = bench.start(DEPLOY, &[]);
    let ends = Instant::now() + PATIENCE;
    loop {
        let text = std::fs::read_to_string(bench.folder().join("applying")).unwrap_or_default();
        if let Some(pid) = text
            .strip_suffix('\n')
            .and_then(|pid| pid.parse().ok())
            .and_then(Pid::from_raw)
        {
            return (running, pid);
        }
        assert!(Instant::now() < ends, "it was not asked to apply");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn killed_plugin_is_reported_with_a_hint_about_memory() {
    let bench = FaultWorkspace::new("hangs-in-apply");
    let (running, pid) = start_hanging_deploy(&bench);
    kill_process(pid, Signal::KILL).unwrap();
    let seen = running.end().expect(5);
    let operation = seen.operation("fake_thing.x");
    let failure = &operation["failure"];
    assert_eq!(
        (&operation["state"], &failure["class"]),
        (&"unknown".into(), &"plugin_crashed".into()),
        "{operation}"
    );
    // If the system counts kills for lack of memory, this was not one.
    assert_contains(
        failure["summary"].as_str().unwrap(),
        &[
            "crashed during ApplyResourceChange",
            "killed by SIGKILL (9), sent from outside flightdeck",
            "memory",
        ],
    );
    let crashes = seen.crashes();
    assert_eq!(
        (crashes.len(), crashes[0]["signal"].as_i64()),
        (1, Some(9)),
        "{crashes:?}"
    );
    assert_eq!(seen.operation("lab_bucket.good")["state"], "done");
    assert_eq!(bench.remaining_processes(), Vec::<String>::new());
}

/// Control group below the one that the environment names, with a memory limit.
struct Group(std::path::PathBuf);

impl Group {
    fn new(parent: &std::path::Path, limit: &str) -> Self {
        let it = Self(parent.join(format!("flightdeck-test-{}", std::process::id())));
        std::fs::create_dir(&it.0).unwrap();
        // cgroup version 2 or 1.
        let file = ["memory.max", "memory.limit_in_bytes"]
            .map(|f| it.0.join(f))
            .into_iter()
            .find(|f| f.exists());
        std::fs::write(file.expect("a group with a memory controller"), limit).unwrap();
        it
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group is empty, unless the test has failed.
        std::fs::remove_dir(&self.0).ok();
    }
}

#[test]
fn plugin_killed_for_lack_of_memory_is_reported() {
    // Needs a writable control group; unit tests read prepared kernel files instead.
    let Some(parent) = std::env::var_os("FLIGHTDECK_TEST_CGROUP") else {
        cty::testing::skipped("FLIGHTDECK_TEST_CGROUP names no control group");
        return;
    };
    let group = Group::new(parent.as_ref(), "268435456");
    let bench = FaultWorkspace::new("takes-all-memory-in-apply");
    let running = bench.start(DEPLOY, &[]);
    std::fs::write(group.0.join("cgroup.procs"), running.pid().to_string()).unwrap();
    let seen = running.end().expect(5);
    let operation = seen.operation("fake_thing.x");
    let text = operation["failure"]["summary"].as_str().unwrap();
    assert_contains(
        text,
        &[
            "crashed during ApplyResourceChange",
            "killed by SIGKILL (9): its control group ran out of memory; raise the memory limit",
        ],
    );
    assert_eq!(seen.operation("lab_bucket.good")["state"], "done");
    assert_eq!(bench.remaining_processes(), Vec::<String>::new());
}

#[test]
fn hanging_plugin_is_killed_by_the_second_signal() {
    // The plugin neither answers the apply nor ends when asked.
    let bench = FaultWorkspace::new("stubborn");
    let (running, _) = start_hanging_deploy(&bench);
    running.signal(Signal::INT);
    let ends = Instant::now() + PATIENCE;
    // The lab's apply may finish; the fake's apply is never dropped.
    while bench.count("stops") == 0 {
        assert!(Instant::now() < ends, "it was not asked to stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!bench.running_processes().is_empty());
    running.signal(Signal::TERM);
    let seen = running.end();
    assert!(matches!(seen.code, Some(5 | 130)), "{seen:#?}");
    let operation = seen.operation("fake_thing.x");
    assert_eq!(
        (&operation["state"], &operation["failure"]["class"]),
        (&"unknown".into(), &"cancelled".into()),
        "{operation}"
    );
    assert_contains(
        operation["failure"]["summary"].as_str().unwrap(),
        &["was stopped during ApplyResourceChange"],
    );
    assert_eq!(bench.remaining_processes(), Vec::<String>::new());
}

#[test]
fn crashed_plugin_is_restarted_and_serves_remaining_operations() {
    let bench = FaultWorkspace::new("panics-once");
    bench.add("resource \"fake_thing\" \"y\" {\n  name = \"y\"\n}\n");
    // With one slot, the second call waits in line while the first one crashes the plugin.
    let seen = bench.run(DEPLOY, &[("FLIGHTDECK_SLOTS", "1")]).expect(5);
    let mut states = ["fake_thing.x", "fake_thing.y"]
        .map(|a| seen.operation(a)["state"].as_str().unwrap().to_owned());
    states.sort();
    assert_eq!(states, ["done", "unknown"], "{seen:#?}");
    assert_eq!(seen.crashes().len(), 1);
    assert_eq!(bench.count("launches"), 2);
    assert_eq!(seen.operation("lab_bucket.good")["state"], "done");
}

/// As in OpenTofu, an output keeps its approved value until the next stage.
#[test]
fn output_without_planned_change_keeps_its_value() {
    let bench = FaultWorkspace::new("legacy-other-note");
    let more = |name: &str| {
        format!(
            "resource \"fake_thing\" \"y\" {{\n  name = \"{name}\"\n  note = \"one\"\n}}\noutput \"note\" {{\n  value = fake_thing.y.note\n}}\n"
        )
    };
    bench.add(&more("a"));
    bench.run(DEPLOY, &[]).expect(0);
    bench.add(&more("b"));
    bench.run(DEPLOY, &[]).expect(0);
    let exported = bench.run(&["state", "export"], &[]).expect(0).stdout;
    let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
    let y = exported["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == "y")
        .unwrap();
    assert_eq!(y["instances"][0]["attributes"]["note"], "another");
    assert_eq!(exported["outputs"]["note"]["value"], "one");
}

#[test]
fn function_with_a_different_result_in_the_deploy_is_detected() {
    let bench = FaultWorkspace::new("answers-otherwise");
    bench.add("resource \"terraform_data\" \"t\" {\n  input = provider::fake::ticket()\n}\n");
    let seen = bench.run(DEPLOY, &[]).expect(5);
    let operation = seen.operation("terraform_data.t");
    assert_contains(
        operation["failure"]["detail"].as_str().unwrap(),
        &[
            "changed since the stage was planned",
            "::ticket",
            "the provider returns another result now",
        ],
    );
    assert_eq!(seen.operation("lab_bucket.good")["state"], "done");
}

#[test]
fn plugin_replaced_before_the_deploy_makes_the_stage_stale() {
    let bench = FaultWorkspace::new("replaces-itself");
    let seen = bench.run(DEPLOY, &[]).expect(1);
    assert_contains(
        &seen.diagnostics().concat(),
        &[
            "stage #1 is stale: the files of the plugin test.local/fakes/replaces-itself have changed since the stage was made; stage again",
        ],
    );
    assert!(
        seen.of_type("operation").is_empty(),
        "nothing was begun: {seen:#?}"
    );
}

#[test]
fn plugin_replaced_during_the_deploy_is_not_launched_with_new_contents() {
    let bench = FaultWorkspace::new("replaced-and-panics");
    bench.add("resource \"fake_thing\" \"y\" {\n  name = \"y\"\n}\n");
    let seen = bench.run(DEPLOY, &[("FLIGHTDECK_SLOTS", "1")]).expect(5);
    assert_eq!(seen.operation("lab_bucket.good")["state"], "done");
    let failures = ["fake_thing.x", "fake_thing.y"].map(|a| {
        seen.operation(a)["failure"]["summary"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    assert_contains(
        &failures.concat(),
        &[
            "crashed during ApplyResourceChange",
            "was replaced while it was in use",
            "stage again",
        ],
    );
    assert_eq!(
        bench.count("launches"),
        1,
        "the program that took its place was not started"
    );
}

#[test]
fn child_of_a_serving_plugin_ends_with_it() {
    let bench = FaultWorkspace::new("grandchild-in-use");
    let seen = bench.run(DEPLOY, &[]).expect(0);
    assert_eq!(seen.operation("fake_thing.x")["state"], "done");
    assert!(bench.folder().join("grandchild").exists(), "it had one");
}

/// Creates a plugin that starts processes inside and outside its process group, and then acts like
/// this fake.
fn with_daemons(fake: &str) -> FaultWorkspace {
    let script = format!(
        "#!/bin/sh\nsleep 3600 >/dev/null 2>&1 &\nsetsid sleep 3600 >/dev/null 2>&1 &\n\
         (setsid sh -c 'sleep 3600 & wait' >/dev/null 2>&1 &)\nexec {:?} {fake}\n",
        env!("CARGO_BIN_EXE_fake-plugin")
    );
    FaultWorkspace::of_file(fake, script.as_bytes(), 0o755)
}

#[test]
fn sessions_started_by_a_plugin_end_with_it() {
    let bench = with_daemons("good");
    bench.start(DEPLOY, &[]).end().expect(0);
    assert_eq!(bench.running_processes(), Vec::<String>::new(), "at once");
}

#[test]
fn processes_started_by_a_crashed_plugin_end_before_the_deploy() {
    let bench = with_daemons("hangs-in-apply");
    let (running, pid) = start_hanging_deploy(&bench);
    kill_process(pid, Signal::KILL).unwrap();
    running.end().expect(5);
    assert_eq!(bench.running_processes(), Vec::<String>::new(), "at once");
}

#[test]
fn processes_started_by_a_plugin_end_when_flightdeck_is_killed() {
    let bench = with_daemons("hangs-in-apply");
    let (running, _) = start_hanging_deploy(&bench);
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(bench.remaining_processes(), Vec::<String>::new());
}

#[test]
fn processes_of_other_plugins_survive_a_crash() {
    let bench = with_daemons("hangs-in-apply");
    let (running, pid) = start_hanging_deploy(&bench);
    let lab = |seen: &crate::observed_run::Observations| {
        seen.operation("lab_bucket.good")["state"].clone()
    };
    kill_process(pid, Signal::KILL).unwrap();
    let seen = running.end().expect(5);
    assert_eq!(lab(&seen), "done");
    assert_eq!(seen.crashes().len(), 1);
}
