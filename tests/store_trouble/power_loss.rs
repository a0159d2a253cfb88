//! Test of a power loss at any moment of a deploy: only data that had reached the disk is left.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::{SeededRandom, consistent};
use crate::support::Workspace;

/// Store on the disk at one moment, and the part of its log that had been copied into the database
/// file.
struct Snapshot {
    db: Vec<u8>,
    wal: Vec<u8>,
    /// Bytes of the log that must not be cut: they were synced before they were copied into the
    /// database file.
    safe: usize,
    /// Contents of the state file.
    state: Vec<u8>,
    /// Operations that had been reported as done.
    told: BTreeSet<String>,
}

const WAL_HEADER: usize = 32;

const FRAME: usize = 24 + 4096;

fn copy(dir: &Path, told: &BTreeSet<String>) -> Snapshot {
    let read = |name: &str| std::fs::read(dir.join(name)).unwrap_or_default();
    let shm = read("flightdeck.db-shm");
    // The index of the log says how many frames a checkpoint has copied, or tried to (`nBackfill`,
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
        state: std::fs::read(dir.with_file_name("terraform.tfstate")).unwrap_or_default(),
        told: told.clone(),
    }
}

fn write_copy(w: &Path, shot: &Snapshot, wal: &[u8]) -> PathBuf {
    let dir = w.join(".flightdeck");
    drop(std::fs::remove_dir_all(&dir));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(w.join("terraform.tfstate"), &shot.state).unwrap();
    std::fs::write(dir.join("flightdeck.db"), &shot.db).unwrap();
    std::fs::write(dir.join("flightdeck.db-wal"), wal).unwrap();
    dir.join("flightdeck.db")
}

/// Number of objects in a group.
const GROUP: usize = 12;

const GROUPS: usize = 5;

/// Groups of objects with a gate at the end of each. Each group waits for the gate before it, which
/// the test opens. So a stopped deploy always has remaining work, at any speed of the deploy and
/// the test.
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
        .chain((1..=GROUPS).map(gate))
        .collect()
}

/// Runs a deploy, stops its process during each group, and copies its store.
fn snapshots(w: &Workspace) -> Vec<Snapshot> {
    let mut child = w
        .command(&["deploy", "--auto-approve", "--json"])
        // The state file is only written at the end, so that only the store's log is cut.
        .env("FLIGHTDECK_STATE_EVERY_S", "100000")
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

/// Intents by id with their outcome, in the order of their start.
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

/// The log of the store ends at any byte, complete or torn: the rest is an earlier moment of the
/// deploy.
#[test]
fn power_loss_at_any_moment_leaves_an_earlier_state() {
    let things = groups();
    let w = Workspace::new(&[("main.tf", &things)]);
    w.run(&["stage"]).expect(0);
    let shots = snapshots(&w);
    assert_eq!(shots.len(), GROUPS);
    let complete = Connection::open(w.store()).unwrap();
    let (all, last) = (intents(&complete), serial(&complete));
    // A gate has two intents: its creation and its command.
    assert_eq!(all.len(), GROUP * GROUPS + 2 * GROUPS);
    consistent(&complete, "at the end");
    drop(complete);

    let mut dice = SeededRandom(0x5EED_0002);
    let copies = tempfile::tempdir().unwrap();
    let (mut earlier, mut interrupted) = (0, 0);
    for (n, shot) in shots.iter().enumerate() {
        assert!(
            shot.wal.len() > WAL_HEADER || shot.safe > 0,
            "snapshot {n} has no log"
        );
        for cut in 0..60 {
            // The first copy of each snapshot is complete: all reported operations are recorded.
            let at = if cut == 0 {
                shot.wal.len()
            } else {
                shot.safe + dice.below(shot.wal.len().saturating_sub(shot.safe) + 1)
            };
            let mut wal = shot.wal[..at].to_vec();
            // Unsynced data may exist partly, as noise or as zeros.
            match cut % 4 {
                1 => wal.extend(std::iter::repeat_n(0, dice.below(2 * FRAME))),
                2 => wal.extend(
                    (0..dice.below(2 * FRAME))
                        .map(|_| dice.below(256) as u8)
                        .collect::<Vec<_>>(),
                ),
                3 if at > shot.safe + FRAME => {
                    let hit = at - 1 - dice.below(FRAME);
                    wal[hit] ^= 0x5A;
                }
                _ => {}
            }
            let name = format!("snapshot {n}, cut {cut} at {at} of {}", shot.wal.len());
            let path = write_copy(copies.path(), shot, &wal);
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
            // The next flightdeck must be able to use the store.
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
