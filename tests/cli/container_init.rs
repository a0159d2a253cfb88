//! Tests of flightdeck as process 1 of a pid namespace, as in a container without an init.

use crate::provisioners::{number_in, signal, start, with};
use crate::support::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longer than any of these commands takes.
const DEADLINE: Duration = Duration::from_secs(300);

/// Command prefix that runs a command as process 1. Returns `None` and prints a message if
/// namespaces are not permitted.
fn namespace(test: &str) -> Option<Vec<&'static str>> {
    let mut words = vec!["unshare", "--pid", "--fork", "--mount-proc"];
    if !rustix::process::geteuid().is_root() {
        words.push("--map-root-user");
    }
    let tried = Command::new(words[0])
        .args(&words[1..])
        .arg("true")
        .stderr(Stdio::null())
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        println!("skipped: {test}: unshare cannot make a pid namespace");
        return None;
    }
    Some(words)
}

/// Starts flightdeck as process 1, in a process group of its own.
fn start_in(namespace: &[&str], w: &Workspace, args: &[&str]) -> Child {
    use std::os::unix::process::CommandExt;
    let inner = w.command(args);
    let mut command = Command::new(namespace[0]);
    command.args(&namespace[1..]).arg(inner.get_program());
    command.args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .current_dir(w.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

/// First child of a process, if it has one.
fn child_of(pid: u32) -> Option<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(path).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok()
}

/// Waits for the end of the command; returns its output.
fn ended(mut child: Child) -> Output {
    let ends = Instant::now() + DEADLINE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > ends {
            let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
            rustix::process::kill_process_group(group, Signal::KILL).unwrap();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn process_1_reaps_orphans_of_commands_while_the_deploy_runs() {
    let Some(namespace) = namespace("process_1_reaps_orphans_of_commands") else {
        return;
    };
    // The second command succeeds once the orphan has been reaped.
    let w = with(
        "(sh -c 'echo $$ > orphan; while ! [ -e go ]; do sleep 0.05; done' >/dev/null 2>&1 &); while ! [ -s orphan ]; do sleep 0.05; done",
        "  }\n  provisioner \"local-exec\" {\n    command = \"sh ./second\"\n",
    );
    w.write(
        "second",
        "ps=/proc/$(cat orphan)\n[ -d $ps ] || exit 3\ntouch go\nfor i in $(seq 200); do\n  [ -d $ps ] || break\n  sleep 0.05\ndone\ncat /proc/[0-9]*/status 2>/dev/null | grep -c '^State:.Z' > zombies\ncat /proc/1/comm > first\n[ $(cat zombies) = 0 ]\n",
    );
    let child = start_in(&namespace, &w, &["deploy", "--auto-approve"]);
    let output = ended(child);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(w.read("zombies"), "0\n");
    assert_eq!(w.read("first"), "flightdeck\n");
}

#[test]
fn process_1_ends_with_the_exit_code_of_the_command() {
    let Some(namespace) = namespace("process_1_ends_with_the_exit_code_of_the_command") else {
        return;
    };
    let w = with("exit 7", "");
    for (args, code) in [
        (&["plan", "-detailed-exitcode"][..], 2),
        (&["deploy", "--auto-approve"], 5),
        (&["validate"], 0),
    ] {
        let alone = w.run(args);
        let output = ended(start_in(&namespace, &w, args));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        assert_eq!(alone.code, Some(code), "{args:?}");
    }
}

#[test]
fn process_1_ends_with_128_and_the_signal_that_killed_its_child() {
    let Some(namespace) = namespace("process_1_ends_with_128_and_the_signal") else {
        return;
    };
    let w = with("echo $$ > shell; sleep 3600", "");
    let child = start_in(&namespace, &w, &["deploy", "--auto-approve"]);
    number_in(w.path().join("shell"));
    let init = child_of(child.id()).unwrap();
    let program = i32::try_from(child_of(init).unwrap()).unwrap();
    kill_process(Pid::from_raw(program).unwrap(), Signal::KILL).unwrap();
    assert_eq!(ended(child).status.code(), Some(137));
}

#[test]
fn signals_to_process_1_stop_the_deploy_in_order() {
    let Some(namespace) = namespace("signals_to_process_1_stop_the_deploy_in_order") else {
        return;
    };
    for kind in [Signal::TERM, Signal::INT, Signal::HUP] {
        let w = with(
            "echo $$ > shell; while ! [ -e go ]; do sleep 0.05; done; echo whole > done",
            "",
        );
        let child = start_in(&namespace, &w, &["deploy", "--auto-approve", "--json"]);
        number_in(w.path().join("shell"));
        let init = i32::try_from(child_of(child.id()).unwrap()).unwrap();
        // A wrapper may signal the whole group: one signal that reaches both processes counts once,
        // so that the command ends by itself and the deploy succeeds.
        kill_process(Pid::from_raw(init).unwrap(), kind).unwrap();
        let program = i32::try_from(child_of(init.unsigned_abs()).unwrap()).unwrap();
        kill_process(Pid::from_raw(program).unwrap(), kind).unwrap();
        w.write("go", "");
        let output = ended(child);
        assert_eq!(output.status.code(), Some(0), "{kind:?}: {output:?}");
        assert_eq!(w.read("done"), "whole\n", "{kind:?}");
    }
}

#[test]
fn values_of_variables_are_not_in_the_environment_of_process_1() {
    let Some(namespace) = namespace("values_of_variables_are_not_in_the_environment_of_process_1")
    else {
        return;
    };
    let w = with(
        "tr '\\0' '\\n' < /proc/1/environ > seen; echo $TF_VAR_a > value",
        "",
    );
    w.write("variables.tf", "variable \"a\" {}\n");
    let mut words = vec!["env", "TF_VAR_a=needle", "STAYS=here"];
    words.splice(0..0, namespace);
    assert_eq!(
        ended(start_in(&words, &w, &["deploy", "--auto-approve"]))
            .status
            .code(),
        Some(0)
    );
    let seen = w.read("seen");
    assert!(
        seen.contains("STAYS=here") && !seen.contains("TF_VAR_"),
        "{seen}"
    );
    assert_eq!(w.read("value"), "needle\n");
}

#[test]
fn outside_of_a_pid_namespace_the_command_has_no_extra_process() {
    let w = with("echo $PPID > guard; echo $$ > shell; sleep 3600", "");
    let mut child = start(&w);
    let guard = number_in(w.path().join("guard"));
    let status = std::fs::read_to_string(format!("/proc/{guard}/status")).unwrap();
    let parent = status
        .lines()
        .find_map(|l| l.strip_prefix("PPid:"))
        .unwrap();
    assert_eq!(parent.trim(), child.id().to_string());
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
