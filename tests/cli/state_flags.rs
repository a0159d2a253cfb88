//! Tests of `-lock=false`, `-state`, `-state-out` and `-backup`: locks and files of the state.

use crate::server::Server;
use crate::support::{Run, Workspace, mode};
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::File;
use std::process::Command;

const ONE: &str = "resource \"terraform_data\" \"a\" {\n  input = \"one\"\n}\noutput \"o\" {\n  value = terraform_data.a.output\n}\n";
const HOLDER: &str = r#"{"ID":"7-8","Operation":"OperationTypeApply","Info":"","Who":"root@vm","Version":"1.12.6","Created":"2026-11-21T08:00:00Z","Path":""}"#;

/// Polls a condition that another process meets.
fn wait_until(holds: impl Fn() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !holds() {
        assert!(std::time::Instant::now() < end, "it never came");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn serial(w: &Workspace, file: &str) -> i64 {
    let state: serde_json::Value = serde_json::from_str(&w.read(file)).unwrap();
    state["serial"].as_i64().unwrap()
}

/// Takes the system's lock on a file, as another program does.
fn take_system_lock(w: &Workspace, file: &str) -> File {
    let path = w.path().join(file);
    let file = File::options().read(true).write(true).open(path).unwrap();
    let whole = nix::libc::flock {
        l_type: nix::libc::F_WRLCK as _,
        l_whence: nix::libc::SEEK_SET as _,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLK(&whole)).unwrap();
    file
}

#[test]
fn lock_false_ignores_a_foreign_state_lock_with_a_warning() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    let _held = take_system_lock(&w, "terraform.tfstate");
    for words in [
        &["plan"][..],
        &["apply", "-auto-approve", "-replace=terraform_data.a"],
        &["refresh"],
        &["taint", "terraform_data.a"],
        &["untaint", "terraform_data.a"],
        &["state", "mv", "terraform_data.a", "terraform_data.b"],
        &["state", "rm", "terraform_data.b"],
        &["destroy", "-auto-approve"],
    ] {
        w.run(words).expect(4);
        let run = w.run(&[words, &["-lock=false"]].concat()).expect(0);
        assert!(
            run.stderr.contains("State is not locked"),
            "{words:?}: {run:?}"
        );
        assert!(!w.path().join(".terraform.tfstate.lock.info").exists());
    }
}

#[test]
fn lock_timeout_waits_for_another_flightdeck() {
    use model::lock_owner::this_process;
    use model::settings::Access;
    use std::io::{BufRead, BufReader};
    use store::Store;
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["stage"]).expect(0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = Store::open(&w.path(), Access::ReadWrite).unwrap();
    let acquire = || runtime.block_on(store.acquire_lock(this_process("nightly job")));
    acquire().unwrap();
    let run = w.run(&["stage", "--lock-timeout", "1s"]).expect(4);
    assert!(run.stderr.contains("nightly job"), "{run:?}");
    let mut waiting = w
        .command(&["stage", "--lock-timeout", "10m"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines();
    let waits =
        |line: &String| line.contains("nightly job") && line.contains("waiting up to 600 s");
    assert!(lines.any(|line| waits(&line.unwrap())), "it does not wait");
    runtime.block_on(store.release_lock()).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(waiting.wait().unwrap().success(), "{rest:?}");
}

#[test]
fn lock_false_sends_no_lock_request() {
    let server = Server::start();
    let backend = format!(
        "terraform {{\n  backend \"http\" {{\n    address        = \"{0}\"\n    lock_address   = \"{0}\"\n    unlock_address = \"{0}\"\n  }}\n}}\n",
        server.url("/s")
    );
    let w = Workspace::new(&[("main.tf", ONE), ("backend.tf", &backend)]);
    w.run(&["init", "-lock=false"]).expect(0);
    server.set_lock(HOLDER);
    w.run(&["apply", "-auto-approve"]).expect(4);
    let before = server.methods().len();
    w.run(&["apply", "-auto-approve", "-lock=false"]).expect(0);
    let asked = server.methods().split_off(before);
    assert!(asked.iter().any(|method| method == "POST"), "{asked:?}");
    assert!(
        !asked.iter().any(|method| method.ends_with("LOCK")),
        "{asked:?}"
    );
    let run = w.run(&["plan", "-state=x.tfstate"]).expect(1);
    assert!(
        run.stderr.contains("the configuration has a backend"),
        "{run:?}"
    );
}

#[test]
fn lock_false_keeps_the_workspace_lock() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"touch begun; cat go\"\n  }\n}\n",
    )]);
    let go = w.path().join("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    let first = w
        .command(&["apply", "-auto-approve", "-lock=false"])
        .spawn()
        .unwrap();
    wait_until(|| w.path().join("begun").exists());
    let second = w.run(&["apply", "-auto-approve", "-lock=false"]);
    std::fs::write(go, "go").unwrap();
    let first = Run::from(first.wait_with_output().unwrap()).expect(0);
    assert!(first.stderr.contains("State is not locked"), "{first:?}");
    second.expect(4);
}

#[test]
fn state_flag_names_the_file_to_read_write_and_back_up() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["apply", "-auto-approve", "-state=a.tfstate"])
        .expect(0);
    assert!(!w.path().join("terraform.tfstate").exists());
    assert_eq!(mode(&w.path().join("a.tfstate")), 0o600);
    let run = w
        .run(&["output", "-state=a.tfstate", "-raw", "o"])
        .expect(0);
    assert_eq!(run.stdout, "one");
    w.run(&["output", "-raw", "o"]).expect(1);
    let listed = w.run(&["state", "list", "-state", "a.tfstate"]).expect(0);
    assert_eq!(listed.stdout, "terraform_data.a\n");
    assert_eq!(w.run(&["state", "list"]).expect(0).stdout, "");
    let run = w
        .run(&["plan", "-state=a.tfstate", "-detailed-exitcode"])
        .expect(0);
    assert!(run.stdout.contains("no changes"), "{run:?}");
    w.run(&["plan", "-detailed-exitcode"]).expect(2);
    w.run(&["taint", "-state=a.tfstate", "-backup=b", "terraform_data.a"])
        .expect(0);
    assert!(!w.read("b").contains("tainted") && w.read("a.tfstate").contains("tainted"));
    assert!(!w.path().join("a.tfstate.backup").exists());
    w.run(&[
        "untaint",
        "-state=a.tfstate",
        "-backup=-",
        "terraform_data.a",
    ])
    .expect(0);
    assert!(!w.path().join("a.tfstate.backup").exists());
    w.run(&["refresh", "-state=./a.tfstate"]).expect(0);
    let moved = [
        "state",
        "mv",
        "-state=a.tfstate",
        "terraform_data.a",
        "terraform_data.b",
    ];
    w.run(&moved).expect(0);
    assert!(w.read("a.tfstate.backup").contains("\"name\":\"a\""));
    w.run(&["state", "rm", "-state=a.tfstate", "terraform_data.b"])
        .expect(0);
    w.run(&["destroy", "-auto-approve", "-state=a.tfstate"])
        .expect(0);
}

#[test]
fn stages_and_saved_plans_keep_the_named_state() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["stage", "--state=a.tfstate", "--out=first"])
        .expect(0);
    let run = w.run(&["deploy", "first"]).expect(1);
    assert!(run.stderr.contains("there is no stage"), "{run:?}");
    w.run(&["deploy", "--state=a.tfstate", "first"]).expect(0);
    w.run(&["plan", "-state=a.tfstate", "-destroy", "-out=p"])
        .expect(0);
    let run = w.run(&["apply", "p"]).expect(1);
    assert!(run.stderr.contains("a.tfstate"), "{run:?}");
    w.run(&["apply", "-state=a.tfstate", "p"]).expect(0);
}

#[test]
fn default_state_by_name_is_the_default_state() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["apply", "-auto-approve", "-state=terraform.tfstate"])
        .expect(0);
    w.run(&["plan", "-detailed-exitcode"]).expect(0);
    let whole = w.path().join("terraform.tfstate");
    let flag = format!("-state={}", whole.display());
    w.run(&[
        "apply",
        "-auto-approve",
        &flag,
        "-backup=kept",
        "-replace=terraform_data.a",
    ])
    .expect(0);
    assert!(w.read("kept").contains("terraform_data"));
    assert!(!w.path().join("terraform.tfstate.backup").exists());
    let run = w.run(&["history"]).expect(0);
    assert_eq!(run.stdout.lines().count(), 2, "{run:?}");
    assert!(!w.path().join(".flightdeck/states").exists());
}

#[test]
fn state_out_is_written_and_the_read_state_stays() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    let before = w.read("terraform.tfstate");
    w.write("main.tf", &ONE.replace("\"one\"", "\"two\""));
    let run = w
        .run(&["apply", "-auto-approve", "-state-out=out.tfstate"])
        .expect(0);
    assert!(run.stdout.contains("1 to update"), "{run:?}");
    assert_eq!(w.read("terraform.tfstate"), before);
    assert!(w.read("out.tfstate").contains("two"));
    assert!(serial(&w, "out.tfstate") > serial(&w, "terraform.tfstate"));
    // Reads come from the original file again, and the written file is backed up.
    let run = w
        .run(&["apply", "-auto-approve", "-state-out=out.tfstate"])
        .expect(0);
    assert!(run.stdout.contains("1 to update"), "{run:?}");
    assert!(w.read("out.tfstate.backup").contains("two"));
    let run = w
        .run(&["output", "-state=out.tfstate", "-raw", "o"])
        .expect(0);
    assert_eq!(run.stdout, "two");
    let both = [
        "apply",
        "-auto-approve",
        "-state=out.tfstate",
        "-state-out=last.tfstate",
    ];
    let run = w.run(&both).expect(0);
    assert!(run.stdout.contains("no changes"), "{run:?}");
}

#[test]
fn state_out_without_a_state_to_read_starts_empty() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    for _ in 0..2 {
        let run = w
            .run(&["apply", "-auto-approve", "-state-out=out.tfstate"])
            .expect(0);
        assert!(run.stdout.contains("1 to create"), "{run:?}");
        assert!(
            !run.stderr.contains("changed by another program"),
            "{run:?}"
        );
    }
    assert!(!w.path().join("terraform.tfstate").exists());
    assert!(w.read("out.tfstate.backup").contains("terraform_data"));
}

#[test]
fn foreign_files_are_not_overwritten_as_states() {
    let w = Workspace::new(&[("main.tf", ONE), ("notes", "precious")]);
    for (flags, part) in [
        (&["-state=notes"][..], "cannot be read"),
        (&["-state-out=notes"], "is not a state file"),
        (&["-state-out=main.tf"], "not overwritten"),
        (&["-backup=main.tf"], "not overwritten"),
        (&["-backup=.flightdeck/x"], "not overwritten"),
        (
            &["-backup=terraform.tfstate"],
            "pass another file with -backup",
        ),
        (
            &["-state=x.tfstate", "-backup=./x.tfstate"],
            "file with -backup",
        ),
    ] {
        let words = [&["apply", "-auto-approve"], flags].concat();
        let run = w.run(&words).expect(1);
        assert!(run.stderr.contains(part), "{flags:?}: {run:?}");
        assert_eq!(w.read("notes"), "precious", "{flags:?}");
        assert_eq!(w.read("main.tf"), ONE, "{flags:?}");
    }
}

#[test]
fn workspace_new_copies_a_state_file() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    w.run(&["workspace", "new", "-state=terraform.tfstate", "x"])
        .expect(0);
    assert_eq!(w.run(&["output", "-raw", "o"]).expect(0).stdout, "one");
    let run = w.run(&["workspace", "new", "-state=absent", "y"]).expect(1);
    assert!(run.stderr.contains("absent"), "{run:?}");
    let listed = w.run(&["workspace", "list"]).expect(0);
    assert!(!listed.stdout.contains('y'), "{listed:?}");
}

#[test]
fn console_reads_the_named_state() {
    let w = Workspace::new(&[("main.tf", ONE)]);
    w.run(&["apply", "-auto-approve", "-state=a.tfstate"])
        .expect(0);
    let mut command = w.command(&["console", "-state=a.tfstate"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"terraform_data.a.output\n").unwrap();
    drop(stdin);
    let run = Run::from(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(run.stdout.trim(), "\"one\"");
}
