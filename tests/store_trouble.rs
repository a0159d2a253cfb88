//! The store when the machine is against it: a full disk, a directory that cannot be written,
//! another program's lock, a file that is damaged or not ours, and the loss of power at any moment
//! of a deploy. Words, exit codes, nothing lost.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]
#[path = "cli/support.rs"]
#[allow(dead_code)]
mod support;

use providers::lab::control;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Run, Workspace};

const BIN: &str = env!("CARGO_BIN_EXE_flightdeck");
const MAIN: &str = "resource \"terraform_data\" \"a\" {\n  input = \"one\"\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.output\n}\n";
/// What only reads, and what writes.
const READS: [&[&str]; 4] = [
    &["history", "--json"],
    &["state", "list", "--json"],
    &["failures", "--json"],
    &["logs", "--json"],
];
const WRITES: [&[&str]; 2] = [
    &["stage", "--json"],
    &["deploy", "--auto-approve", "--json"],
];

/// Numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below.max(1)).unwrap()).unwrap()
    }
}

/// A workspace whose store has a deploy in it.
fn deployed() -> Workspace {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w
}

/// Another workspace with the same configuration and this store.
fn with_store(bytes: &[u8]) -> Workspace {
    let w = Workspace::new(&[("main.tf", MAIN), (".flightdeck/.gitignore", "*\n")]);
    std::fs::write(w.store(), bytes).unwrap();
    w
}

/// What a run says, to people and to programs.
fn said(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr)
}

/// Refused with these words about this store, and never in a panic.
#[track_caller]
fn refused(name: &str, w: &Workspace, args: &[&str], says: &str) {
    let run = w.run(args);
    let text = said(&run);
    assert_eq!(run.code, Some(1), "{name}: {args:?}: {text}");
    assert_eq!(run.result()["outcome"], "error", "{name}: {args:?}");
    assert!(
        text.contains(says),
        "{name}: {args:?}: nothing says {says:?}: {text}"
    );
    assert!(
        text.contains(".flightdeck/flightdeck.db"),
        "{name}: {args:?}: which file? {text}"
    );
}

#[test]
fn a_file_that_is_no_store_is_named_with_a_remedy_and_left_as_it_is() {
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
fn damage_anywhere_in_the_file_is_met_with_words() {
    let whole = std::fs::read(deployed().store()).unwrap();
    let mut dice = Dice(0x5EED_0001);
    let mut refused = 0;
    for round in 0..24 {
        let mut bytes = whole.clone();
        let pages = bytes.len() / 4096;
        for _ in 0..=dice.roll(3) {
            let page = dice.roll(pages) * 4096;
            let (from, len) = if round % 2 == 0 {
                (page, 4096)
            } else {
                (page + dice.roll(4096), 1 + dice.roll(64))
            };
            for at in from..(from + len).min(bytes.len()) {
                bytes[at] = dice.roll(256) as u8;
            }
        }
        let w = with_store(&bytes);
        for args in [READS[0], READS[1], WRITES[0]] {
            let run = w.run(args);
            let text = said(&run);
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
fn another_programs_lock_is_waited_for_and_then_named() {
    let w = deployed();
    let other = Connection::open(w.store()).unwrap();
    // A writer: readers go on.
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    w.run(&["history"]).expect(0);
    let run = w.run(&["stage", "--json"]).expect(1);
    assert!(
        said(&run).contains("locked by another program") && said(&run).contains("fuser"),
        "{run:#?}"
    );
    other.execute_batch("ROLLBACK").unwrap();
    w.run(&["stage"]).expect(0);
    // One that keeps everybody out.
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET value = value; COMMIT").unwrap();
    let run = w.run(&["history", "--json"]);
    if run.code != Some(0) {
        assert!(said(&run).contains("locked by another program"), "{run:#?}");
    }
    drop(other);
    w.run(&["history"]).expect(0);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The binary as somebody who owns nothing; as ourselves where we are not root.
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

/// Whether the binary can be run at all by somebody who owns nothing: it may lie where only root
/// may go.
fn nobody_can_run(w: &Workspace) -> bool {
    chmod(w.path().parent().unwrap(), 0o755);
    chmod(&w.path(), 0o755);
    let mut command = w.command(&["--version"]);
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let ran = command.status().is_ok_and(|s| s.success());
    if !ran {
        eprintln!("skipped: the binary cannot be run by an unprivileged user here");
    }
    ran
}

#[test]
fn a_directory_that_cannot_be_written_is_said_so() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    if !nobody_can_run(&w) {
        return;
    }
    chmod(&w.path(), 0o555);
    for args in WRITES {
        let run = as_nobody(&w, args);
        let text = said(&run);
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
        assert_eq!(run.code, Some(0), "{args:?}: {}", said(&run));
    }
    chmod(&w.path(), 0o755);
}

/// A store of somebody else is there: it must not be taken for none, or everything would be planned
/// anew.
#[test]
fn a_store_that_may_not_be_read_is_not_taken_for_none() {
    if !is_root() {
        eprintln!("skipped: without root there is nobody else to own the store");
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
            let text = said(&run);
            assert_eq!(run.code, Some(1), "{args:?}: {text}");
            let said = text.contains("cannot read") || text.contains("it belongs to the user");
            assert!(
                said && text.contains("work as its owner"),
                "{args:?}: {text}"
            );
        }
        let run = as_nobody(&w, WRITES[0]);
        assert_eq!(run.code, Some(1), "{}", said(&run));
        assert!(
            said(&run).contains("flightdeck.db") || said(&run).contains(".flightdeck"),
            "{}",
            said(&run)
        );
    }
}

/// A shell script in a namespace of its own where it may mount, with `$BIN`, `$WORK` and `$OUT`.
/// False where it may not.
fn where_mounts_are_allowed(script: &str, w: &Workspace, out: &Path) -> bool {
    let probe = |args: &[&str]| {
        Command::new("unshare")
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let flags: &[&str] = if is_root() { &["-m"] } else { &["-r", "-m"] };
    let test = format!("mount -t tmpfs none {}", out.display());
    if !probe(&[flags, &["sh", "-c", &test]].concat()) {
        eprintln!("skipped: nothing can be mounted here");
        return false;
    }
    let base = w.command(&[] as &[&str]);
    let mut command = Command::new("unshare");
    command
        .args(flags)
        .args(["sh", "-ec", script])
        .env("BIN", BIN)
        .env("WORK", w.path())
        .env("OUT", out);
    for (name, value) in base.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    true
}

#[test]
fn a_file_system_that_is_read_only_is_said_so_and_can_be_read() {
    let w = deployed();
    let out = tempfile::tempdir().unwrap();
    let script = r#"
        mount --bind "$WORK" "$WORK" && mount -o remount,ro,bind "$WORK"
        cd "$WORK"
        set +e
        "$BIN" stage >"$OUT/stage" 2>&1; echo $? >"$OUT/stage.code"
        "$BIN" state list >"$OUT/list" 2>&1; echo $? >"$OUT/list.code"
        "$BIN" history >"$OUT/history" 2>&1; echo $? >"$OUT/history.code"
        true
    "#;
    if !where_mounts_are_allowed(script, &w, out.path()) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    assert_eq!(read("stage.code").trim(), "1", "{}", read("stage"));
    assert!(
        read("stage").contains("cannot write in") && read("stage").contains("ead-only file system"),
        "{}",
        read("stage")
    );
    assert_eq!(
        (read("list.code").trim(), read("list").trim()),
        ("0", "terraform_data.a\nterraform_data.b")
    );
    assert_eq!(read("history.code").trim(), "0", "{}", read("history"));
}

/// A disk with that many kilobytes: too small for a store, just large enough, or anything in
/// between.
#[test]
fn a_store_that_was_to_be_made_on_a_nearly_full_disk_is_made_once_there_is_room() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    let out = tempfile::tempdir().unwrap();
    let script = r#"
        set +e
        for size in $(seq 40 12 340); do
            mount -t tmpfs -o size=${size}k none "$WORK"
            cd "$WORK"
            printf 'resource "terraform_data" "a" {\n}\n' >main.tf
            "$BIN" stage >"$OUT/$size.before" 2>&1
            echo $? >"$OUT/$size.before.code"
            mount -o remount,size=10m "$WORK"
            "$BIN" stage >"$OUT/$size.after" 2>&1
            echo $? >"$OUT/$size.after.code"
            cd /
            umount "$WORK"
        done
        true
    "#;
    if !where_mounts_are_allowed(script, &w, out.path()) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    let mut refused = 0;
    for size in (40..=340).step_by(12) {
        let before = read(&format!("{size}.before"));
        match read(&format!("{size}.before.code")).trim() {
            "0" => {}
            "1" => {
                refused += 1;
                assert!(before.contains("o space left"), "{size} kB: {before}");
            }
            other => panic!("{size} kB: ended with {other}: {before}"),
        }
        assert_eq!(
            read(&format!("{size}.after.code")).trim(),
            "0",
            "{size} kB: {}",
            read(&format!("{size}.after"))
        );
    }
    assert!(
        (5..20).contains(&refused),
        "{refused} of 26 sizes were too small"
    );
}

#[test]
fn a_limit_of_files_is_told_in_words_and_nothing_dies_of_it() {
    for blocks in [8, 100, 200, 300] {
        let w = Workspace::new(&[("main.tf", MAIN)]);
        let base = w.command(&[] as &[&str]);
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                &format!("ulimit -f {blocks}; exec \"$BIN\" deploy --auto-approve"),
            ])
            .env("BIN", BIN)
            .current_dir(w.path());
        for (name, value) in base.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(
            matches!(ended.status.code(), Some(0 | 1)),
            "{blocks} blocks: {ended:?}"
        );
        assert!(
            ended.status.success() || said.contains("ulimit -f") || said.contains("too large"),
            "{blocks} blocks: {said}"
        );
        // Without the limit it goes on from whatever there was.
        let next = w.run(&["stage"]);
        assert_eq!(next.code, Some(0), "{blocks} blocks: {}", self::said(&next));
    }
}

/// The disk fills up in the middle of a deploy. What was applied is on record, or named as unknown
/// to who comes next.
#[test]
fn a_disk_that_fills_up_during_a_deploy_loses_nothing() {
    let w = Workspace::new(&[]);
    let out = tempfile::tempdir().unwrap();
    let lab = out.path().join("lab.json");
    let many: String = (0..8)
        .map(|n| {
            format!(
                "resource \"lab_thing\" \"b{n}\" {{\n  name = \"b{n}\"\n  create_ms = {}\n  triggers = {{ a = lab_thing.a.id }}\n}}\nresource \"lab_thing\" \"c{n}\" {{\n  name = \"c{n}\"\n  triggers = {{ b = lab_thing.b{n}.id }}\n}}\n",
                500 + n * 100
            )
        })
        .collect();
    let main = format!(
        "terraform {{\n  required_providers {{\n    lab = {{ source = \"flightdeck.internal/bundled/lab\" }}\n  }}\n}}\nprovider \"lab\" {{\n  file = {:?}\n}}\n\
         resource \"lab_thing\" \"a\" {{\n  name = \"a\"\n}}\n{many}\
         resource \"terraform_data\" \"fill\" {{\n  input = lab_thing.a.id\n  provisioner \"local-exec\" {{\n    command = \"dd if=/dev/zero of=filler bs=4k; true\"\n  }}\n}}\n",
        lab.display().to_string()
    );
    std::fs::write(out.path().join("main.tf"), main).unwrap();
    let script = r#"
        mount -t tmpfs -o size=6m none "$WORK"
        cd "$WORK"
        cp "$OUT/main.tf" .
        set +e
        "$BIN" deploy --auto-approve --json >"$OUT/deploy" 2>"$OUT/deploy.err"; echo $? >"$OUT/deploy.code"
        "$BIN" state list >"$OUT/full.list" 2>&1; echo $? >"$OUT/full.list.code"
        "$BIN" stage >"$OUT/full.stage" 2>&1; echo $? >"$OUT/full.stage.code"
        rm filler
        "$BIN" history --json >"$OUT/history" 2>&1
        "$BIN" stage --json >"$OUT/stage" 2>"$OUT/stage.err"; echo $? >"$OUT/stage.code"
        "$BIN" state list >"$OUT/list" 2>&1
        cp .flightdeck/flightdeck.db* "$OUT/"
    "#;
    if !where_mounts_are_allowed(script, &w, out.path()) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    let lines = |name: &str| {
        read(name)
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap())
            .collect::<Vec<_>>()
    };
    let deploy = format!("{}{}", read("deploy"), read("deploy.err"));
    assert!(["1", "5"].contains(&read("deploy.code").trim()), "{deploy}");
    assert!(
        deploy.contains("no space left on the disk") && deploy.contains("free some space"),
        "{deploy}"
    );
    assert!(!deploy.contains("panicked"), "{deploy}");
    // A full disk does not keep anybody from looking.
    assert_eq!(read("full.list.code").trim(), "0", "{}", read("full.list"));
    assert!(
        read("full.list").contains("lab_thing.a"),
        "{}",
        read("full.list")
    );
    assert!(
        read("full.stage.code").trim() == "0" || read("full.stage").contains("no space left"),
        "{}",
        read("full.stage")
    );

    // With space again: each object that the lab has is in the state, or named as unknown.
    assert_eq!(
        read("stage.code").trim(),
        "0",
        "{}{}",
        read("stage"),
        read("stage.err")
    );
    let unknown: BTreeSet<String> = lines("stage")
        .into_iter()
        .filter(|l| l["summary"] == "Unknown outcome")
        .map(|l| l["address"].as_str().unwrap().to_owned())
        .collect();
    let full: BTreeSet<String> = read("full.stage")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let listed: BTreeSet<String> = read("list").lines().map(str::to_owned).collect();
    let there: Vec<String> = control::objects(&lab)
        .unwrap()
        .into_iter()
        .map(|o| format!("lab_thing.{}", o.name))
        .collect();
    assert!(there.contains(&"lab_thing.a".to_owned()));
    let lost: Vec<&String> = there
        .iter()
        .filter(|a| !listed.contains(*a) && !unknown.contains(*a) && !full.contains(*a))
        .collect();
    assert!(
        lost.is_empty(),
        "lost: {lost:?} of {there:?}; state {listed:?}; unknown {unknown:?}"
    );
    assert!(
        !listed.contains("lab_thing.c0"),
        "nothing starts once nothing can be written down"
    );
    let outcome = lines("history").last().unwrap()["history"][0]["outcome"].clone();
    assert!(
        ["interrupted", "failed"].contains(&outcome.as_str().unwrap()),
        "{outcome}"
    );
    consistent(
        &Connection::open(out.path().join("flightdeck.db")).unwrap(),
        "after the disk was full",
    );

    // No plugin is left behind.
    for line in lines("deploy") {
        if let Some(pid) = line["attempt"]["pid"].as_i64() {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(
                stat.is_empty() || stat.contains(") Z "),
                "plugin {pid} still runs: {stat}"
            );
        }
    }
}

/// What must hold of a store at any moment.
#[track_caller]
fn consistent(conn: &Connection, name: &str) {
    let one = |sql: &str| -> i64 {
        conn.query_row(sql, [], |r| r.get(0))
            .unwrap_or_else(|e| panic!("{name}: {sql}: {e}"))
    };
    let check: String = conn
        .query_row("PRAGMA integrity_check", [], |r| r.get(0))
        .unwrap();
    assert_eq!(check, "ok", "{name}");
    let orphans: usize = conn
        .prepare("PRAGMA foreign_key_check")
        .unwrap()
        .query_map([], |_| Ok(()))
        .unwrap()
        .count();
    assert_eq!(orphans, 0, "{name}: rows that refer to nothing");
    let none = [
        ("an operation that ended well or failed in a call without its intent",
         "SELECT count(*) FROM operation o WHERE o.state IN ('done', 'unknown') AND json_extract(o.data, '$.action') = 'create'
          AND NOT EXISTS (SELECT 1 FROM intent i WHERE i.deploy = o.deploy AND i.idx = o.idx)"),
        ("an operation that is done whose outcome is open",
         "SELECT count(*) FROM operation o JOIN intent i ON i.deploy = o.deploy AND i.idx = o.idx WHERE o.state = 'done' AND i.ok IS NULL"),
        ("an object in the state that no known deploy has made",
         "SELECT count(*) FROM state_resource s WHERE NOT EXISTS
          (SELECT 1 FROM intent i JOIN deploy d ON d.id = i.deploy WHERE i.address = s.address AND i.ok IS NOT NULL)"),
        ("an outcome that is good without its object",
         "SELECT count(*) FROM intent i WHERE i.ok = 1 AND i.step = 'create' AND NOT EXISTS (SELECT 1 FROM state_resource s WHERE s.address = i.address)
          AND NOT EXISTS (SELECT 1 FROM intent j WHERE j.address = i.address AND j.id > i.id)"),
        ("a gap in the intents", "SELECT coalesce(max(id), 0) - count(*) FROM intent"),
        ("an outcome before its intent", "SELECT count(*) FROM intent WHERE outcome_at < at"),
        ("a deploy of a stage that is not there", "SELECT count(*) FROM deploy WHERE stage NOT IN (SELECT id FROM stage)"),
        ("a serial that is behind the outcomes", "SELECT (SELECT count(*) FROM intent WHERE ok = 1 AND step = 'create') > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'serial')"),
    ];
    for (what, sql) in none {
        assert_eq!(one(sql), 0, "{name}: {what}");
    }
}

/// A store as it lies on the disk at one moment, and how much of its log had been moved into the
/// file by then.
struct Snapshot {
    db: Vec<u8>,
    wal: Vec<u8>,
    /// Bytes of the log that must not be cut: they were synced before the file was changed by them.
    safe: usize,
    /// Operations that had been told as done.
    told: BTreeSet<String>,
}

const WAL_HEADER: usize = 32;
const FRAME: usize = 24 + 4096;

fn copy(dir: &Path, told: &BTreeSet<String>) -> Snapshot {
    let read = |name: &str| std::fs::read(dir.join(name)).unwrap_or_default();
    let shm = read("flightdeck.db-shm");
    // The index of the log: how many frames a checkpoint has taken, or tried to (`nBackfill`,
    // `nBackfillAttempted`).
    let number = |at: usize| {
        shm.get(at..at + 4)
            .map_or(0, |b| u32::from_ne_bytes(b.try_into().unwrap()) as usize)
    };
    let frames = number(96).max(number(128));
    let safe = if frames == 0 {
        0
    } else {
        WAL_HEADER + frames * FRAME
    };
    Snapshot {
        db: read("flightdeck.db"),
        wal: read("flightdeck.db-wal"),
        safe,
        told: told.clone(),
    }
}

fn put(w: &Path, db: &[u8], wal: &[u8]) -> PathBuf {
    let dir = w.join(".flightdeck");
    drop(std::fs::remove_dir_all(&dir));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("flightdeck.db"), db).unwrap();
    std::fs::write(dir.join("flightdeck.db-wal"), wal).unwrap();
    dir.join("flightdeck.db")
}

/// How many things are made before the next ones may begin.
const GROUP: usize = 12;
const GROUPS: usize = 5;

/// Groups of things that wait, each but the first, until the test lets them begin: however fast the
/// deploy is and however slow the test, there is always something left to do when it is stopped.
fn groups() -> String {
    let thing = |n: usize| {
        let waits = match n / GROUP {
            0 if n == 0 => String::new(),
            0 => "  depends_on = [terraform_data.t0]\n".to_owned(),
            group => format!("  depends_on = [terraform_data.gate{group}]\n"),
        };
        format!(
            "resource \"terraform_data\" \"t{n}\" {{\n  input = \"{}\"\n{waits}}}\n",
            "x".repeat(n * 37)
        )
    };
    let gate = |group: usize| {
        format!(
            "resource \"terraform_data\" \"gate{group}\" {{\n  provisioner \"local-exec\" {{\n    \
             command = \"until [ -e go{group} ]; do sleep 0.02; done\"\n  }}\n}}\n"
        )
    };
    (0..GROUP * GROUPS)
        .map(thing)
        .chain((1..GROUPS).map(gate))
        .collect()
}

/// A deploy that is stopped in its tracks while each group is made, and its store copied.
fn snapshots(w: &Workspace) -> Vec<Snapshot> {
    let mut child = w
        .command(&["deploy", "--auto-approve", "--json"])
        .spawn()
        .unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let (mut told, mut out) = (BTreeSet::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if line["type"] == "operation"
            && line["state"] == "done"
            && line["address"]
                .as_str()
                .unwrap()
                .starts_with("terraform_data.t")
            && told.insert(line["address"].as_str().unwrap().to_owned())
            && told.len() % GROUP == GROUP - 1
        {
            rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
            stopped(child.id());
            out.push(copy(w.store().parent().unwrap(), &told));
            w.write(&format!("go{}", out.len()), "");
            rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        }
    }
    assert!(child.wait().unwrap().success());
    out
}

/// Waits until no thread of a process runs any more.
fn stopped(pid: u32) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(200);
    loop {
        let threads: Vec<PathBuf> = std::fs::read_dir(format!("/proc/{pid}/task"))
            .unwrap()
            .flatten()
            .map(|e| e.path().join("stat"))
            .collect();
        let stat = |p: &PathBuf| std::fs::read_to_string(p).unwrap_or_default();
        if threads
            .iter()
            .map(stat)
            .all(|s| s.is_empty() || s.contains(") T ") || s.contains(") t "))
        {
            return;
        }
        assert!(std::time::Instant::now() < end, "the process does not stop");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Intents by id with their outcome: what was done, in its order.
fn intents(conn: &Connection) -> Vec<(String, Option<bool>)> {
    let mut query = conn
        .prepare("SELECT address, ok FROM intent ORDER BY id")
        .unwrap();
    query
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn serial(conn: &Connection) -> i64 {
    conn.query_row(
        "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'serial'",
        [],
        |r| r.get(0),
    )
    .unwrap()
}

/// The log of the store ends at any byte, whole or torn: what is left is a moment of the deploy, an
/// earlier one.
#[test]
fn the_loss_of_power_at_any_moment_leaves_an_earlier_moment() {
    let things = groups();
    let w = Workspace::new(&[("main.tf", &things)]);
    w.run(&["stage"]).expect(0);
    let shots = snapshots(&w);
    assert_eq!(shots.len(), GROUPS);
    let complete = Connection::open(w.store()).unwrap();
    let (all, last) = (intents(&complete), serial(&complete));
    // A gate is made, and its command is run: two.
    assert_eq!(all.len(), GROUP * GROUPS + 2 * (GROUPS - 1));
    consistent(&complete, "at the end");
    drop(complete);

    let mut dice = Dice(0x5EED_0002);
    let copies = tempfile::tempdir().unwrap();
    let (mut earlier, mut interrupted) = (0, 0);
    for (n, shot) in shots.iter().enumerate() {
        assert!(
            shot.wal.len() > WAL_HEADER || shot.safe > 0,
            "snapshot {n} has no log"
        );
        for cut in 0..60 {
            // The first of each is whole: what was told is on record.
            let at = if cut == 0 {
                shot.wal.len()
            } else {
                shot.safe + dice.roll(shot.wal.len().saturating_sub(shot.safe) + 1)
            };
            let mut wal = shot.wal[..at].to_vec();
            // What was not synced may be there all the same, torn: as noise or as zeros.
            match cut % 4 {
                1 => wal.extend(std::iter::repeat_n(0, dice.roll(2 * FRAME))),
                2 => wal.extend(
                    (0..dice.roll(2 * FRAME))
                        .map(|_| dice.roll(256) as u8)
                        .collect::<Vec<_>>(),
                ),
                3 if at > shot.safe + FRAME => {
                    let hit = at - 1 - dice.roll(FRAME);
                    wal[hit] ^= 0x5A;
                }
                _ => {}
            }
            let name = format!("snapshot {n}, cut {cut} at {at} of {}", shot.wal.len());
            let path = put(copies.path(), &shot.db, &wal);
            {
                let conn =
                    Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
                let tables: i64 = conn
                    .query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
                    .unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(tables > 10, "{name}: the tables are never lost: {tables}");
                consistent(&conn, &name);
                let kept = intents(&conn);
                assert!(kept.len() <= all.len(), "{name}");
                for (one, whole) in kept.iter().zip(&all) {
                    assert_eq!(one.0, whole.0, "{name}: the order of intents");
                    assert!(
                        one.1.is_none() || one.1 == whole.1,
                        "{name}: an outcome that never was: {one:?}"
                    );
                }
                assert!(serial(&conn) <= last, "{name}");
                earlier += usize::from(kept.len() < all.len());
                if cut == 0 {
                    let done: BTreeSet<&String> = kept
                        .iter()
                        .filter(|(_, ok)| *ok == Some(true))
                        .map(|(a, _)| a)
                        .collect();
                    let missing: Vec<_> = shot.told.iter().filter(|a| !done.contains(a)).collect();
                    assert!(
                        missing.is_empty(),
                        "{name}: told as done and not on record: {missing:?}"
                    );
                }
            }
            // The next flightdeck makes something of it.
            if cut % 20 == 0 {
                std::fs::write(copies.path().join("main.tf"), &things).unwrap();
                let run =
                    |args: &[&str]| w.command(args).current_dir(copies.path()).output().unwrap();
                let output = run(&["stage", "--json"]);
                assert!(output.status.success(), "{name}: {output:?}");
                let open = intents(&Connection::open(&path).unwrap())
                    .iter()
                    .filter(|(_, ok)| ok.is_none())
                    .count();
                let text = String::from_utf8(output.stdout).unwrap();
                assert_eq!(
                    text.matches("\"Unknown outcome\"").count(),
                    open,
                    "{name}: each open intent is named"
                );
                let history = String::from_utf8(run(&["history", "--json"]).stdout).unwrap();
                assert!(!history.contains("\"running\""), "{name}: {history}");
                interrupted += usize::from(history.contains("\"interrupted\""));
                consistent(
                    &Connection::open(&path).unwrap(),
                    &format!("{name}, after the next stage"),
                );
            }
        }
    }
    assert!(
        earlier > 100 && interrupted >= shots.len(),
        "{earlier} earlier moments, {interrupted} of them interrupted"
    );
}
