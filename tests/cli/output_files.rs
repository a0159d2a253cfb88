//! Tests of output files: none overwrites a file of flightdeck's own, and none is incomplete
//! without an error.

use crate::support::Workspace;
use std::process::Stdio;

const MAIN: &str = "resource \"terraform_data\" \"a\" {\n  input = \"one\"\n}\n";

fn deployed() -> Workspace {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w
}

#[test]
fn number_is_refused_as_a_stage_name() {
    let w = deployed();
    for name in ["2", "#2", "0", "", " "] {
        let run = w.run(&["stage", "--destroy", "--out", name]).expect(1);
        assert!(run.stderr.contains("name"), "{name:?}: {run:?}");
    }
    w.run(&["stage", "--destroy"]).expect(0);
    w.run(&["stage", "--out", "friday"]).expect(0);
    // A name from an earlier version that looks like a number is ambiguous.
    let store = rusqlite::Connection::open(w.store()).unwrap();
    store
        .execute("UPDATE stage SET name = '2' WHERE name = 'friday'", [])
        .unwrap();
    let run = w.run(&["deploy", "2"]).expect(1);
    assert!(
        run.stderr
            .contains("number of one stage and the name of another"),
        "{run:?}"
    );
    assert_eq!(
        w.run(&["state", "list"]).expect(0).stdout,
        "terraform_data.a\n",
        "nothing was applied"
    );
}

#[test]
fn output_file_never_overwrites_the_store() {
    let w = deployed();
    let before = std::fs::read(w.store()).unwrap();
    std::os::unix::fs::symlink(w.store(), w.path().join("soft.json")).unwrap();
    std::fs::hard_link(w.store(), w.path().join("hard.json")).unwrap();
    std::os::unix::fs::symlink(w.path().join(".flightdeck"), w.path().join("there")).unwrap();
    let names = [
        ".flightdeck/flightdeck.db",
        "./.flightdeck/../.flightdeck/flightdeck.db-wal",
        ".flightdeck/new.json",
        "soft.json",
        "hard.json",
        "there/x",
    ];
    for name in names {
        for args in [
            vec!["state", "export", name],
            vec!["stage", "--plan-json", name],
        ] {
            let run = w.run(&args).expect(1);
            assert!(
                run.stderr.contains(".flightdeck") && run.stderr.contains("name a file elsewhere"),
                "{args:?}: {run:?}"
            );
        }
    }
    assert!(std::fs::read(w.store()).unwrap().starts_with(&before[..16]));
    assert_eq!(
        w.run(&["state", "list"]).expect(0).stdout,
        "terraform_data.a\n"
    );
    assert!(!w.path().join(".flightdeck/new.json").exists());
}

#[test]
fn incomplete_output_is_an_error_in_every_command() {
    let w = deployed();
    let commands: [&[&str]; 12] = [
        &["state", "export"],
        &["state", "list"],
        &["state", "list", "--json"],
        &["state", "show", "terraform_data.a"],
        &["stage", "--json"],
        &["stage"],
        &["history"],
        &["history", "1", "--json"],
        &["failures", "--json"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ];
    for args in commands {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let ended = w.command(args).stdout(Stdio::from(full)).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("failed to write output"), "{args:?}: {said}");
        // A reader that has read enough closes the pipe, which is not an error.
        let mut child = w.command(args).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(
            (ended.status.code(), said.contains("error")),
            (Some(0), false),
            "{args:?}: {said}"
        );
    }
    for args in [
        ["state", "export", "/dev/full"],
        ["stage", "--plan-json", "/dev/full"],
    ] {
        let run = w.run(&args).expect(1);
        assert!(run.stderr.contains("/dev/full"), "{run:?}");
    }
}
