//! Tests of the store under failures of the machine: a full disk, an unwritable directory, another
//! program's lock, a damaged or foreign file, and power loss at any moment of a deploy. Each
//! failure has an error and an exit code, and no record is lost.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod damaged_files;
mod disk_space;
mod power_loss;

use rusqlite::Connection;

use crate::support::{Run, Workspace};

#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;

const BIN: &str = env!("CARGO_BIN_EXE_flightdeck");

const MAIN: &str = "resource \"terraform_data\" \"a\" {\n  input = \"one\"\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.output\n}\n";

/// Commands that only read, and those that write.
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

/// Reproducible random numbers.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below.max(1)).unwrap()).unwrap()
    }
}

/// Workspace whose store contains a deploy.
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

/// Output of a run, stdout and stderr.
fn output_text(run: &Run) -> String {
    format!("{}\n{}", run.stdout, run.stderr)
}

/// Checks that the command is refused with this text and the store's path, without a panic.
#[track_caller]
fn refused(name: &str, w: &Workspace, args: &[&str], says: &str) {
    let run = w.run(args);
    let text = output_text(&run);
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

/// Invariants of a store at any moment.
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
