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
fn plan_may_lie_in_the_data_directory_under_a_name_of_its_own() {
    let w = deployed();
    std::fs::create_dir_all(w.path().join(".terraform/modules")).unwrap();
    w.run(&["plan", "-out=.terraform/tfplan"]).expect(0);
    w.run(&["apply", ".terraform/tfplan"]).expect(0);
    for name in ["terraform.tfstate", "environment", "modules/x", ".hidden"] {
        let out = format!("-out=.terraform/{name}");
        let refused = w.run(&["plan", &out]).expect(1).stderr;
        assert!(
            refused.contains("name a file elsewhere"),
            "{name}: {refused}"
        );
    }
}

#[test]
fn output_is_not_written_through_a_link_of_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    let w = deployed();
    let link = |target: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(target, w.path().join(name)).unwrap();
    };
    link(&precious, "file");
    link(outside.path(), "directory");
    // A link to a file that does not exist yet, and one that stays inside.
    link(&outside.path().join("new"), "dangling");
    std::fs::create_dir(w.path().join("sub")).unwrap();
    link(outside.path(), "sub/inner");
    link(&w.path().join("sub"), "inside");
    let paths = [
        "file",
        "directory/new",
        "dangling",
        "./sub/../sub/inner/new",
        "inside/new",
    ];
    for path in paths {
        for arguments in [
            vec!["plan", "-out", path],
            vec!["stage", "--plan-json", path],
            vec!["stage", &format!("-json-into={path}")],
            vec!["state", "export", path],
            vec!["plugin", "docs", "bundled/lab", "--out", path],
        ] {
            let run = w.run(&arguments).expect(1);
            assert!(
                run.stderr.contains("symbolic link"),
                "{arguments:?}: {run:?}"
            );
        }
    }
    std::fs::hard_link(&precious, w.path().join("hard")).unwrap();
    w.write("g.flightdeck.hcl", "# groups\n");
    for (path, says) in [
        ("hard", "hard links"),
        ("g.flightdeck.hcl", "is a configuration file"),
    ] {
        for arguments in [
            vec!["plan", "-out", path],
            vec!["stage", "--plan-json", path],
            vec!["state", "export", path],
        ] {
            let run = w.run(&arguments).expect(1);
            assert!(run.stderr.contains(says), "{arguments:?}: {run:?}");
        }
    }
    assert_eq!(w.read("g.flightdeck.hcl"), "# groups\n");
    let left: Vec<_> = std::fs::read_dir(outside.path())
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert!(!w.path().join("sub/new").exists());
    // A path outside of the workspace is the operator's own.
    let own = outside.path().join("link");
    std::os::unix::fs::symlink(outside.path().join("plan"), &own).unwrap();
    w.run(&["plan", "-out", own.to_str().unwrap()]).expect(0);
    assert!(outside.path().join("plan").exists());
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
