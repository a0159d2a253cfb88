//! Tests of the processes of a provisioner's command: all end if flightdeck is killed or gets a
//! second signal, and may stay after a successful command. Also tests that flightdeck's own
//! environment does not show values of variables.

use crate::lab_deploys::has_ended;
use crate::provisioners::{kill_background_process, number_in, operation, signal, start, with};
use std::io::{BufRead, BufReader};
use std::time::Duration;

/// Command that starts a process in its own session, and an orphan in another session.
const SESSIONS: &str = "echo begin >> calls; (setsid sh -c 'echo $$ > orphan; sleep 3600' >/dev/null 2>&1 &); setsid sh -c 'echo $$ > session; sleep 3600' & wait";

#[test]
fn sessions_of_a_command_end_when_flightdeck_is_killed() {
    let w = with(SESSIONS, "");
    let mut child = start(&w);
    let session = number_in(w.path().join("session"));
    let orphan = number_in(w.path().join("orphan"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        has_ended(session) && has_ended(orphan),
        "nothing of it goes on"
    );
}

#[test]
fn sessions_of_a_command_end_with_the_second_signal() {
    let w = with(SESSIONS, "");
    let mut child = start(&w);
    let session = number_in(w.path().join("session"));
    let orphan = number_in(w.path().join("orphan"));
    signal(&child, rustix::process::Signal::INT);
    signal(&child, rustix::process::Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    for pid in [session, orphan] {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        assert!(
            rustix::process::test_kill_process(pid).is_err(),
            "it is gone by then"
        );
    }
    assert_eq!(operation(&w, "1")["state"], "failed");
}

#[test]
fn two_equal_signals_within_moments_count_as_one() {
    use rustix::process::Signal;
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        let w = with(
            "echo $$ > shell; while ! [ -e go ]; do sleep 0.05; done; echo whole > done",
            "",
        );
        let mut child = start(&w);
        number_in(w.path().join("shell"));
        signal(&child, kind);
        // A terminal and a wrapper may send the same signal twice.
        std::thread::sleep(Duration::from_millis(20));
        signal(&child, kind);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("\"type\":\"cancel\"")));
        w.write("go", "");
        let result = lines.map(Result::unwrap).last().unwrap();
        assert!(result.contains("\"outcome\":\"succeeded\""), "{result}");
        // The code agrees with the outcome: the signal came too late to stop anything.
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(w.read("done"), "whole\n", "{kind:?}");
    }
}

#[test]
fn session_of_a_successful_command_stays() {
    let w = with(
        "(setsid sh -c 'echo $$ > left; sleep 60' >/dev/null 2>&1 &); while ! [ -s left ]; do :; done",
        "",
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    kill_background_process(&w);
}

/// Environment of a process, as `/proc` shows it.
fn environment_of(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn variable_values_are_in_the_environment_of_commands_only() {
    let w = with(
        "echo $TF_VAR_a $TF_VAR_none > seen; echo $$ > shell; while ! [ -e go ]; do sleep 0.05; done",
        "",
    );
    w.write(
        "variables.tf",
        "variable \"a\" {}\nvariable \"b\" {}\noutput \"o\" {\n  value = var.a\n}\n",
    );
    let mut command = w.command(&["deploy", "--auto-approve"]);
    command
        .env("TF_VAR_a", "needle in the environment")
        .env("TF_VAR_unused", "another needle")
        .env("TF_CLI_ARGS_deploy", "-var 'b=a needle in arguments'")
        .env("AWS_SECRET_ACCESS_KEY", "stays for providers");
    let mut child = command.spawn().unwrap();
    number_in(w.path().join("shell"));
    let shown = environment_of(child.id());
    w.write("go", "");
    assert!(child.wait().unwrap().success());
    assert!(
        !shown.contains("needle") && !shown.contains("TF_VAR_"),
        "{shown:?}"
    );
    assert!(shown.contains("stays for providers"), "{shown:?}");
    assert_eq!(w.read("seen"), "needle in the environment\n");
    let output = w.run(&["output", "-raw", "o"]).expect(0).stdout;
    assert_eq!(output, "needle in the environment");
}

#[test]
fn cancelled_job_ends_soon_with_its_state_written_and_unlocked() {
    let w = with("echo begin >> calls; echo $$ > shell; sleep 60", "");
    let mut command = w.command(&["deploy", "--auto-approve", "--json"]);
    let child = command
        .env_remove("FLIGHTDECK_SHUTDOWN_TIMEOUT")
        .spawn()
        .unwrap();
    let shell = number_in(w.path().join("shell"));
    let began = std::time::Instant::now();
    signal(&child, rustix::process::Signal::TERM);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    // The limit is 8 s; a command ends at once.
    assert!(began.elapsed() < Duration::from_secs(8));
    assert!(has_ended(shell));
    assert!(!w.path().join(".terraform.tfstate.lock.info").exists());
    let listed = w.run(&["state", "list"]).expect(0).stdout;
    assert!(listed.contains("terraform_data.a"), "{listed}");
}
