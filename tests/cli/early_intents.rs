//! Tests of intents that are committed early: if calls are fast, the engine records intents before
//! the operations get a turn.

use crate::lab_deploys::{Lab, Running};
use bundled::lab::control::{Fault, Kind, On};
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use std::time::{Duration, Instant};

const MANY: i64 = 400;

/// Number of all intents, and of those with an outcome.
fn intents(lab: &Lab) -> (i64, i64) {
    let store = lab.workspace.path().join(".flightdeck/flightdeck.db");
    let store = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    store.busy_timeout(Duration::from_secs(5)).unwrap();
    let all = "SELECT count(*), count(ok) FROM intent";
    store
        .query_row(all, [], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap()
}

#[test]
fn early_intent_without_a_call_is_not_attempted_and_removed() {
    // On a busy machine calls are too slow for early intents.
    let seen = (0..6).any(|_| early_intents_are_removed());
    assert!(seen, "no intent was committed early");
}

/// Cancels a deploy and checks its intents; false if no intent was committed early.
fn early_intents_are_removed() -> bool {
    let lab = Lab::new(&format!(
        "resource \"lab_thing\" \"many\" {{\n  count = {MANY}\n  name = \"t${{count.index}}\"\n}}\n"
    ));
    let mut running = Running::start_with(&lab, &["--parallelism", "2"]);
    for _ in 0..40 {
        running.read_until(|e| e["type"] == "operation" && e["state"] == "done");
    }
    // From now on each call takes three seconds. Two run; how many more intents are committed early
    // depends on the earlier speed of calls.
    lab.set_fault(Fault {
        on: On::Create,
        ms: Some(3_000),
        ..Fault::new(Kind::Latency)
    });
    let patience = Instant::now() + Duration::from_secs(15);
    let mut before = (0, 0);
    let seen = loop {
        let now @ (all, ended) = intents(&lab);
        if now == before && all - ended > 2 {
            assert!(all - ended <= 2 + 4 * 2, "four ahead of each at most");
            break true;
        }
        if Instant::now() > patience {
            break false;
        }
        before = now;
        std::thread::sleep(Duration::from_millis(200));
    };
    running.signal(rustix::process::Signal::INT);
    let (code, result) = running.end();
    assert_eq!((code, &result["outcome"]), (Some(130), &json!("cancelled")));
    let count = |state: &str| result["operations"][state].as_i64().unwrap();
    let done = count("done");
    // The plugin was asked to stop the running calls, which therefore fail.
    let begun = done + count("failed");
    assert_eq!(begun + count("not_attempted"), MANY, "{result}");
    assert!(done >= 40 && begun <= done + 2, "{result}");
    assert_eq!(intents(&lab), (begun, begun), "on record, and ended");
    let there = lab.run(&["state", "list"]).expect(0).stdout;
    assert_eq!(there.lines().count() as i64, done);
    seen
}
