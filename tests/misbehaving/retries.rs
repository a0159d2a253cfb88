//! Tests of plugins that report to be busy: calls without side effects are retried up to the
//! configured number; an apply never is.

use crate::observed_run::{FaultWorkspace, GOOD, Observations, assert_contains};
use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Shortens the pause before a retry.
pub(super) const SOON: (&str, &str) = ("FLIGHTDECK_CALL_BACKOFF_MS", "1");

/// Numbers of the attempts in the operation's events, without times.
fn attempts(seen: &Observations) -> Vec<(u64, u64)> {
    let of = |retry: &Value| Some((retry["attempt"].as_u64()?, retry["of"].as_u64()?));
    seen.of_type("operation")
        .iter()
        .filter(|o| o["address"] == "fake_thing.x")
        .filter_map(|o| of(&o["retry"]))
        .collect()
}

/// Outcomes of a method's calls to the fake, each with the number of the next attempt.
fn calls(bench: &FaultWorkspace, seen: &Observations, method: &str) -> Vec<(String, Option<u64>)> {
    let its = |c: &&Value| c["plugin"] == bench.address() && c["method"] == method;
    let all = seen.of_type("call_finished");
    all.iter()
        .filter(its)
        .map(|c| {
            (
                c["outcome"].as_str().unwrap().to_owned(),
                c["again"]["attempt"].as_u64(),
            )
        })
        .collect()
}

fn error(next: u64) -> (String, Option<u64>) {
    ("error".to_owned(), Some(next))
}

fn ok() -> (String, Option<u64>) {
    ("ok".to_owned(), None)
}

#[test]
fn busy_plan_call_is_retried_and_the_deploy_continues() {
    let bench = FaultWorkspace::new("busy-in-plan");
    let seen = bench
        .run(&["deploy", "--auto-approve", "--json"], &[SOON])
        .expect(0);
    assert_eq!(
        calls(&bench, &seen, "PlanResourceChange"),
        [ok(), error(2), error(3), ok()],
        "one of the stage, three of the deploy"
    );
    assert_eq!(attempts(&seen), [(2, 5), (3, 5)]);
    let operation = seen.operation("fake_thing.x");
    assert_eq!(
        (operation["state"].as_str(), operation["attempt"].as_u64()),
        (Some("done"), Some(3))
    );
    assert_eq!(operation["retry"], Value::Null, "it is over");

    // Text output reports the retries as they happen.
    let bench = FaultWorkspace::new("busy-in-plan");
    let seen = bench.run(&["deploy", "--auto-approve"], &[SOON]).expect(0);
    assert_contains(
        &seen.stderr,
        &[
            "fake_thing.x: ",
            "refused PlanResourceChange: the service is being restarted (gRPC Unavailable); attempt 2 of 5",
        ],
    );
}

#[test]
fn stage_waits_for_a_throttled_plugin() {
    let bench = FaultWorkspace::new("throttled-in-stage");
    let seen = bench.run(&["stage", "--json"], &[SOON]).expect(0);
    assert_eq!(
        calls(&bench, &seen, "PlanResourceChange"),
        [error(2), error(3), ok()]
    );
}

#[test]
fn retries_are_limited_and_counted_in_the_failure() {
    let bench = FaultWorkspace::new("busy-for-good");
    let seen = bench
        .run(
            &["deploy", "--auto-approve", "--json"],
            &[SOON, ("FLIGHTDECK_CALL_ATTEMPTS", "3")],
        )
        .expect(5);
    assert_eq!(
        calls(&bench, &seen, "PlanResourceChange"),
        [ok(), error(2), error(3), ("error".to_owned(), None)]
    );
    let operation = seen.operation("fake_thing.x");
    assert_eq!(
        (operation["state"].as_str(), operation["attempt"].as_u64()),
        (Some("failed"), Some(3))
    );
    assert_eq!(operation["failure"]["class"], "transient");
    let words = operation["failure"].to_string();
    assert_contains(
        &words,
        &["the service is being restarted; all 3 attempts failed"],
    );
    assert_eq!(
        seen.operation("lab_bucket.good")["state"],
        "done",
        "{GOOD} has nothing to do with it"
    );
}

#[test]
fn apply_is_never_retried() {
    let bench = FaultWorkspace::new("busy-in-apply");
    let seen = bench
        .run(&["deploy", "--auto-approve", "--json"], &[SOON])
        .expect(5);
    assert_eq!(bench.count("applies"), 1);
    assert_eq!(
        calls(&bench, &seen, "ApplyResourceChange"),
        [("error".to_owned(), None)]
    );
    let operation = seen.operation("fake_thing.x");
    assert_eq!(
        (operation["state"].as_str(), operation["attempt"].as_u64()),
        (Some("unknown"), Some(1))
    );
    assert_eq!(operation["failure"]["class"], "transient");
}

#[test]
fn stop_request_skips_further_retries() {
    let bench = FaultWorkspace::new("busy-for-good");
    let running = bench.start(
        &["deploy", "--auto-approve", "--json"],
        &[("FLIGHTDECK_CALL_BACKOFF_MS", "600000")],
    );
    let patience = Instant::now() + Duration::from_secs(60);
    while bench.count("plans") < 2 {
        assert!(
            Instant::now() < patience,
            "the deploy's own plan is not asked for"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal(Signal::INT);
    let seen = running.end();
    assert_eq!(seen.result()["outcome"], "cancelled", "{seen:#?}");
    assert_eq!(bench.count("plans"), 2);
    assert_ne!(seen.operation("fake_thing.x")["state"], "done");
    assert_eq!(bench.remaining_processes(), Vec::<String>::new());
}
