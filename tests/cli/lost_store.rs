//! Tests of a store that is removed, replaced or truncated during a deploy: no more operations
//! begin, the error reports it, and a rescue file saves the outcomes. Also tests of the lock owner
//! across pid namespaces.

use crate::lab_deploys::{Lab, Running};
use bundled::lab::control::{self, Fault, Kind, On};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chain of six objects, so that some are created and some are not when the store is lost.
const CHAIN: &str = r#"
resource "lab_bucket" "a" { name = "a" }
resource "lab_bucket" "b" { name = "b-${lab_bucket.a.name}" }
resource "lab_bucket" "c" { name = "c-${lab_bucket.b.name}" }
resource "lab_bucket" "d" { name = "d-${lab_bucket.c.name}" }
resource "lab_bucket" "e" { name = "e-${lab_bucket.d.name}" }
resource "lab_bucket" "f" { name = "f-${lab_bucket.e.name}" }
"#;

fn chain() -> Lab {
    let lab = Lab::new(
        &CHAIN
            .replace("{ name", "{\n  name")
            .replace(" }\n", "\n}\n"),
    );
    lab.set_fault(Fault {
        on: On::Create,
        ms: Some(150),
        ..Fault::new(Kind::Latency)
    });
    lab
}

fn rescue_files(lab: &Lab) -> Vec<PathBuf> {
    let all = std::fs::read_dir(lab.workspace.path())
        .unwrap()
        .map(|e| e.unwrap().path());
    all.filter(|p| {
        p.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("flightdeck-rescue-")
    })
    .collect()
}

fn sibling_file(store: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", store.display()))
}

#[test]
fn store_lost_during_a_deploy_stops_it_and_outcomes_are_rescued() {
    let removed: fn(&Path) = |store| std::fs::remove_dir_all(store.parent().unwrap()).unwrap();
    let replaced: fn(&Path) = |store| {
        let copy = sibling_file(store, ".copy");
        std::fs::copy(store, &copy).unwrap();
        std::fs::rename(copy, store).unwrap();
    };
    let cut: fn(&Path) = |store| {
        std::fs::OpenOptions::new()
            .write(true)
            .open(store)
            .unwrap()
            .set_len(0)
            .unwrap()
    };
    let without_log: fn(&Path) = |store| std::fs::remove_file(sibling_file(store, "-wal")).unwrap();
    for (what, takes_away, why) in [
        // The second command below may have created another store before the first one checks.
        (
            "removed",
            removed,
            &["it was removed", "another file is in its place"][..],
        ),
        ("replaced", replaced, &["another file is in its place"]),
        ("cut off", cut, &["it was truncated"]),
        ("log removed", without_log, &["its log was removed"]),
    ] {
        let lab = chain();
        let mut running = Running::start(&lab);
        running.read_until(|e| e["type"] == "operation" && e["state"] == "done");
        takes_away(&lab.workspace.store());
        // A second command does not take the missing store for an empty workspace.
        if what == "removed" {
            let second = lab.run(&["deploy", "--auto-approve"]);
            let held = second.code == Some(4) && second.stderr.contains("locked by");
            assert!(
                held || (second.code == Some(1) && second.stderr.contains("flightdeck-rescue-")),
                "{what}: {second:?}"
            );
        }
        let (code, result, said) = running.end_with_output();
        assert_eq!(
            (code, &result["outcome"]),
            (Some(1), &"error".into()),
            "{what}: {result}\n{said}"
        );
        assert!(
            why.iter().any(|why| said.contains(why)) && said.contains("flightdeck-rescue-"),
            "{what}: {said}"
        );
        let made = control::objects(&lab.file()).unwrap().len();
        assert!((1..6).contains(&made), "{what}: {made} were made");

        let files = rescue_files(&lab);
        assert_eq!(files.len(), 1, "{what}: {files:?}");
        assert_eq!(crate::support::mode(&files[0]), 0o600, "{what}");
        let store = lab.workspace.store();
        std::fs::create_dir_all(store.parent().unwrap()).unwrap();
        for ending in ["", "-wal", "-shm"] {
            std::fs::remove_file(sibling_file(&store, ending)).ok();
        }
        std::fs::rename(&files[0], &store).unwrap();
        let listed = lab.run(&["state", "list", "--json"]).expect(0);
        assert_eq!(
            listed.result()["resources"].as_array().unwrap().len(),
            made,
            "{what}: {listed:?}"
        );
        control::clear_all(&lab.file()).unwrap();
        let next = lab.deploy().expect(0).result();
        assert_eq!(
            next["operations"]["done"].as_u64(),
            Some(6 - made as u64),
            "{what}: {next}"
        );
        assert_eq!(
            control::objects(&lab.file()).unwrap().len(),
            6,
            "{what}: nothing was made twice"
        );
    }
}

/// Runs the binary in its own pid namespace; `None` if this machine permits none.
fn run_in_pid_namespace(lab: &Lab, args: &[&str]) -> Option<(Option<i32>, String)> {
    let inner = lab.workspace.command(args);
    let mut outer = Command::new("unshare");
    outer
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(lab.workspace.path());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let tried = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "true"])
        .output();
    if !tried.is_ok_and(|o| o.status.success()) {
        cty::testing::skipped("a pid namespace cannot be made here");
        return None;
    }
    let ended = outer.output().unwrap();
    Some((
        ended.status.code(),
        format!(
            "{}{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        ),
    ))
}

/// `FLIGHTDECK_TEST_RACES` sets the number of rounds (default 2).
#[test]
fn one_of_many_concurrent_commands_works_and_nothing_is_created_twice() {
    let rounds = std::env::var("FLIGHTDECK_TEST_RACES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(2);
    let (mut worked, mut held) = (0, 0);
    for _ in 0..rounds {
        let lab = chain();
        let ends: Vec<(Option<i32>, String)> = std::thread::scope(|scope| {
            let run = |n: usize| {
                let lab = &lab;
                scope.spawn(move || {
                    let args = ["deploy", "--auto-approve"];
                    if n.is_multiple_of(2)
                        && let Some(ended) = run_in_pid_namespace(lab, &args)
                    {
                        return ended;
                    }
                    let run = lab.run(&args);
                    (run.code, run.stdout + &run.stderr)
                })
            };
            let all: Vec<_> = (0..6).map(run).collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for (code, said) in &ends {
            match code {
                Some(0) => worked += 1,
                Some(4) => held += 1,
                _ => panic!("{code:?}: {said}"),
            }
        }
        assert!(ends.iter().any(|(code, _)| *code == Some(0)), "{ends:?}");
        assert_eq!(control::objects(&lab.file()).unwrap().len(), 6, "{ends:?}");
        assert_eq!(
            lab.run(&["stage", "--json"]).expect(0).result()["changes"]["no_op"],
            6
        );
    }
    println!(
        "met: {rounds} races of six: {worked} worked, {held} were told who holds the workspace"
    );
}

#[test]
fn lock_is_effective_in_another_pid_namespace() {
    let lab = Lab::new("resource \"lab_bucket\" \"a\" {\n  name = \"a\"\n}\n");
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Hang)
    });
    let mut running = Running::start(&lab);
    running.until_applying();
    let Some((code, said)) = run_in_pid_namespace(&lab, &["stage"]) else {
        return;
    };
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("locked by") && said.contains("--force-unlock"),
        "{said}"
    );
    let (_, said) = run_in_pid_namespace(&lab, &["history", "--json"]).unwrap();
    assert!(
        said.contains("\"outcome\":\"running\""),
        "a deploy that runs is not interrupted: {said}"
    );
    // The lock owner's socket still exists, and the deploy ends normally.
    running.signal(rustix::process::Signal::INT);
    let (code, result) = running.end();
    assert_eq!(code, Some(130), "{result}");
    let (code, said) = run_in_pid_namespace(&lab, &["stage"]).unwrap();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn killed_lock_owner_is_detected_from_another_pid_namespace() {
    let lab = Lab::new("resource \"lab_bucket\" \"a\" {\n  name = \"a\"\n}\n");
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Hang)
    });
    let mut running = Running::start(&lab);
    running.until_applying();
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let Some((code, said)) = run_in_pid_namespace(&lab, &["stage"]) else {
        return;
    };
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("replaced the stale workspace lock"), "{said}");
}
