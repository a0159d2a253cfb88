//! Tests of ephemeral resources: opened by the stage and again by the deploy, renewed meanwhile,
//! always closed, and never stored.

use std::io::{BufRead as _, BufReader, Read as _};

use bundled::lab::control::{Fault, Kind, On};
use bundled::lab::sessions;
use rustix::process::{Pid, Signal, kill_process};

use super::ephemeral_values::errors;
use crate::support::Run;
use crate::{HEAD, Lab};

/// Ephemeral session, and a provider configured with its token.
pub(super) const SESSION: &str = r#"
ephemeral "lab_session" "s" {
  name = "s"
}
provider "lab" {
  alias  = "inside"
  file   = "lab.json"
  region = startswith(ephemeral.lab_session.s.token, "token-of-") ? "inside" : "outside"
}
"#;

pub(super) const THING: &str = r#"
resource "lab_thing" "a" {
  provider = lab.inside
  name     = "a"
}
"#;

/// Session with another body.
fn session(body: &str) -> String {
    SESSION.replace("  name = \"s\"\n", body)
}

pub(super) fn with_thing(more: &str) -> Lab {
    Lab::new(&format!("{SESSION}{THING}{more}"))
}

/// Session events since the last call.
pub(super) fn take_session_log(lab: &Lab) -> Vec<String> {
    let path = sessions(&lab.file());
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    text.lines().map(str::to_owned).collect()
}

pub(super) fn line(text: &str) -> u64 {
    text.lines().count() as u64
}

/// Runs the binary, and sends SIGINT, SIGTERM and SIGHUP in this order, each at an output line that
/// contains the next of these words.
fn run_and_signal(lab: &Lab, args: &[&str], words: &[&str]) -> Run {
    let mut child = lab.workspace.command(args).spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let kinds = [Signal::INT, Signal::TERM, Signal::HUP];
    let (mut stdout, mut left) = (String::new(), words.iter().zip(kinds));
    let mut next = left.next();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some((_, kind)) = next.filter(|(word, _)| line.contains(*word)) {
            kill_process(pid, kind).unwrap();
            next = left.next();
        }
        stdout.push_str(&line);
        stdout.push('\n');
    }
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    let run = Run {
        code: child.wait().unwrap().code(),
        stdout,
        stderr,
    };
    assert!(
        next.is_none() && !run.stderr.contains("panicked"),
        "{next:?}: {run:#?}"
    );
    run
}

#[test]
fn ephemeral_resource_is_open_while_needed_and_never_stored() {
    let lab = with_thing("");
    let plan = lab.workspace.path().join("plan.json");
    let run = lab
        .workspace
        .run(&["stage", "--json", "--plan-json", plan.to_str().unwrap()])
        .expect(0);
    assert_eq!(take_session_log(&lab), ["opened s", "closed s"]);
    assert_eq!(run.result()["changes"]["create"], 1);
    let mut texts = vec![run.stdout, std::fs::read_to_string(plan).unwrap()];
    let run = lab
        .workspace
        .run(&["deploy", "1", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(
        take_session_log(&lab),
        ["opened s", "closed s"],
        "it is opened anew"
    );
    // Each step is visible as a call of the plugin.
    for method in [
        "ValidateEphemeralResourceConfig",
        "OpenEphemeralResource",
        "CloseEphemeralResource",
    ] {
        assert!(
            run.stdout.contains(&format!(
                "\"method\":\"{method}\",\"resource\":\"ephemeral.lab_session.s\""
            )),
            "{method}: {run:#?}"
        );
    }
    texts.push(run.stdout);
    texts.push(lab.workspace.run(&["state", "export"]).expect(0).stdout);
    for folder in [lab.workspace.path().join(".flightdeck")] {
        for file in std::fs::read_dir(folder)
            .unwrap()
            .flatten()
            .filter(|f| f.path().is_file())
        {
            texts.push(String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned());
        }
    }
    assert!(texts.iter().all(|text| !text.contains("token-of-s")));
    assert_eq!(lab.state(), ["lab_thing.a"]);
    // A deploy without changes opens nothing.
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(take_session_log(&lab), ["opened s", "closed s"]);
}

#[test]
fn ephemeral_resource_is_closed_after_a_failed_deploy() {
    let lab = with_thing("");
    lab.set_fault(Fault {
        on: On::Create,
        name: Some("a".to_owned()),
        ..Fault::new(Kind::Permanent)
    });
    lab.workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(5);
    assert_eq!(
        take_session_log(&lab),
        ["opened s", "closed s", "opened s", "closed s"]
    );
}

#[test]
fn ephemeral_resource_is_closed_after_a_failed_plan() {
    let lab = with_thing(
        r#"
resource "lab_thing" "b" {
  name = "b"
  lifecycle {
    precondition {
      condition     = ephemeral.lab_session.s.token == "another"
      error_message = "not that one"
    }
  }
}
"#,
    );
    let run = lab.workspace.run(&["stage", "--json"]).expect(1);
    assert_eq!(errors(&run)[0]["detail"], "not that one");
    assert_eq!(take_session_log(&lab), ["opened s", "closed s"]);
}

#[test]
fn ephemeral_resource_is_closed_after_an_interrupted_deploy() {
    let lab = with_thing("");
    lab.set_fault(Fault {
        on: On::Create,
        name: Some("a".to_owned()),
        ..Fault::new(Kind::Hang)
    });
    let run = run_and_signal(
        &lab,
        &["deploy", "--auto-approve", "--json"],
        &["\"creating\""],
    );
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        take_session_log(&lab),
        ["opened s", "closed s", "opened s", "closed s"],
        "{run:#?}"
    );
}

#[test]
fn ephemeral_resource_is_closed_after_an_interrupted_stage() {
    let lab = with_thing("");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    take_session_log(&lab);
    lab.set_fault(Fault {
        on: On::Read,
        name: Some("a".to_owned()),
        ..Fault::new(Kind::Hang)
    });
    // The session is open while the thing is read.
    let mut child = lab.workspace.command(&["stage", "--json"]).spawn().unwrap();
    let began = std::time::Instant::now();
    while !sessions(&lab.file()).exists() {
        assert!(
            began.elapsed().as_secs() < 300 && child.try_wait().unwrap().is_none(),
            "it is never opened"
        );
        std::thread::yield_now();
    }
    kill_process(
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(),
        Signal::INT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(take_session_log(&lab), ["opened s", "closed s"]);
}

#[test]
fn ephemeral_resource_is_renewed_while_needed() {
    let lab = Lab::new(&format!(
        "{}{THING}",
        session("  name     = \"s\"\n  renew_ms = 200\n")
    ));
    lab.set_fault(Fault {
        on: On::Create,
        ms: Some(2000),
        ..Fault::new(Kind::Latency)
    });
    lab.workspace.run(&["stage"]).expect(0);
    take_session_log(&lab);
    lab.workspace
        .run(&["deploy", "1", "--auto-approve"])
        .expect(0);
    let log = take_session_log(&lab);
    assert_eq!(
        (log[0].as_str(), log.last().unwrap().as_str()),
        ("opened s", "closed s"),
        "{log:?}"
    );
    let renewed = log.iter().filter(|l| *l == "renewed s").count();
    assert!(renewed >= 3 && renewed == log.len() - 2, "{log:?}");
}

#[test]
fn failed_renewal_or_close_is_a_warning_and_failed_open_an_error() {
    for (call, words) in [
        ("renew", "could not be renewed"),
        ("close", "could not be closed"),
    ] {
        let session = session(&format!(
            "  name     = \"s\"\n  renew_ms = 100\n  fails    = \"{call}\"\n"
        ));
        let lab = Lab::new(&format!("{session}{THING}"));
        lab.set_fault(Fault {
            on: On::Create,
            ms: Some(1000),
            ..Fault::new(Kind::Latency)
        });
        let run = lab
            .workspace
            .run(&["deploy", "--auto-approve", "--json"])
            .expect(0);
        let told = run.diagnostics();
        let warning = told
            .iter()
            .find(|d| d["summary"].as_str().unwrap().contains(words))
            .unwrap_or_else(|| panic!("{told:#?}"));
        assert_eq!(warning["severity"], "warning");
        assert_eq!(warning["address"], "ephemeral.lab_session.s");
        assert_eq!(lab.objects(), ["lab_thing.a"]);
    }
    let lab = Lab::new(&format!(
        "{}{THING}",
        session("  name  = \"s\"\n  fails = \"open\"\n")
    ));
    let run = lab.workspace.run(&["stage", "--json"]).expect(1);
    let errors = errors(&run);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(errors[0]["address"], "ephemeral.lab_session.s");
    assert_eq!(errors[0]["range"]["start"]["line"], line(HEAD) + 2);
    assert_eq!(take_session_log(&lab), Vec::<String>::new());
}

#[test]
fn ephemeral_resource_with_unknown_inputs_is_opened_by_the_deploy() {
    let waiting = session("  name = lab_thing.base.name == \"base\" ? \"s\" : \"t\"\n");
    let lab = Lab::new(&format!(
        "resource \"lab_thing\" \"base\" {{ name = \"base\" }}\n{waiting}{THING}"
    ));
    lab.workspace.run(&["stage"]).expect(0);
    assert_eq!(
        take_session_log(&lab),
        Vec::<String>::new(),
        "its name is known, and yet it waits"
    );
    lab.workspace
        .run(&["deploy", "1", "--auto-approve"])
        .expect(0);
    assert_eq!(take_session_log(&lab), ["opened s", "closed s"]);
    lab.workspace.run(&["stage"]).expect(0);
    assert_eq!(
        take_session_log(&lab),
        ["opened s", "closed s"],
        "nothing is pending any more"
    );
    lab.workspace
        .run(&["deploy", "--destroy", "--auto-approve"])
        .expect(0);
    let log = take_session_log(&lab);
    assert_eq!(
        log,
        ["opened s", "closed s", "opened s", "closed s"],
        "the provider needs it for destroying"
    );
    assert_eq!(lab.objects(), Vec::<String>::new());
}
