//! Signals, and the end of flightdeck itself in the middle of a deploy.

use crate::{CHAIN, Lab};
use providers::lab::control::{Fault, Kind, On};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::time::Duration;

/// A deploy on its way: its process, and its output up to where the call that changes `address` was sent.
fn begin(lab: &Lab, address: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = lab.workspace.command(&["deploy", "--auto-approve", "--json"]).spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // A run that hangs fails its test instead of holding everything up: its output ends, and what was waited for is missing.
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(90));
        drop(kill_process(pid, Signal::KILL));
    });
    let mut out = BufReader::new(child.stdout.take().unwrap());
    until(&mut out, |l| l["type"] == "call_started" && l["method"] == "ApplyResourceChange" && l["resource"] == address);
    (child, out)
}

/// Reads lines until one fits; panics at the end of the output.
fn until(out: &mut BufReader<ChildStdout>, fits: impl Fn(&Value) -> bool) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the output ended early");
        let value: Value = serde_json::from_str(&line).unwrap();
        if fits(&value) {
            return value;
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

/// Processes that serve the lab for this workspace.
fn plugins_of(lab: &Lab) -> Vec<String> {
    let here = lab.workspace.path().canonicalize().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let serves = String::from_utf8_lossy(&line).contains("plugin\0serve");
        if serves && std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == here) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn hang(lab: &Lab, name: &str) {
    lab.break_it(Fault { on: On::Create, name: Some(name.to_owned()), ..Fault::new(Kind::Hang) });
}

#[test]
fn the_first_signal_stops_starting_and_asks_plugins_to_stop() {
    let lab = Lab::new(CHAIN);
    hang(&lab, "a");
    let (mut child, mut out) = begin(&lab, "lab_thing.a");
    signal(&child, Signal::INT);
    let result = until(&mut out, |l| l["type"] == "result");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(result["outcome"], "cancelled", "{result}");
    assert_eq!(result["operations"]["unknown"], 0, "{result}");
    assert!(result["operations"]["not_attempted"].as_u64().unwrap() >= 2, "{result}");
    assert!(plugins_of(&lab).is_empty());
    let history = lab.workspace.run(&["history", "--json"]).expect(0).result();
    assert_eq!(history["history"][0]["outcome"], "cancelled");
}

#[test]
fn the_second_signal_kills_the_plugins_and_the_outcome_is_unknown() {
    let lab = Lab::new(CHAIN);
    // Deaf to the request to stop: after the work is done the answer is withheld.
    lab.break_it(Fault { on: On::Create, name: Some("a".to_owned()), ms: Some(60_000), ..Fault::new(Kind::Latency) });
    let (mut child, mut out) = begin(&lab, "lab_thing.a");
    signal(&child, Signal::INT);
    until(&mut out, |l| l["type"] == "cancel");
    signal(&child, Signal::INT);
    // What comes until the end does not matter; that it comes does.
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(plugins_of(&lab).is_empty());
    lab.mend();
    let run = lab.workspace.run(&["stage", "--json"]).expect(0);
    let unknown: Vec<Value> = run.diagnostics().into_iter().filter(|d| d["summary"] == "Unknown outcome").collect();
    assert!(unknown.iter().any(|d| d["address"] == "lab_thing.a"), "{unknown:#?}");
}

#[test]
fn killed_in_the_middle_it_leaves_a_record_and_no_plugin() {
    let lab = Lab::new(CHAIN);
    hang(&lab, "b");
    let (mut child, out) = begin(&lab, "lab_thing.b");
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    drop(out);
    lab.mend();
    let run = lab.workspace.run(&["stage", "--json"]).expect(0);
    assert!(plugins_of(&lab).is_empty(), "plugins die with flightdeck");
    let unknown = run.diagnostics().into_iter().find(|d| d["summary"] == "Unknown outcome").unwrap();
    assert_eq!(unknown["address"], "lab_thing.b");
    assert!(run.lines().iter().any(|l| l["type"] == "notice" && l["text"].as_str().unwrap().contains("taken over")), "{run:#?}");
    let history = lab.workspace.run(&["history", "--json"]).expect(0).result();
    assert_eq!(history["history"][0]["outcome"], "interrupted", "{history}");
    assert!(lab.state().contains(&"lab_thing.a".to_owned()));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(lab.objects(), ["lab_thing.a", "lab_thing.b", "lab_thing.c", "lab_thing.d"]);
}

#[test]
fn a_second_process_is_told_who_holds_the_workspace() {
    let lab = Lab::new(CHAIN);
    hang(&lab, "a");
    let (mut child, mut out) = begin(&lab, "lab_thing.a");
    let run = lab.workspace.run(&["stage"]).expect(4);
    assert!(run.stderr.contains(&format!("pid {}", child.id())), "{run:#?}");
    // Looking is allowed meanwhile.
    lab.workspace.run(&["history"]).expect(0);
    lab.workspace.run(&["state", "list"]).expect(0);
    signal(&child, Signal::TERM);
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
