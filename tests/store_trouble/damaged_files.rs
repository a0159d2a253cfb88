//! Tests of a store file that is damaged, foreign, unreadable, or locked by another program.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use rusqlite::Connection;

use super::{MAIN, READS, SeededRandom, WRITES, deployed, output_text, refused, with_store};
use crate::support::{Run, Workspace};

#[test]
fn foreign_file_in_place_of_the_store_is_reported_with_a_remedy_and_kept() {
    let w = deployed();
    let whole = std::fs::read(w.store()).unwrap();
    let pragma = |text: &str| {
        let w = with_store(&whole);
        Connection::open(w.store())
            .unwrap()
            .execute_batch(text)
            .unwrap();
        std::fs::read(w.store()).unwrap()
    };
    let noise = |from: usize| {
        whole
            .iter()
            .enumerate()
            .map(|(n, b)| if n < from { *b } else { (n % 251) as u8 })
            .collect::<Vec<u8>>()
    };
    let cases: [(&str, Vec<u8>, &str); 9] = [
        (
            "a text",
            b"it was a text file all along, long enough to be taken for a header of a database, and then some more".repeat(9),
            "move it away",
        ),
        ("a short text", b"text".to_vec(), "move it away"),
        ("nothing", Vec::new(), "damaged (it is empty)"),
        ("half of it", whole[..whole.len() / 2].to_vec(), "is damaged"),
        ("its first page alone", whole[..4096].to_vec(), "is damaged"),
        ("noise behind the first page", noise(4096), "is damaged"),
        ("noise from the beginning", noise(0), "is not a flightdeck store"),
        ("a newer layout", pragma("PRAGMA user_version = 99"), "use that newer flightdeck"),
        ("another program's", pragma("PRAGMA application_id = 7"), "another program's SQLite file"),
    ];
    for (name, bytes, says) in cases {
        let w = with_store(&bytes);
        for args in READS.into_iter().chain(WRITES) {
            refused(name, &w, args, says);
        }
        assert_eq!(
            std::fs::read(w.store()).unwrap(),
            bytes,
            "{name}: it is left alone"
        );
    }
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        (".flightdeck/flightdeck.db/readme", "a directory"),
    ]);
    for args in READS.into_iter().chain(WRITES) {
        refused("a directory", &w, args, "it is a directory");
    }
}

#[test]
fn damage_anywhere_in_the_store_is_an_error_without_a_panic() {
    let from = deployed();
    let whole = std::fs::read(from.store()).unwrap();
    let state = from.path().join("terraform.tfstate");
    let mut dice = SeededRandom(0x5EED_0001);
    let mut refused = 0;
    for round in 0..24 {
        let mut bytes = whole.clone();
        let pages = bytes.len() / 4096;
        for _ in 0..=dice.below(3) {
            let page = dice.below(pages) * 4096;
            let (from, len) = if round % 2 == 0 {
                (page, 4096)
            } else {
                (page + dice.below(4096), 1 + dice.below(64))
            };
            for at in from..(from + len).min(bytes.len()) {
                bytes[at] = dice.below(256) as u8;
            }
        }
        let w = with_store(&bytes);
        std::fs::copy(&state, w.path().join("terraform.tfstate")).unwrap();
        for args in [READS[0], READS[1], WRITES[0]] {
            let run = w.run(args);
            let text = output_text(&run);
            assert!(
                matches!(run.code, Some(0 | 1)),
                "round {round}: {args:?}: {:?} {text}",
                run.code
            );
            if run.code == Some(1) {
                refused += 1;
                let words = [
                    "is damaged",
                    "is not a flightdeck store",
                    "cannot be read",
                    "newer flightdeck",
                    "were changed independently",
                ];
                assert!(
                    words.iter().any(|w| text.contains(w)),
                    "round {round}: {args:?}: {text}"
                );
            }
        }
    }
    assert!(refused > 10, "only {refused} runs met the damage");
}

#[test]
fn foreign_lock_is_waited_for_and_then_reported() {
    let w = deployed();
    let other = Connection::open(w.store()).unwrap();
    // A foreign writer does not block readers.
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    w.run(&["history"]).expect(0);
    let run = w.run(&["stage", "--json"]).expect(1);
    assert!(
        output_text(&run).contains("locked by another program")
            && output_text(&run).contains("fuser"),
        "{run:#?}"
    );
    other.execute_batch("ROLLBACK").unwrap();
    w.run(&["stage"]).expect(0);
    // A foreign exclusive lock blocks readers too.
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET value = value; COMMIT").unwrap();
    let run = w.run(&["history", "--json"]);
    if run.code != Some(0) {
        assert!(
            output_text(&run).contains("locked by another program"),
            "{run:#?}"
        );
    }
    drop(other);
    w.run(&["history"]).expect(0);
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the binary as `nobody`; as the current user without root.
fn as_nobody(w: &Workspace, args: &[&str]) -> Run {
    let mut command = w.command(args);
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// True if `nobody` can run the binary, which may be in a directory that only root can enter.
fn nobody_can_run(w: &Workspace) -> bool {
    chmod(w.path().parent().unwrap(), 0o755);
    chmod(&w.path(), 0o755);
    let mut command = w.command(&["--version"]);
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let ran = command.status().is_ok_and(|s| s.success());
    if !ran {
        cty::testing::skipped("the binary cannot be run by an unprivileged user here");
    }
    ran
}

#[test]
fn unwritable_directory_is_reported() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    if !nobody_can_run(&w) {
        return;
    }
    chmod(&w.path(), 0o555);
    for args in WRITES {
        let run = as_nobody(&w, args);
        let text = output_text(&run);
        assert_eq!(run.code, Some(1), "{args:?}: {text}");
        assert!(
            text.contains("cannot write in")
                && text.contains(".flightdeck")
                && text.contains("work on a copy"),
            "{args:?}: {text}"
        );
    }
    // Without a store there is nothing to read, and that is no error.
    for args in READS {
        let run = as_nobody(&w, args);
        assert_eq!(run.code, Some(0), "{args:?}: {}", output_text(&run));
    }
    chmod(&w.path(), 0o755);
}

/// A store that another user owns exists. Treating it as missing would plan everything anew.
#[test]
fn unreadable_store_is_not_treated_as_missing() {
    if !is_root() {
        cty::testing::skipped("without root there is nobody else to own the store");
        return;
    }
    let w = deployed();
    if !nobody_can_run(&w) {
        return;
    }
    for (dir, file) in [(0o700, 0o600), (0o755, 0o600)] {
        chmod(&w.path().join(".flightdeck"), dir);
        chmod(&w.store(), file);
        for args in READS {
            let run = as_nobody(&w, args);
            let text = output_text(&run);
            assert_eq!(run.code, Some(1), "{args:?}: {text}");
            let said = text.contains("cannot read") || text.contains("it belongs to the user");
            assert!(
                said && text.contains("run flightdeck as its owner"),
                "{args:?}: {text}"
            );
        }
        let run = as_nobody(&w, WRITES[0]);
        assert_eq!(run.code, Some(1), "{}", output_text(&run));
        assert!(
            output_text(&run).contains("flightdeck.db")
                || output_text(&run).contains(".flightdeck"),
            "{}",
            output_text(&run)
        );
    }
}
