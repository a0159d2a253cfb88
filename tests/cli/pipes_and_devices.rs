//! Tests of pipes and devices as inputs and outputs: bounded reads, refusal of endless inputs, and
//! exit at a signal. Also tests of outputs that would overwrite important files.

use crate::support::{Run, Workspace};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(200);

fn workspace() -> Workspace {
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"a\" {}\n")]);
    let made = Command::new("mkfifo").arg(w.path().join("pipe")).status();
    assert!(made.unwrap().success());
    w
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn ended(mut child: Child) -> Run {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > SOON {
            child.kill().unwrap();
            panic!("it goes on for more than {SOON:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Run::from(child.wait_with_output().unwrap())
}

/// Waits until a process has opened this file, or blocks while it opens it.
fn wait_until_blocked(child: &Child) {
    let ends = Instant::now() + SOON;
    let handled = |status: &str| {
        let line = status.lines().find(|l| l.starts_with("SigCgt:"));
        let mask = line.and_then(|l| u64::from_str_radix(l[7..].trim(), 16).ok());
        // flightdeck handles SIGTERM once it has work to finish.
        mask.is_some_and(|mask| mask & (1 << 14) != 0)
    };
    while Instant::now() < ends {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        if status.is_ok_and(|status| handled(&status)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("signals are never handled");
}

#[test]
fn addresses_from_a_pipe_or_device_are_refused_at_once() {
    for option in ["--target-file", "--exclude-file"] {
        for (file, why) in [
            ("pipe", "not a regular file"),
            ("/dev/zero", "not a regular file"),
            ("large", "larger than 16 MiB"),
        ] {
            let w = workspace();
            let large = std::fs::File::create(w.path().join("large")).unwrap();
            large.set_len((16 << 20) + 1).unwrap();
            let child = w.command(&["stage", option, file]).spawn().unwrap();
            let run = ended(child).expect(1);
            assert!(run.stderr.contains(why), "{option} {file}: {run:#?}");
        }
    }
}

#[test]
fn addresses_from_a_descriptor_are_read_until_a_signal() {
    let w = workspace();
    let piped = |w: &Workspace| {
        let mut command = w.command(&["stage", "--target-file", "/dev/stdin"]);
        command.stdin(Stdio::piped()).spawn().unwrap()
    };
    let mut child = piped(&w);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"terraform_data.a\n").unwrap();
    drop(stdin);
    ended(child).expect(0);
    for how in [Signal::INT, Signal::TERM] {
        let mut child = piped(&w);
        let stdin = child.stdin.take();
        wait_until_blocked(&child);
        signal(&child, how);
        let run = ended(child);
        assert!(matches!(run.code, Some(1 | 130)), "{run:#?}");
        drop(stdin);
    }
}

#[test]
fn blocked_output_ends_at_a_signal_and_a_read_one_is_complete() {
    for args in [
        &["state", "export", "pipe"][..],
        &["stage", "--plan-json", "pipe"],
        &["plan", "--out", "pipe"],
    ] {
        for how in [Signal::INT, Signal::TERM] {
            let w = workspace();
            let child = w.command(args).spawn().unwrap();
            wait_until_blocked(&child);
            signal(&child, how);
            let run = ended(child);
            assert!(matches!(run.code, Some(130) | None), "{args:?}: {run:#?}");
        }
        let w = workspace();
        let child = w.command(args).spawn().unwrap();
        let mut reader = Command::new("cat");
        let reader = reader.arg("pipe").current_dir(w.path()).output().unwrap();
        ended(child).expect(0);
        if args[0] == "plan" {
            w.write("p", &String::from_utf8(reader.stdout).unwrap());
            w.run(&["show", "p"]).expect(0);
            continue;
        }
        let text: serde_json::Value = serde_json::from_slice(&reader.stdout).unwrap();
        assert!(text.is_object(), "{args:?}: {text}");
    }
}

#[test]
fn full_stdout_pipe_ends_at_a_signal() {
    let outputs: String = (0..2_000)
        .map(|i| {
            format!(
                "output \"o{i}\" {{\n  value = \"{}\"\n}}\n",
                "x".repeat(100)
            )
        })
        .collect();
    let w = Workspace::new(&[("main.tf", &outputs)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let child = w.command(&["state", "export"]).spawn().unwrap();
    wait_until_blocked(&child);
    // The output is larger than a pipe's buffer, and nobody reads it.
    signal(&child, Signal::TERM);
    let began = Instant::now();
    let mut child = child;
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < SOON, "it waits for a reader");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn doctor_and_stage_refuse_a_state_that_is_a_pipe() {
    let w = workspace();
    std::fs::rename(w.path().join("pipe"), w.path().join("terraform.tfstate")).unwrap();
    for args in [&["doctor"][..], &["stage"], &["state", "list"], &["output"]] {
        let run = ended(w.command(args).spawn().unwrap());
        assert_eq!(run.code, Some(1), "{args:?}: {run:#?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("terraform.tfstate is"), "{args:?}: {said}");
    }
}

#[test]
fn pipes_as_configuration_files_do_not_block() {
    let w = workspace();
    let mut command = w.command(&["init"]);
    let child = command.env("TF_CLI_CONFIG_FILE", "pipe").spawn().unwrap();
    let run = ended(child).expect(1);
    assert!(run.stderr.contains("did not end within"), "{run:#?}");
    for args in [&["show", "pipe"][..], &["state", "push", "pipe"]] {
        let run = ended(w.command(args).spawn().unwrap()).expect(1);
        assert!(
            run.stderr.contains("not a regular file"),
            "{args:?}: {run:#?}"
        );
    }
}

#[test]
fn output_files_never_overwrite_workspace_files() {
    let w = workspace();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("terraform.tfvars", "");
    w.write("modules/m/main.tf", "");
    symlink("main.tf", w.path().join("plan.json")).unwrap();
    std::fs::hard_link(w.path().join("main.tf"), w.path().join("hard.json")).unwrap();
    let state = w.read("terraform.tfstate");
    let main = w.read("main.tf");
    for path in [
        "main.tf",
        "./main.tf",
        "new.tf.json",
        "new.tofu",
        "terraform.tfvars",
        "modules/m/main.tf",
        ".terraform.lock.hcl",
        "terraform.tfstate",
        "terraform.tfstate.backup",
        ".flightdeck/x",
        ".terraform/modules",
        "plan.json",
        "hard.json",
        "-",
    ] {
        // Entries of `.terraform` that commands use, although the directory exists.
        std::fs::create_dir_all(w.path().join(".terraform")).unwrap();
        for args in [
            &["stage", "--plan-json", path][..],
            &["plan", "--out", path],
            &["state", "export", path],
        ] {
            if (args[0], path) == ("state", "-") {
                continue;
            }
            let run = w.run(args).expect(1);
            assert!(run.stderr.contains("name"), "{args:?}: {run:#?}");
        }
        assert_eq!(
            (w.read("main.tf"), w.read("terraform.tfstate")),
            (main.clone(), state.clone())
        );
    }
    assert!(!w.path().join("-").exists() && !w.path().join("new.tofu").exists());
    let export = w.run(&["state", "export", "-"]).expect(0);
    assert!(export.stdout.contains("\"version\": 4"), "{export:#?}");
    // The state file of the backend, by its name in the configuration.
    w.write(
        "backend.tf",
        "terraform {\n  backend \"local\" {\n    path = \"own.json\"\n  }\n}\n",
    );
    w.run(&["init", "-reconfigure"]).expect(0);
    w.run(&["state", "export", "own.json"]).expect(1);
    // Other files are written and overwritten.
    for _ in 0..2 {
        w.run(&["stage", "--plan-json", "mine.json"]);
        w.run(&["state", "export", "mine.tfstate"]).expect(0);
    }
    assert!(w.path().join("mine.tfstate").is_file());
}
