//! Test of a console that is killed during a create: the next one starts with the unknown outcome,
//! in the words of the command line.

use crate::console_workspace::*;
use bundled::lab::control;
use rustix::process::Signal;
use std::process::Command;

/// Text of a popup without its frame.
fn popup_text(screen: &str) -> String {
    let inner = |line: &str| {
        line.split('│')
            .max_by_key(|part| part.len())
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    screen.lines().map(inner).collect::<Vec<_>>().join(" ")
}

/// Detail of the unknown outcome, from `state list --json`.
fn unknown_outcome_detail(w: &Workspace) -> String {
    let out = Command::new(FLIGHTDECK)
        .args(["state", "list", "--json"])
        .current_dir(w.path())
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let mut lines = text
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let warning = lines
        .find(|l| l["summary"] == "Unknown outcome")
        .expect("something is unknown");
    warning["detail"].as_str().unwrap().to_owned()
}

#[test]
fn console_after_a_kill_shows_and_settles_unknown_outcomes() {
    let w = Workspace::bundled();
    let lab = w.path().join("lab.json");
    let mut c = w.console();
    c.wait("● ready", LONG).unwrap();
    control::set(&lab, control::Fault::new(control::Kind::Hang)).unwrap();
    c.keys("3s").unwrap();
    c.wait("· 1 of 1 selected", LONG).unwrap();
    c.keys("ay").unwrap();
    c.wait("1 running", LONG).unwrap();
    let running = plugins(pid(&c));
    send(pid(&c), Signal::KILL);
    drop(c);
    assert_all_ended(&running);
    control::clear_all(&lab).unwrap();

    let mut c = w.console();
    // The start page has the outcome and the deploy.
    c.wait(
        "create of lab_bucket.logs in deploy #1 has no recorded outcome",
        LONG,
    )
    .unwrap();
    c.wait("! interrupted", SOON).unwrap();
    let detail = unknown_outcome_detail(&w);
    c.wait_until(|s| popup_text(s).contains(&detail), SOON)
        .unwrap();
    c.keys("U").unwrap();
    c.wait("? create lab_bucket.logs   deploy #1", SOON)
        .unwrap();
    c.wait("discard the record…", SOON).unwrap();
    c.keys("\x1b").unwrap();
    c.wait_until(|s| !s.contains("discard the record…"), SOON)
        .unwrap();
    c.keys("1").unwrap();
    c.wait("● ready", LONG).unwrap();
    // The Deploy screen shows the recorded deploy.
    c.keys("4").unwrap();
    c.wait("deploy #1 · ! interrupted", SOON).unwrap();
    c.wait("may exist (U)", SOON).unwrap();
    // The change concerned is marked, and not applied.
    c.keys("3s").unwrap();
    c.wait("may exist already (U)", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("could create objects twice", SOON).unwrap();
    c.wait_until(|s| popup_text(s).contains(&detail), SOON)
        .unwrap();
    // The operator says that the object was never created, and the next deploy creates it.
    c.keys("X").unwrap();
    c.wait("Was lab_bucket.logs never created?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait_until(
        |s| !s.contains("unknown outcome") && !s.contains("may exist"),
        SOON,
    )
    .unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #2?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
}
