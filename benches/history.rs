//! Opening a large store: 100,000 deploys, 1,000,000 events of the newest ones, and 1,000,000 log
//! lines. Each figure is one query of the console; the last ones open the replay of a deploy with
//! 20,000 events and step through it.
//!
//! ```text
//! cargo bench --bench history
//! ```
//!
//! Targets: the queries of a start take less than 200 ms together; a step of a replay less than
//! 5 ms.

#![allow(clippy::unwrap_used, reason = "a benchmark ends at its first surprise")]

#[path = "fixture/runs.rs"]
mod runs;

use engine::{Engine, Settings};
use flightdeck::app::replay::Replay;
use model::LogQuery;
use runs::stage_and_deploy;
use rusqlite::Connection;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs per figure; the best one counts, because other processes can only add to the time.
const ROUNDS: usize = 5;
/// Resources of the deploy; each has two events.
const RESOURCES: usize = 10_000;
/// Deploys with events, as many as the store keeps.
const REPLAYABLE: i64 = 50;
const DEPLOYS: i64 = 100_000;
const LINES: i64 = 1_000_000;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings::new(dir.path());
    let events = runtime.block_on(deploy(dir.path()));
    fill(&dir.path().join(".flightdeck/flightdeck.db"));
    println!(
        "{DEPLOYS} deploys, {} events, {LINES} log lines",
        events * REPLAYABLE
    );
    let engine = best("open the store", || {
        runtime.block_on(Engine::start(settings.clone())).unwrap()
    });
    let newest = best("history: the newest 500 deploys", || {
        runtime.block_on(engine.history(500)).unwrap()
    })[0]
        .deploy;
    best("operations of the newest deploy", || {
        runtime.block_on(engine.operations(newest)).unwrap()
    });
    best("failures", || {
        runtime.block_on(engine.failures(None)).unwrap()
    });
    best("logs: the newest 2,000 lines", || {
        let query = LogQuery {
            limit: 2_000,
            ..LogQuery::default()
        };
        runtime.block_on(engine.logs(query)).unwrap()
    });
    let record = best("events of the newest deploy", || {
        runtime.block_on(engine.deploy_record(newest)).unwrap()
    });
    let mut replay = best("replay: open", || Replay::at(record.clone(), usize::MAX));
    let middle = replay.record.events.len() / 2;
    replay.seek(middle);
    best("replay: step back", || {
        let cursor = replay.previous();
        replay.seek(cursor);
    });
    best("replay: step forward", || {
        let cursor = replay.next();
        replay.seek(cursor);
    });
    runtime.block_on(engine.shutdown());
}

/// Deploys once, and returns the number of events.
async fn deploy(dir: &Path) -> i64 {
    let text = format!("resource \"terraform_data\" \"x\" {{\n  count = {RESOURCES}\n}}\n");
    std::fs::write(dir.join("main.tf"), text).unwrap();
    let engine = Engine::start(Settings::new(dir)).await.unwrap();
    stage_and_deploy(&engine).await;
    let newest = engine.history(1).await.unwrap()[0].deploy;
    let record = engine.deploy_record(newest).await.unwrap();
    engine.shutdown().await;
    i64::try_from(record.events.len()).unwrap()
}

/// Copies the deploy: the newest copies have its events and operations, the older ones not.
fn fill(store: &Path) {
    let mut conn = Connection::open(store).unwrap();
    let copy = conn.transaction().unwrap();
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
    let columns = |table: &str, but: &[&str]| {
        let all = copy
            .prepare(&format!("SELECT * FROM {table} LIMIT 0"))
            .unwrap();
        let names = all.column_names();
        let names = names.into_iter().filter(|name| !but.contains(name));
        names.map(|name| format!(", {name}")).collect::<String>()
    };
    let first: i64 = copy
        .query_row("SELECT max(id) FROM deploy", [], |r| r.get(0))
        .unwrap();
    let rest = columns("deploy", &["id"]);
    let deploys = format!(
        "{numbers} INSERT INTO deploy (id{rest}) SELECT {first} + i{rest} FROM n, deploy WHERE id = {first}"
    );
    copy.execute(&deploys, [DEPLOYS - 1]).unwrap();
    for table in ["operation", "events"] {
        let rest = columns(table, &["deploy"]);
        let newest = first + DEPLOYS - REPLAYABLE - 1;
        let text = format!(
            "{numbers} INSERT INTO {table} (deploy{rest}) SELECT {newest} + i{rest} FROM n, {table} WHERE deploy = {first}"
        );
        copy.execute(&text, [REPLAYABLE]).unwrap();
    }
    let line = "'hashicorp/provider' || i % 200, 1795269731000 + i, 2, 'stderr', NULL, 'created aws_security_group_rule.allow, id sgr-' || i, 0";
    let lines = format!(
        "{numbers} INSERT INTO log (plugin, at, level, stream, module, text, panic) SELECT {line} FROM n"
    );
    copy.execute(&lines, [LINES]).unwrap();
    copy.commit().unwrap();
}

/// Prints the least duration of a function, and returns its result.
fn best<T>(name: &str, mut run: impl FnMut() -> T) -> T {
    let mut least = Duration::MAX;
    let mut result = None;
    for _ in 0..ROUNDS {
        // Dropped outside of the measurement.
        drop(result.take());
        let began = Instant::now();
        result = Some(run());
        least = least.min(began.elapsed());
    }
    println!("{name:<34} {:>9.2} ms", least.as_secs_f64() * 1_000.0);
    result.unwrap()
}
