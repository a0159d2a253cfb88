//! Stories of an operator under pressure, typed in a terminal: a deploy that hangs, a plugin that
//! does not start, the morning after a failed deploy, and objects changed by hand.

use crate::console_workspace::*;
use crate::pty::Pty;
use bundled::lab::control;
use portable_pty::CommandBuilder;
use serde_json::{Value, json};

/// Adds two resources to the bucket: one that needs it, and one that does not.
fn with_neighbours() -> Workspace {
    let w = Workspace::bundled();
    let main = w.path().join("main.tf");
    let text = std::fs::read_to_string(&main).unwrap();
    let after = "resource \"terraform_data\" \"after\" {\n  input = lab_bucket.logs.name\n}\n";
    let other = "resource \"lab_bucket\" \"other\" {\n  name = \"other\"\n}\n";
    std::fs::write(&main, format!("{text}{after}{other}")).unwrap();
    w
}

/// Applies the stage of all changes, from the Stage screen.
fn apply(c: &mut Pty, changes: usize) {
    c.wait("● ready", LONG).unwrap();
    c.keys("3s").unwrap();
    let all = format!("· {changes} of {changes} selected");
    c.wait(&all, LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #", SOON).unwrap();
    c.keys("y").unwrap();
}

#[test]
fn call_that_hangs_is_found_and_stopped_alone() {
    let w = with_neighbours();
    let hang = control::Fault {
        on: control::On::Create,
        name: Some("logs".into()),
        ..control::Fault::new(control::Kind::Hang)
    };
    control::set(&w.path().join("lab.json"), hang).unwrap();
    let mut c = w.console();
    apply(&mut c, 3);
    // The others are done; the chain of the one that waits names the call and its duration.
    c.wait("1 done · 1 running · 1 waiting", LONG).unwrap();
    c.wait("blocked by lab_bucket.logs", SOON).unwrap();
    c.keys("2").unwrap();
    c.wait("ApplyResourceChange", SOON).unwrap();
    c.wait("lab_bucket.logs", SOON).unwrap();
    c.keys("c").unwrap();
    c.wait("only lab_bucket.logs", SOON).unwrap();
    c.keys("4").unwrap();
    c.wait("the call may end early", SOON).unwrap();
    c.keys("\r").unwrap();
    c.keys("4").unwrap();
    c.wait("✗ failed in ", LONG).unwrap();
    c.wait("1 done · 1 failed · 1 not attempted", SOON).unwrap();
    c.wait("needs lab_bucket.logs (failed)", SOON).unwrap();
    // The plugin still runs, and the rest is applied at once.
    control::clear_all(&w.path().join("lab.json")).unwrap();
    c.keys("t").unwrap();
    c.wait("stage #2 · 2 of 2 selected", LONG).unwrap();
    c.keys("ay").unwrap();
    c.wait("deploy #2 · ✓ succeeded", LONG).unwrap();
    quit(c);
    w.assert_unlocked();
}

#[test]
fn call_that_is_given_up_leaves_the_other_calls_and_an_unknown_outcome() {
    let w = with_neighbours();
    let lab = w.path().join("lab.json");
    let hang = |name: &str| control::Fault {
        on: control::On::Create,
        name: Some(name.into()),
        times: Some(1),
        ..control::Fault::new(control::Kind::Hang)
    };
    control::set(&lab, hang("logs")).unwrap();
    control::set(&lab, hang("other")).unwrap();
    let mut c = w.console();
    apply(&mut c, 3);
    c.wait("2 running · 1 waiting", LONG).unwrap();
    let running = plugins(pid(&c));
    c.keys("/logs\rc").unwrap();
    c.wait("only lab_bucket.logs", SOON).unwrap();
    c.keys("5\r").unwrap();
    c.wait("Stop waiting for this call?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("1 running · 1 unknown · 1 waiting", LONG).unwrap();
    assert_eq!(plugins(pid(&c)), running, "no process was restarted");
    // The other one can still be asked to stop.
    c.keys("/other\rc").unwrap();
    c.wait("only lab_bucket.other", SOON).unwrap();
    c.keys("4\r").unwrap();
    c.wait("deploy #1 · ✗ failed in ", LONG).unwrap();
    c.wait("lab_bucket.logs", SOON).unwrap();
    c.wait("Unknown outcomes", SOON).unwrap();
    c.keys("X").unwrap();
    c.wait("Was lab_bucket.logs never created?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait_until(|s| !s.contains("U ? 1 unknown outcome"), SOON)
        .unwrap();
    c.keys("\x1b").unwrap();
    c.wait_until(|s| !s.contains("find: "), SOON).unwrap();
    quit(c);
    w.assert_unlocked();
}

#[test]
fn plugin_that_does_not_start_is_explained_corrected_and_started() {
    let program = "#!/bin/sh\necho 'cannot load /etc/lab.conf: permission denied' >&2\nexit 3\n";
    let (w, settings) = workspace_of(program);
    let plugin = settings.with_file_name("built/terraform-provider-lab");
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg(w.path());
    command.env("FLIGHTDECK_LAUNCH_BACKOFF_MS", "50");
    command.env("TF_CLI_CONFIG_FILE", &settings);
    let mut c = Pty::start(command, 120, 40).unwrap();
    c.wait("gave up", LONG).unwrap();
    c.keys("1").unwrap();
    let reason = "cannot load /etc/lab.conf: permission denied";
    c.wait(reason, SOON).unwrap();
    c.wait("the process ended before its handshake: exit code 3", SOON)
        .unwrap();
    c.wait("1 to 4 of 5 ", SOON).unwrap();
    let program = format!("#!/bin/sh\nexec {FLIGHTDECK} plugin serve lab\n");
    std::fs::write(plugin, program).unwrap();
    c.keys("R").unwrap();
    c.wait("● ready", LONG).unwrap();
    c.wait_until(|s| !s.contains("gave up"), SOON).unwrap();
    c.keys("3s").unwrap();
    c.wait("· 1 of 1 selected", LONG).unwrap();
    quit(c);
}

#[test]
fn reason_of_last_nights_failure_is_the_first_thing_in_the_morning() {
    let w = with_neighbours();
    let refuse = control::Fault {
        on: control::On::Create,
        name: Some("logs".into()),
        text: Some("quota of buckets exceeded".into()),
        ..control::Fault::new(control::Kind::Permanent)
    };
    control::set(&w.path().join("lab.json"), refuse).unwrap();
    let out = std::process::Command::new(FLIGHTDECK)
        .args(["deploy", "--auto-approve"])
        .current_dir(w.path())
        .env_remove("TF_CLI_CONFIG_FILE")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(5));
    let mut c = w.console();
    c.wait("✗ failed   deploy #1", LONG).unwrap();
    c.wait(
        "unexpected: cannot create bucket logs  lab_bucket.logs",
        SOON,
    )
    .unwrap();
    c.keys("\r").unwrap();
    c.wait("quota of buckets exceeded", SOON).unwrap();
    c.wait("needs lab_bucket.logs (failed)", SOON).unwrap();
    control::clear_all(&w.path().join("lab.json")).unwrap();
    c.wait("● 1 plugin ready", LONG).unwrap();
    c.keys("0t").unwrap();
    c.wait("stage #2 · 2 of 2 selected", LONG).unwrap();
    c.keys("ay").unwrap();
    c.wait("deploy #2 · ✓ succeeded", LONG).unwrap();
    c.keys("0").unwrap();
    c.wait_until(|s| !s.contains("to settle"), SOON).unwrap();
    quit(c);
}

#[test]
fn drift_is_accepted_for_one_object_and_repaired_for_another() {
    let w = with_neighbours();
    let mut c = w.console();
    apply(&mut c, 3);
    c.wait("✓ succeeded", LONG).unwrap();
    let lab = w.path().join("lab.json");
    for object in control::objects(&lab).unwrap() {
        control::tamper(&lab, &object.id, "versioned", json!(true)).unwrap();
    }
    let versioned = || {
        let lab: Value = serde_json::from_slice(&std::fs::read(&lab).unwrap()).unwrap();
        let objects = lab["objects"].as_object().unwrap().values();
        let mut all: Vec<String> = objects
            .map(|o| {
                format!(
                    "{} {}",
                    o["name"].as_str().unwrap(),
                    o["attributes"]["versioned"]
                )
            })
            .collect();
        all.sort();
        all
    };
    c.keys("3s").unwrap();
    c.wait("stage #2 · 2 of 2 selected", LONG).unwrap();
    // The first row with drift is repaired.
    c.keys("6").unwrap();
    c.wait("2 drifted", SOON).unwrap();
    c.keys("/logs\r").unwrap();
    c.keys("u").unwrap();
    c.wait("stage #3 · 1 of 1 selected", SOON).unwrap();
    c.keys("ay").unwrap();
    c.wait("deploy #2 · ✓ succeeded", SOON).unwrap();
    assert_eq!(versioned(), ["logs false", "other true"]);
    // The other one keeps its value, which the state takes over.
    c.keys("6").unwrap();
    c.keys("/other\r").unwrap();
    c.keys("F").unwrap();
    c.wait("stage #4 (refresh only)", SOON).unwrap();
    c.keys("ay").unwrap();
    c.wait("deploy #3 · ✓ succeeded", SOON).unwrap();
    assert_eq!(versioned(), ["logs false", "other true"]);
    c.keys("6").unwrap();
    c.wait("versioned       true", SOON).unwrap();
    // The first `q` would end the search.
    c.keys("\x1b").unwrap();
    c.wait_until(|s| !s.contains("find: "), SOON).unwrap();
    quit(c);
}
