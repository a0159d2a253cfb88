//! Tests of `local-exec`: a running command ends with flightdeck, each command is recorded before
//! it runs, and its output is read to the end.

use crate::lab_deploys::has_ended;
use crate::support::{Run, Workspace};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// Workspace with one object whose provisioner runs this command.
pub(crate) fn with(command: &str, more: &str) -> Workspace {
    let text = format!(
        "resource \"terraform_data\" \"a\" {{\n  input = \"x\"\n  provisioner \"local-exec\" {{\n    command = <<-SH\n{command}\n    SH\n{more}\n  }}\n}}\n"
    );
    Workspace::new(&[("main.tf", &text)])
}

pub(crate) fn start(w: &Workspace) -> Child {
    w.command(&["deploy", "--auto-approve", "--json"])
        .spawn()
        .unwrap()
}

pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits for a file and returns the number in it.
pub(crate) fn number_in(path: PathBuf) -> i32 {
    let ends = Instant::now() + Duration::from_secs(300);
    while Instant::now() < ends {
        if let Ok(text) = std::fs::read_to_string(&path)
            && text.ends_with('\n')
        {
            return text.trim().parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} was not written", path.display());
}

/// Kills the process whose pid is in the file `left`, and which must still run.
pub(crate) fn kill_background_process(w: &Workspace) {
    let left = number_in(w.path().join("left"));
    let pid = rustix::process::Pid::from_raw(left).unwrap();
    let killed = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    killed.expect("it runs still");
}

fn calls(w: &Workspace) -> String {
    std::fs::read_to_string(w.path().join("calls")).unwrap_or_default()
}

pub(crate) fn operation(w: &Workspace, deploy: &str) -> Value {
    w.run(&["history", deploy, "--json"]).expect(0).result()["history"][0]["operation_list"][0]
        .clone()
}

fn output_text(run: &Run) -> String {
    format!("{}{}", run.stdout, run.stderr)
}

/// The shell starts another shell, which gets no parent-death signal.
const SLOW: &str = "echo begin >> calls; echo $$ > shell; [ -e quick ] || sh -c 'echo $$ > inner; sleep 3; echo inner >> calls'; echo made >> calls";

#[test]
fn command_and_its_children_end_with_flightdeck_and_are_unknown() {
    let w = with(SLOW, "");
    let mut child = start(&w);
    let (shell, inner) = (
        number_in(w.path().join("shell")),
        number_in(w.path().join("inner")),
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        has_ended(shell) && has_ended(inner),
        "nothing of it goes on"
    );
    assert_eq!(calls(&w), "begin\n");
    assert_eq!(operation(&w, "1")["state"], "unknown");
    let staged = w.run(&["stage"]).expect(0);
    assert!(
        output_text(&staged).contains(
            "local-exec provisioner 1 of terraform_data.a in deploy #1 has no recorded outcome"
        ),
        "{staged:?}"
    );
    assert!(
        output_text(&staged).contains("flightdeck state untaint terraform_data.a"),
        "{staged:?}"
    );
    // Reading the object gives no information about the command.
    assert!(output_text(&w.run(&["state", "list"]).expect(0)).contains("provisioner 1"));

    w.write("quick", "");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(
        calls(&w),
        "begin\nbegin\nmade\n",
        "once more, with a new object, and not beside the first"
    );
    let settled = operation(&w, "1")["step"].as_str().unwrap().to_owned();
    assert!(
        settled.contains("settled: destroy in deploy #2"),
        "{settled}"
    );
    assert!(!output_text(&w.run(&["stage"]).expect(0)).contains("provisioner 1"));
}

#[test]
fn operator_can_mark_a_killed_command_as_done() {
    let w = with(SLOW, "");
    let mut child = start(&w);
    number_in(w.path().join("inner"));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = w
        .run(&["state", "untaint", "terraform_data.a", "--json"])
        .expect(0);
    let change = run.result()["state_changes"][0].clone();
    assert_eq!(
        (&change["what"], &change["settled"][0]),
        (
            &"untainted".into(),
            &"local-exec provisioner 1 in deploy #1".into()
        )
    );
    assert!(output_text(&w.run(&["stage"]).expect(0)).contains("no changes"));
    assert!(
        w.run(&["state", "untaint", "terraform_data.a"])
            .expect(1)
            .stderr
            .contains("not tainted")
    );
    w.run(&["state", "taint", "terraform_data.a"]).expect(0);
    assert_eq!(
        w.run(&["stage", "--json"]).expect(0).result()["changes"]["replace"],
        1
    );
    assert!(
        w.run(&["state", "taint", "terraform_data.b"])
            .expect(1)
            .stderr
            .contains("not in the state")
    );
}

#[test]
fn command_without_open_outputs_ends_with_the_second_signal() {
    let w = with("exec >/dev/null 2>&1; echo $$ > shell; sleep 60", "");
    let mut child = start(&w);
    let shell = number_in(w.path().join("shell"));
    signal(&child, rustix::process::Signal::INT);
    signal(&child, rustix::process::Signal::TERM);
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(130));
    assert!(has_ended(shell));
    let operation = operation(&w, "1");
    assert_eq!(
        operation["state"], "failed",
        "its end is known: {operation}"
    );
    assert!(
        operation["failure"]["detail"]
            .as_str()
            .unwrap()
            .contains("were killed, because the deploy was cancelled"),
        "{operation}"
    );
}

#[test]
fn background_process_of_a_successful_command_stays() {
    let w = with("sleep 60 >/dev/null 2>&1 & echo $! > left", "");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    kill_background_process(&w);
}

#[test]
fn background_process_with_open_output_does_not_delay_the_deploy() {
    let open = "keeps its output open";
    // The command, its exit code, and a part of its logged output.
    for (command, code, logged) in [
        ("sleep 3600 & echo $! > left; echo started", 0, "started"),
        ("sleep 3600 & echo $! > left; printf begun >&2", 0, "begun"),
        (
            "sleep 3600 2>/dev/null & echo $! > left; echo out",
            0,
            "out",
        ),
        ("yes & echo why >&2; exit 3", 5, ""),
    ] {
        let w = with(command, "");
        let run = w.run(&["deploy", "--auto-approve"]).expect(code);
        assert!(output_text(&run).contains(open), "{command}: {run:?}");
        assert!(
            code == 0 || run.stderr.contains("exit status: 3"),
            "{run:?}"
        );
        // `yes` ends once nobody reads its output, and writes more than the log keeps.
        if code == 0 {
            let logs = w.run(&["logs", "terraform_data.a"]).expect(0).stdout;
            assert!(logs.contains(logged), "{command}: {logs}");
            kill_background_process(&w);
        }
    }
}

#[test]
fn writing_background_process_lives_as_long_as_the_deploy() {
    let writer = "while :; do echo tick || exit; sleep 0.1; done & echo $! > left";
    let w = with(writer, "");
    let later = "sleep 1; kill -0 $(cat left)";
    let text = w.read("main.tf");
    w.write(
        "main.tf",
        &format!(
            "{text}resource \"terraform_data\" \"b\" {{\n  depends_on = [terraform_data.a]\n  provisioner \"local-exec\" {{\n    command = \"{later}\"\n  }}\n}}\n"
        ),
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
}

#[test]
fn binary_output_and_endless_line_are_read_to_the_end() {
    let w = with(
        "printf 'a\\377b\\n'; head -c 300000000 /dev/zero; echo; echo last",
        "",
    );
    let run = w.run(&["deploy", "--auto-approve"]).expect(0);
    let logs = w.run(&["logs", "terraform_data.a"]).expect(0).stdout;
    assert!(
        logs.contains("a\u{fffd}b") && logs.contains("bytes more") && logs.contains("last"),
        "{}",
        &logs[..logs.len().min(400)]
    );
    drop(run);
}

#[test]
fn output_of_a_command_with_secrets_is_redacted_in_every_encoding() {
    let more = "    environment = { S = var.s }";
    let w = with("echo $S; echo $S | rev; echo $S >&2; exit 3", more);
    w.write(
        "variables.tf",
        "variable \"s\" {\n  sensitive = true\n  default   = \"qxz\"\n}\n",
    );
    let run = w
        .run(&["deploy", "--auto-approve", "--json", "--log-level", "trace"])
        .expect(5);
    let all = [
        output_text(&run),
        w.run(&["logs"]).expect(0).stdout,
        w.run(&["failures"]).expect(0).stdout,
        w.run(&["history", "1"]).expect(0).stdout,
    ];
    for text in &all {
        assert!(!text.contains("qxz") && !text.contains("zxq"), "{text}");
    }
    assert!(
        all[1].contains("output redacted") && all[0].contains("exit status: 3"),
        "{all:?}"
    );
}

#[test]
fn missing_program_is_named_and_failed_command_shows_its_last_output() {
    let w = with("true", "    interpreter = [\"/no/such/shell\", \"-c\"]");
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(run.stderr.contains("/no/such/shell"), "{run:?}");
    let w = with("echo first; echo why >&2; exit 7", "");
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stderr.contains("exit status: 7") && run.stderr.contains("why"),
        "{run:?}"
    );
    let w = with("kill -SEGV $$", "");
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(run.stderr.contains("SIGSEGV"), "{run:?}");
}

/// Workspace with commands that are known, partly unknown, partly sensitive, and destroy-time.
fn commands() -> Workspace {
    let text = r#"
variable "token" {
  default   = "hunter2-very-secret"
  sensitive = true
}
resource "terraform_data" "first" { input = "x" }
resource "terraform_data" "a" {
  input = "x"
  provisioner "local-exec" {
    command = "echo plain >> calls"
  }
  provisioner "local-exec" {
    command     = "print('${self.id}', '${var.token}', '${self.input}')"
    interpreter = ["python3", "-c"]
    working_dir = "${path.module}/sub"
  }
  provisioner "local-exec" {
    command = join(" ", ["echo", terraform_data.first.id])
  }
  provisioner "local-exec" {
    when    = destroy
    command = <<-SH
      echo gone ${self.input}
      echo over
    SH
  }
}
"#;
    let w = Workspace::new(&[("main.tf", text)]);
    w.write("sub/keep", "");
    w
}

#[test]
fn commands_are_announced_with_secrets_redacted() {
    let w = commands();
    let staged = w.run(&["stage", "--json"]).expect(0);
    assert!(!output_text(&staged).contains("hunter2"), "{staged:?}");
    let python = serde_json::json!({
        "address": "terraform_data.a", "command": "print('(known after apply)', '(sensitive value)', 'x')",
        "interpreter": "[\"python3\", \"-c\"]", "working_dir": "./sub", "on_destroy": false
    });
    let all = staged.result()["commands"].clone();
    assert_eq!(all.as_array().map(Vec::len), Some(3), "{all}");
    assert_eq!(
        (&all[0]["command"], &all[1], &all[2]["command"]),
        (
            &"echo plain >> calls".into(),
            &python,
            &"(known after apply)".into()
        )
    );
    let text = w.run(&["stage", "--out", "all"]).expect(0).stdout;
    assert!(
        text.contains("runs on this machine: echo plain >> calls\n"),
        "{text}"
    );
    assert!(text.contains("[\"python3\", \"-c\"] print('(known after apply)', '(sensitive value)', 'x')  (in ./sub)"), "{text}");
    assert!(!text.contains("echo gone"), "nothing is destroyed: {text}");
    assert!(!w.path().join("calls").exists(), "staging runs nothing");
    let kept = w.run(&["deploy", "all"]).expect(0).stdout;
    assert!(kept.contains("runs on this machine: echo plain"), "{kept}");

    // A replacement runs the commands of both halves, in this order; a destroy only its own.
    let text = w
        .run(&["stage", "--replace", "terraform_data.a"])
        .expect(0)
        .stdout;
    let (before, after) = (
        text.find("before it is destroyed: echo gone x\n      echo over\n"),
        text.find("echo plain"),
    );
    assert!(before.is_some() && before < after, "{text}");
    let all = w.run(&["stage", "--destroy", "--json"]).expect(0).result()["commands"].clone();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!(all[0]["on_destroy"], true);
    assert!(
        w.run(&["stage", "--json"]).expect(0).result()["commands"].is_null(),
        "nothing is made, nothing runs"
    );
    w.run(&["state", "taint", "terraform_data.a"]).expect(0);
    let text = w.run(&["stage"]).expect(0).stdout;
    assert!(
        text.contains("echo plain") && !text.contains("echo gone"),
        "a tainted object runs none at its end: {text}"
    );
}
