//! Clones with a store: a repository brings a directory `.flightdeck` of somebody else. None of it
//! is used: neither its outcomes, nor its deploys, secrets and caches.

use crate::support::{Run, Workspace};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const MAIN: &str = "variable \"pw\" {\n  default = \"\"\n}\nresource \"terraform_data\" \"a\" {\n  input = \"one\"\n}\n";
const SECRET: &str = "theirs-0a1b2c3d4e";

/// Workspace of another user, with a store, a secret and a cache.
fn theirs() -> Workspace {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write(".flightdeck/secrets/pw", SECRET);
    w.write(".flightdeck/cache/schema", "theirs");
    w
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&entry.path(), &place),
            kind if kind.is_file() => drop(std::fs::copy(entry.path(), place).unwrap()),
            _ => {}
        }
    }
}

fn git(w: &Workspace, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(words).current_dir(w.path());
    assert!(command.status().unwrap().success());
}

fn deploys(run: &Run) -> usize {
    run.result()["history"].as_array().map_or(0, Vec::len)
}

/// Change of the clone before the first command.
type Arrange = fn(&Workspace);

fn tracked(w: &Workspace, paths: &[&str]) {
    git(w, &["init", "-q"]);
    git(w, &[&["add", "-f"], paths].concat());
}

fn remove(w: &Workspace, name: &str) {
    let path = w.path().join(".flightdeck").join(name);
    match path.is_dir() {
        true => std::fs::remove_dir_all(path).unwrap(),
        false => std::fs::remove_file(path).unwrap(),
    }
}

#[test]
fn store_of_a_clone_is_never_used() {
    let rows: [(&str, Arrange); 10] = [
        ("with the mark of another user", |_| {}),
        ("with a mark, tracked", |w| tracked(w, &[".flightdeck"])),
        ("without a mark, tracked", |w| {
            remove(w, "owner");
            tracked(w, &[".flightdeck/flightdeck.db"]);
        }),
        ("whose secret alone is tracked", |w| {
            remove(w, "owner");
            tracked(w, &[".flightdeck/secrets/pw"]);
        }),
        ("with secrets alone, tracked", |w| {
            remove(w, "owner");
            remove(w, "flightdeck.db");
            tracked(w, &[".flightdeck/secrets"]);
        }),
        ("with an adopted mark of another user", |w| {
            let mark = w.read(".flightdeck/owner").replace(" made ", " adopted ");
            w.write(".flightdeck/owner", &mark);
        }),
        ("with a damaged mark", |w| {
            w.write(".flightdeck/owner", "\0")
        }),
        ("with an empty mark", |w| w.write(".flightdeck/owner", "")),
        ("with a mark of a later version", |w| {
            let mark = w.read(".flightdeck/owner").replace("store 1", "store 2");
            w.write(".flightdeck/owner", &mark);
        }),
        ("below a repository", |w| {
            git(w, &["init", "-q", ".."]);
            git(w, &["add", "-f", ".flightdeck/flightdeck.db"]);
        }),
    ];
    for (what, arrange) in rows {
        let (from, clone) = (theirs(), Workspace::new(&[("main.tf", MAIN)]));
        let state = from.read("terraform.tfstate");
        clone.write("terraform.tfstate", &state);
        copy(
            &from.path().join(".flightdeck"),
            &clone.path().join(".flightdeck"),
        );
        // The user has a key of an earlier workspace.
        let home = clone.path().with_file_name("earlier");
        copy(&from.path(), &home);
        std::fs::remove_dir_all(home.join(".flightdeck")).unwrap();
        let mut earlier = clone.command(&["stage"]);
        Run::from_command(earlier.current_dir(&home)).expect(0);
        arrange(&clone);
        let read = clone.run(&["history", "--json"]);
        assert_eq!(deploys(&read), 0, "a store {what}: {read:?}");
        let staged = clone.run(&["stage"]).expect(0);
        assert!(staged.stderr.contains("set aside"), "{what}: {staged:?}");
        for name in ["secrets/pw", "cache/schema"] {
            let file = clone.path().join(".flightdeck").join(name);
            assert!(!file.exists(), "{what}: {name}");
            let aside = clone.path().join(".flightdeck-set-aside/1/.flightdeck");
            let kept = std::fs::read_to_string(aside.join(name)).unwrap();
            assert!(kept.starts_with("theirs"), "{what}: {name}");
        }
        assert_eq!(deploys(&clone.run(&["history", "--json"])), 0, "{what}");
        assert_eq!(clone.read("terraform.tfstate"), state, "{what}");
    }
    println!("met: {} stores", rows.len());
}

#[test]
fn linked_store_of_a_clone_is_refused() {
    for name in [
        ".flightdeck",
        ".flightdeck/flightdeck.db",
        ".flightdeck/secrets",
    ] {
        let (from, clone) = (theirs(), Workspace::new(&[("main.tf", MAIN)]));
        let link = clone.path().join(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(from.path().join(name), &link).unwrap();
        clone.write(
            "s.flightdeck.hcl",
            "secret \"pw\" {\n  from = \"generate:20\"\n}\n",
        );
        let before = std::fs::read(from.store()).unwrap();
        let run = clone.run(&["deploy", "--auto-approve"]);
        assert_ne!(run.code, Some(0), "{name}: {run:?}");
        assert_eq!(std::fs::read(from.store()).unwrap(), before, "{name}");
        assert_eq!(from.read(".flightdeck/secrets/pw"), SECRET, "{name}");
    }
}
