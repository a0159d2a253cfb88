//! Tests with real plugin processes: the bundled lab, its faults, and signals during a deploy.

use crate::support::{Run, Workspace};
use bundled::lab::control::{self, Fault, Kind};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

const BUCKETS: &str = r#"
resource "lab_bucket" "a" {
  name = "a"
}

resource "lab_bucket" "b" {
  name = "b-${lab_bucket.a.name}"
}
"#;

pub(crate) struct Lab {
    pub(crate) workspace: Workspace,
}

impl Lab {
    pub(crate) fn new(resources: &str) -> Self {
        let workspace = Workspace::new(&[]);
        let lab = Self { workspace };
        let provider = format!(
            "terraform {{\n  required_providers {{\n    lab = {{ source = \"flightdeck.internal/bundled/lab\" }}\n  }}\n}}\n\
             provider \"lab\" {{\n  file = {:?}\n}}\n",
            lab.file().display().to_string()
        );
        lab.workspace.write("provider.tf", &provider);
        lab.workspace.write("main.tf", resources);
        lab
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.workspace.path().join("lab.json")
    }

    pub(crate) fn set_fault(&self, fault: Fault) {
        control::set(&self.file(), fault).unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.workspace.run(args)
    }

    pub(crate) fn deploy(&self) -> Run {
        self.run(&["deploy", "--auto-approve", "--json"])
    }
}

/// Deploy that runs beside the test.
pub(crate) struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    seen: Vec<Value>,
}

impl Running {
    pub(crate) fn start(lab: &Lab) -> Self {
        Self::start_with(lab, &[])
    }

    pub(crate) fn start_with(lab: &Lab, more: &[&str]) -> Self {
        Self::run(
            lab,
            &[&["deploy", "--auto-approve", "--json"], more].concat(),
        )
    }

    /// Starts flightdeck with these arguments, which must include `--json`.
    pub(crate) fn run(lab: &Lab, words: &[&str]) -> Self {
        Self::of(lab.workspace.command(words))
    }

    /// Starts a command with `--json`.
    pub(crate) fn of(mut command: std::process::Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// Reads up to the call that creates the first resource; returns the plugin's pid.
    pub(crate) fn until_applying(&mut self) -> i32 {
        self.read_until(|e| e["type"] == "call_started" && e["method"] == "ApplyResourceChange");
        let pid = |e: &Value| e["attempt"]["pid"].as_i64();
        i32::try_from(self.seen.iter().rev().find_map(pid).unwrap()).unwrap()
    }

    /// Reads up to the first event that matches.
    pub(crate) fn read_until(&mut self, wanted: impl Fn(&Value) -> bool) {
        for line in self.lines.by_ref() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let is_it = wanted(&event);
            self.seen.push(event);
            if is_it {
                return;
            }
        }
        panic!("that did not come: {:#?}", self.seen);
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end; returns exit code and result.
    pub(crate) fn end(self) -> (Option<i32>, Value) {
        let (code, result, _) = self.end_with_output();
        (code, result)
    }

    /// Waits for the end; returns exit code, result and all output.
    pub(crate) fn end_with_output(mut self) -> (Option<i32>, Value, String) {
        let rest: Vec<Value> = self
            .lines
            .by_ref()
            .map(|l| serde_json::from_str(&l.unwrap()).unwrap())
            .collect();
        let mut stderr = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        let said: Vec<String> = rest
            .iter()
            .filter(|e| e["type"] == "diagnostic")
            .map(ToString::to_string)
            .collect();
        (
            self.child.wait().unwrap().code(),
            rest.last().cloned().unwrap_or_default(),
            said.join("\n") + &stderr,
        )
    }
}

pub(crate) fn has_ended(pid: i32) -> bool {
    let ends = Instant::now() + Duration::from_secs(200);
    while Instant::now() < ends {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn bundled_provider_is_listed_staged_deployed_and_destroyed() {
    let lab = Lab::new(BUCKETS);
    let plugins = lab.run(&["plugins", "--json"]).expect(0).result()["plugins"].clone();
    assert_eq!(plugins.as_array().unwrap().len(), 1, "{plugins}");
    assert_eq!(
        plugins[0]["attempts"][0]["verdict"]["kind"], "ready",
        "{plugins}"
    );
    let text = lab.run(&["plugins"]).expect(0).stdout;
    assert!(text.contains("ready") && text.contains("bundled"), "{text}");
    assert!(
        lab.run(&["plugins", "nothing-like-it"])
            .expect(1)
            .stderr
            .contains("nothing-like-it")
    );

    assert_eq!(
        lab.run(&["stage", "--json"]).expect(0).result()["changes"]["create"],
        2
    );
    assert_eq!(lab.deploy().expect(0).result()["operations"]["done"], 2);
    assert_eq!(control::objects(&lab.file()).unwrap().len(), 2);
    assert_eq!(
        lab.run(&["stage", "--json", "--detailed-exitcode"])
            .expect(0)
            .result()["changes"]["no_op"],
        2
    );
    let pid =
        lab.run(&["plugins", "--json"]).expect(0).result()["plugins"][0]["attempts"][0]["pid"]
            .as_i64()
            .unwrap();
    assert!(
        has_ended(i32::try_from(pid).unwrap()),
        "no plugin outlives its command"
    );

    // An object deleted outside flightdeck is created again.
    let first = control::objects(&lab.file()).unwrap()[0].id.clone();
    control::delete_object(&lab.file(), &first).unwrap();
    let staged = lab.run(&["stage", "--json"]).expect(0);
    assert_eq!(staged.result()["changes"]["create"], 1);
    lab.deploy().expect(0);
    assert_eq!(
        lab.run(&["destroy", "--auto-approve", "--json"])
            .expect(0)
            .result()["operations"]["done"],
        2
    );
    assert!(control::objects(&lab.file()).unwrap().is_empty());
}

#[test]
fn transient_error_is_retried_and_permanent_one_is_recorded() {
    let lab = Lab::new(BUCKETS);
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Transient)
    });
    lab.deploy().expect(5);
    lab.deploy().expect(0);
    let group = lab.run(&["failures", "--json"]).expect(0).result()["failures"][0].clone();
    assert_eq!(
        group["followed_by"],
        "create of lab_bucket.a in deploy 2 succeeded"
    );

    lab.run(&["destroy", "--auto-approve"]).expect(0);
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Permanent)
    });
    let run = lab.deploy().expect(5);
    assert_eq!(
        run.result()["operations"],
        json!({"done": 0, "failed": 1, "not_attempted": 1, "unknown": 0, "half_replaced": 0})
    );
    assert_eq!(run.diagnostics().len(), 1, "{:?}", run.diagnostics());
    let groups = lab.run(&["failures", "--json"]).expect(0).result()["failures"].clone();
    assert_eq!(groups[0]["addresses"], json!(["lab_bucket.a"]));
    assert_eq!(
        groups[0]["deploys"],
        json!([4]),
        "not the same as the one before: {groups}"
    );
    assert!(lab.run(&["history"]).expect(0).stdout.contains("failed"));
}

#[test]
fn crash_is_one_incident_with_the_last_output_lines() {
    let lab = Lab::new(BUCKETS);
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Crash)
    });
    let run = lab.deploy().expect(5);
    let operations = run.result()["operations"].clone();
    assert_eq!(
        operations["failed"].as_u64().unwrap() + operations["unknown"].as_u64().unwrap(),
        1,
        "{operations}"
    );
    let crashes = run.lines().iter().filter(|e| e["what"] == "crash").count();
    assert_eq!(crashes, 1);
    let group = lab.run(&["failures", "--json"]).expect(0).result()["failures"][0].clone();
    assert_eq!(group["class"], "plugin_crashed", "{group}");
    assert!(
        group["last_lines"].to_string().contains("panic"),
        "readable after the process is gone: {group}"
    );
    assert!(lab.run(&["logs", "lab"]).expect(0).stdout.contains("panic"));
}

#[test]
fn first_signal_lets_running_operations_finish() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let lab = Lab::new(BUCKETS);
        lab.set_fault(Fault {
            times: Some(1),
            ..Fault::new(Kind::Hang)
        });
        let mut running = Running::start(&lab);
        let pid = running.until_applying();
        running.signal(signal);
        let (code, result) = running.end();
        assert_eq!(
            (code, &result["outcome"]),
            (Some(130), &json!("cancelled")),
            "{result}"
        );
        assert_eq!(
            result["operations"]["not_attempted"].as_u64().unwrap()
                + result["operations"]["failed"].as_u64().unwrap(),
            2,
            "{result}"
        );
        assert!(has_ended(pid));
        assert_eq!(
            lab.run(&["history", "--json"]).expect(0).result()["history"][0]["outcome"],
            "cancelled"
        );
    }
}

#[test]
fn second_signal_kills_and_records_unknown_outcomes() {
    let lab = Lab::new(BUCKETS);
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Hang)
    });
    let mut running = Running::start(&lab);
    let pid = running.until_applying();
    // Stop the plugin, so that it does not even answer Stop.
    let plugin = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(plugin, rustix::process::Signal::STOP).unwrap();
    running.signal(rustix::process::Signal::INT);
    running.read_until(|e| e["type"] == "cancel");
    // A signal of another kind, because two equal signals within moments count as one.
    running.signal(rustix::process::Signal::TERM);
    let (code, result) = running.end();
    assert_eq!(code, Some(130), "{result}");
    assert!(has_ended(pid));
    let record = lab.run(&["history", "1", "--json"]).expect(0).result()["history"][0].clone();
    assert_eq!(record["operations"]["unknown"], 1, "{record}");
    assert_eq!(record["operation_list"][0]["state"], "unknown", "{record}");
}

#[test]
fn killed_deploy_is_interrupted_with_its_plugin_ended_and_its_lock_free() {
    let lab = Lab::new(BUCKETS);
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Hang)
    });
    let mut running = Running::start(&lab);
    let pid = running.until_applying();
    assert!(
        lab.run(&["stage"]).expect(4).stderr.contains("deploy"),
        "held while it runs"
    );
    // Readers see the state of the running operation.
    let record = || lab.run(&["history", "1", "--json"]).expect(0).result();
    let stands = || record()["history"][0]["operation_list"][0]["state"].clone();
    let patience = Instant::now() + Duration::from_secs(60);
    while stands() != "running" {
        assert!(Instant::now() < patience, "{}", record());
    }
    running.signal(rustix::process::Signal::KILL);
    running.end();
    assert!(has_ended(pid), "the plugin dies with us");
    let record = lab.run(&["history", "--json"]).expect(0).result()["history"][0].clone();
    assert_eq!(record["outcome"], "interrupted");
    let run = lab.run(&["stage"]).expect(0);
    assert!((run.stdout + &run.stderr).contains("replaced the stale workspace lock"));
    let record = lab.run(&["history", "1", "--json"]).expect(0).result()["history"][0].clone();
    assert_eq!(
        (
            &record["operations"]["unknown"],
            &record["operations"]["not_attempted"]
        ),
        (&json!(1), &json!(1)),
        "{record}"
    );
}

#[test]
fn missing_provider_is_reported_once_with_the_searched_places() {
    let w = Workspace::new(&[("main.tf", "resource \"random_pet\" \"name\" {\n}\n")]);
    let run = w.run(&["plugins"]).expect(3);
    assert_eq!(
        run.stdout.matches("TF_REATTACH_PROVIDERS: not set").count(),
        1,
        "{run:?}"
    );
    assert!(!run.stdout.contains("from nowhere"), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    let stage = w.run(&["stage"]).expect(3);
    assert_eq!(
        stage
            .stderr
            .matches("TF_REATTACH_PROVIDERS: not set")
            .count(),
        1,
        "{stage:?}"
    );
    let json = w.run(&["plugins", "--json"]).expect(3);
    let diagnostic = json.diagnostics().first().cloned().unwrap();
    assert_eq!(
        diagnostic["summary"].as_str().map(|s| s.lines().count()),
        Some(1),
        "{diagnostic}"
    );
    assert!(
        diagnostic["detail"]
            .as_str()
            .unwrap()
            .contains("TF_REATTACH_PROVIDERS"),
        "{diagnostic}"
    );
}
