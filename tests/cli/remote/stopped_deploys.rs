//! Tests of a deploy that is stopped while a remote script runs.

use super::{Sshd, remote_exec, sshd, tainted};
use crate::lab_deploys::has_ended;
use crate::support::Workspace;
use serde_json::Value;
use std::process::Child;
use std::time::{Duration, Instant};

/// Remote script that records its pid in an inner shell and would run for a minute.
fn slow(s: &Sshd) -> Workspace {
    let at = s.path("");
    let at = at.display();
    let lines = format!("sh -c 'echo $$ > {at}/inner; sleep 60; touch {at}/late'");
    s.workspace(&remote_exec(&[&lines, "sleep 1"], ""))
}

fn started(s: &Sshd, w: &Workspace) -> (Child, i32) {
    let mut child = w
        .command(&["deploy", "--auto-approve", "--json", "--log-level", "info"])
        .spawn()
        .unwrap();
    let ends = Instant::now() + Duration::from_secs(300);
    while Instant::now() < ends {
        if let Ok(text) = std::fs::read_to_string(s.path("inner"))
            && text.ends_with('\n')
        {
            return (child, text.trim().parse().unwrap());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the script did not start: {:?}", child.wait());
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn operation(w: &Workspace) -> Value {
    w.run(&["history", "1", "--json"]).expect(0).result()["history"][0]["operation_list"][0].clone()
}

#[test]
fn remote_script_ends_with_flightdeck_and_is_unknown() {
    let Some(s) = sshd() else { return };
    let w = slow(&s);
    let (mut child, inner) = started(&s, &w);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(has_ended(inner), "its terminal is closed, and it with it");
    assert_eq!(operation(&w)["state"], "unknown");
    let staged = w.run(&["stage"]).expect(0);
    let said = format!("{}{}", staged.stdout, staged.stderr);
    assert!(
        said.contains(
            "remote-exec provisioner 1 of terraform_data.a in deploy #1 has no recorded outcome"
        ),
        "{said}"
    );
    assert!(
        said.contains("may have continued on the remote host"),
        "{said}"
    );
    assert_eq!(tainted(&w), Some(true));
    w.run(&["state", "untaint", "terraform_data.a"]).expect(0);
    assert_eq!(tainted(&w), Some(false));
}

#[test]
fn first_signal_lets_a_remote_script_finish_and_second_ends_it() {
    let Some(s) = sshd() else { return };
    let w = slow(&s);
    let (mut child, inner) = started(&s, &w);
    signal(&child, rustix::process::Signal::INT);
    assert!(!has_ended_now(inner));
    signal(&child, rustix::process::Signal::TERM);
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(130));
    assert!(has_ended(inner));
    assert!(!s.path("late").exists());
    let operation = operation(&w);
    assert_eq!(
        (&operation["state"], &operation["failure"]["class"]),
        (&"failed".into(), &"cancelled".into()),
        "its end was seen: {operation}"
    );
    assert!(
        operation["failure"]["detail"]
            .as_str()
            .unwrap()
            .contains("was stopped before its end, because the deploy was cancelled"),
        "{operation}"
    );
    assert_eq!(tainted(&w), Some(true));
}

fn has_ended_now(pid: i32) -> bool {
    rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_err()
}

/// Finds the pid of the `sshd` process that serves this connection.
const UP: &str =
    "p=$$; while ! ps -o comm= -p $p | grep -q sshd; do p=$(ps -o ppid= -p $p | tr -d ' '); done";

#[test]
fn remote_script_is_unknown_after_a_lost_connection() {
    let Some(s) = sshd() else { return };
    // The script kills its own connection.
    let w = s.workspace(&remote_exec(&[UP, "kill -9 $p; sleep 60"], ""));
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stderr
            .contains("the outcome of the operation there is unknown"),
        "{run:?}"
    );
    let operation = operation(&w);
    assert_eq!(
        (&operation["state"], &operation["failure"]["class"]),
        (&"unknown".into(), &"transient".into()),
        "{operation}"
    );
    assert_eq!(tainted(&w), Some(true));
}

#[test]
fn wait_for_a_host_ends_with_the_deploy() {
    let Some(s) = super::sshd_not_listening() else {
        return;
    };
    let w = s.workspace_with(
        &s.connection("    timeout = \"10m\""),
        &remote_exec(&["true"], ""),
    );
    let mut child = w
        .command(&["deploy", "--auto-approve", "--json", "--log-level", "info"])
        .spawn()
        .unwrap();
    use std::io::BufRead;
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(lines.any(|line| line.contains("no connection yet")));
    signal(&child, rustix::process::Signal::INT);
    signal(&child, rustix::process::Signal::TERM);
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        operation(&w)["failure"]["detail"]
            .as_str()
            .unwrap()
            .contains("ended before the connection was established")
    );
}
