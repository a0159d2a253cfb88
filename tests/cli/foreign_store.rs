//! Tests of a hostile store: a workspace may be a clone of an untrusted repository. A foreign entry
//! in place of the store is refused before anything is changed, opened for writing or waited for.

use crate::support::{Run, Workspace, mode};
use rusqlite::Connection;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const MAIN: &str = "resource \"terraform_data\" \"a\" {\n  input = \"one\"\n}\n";
const COMMANDS: [&[&str]; 4] = [
    &["history"],
    &["state", "list"],
    &["stage"],
    &["deploy", "--auto-approve"],
];

fn workspace() -> Workspace {
    Workspace::new(&[("main.tf", MAIN)])
}

/// Runs flightdeck under `timeout`, so that an endless wait fails the test.
fn run(w: &Workspace, args: &[&str]) -> Run {
    let inner = w.command(args);
    let mut command = Command::new("timeout");
    command
        .arg("60")
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(w.path())
        .stdin(std::process::Stdio::null());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Run::from_command(&mut command)
}

#[track_caller]
fn refused(w: &Workspace, says: &str) {
    for args in COMMANDS {
        let run = run(w, args);
        assert_eq!(run.code, Some(1), "{args:?}: {run:#?}");
        assert!(
            run.stderr.contains("flightdeck does not use") && run.stderr.contains(says),
            "{args:?}: nothing says {says:?}: {run:#?}"
        );
        assert!(run.stderr.contains(".flightdeck"), "{args:?}: {run:#?}");
    }
}

/// Names, types, modes, sizes and contents of all entries below a directory.
fn snapshot(dir: &Path) -> Vec<String> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let content = if meta.is_file() {
            format!("{:?}", std::fs::read(&path).unwrap())
        } else {
            String::new()
        };
        out.push(format!(
            "{} {:?} {:o} {content}",
            path.display(),
            meta.file_type(),
            meta.permissions().mode()
        ));
        if meta.is_dir() {
            out.extend(snapshot(&path));
        }
    }
    out.sort();
    out
}

/// World-accessible directory next to the workspace, with a file in it.
fn outside_directory(w: &Workspace) -> PathBuf {
    let dir = w.path().parent().unwrap().join("victim");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("file"), "theirs").unwrap();
    for path in [dir.join("file"), dir.clone()] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

#[test]
fn link_in_place_of_the_store_directory_is_not_followed() {
    let w = workspace();
    let victim = outside_directory(&w);
    symlink(&victim, w.path().join(".flightdeck")).unwrap();
    let before = snapshot(&victim);
    refused(&w, "it is a symbolic link");
    assert_eq!((snapshot(&victim), mode(&victim)), (before, 0o755));
    // A dangling link must not create its target.
    let w = workspace();
    symlink("../nowhere", w.path().join(".flightdeck")).unwrap();
    refused(&w, "it is a symbolic link");
    assert!(!w.path().parent().unwrap().join("nowhere").exists());
}

#[test]
fn link_pipe_or_device_in_place_of_a_store_file_is_refused() {
    for name in [
        "flightdeck.db",
        "flightdeck.db-wal",
        "flightdeck.db-shm",
        "flightdeck.db-journal",
        "lock",
        ".gitignore",
    ] {
        for (what, says) in [
            ("link", "it is a symbolic link"),
            ("null", "it is a symbolic link"),
            ("pipe", "it is a named pipe"),
        ] {
            let w = workspace();
            let victim = outside_directory(&w);
            let place = w.path().join(".flightdeck").join(name);
            std::fs::create_dir(place.parent().unwrap()).unwrap();
            match what {
                "link" => symlink(victim.join("file"), &place).unwrap(),
                "null" => symlink("/dev/null", &place).unwrap(),
                _ => assert!(
                    Command::new("mkfifo")
                        .arg(&place)
                        .status()
                        .unwrap()
                        .success()
                ),
            }
            let before = snapshot(w.path().parent().unwrap());
            let null = mode(Path::new("/dev/null"));
            refused(&w, says);
            assert_eq!(
                snapshot(w.path().parent().unwrap()),
                before,
                "{name} as {what}"
            );
            assert_eq!(mode(Path::new("/dev/null")), null);
        }
    }
    let w = workspace();
    let victim = outside_directory(&w);
    std::fs::create_dir(w.path().join(".flightdeck")).unwrap();
    std::fs::hard_link(
        victim.join("file"),
        w.path().join(".flightdeck/flightdeck.db-wal"),
    )
    .unwrap();
    refused(&w, "it has other names");
    std::fs::rename(w.path().join(".flightdeck/flightdeck.db-wal"), w.store()).unwrap();
    for args in COMMANDS {
        let run = run(&w, args).expect(1);
        assert!(run.stderr.contains("is not a flightdeck store"), "{run:#?}");
    }
    assert_eq!(mode(&victim.join("file")), 0o755);
}

#[test]
fn store_of_another_owner_is_refused() {
    if !rustix::process::geteuid().is_root() {
        cty::testing::skipped("without root nothing can be given to somebody else");
        return;
    }
    for below in ["", "/flightdeck.db"] {
        let w = workspace();
        w.run(&["deploy", "--auto-approve"]).expect(0);
        std::os::unix::fs::chown(
            format!("{}/.flightdeck{below}", w.path().display()),
            Some(12_345),
            None,
        )
        .unwrap();
        let before = snapshot(&w.path());
        refused(&w, "it belongs to the user id 12345");
        assert_eq!(snapshot(&w.path()), before);
    }
}

/// Copies of a real store with an additional or changed object.
#[test]
fn store_with_unexpected_schema_objects_is_refused() {
    let w = workspace();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let whole = std::fs::read(w.store()).unwrap();
    let endless = "WITH RECURSIVE r(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM r) SELECT 'serial' AS key, value FROM r";
    for (what, sql, says) in [
        (
            "a trigger",
            "CREATE TRIGGER t AFTER INSERT ON stage BEGIN DELETE FROM state_resource; END"
                .to_owned(),
            "the trigger \"t\"",
        ),
        (
            "a view",
            "CREATE VIEW v AS SELECT 1".to_owned(),
            "the view \"v\"",
        ),
        (
            "a view for a table",
            format!("ALTER TABLE meta RENAME TO old; CREATE VIEW meta AS {endless}"),
            "which flightdeck did not create",
        ),
        (
            "an endless trigger",
            format!(
                "CREATE TRIGGER e BEFORE UPDATE ON lock BEGIN SELECT count(*) FROM ({endless}); END"
            ),
            "the trigger \"e\"",
        ),
        (
            "another table",
            "CREATE TABLE mine (a)".to_owned(),
            "the table \"mine\"",
        ),
        (
            "another column",
            "ALTER TABLE stage ADD COLUMN mine TEXT DEFAULT 'x'".to_owned(),
            "the table \"stage\"",
        ),
        (
            "another index",
            "CREATE INDEX i ON stage (id) WHERE abs(id) > 0".to_owned(),
            "the index \"i\"",
        ),
    ] {
        let w = workspace();
        std::fs::create_dir(w.path().join(".flightdeck")).unwrap();
        std::fs::set_permissions(
            w.path().join(".flightdeck"),
            std::fs::Permissions::from_mode(0o755),
        )
        .unwrap();
        std::fs::write(w.store(), &whole).unwrap();
        let conn = Connection::open(w.store()).unwrap();
        conn.execute_batch(&sql)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        conn.close().unwrap();
        let before = snapshot(&w.path());
        refused(&w, says);
        assert_eq!(
            snapshot(&w.path()),
            before,
            "{what}: it is left as it is, and nothing is put beside it"
        );
    }
}

/// The main file can look correct while its write-ahead log adds content.
#[test]
fn write_ahead_log_with_unexpected_schema_objects_is_refused() {
    let w = workspace();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let theirs = workspace();
    std::fs::create_dir(theirs.path().join(".flightdeck")).unwrap();
    let conn = Connection::open(w.store()).unwrap();
    conn.execute_batch("PRAGMA wal_autocheckpoint = 0; CREATE TRIGGER t AFTER INSERT ON stage BEGIN DELETE FROM state_resource; END")
        .unwrap();
    for name in ["", "-wal"] {
        let name = format!(".flightdeck/flightdeck.db{name}");
        std::fs::copy(w.path().join(&name), theirs.path().join(&name)).unwrap();
    }
    drop(conn);
    refused(&theirs, "the trigger \"t\"");
}
