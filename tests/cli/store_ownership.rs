//! Tests of stores that came with a repository: they are set aside and never deleted, and their
//! records are not used before the user adopts them.

use crate::support::{Run, Workspace};
use std::path::Path;
use std::process::Command;

const MAIN: &str = "resource \"terraform_data\" \"a\" {\n  input = \"one\"\n}\n";

/// Workspace with a store of this user.
fn deployed() -> Workspace {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w
}

/// Runs as a user with another key.
fn other_user(w: &Workspace, args: &[&str]) -> Run {
    let home = w.path().parent().unwrap().join("other");
    Run::from_command(w.command(args).env("XDG_STATE_HOME", home))
}

fn git(w: &Workspace, words: &[&str]) {
    let status = Command::new("git")
        .args(words)
        .current_dir(w.path())
        .status();
    assert!(status.unwrap().success());
}

fn aside(w: &Workspace, number: u32) -> std::path::PathBuf {
    w.path()
        .join(format!(".flightdeck-set-aside/{number}/.flightdeck"))
}

fn deploys(run: &Run) -> usize {
    run.result()["history"].as_array().map_or(0, Vec::len)
}

#[test]
fn store_of_another_key_is_set_aside_and_can_be_adopted() {
    let w = deployed();
    let secret = w.path().join(".flightdeck/secrets");
    std::fs::create_dir_all(&secret).unwrap();
    std::fs::write(secret.join("pw"), "theirs").unwrap();
    // A command that only reads does not use it and moves nothing.
    let run = other_user(&w, &["history", "--json"]);
    assert_eq!(deploys(&run), 0, "{run:?}");
    assert!(w.store().exists());
    let run = other_user(&w, &["stage"]).expect(0);
    assert!(run.stderr.contains("set aside"), "{run:?}");
    assert!(run.stderr.contains("state adopt-store 1"), "{run:?}");
    assert!(aside(&w, 1).join("flightdeck.db").exists());
    assert!(aside(&w, 1).join("secrets/pw").exists());
    assert!(!secret.exists());
    let run = other_user(&w, &["stage"]).expect(0);
    assert!(!run.stderr.contains("set aside"), "once: {run:?}");
    // Without a confirmation nothing is changed.
    assert_ne!(other_user(&w, &["state", "adopt-store"]).code, Some(0));
    assert!(aside(&w, 1).exists());
    let run = other_user(&w, &["state", "adopt-store", "--auto-approve"]).expect(0);
    assert!(run.stdout.contains(".flightdeck-set-aside/1"), "{run:?}");
    assert!(aside(&w, 2).join("flightdeck.db").exists());
    assert!(secret.join("pw").exists());
    assert_eq!(deploys(&other_user(&w, &["history", "--json"])), 1);
}

#[test]
fn store_that_git_tracks_is_set_aside() {
    for (what, forget_mark) in [("with a mark", false), ("without one", true)] {
        let w = deployed();
        if forget_mark {
            std::fs::remove_file(w.path().join(".flightdeck/owner")).unwrap();
        }
        git(&w, &["init", "-q"]);
        git(&w, &["add", "-f", ".flightdeck/flightdeck.db"]);
        let run = w.run(&["stage"]).expect(0);
        assert!(run.stderr.contains("git tracks it"), "{what}: {run:?}");
        assert!(aside(&w, 1).join("flightdeck.db").exists(), "{what}");
        let run = w
            .run(&["state", "adopt-store", "1", "--auto-approve"])
            .expect(0);
        assert!(run.stdout.contains("from now on"), "{what}: {run:?}");
        let run = w.run(&["stage"]).expect(0);
        assert!(!run.stderr.contains("set aside"), "{what}: {run:?}");
    }
}

#[test]
fn store_without_a_mark_is_adopted_once_and_a_key_can_be_shared() {
    let w = deployed();
    let mark = w.path().join(".flightdeck/owner");
    std::fs::remove_file(&mark).unwrap();
    let run = w.run(&["stage"]).expect(0);
    assert!(
        mark.exists() && !run.stderr.contains("set aside"),
        "{run:?}"
    );
    assert_eq!(crate::support::mode(Path::new(&mark)), 0o600);
    // Runners have different directories, and the same key.
    let w = Workspace::new(&[("main.tf", MAIN)]);
    let runner = |name: &str, key: &str| {
        let home = w.path().parent().unwrap().join(name);
        let mut command = w.command(&["deploy", "--auto-approve"]);
        command.env("XDG_STATE_HOME", home);
        Run::from_command(command.env("FLIGHTDECK_STORE_KEY", key))
    };
    runner("one", "shared").expect(0);
    let run = runner("two", "shared").expect(0);
    assert!(!run.stderr.contains("set aside"), "{run:?}");
    let run = runner("two", "another").expect(0);
    assert!(run.stderr.contains("set aside"), "{run:?}");
}
