//! Tests of plugins that fail during a call: the recorded outcome, the error, and the lab's
//! operations of the same deploy, which must succeed.

use serde_json::Value;

use super::failing_applies::{LOOK, PANIC, ROW};
use crate::observed_run::{FaultWorkspace, GOOD, assert_contains, for_each_row};

/// Checks that the lab's operation succeeded.
pub(super) fn assert_lab_succeeded(seen: &crate::observed_run::Observations) {
    assert_eq!(
        seen.operation("lab_bucket.good")["state"],
        "done",
        "{seen:#?}"
    );
}

#[test]
fn destroy_with_an_unstorable_answer_is_unknown() {
    let bench = FaultWorkspace::new("destroy-endless");
    bench
        .run(&["deploy", "--auto-approve", "--json"], &[])
        .expect(0);
    let seen = bench
        .run(&["destroy", "--auto-approve", "--json"], &[])
        .expect(5);
    let operation = seen.operation("fake_thing.x");
    assert_eq!(
        (&operation["state"], &operation["failure"]["class"]),
        (&"unknown".into(), &"unexpected".into()),
        "{operation}"
    );
    assert_contains(
        operation["failure"]["detail"].as_str().unwrap(),
        &["cannot serialize infinity as JSON", LOOK],
    );
    // The next stage reports the unknown outcome, and the state still has the old object.
    let next = bench.run(&["stage", "--json"], &[]).expect(0);
    assert_contains(
        &next.diagnostics().join("\n"),
        &[
            "Unknown outcome",
            "The destroy of fake_thing.x in deploy #2 has no recorded outcome",
        ],
    );
    let state = bench
        .run(&["state", "list", "--json"], &[])
        .expect(0)
        .result();
    assert_eq!(state["resources"].as_array().unwrap().len(), 1, "{state}");
}

/// Faults during a stage: fake, parts of the error.
const STAGES: &[(&str, &[&str])] = &[
    (
        "panics-in-configure",
        &[
            "test.local/fakes/panics-in-configure crashed during ConfigureProvider",
            "exit code 2",
            PANIC,
        ],
    ),
    (
        "panics-in-plan",
        &[
            "test.local/fakes/panics-in-plan crashed during PlanResourceChange",
            "exit code 2",
            PANIC,
        ],
    ),
    (
        "configure-error",
        &[
            "no credentials",
            "neither a token nor a file with one was found",
        ],
    ),
    (
        "plan-nonsense",
        &[
            "cannot decode the answer of ",
            "this is a bug in the plugin",
        ],
    ),
    (
        "plan-empty-path",
        &[
            "cannot decode the answer of ",
            "this is a bug in the plugin",
        ],
    ),
    (
        "plan-other-name",
        &[
            "planned an invalid value for .name",
            "\"of my own choice\"",
            "report it to the provider's developers",
        ],
    ),
];

#[test]
fn plugin_fault_during_a_stage_is_reported_and_the_lab_is_served() {
    for_each_row(
        STAGES,
        |row| row.0,
        |(fake, words)| {
            let bench = FaultWorkspace::new(fake);
            let seen = bench.run(&["stage", "--json"], &[]).expect(1);
            assert_contains(&seen.diagnostics().join("\n"), words);
            let served = |c: &Value| {
                c["plugin"] == GOOD && c["method"] == "PlanResourceChange" && c["outcome"] == "ok"
            };
            assert!(
                seen.of_type("call_finished").iter().any(served),
                "{seen:#?}"
            );
            assert!(seen.peak_mb < ROW.memory, "{} MB", seen.peak_mb);
        },
    );
}

#[test]
fn flood_of_output_uses_no_memory() {
    let bench = FaultWorkspace::new("floods-in-apply");
    let seen = bench
        .run(&["deploy", "--auto-approve", "--json"], &[])
        .expect(0);
    assert_lab_succeeded(&seen);
    assert_eq!(seen.operation("fake_thing.x")["state"], "done");
    assert!(seen.peak_mb < ROW.memory, "{} MB", seen.peak_mb);
    // The number of omitted lines is logged, and the last line is kept.
    let lines = bench
        .run(&["logs", "--level", "warn", "--json"], &[])
        .expect(0)
        .of_type("log");
    assert!(
        lines.iter().any(|l| l["text"] == "the flood is over"),
        "{} lines",
        lines.len()
    );
    let said = |words: &str| {
        lines
            .iter()
            .any(|l| l["text"].as_str().unwrap().contains(words))
    };
    assert!(said("lines omitted: more than 5000 in a second"));
}

#[test]
fn plugin_text_is_escaped_for_the_terminal() {
    let bench = FaultWorkspace::new("apply-wild-path");
    let seen = bench.run(&["deploy", "--auto-approve"], &[]).expect(5);
    assert_contains(
        &seen.stderr,
        &[
            "wrong at a place",
            "that the schema does not have",
            "main.tf",
            "fake_thing.x",
        ],
    );
    assert!(
        !seen.stdout.contains('\x1b') && !seen.stderr.contains('\x1b'),
        "{seen:#?}"
    );
    assert_contains(
        &bench.run(&["failures"], &[]).expect(0).stdout,
        &["wrong at a place", "fake_thing.x", &bench.address()],
    );
}

/// The crash message is followed by nine hundred lines of stack frames and registers, so the last
/// line does not explain the crash.
#[test]
fn last_output_of_a_crash_is_its_first_line_without_registers() {
    let bench = FaultWorkspace::new("aborts-in-apply");
    let seen = bench
        .run(&["deploy", "--auto-approve", "--json"], &[])
        .expect(5);
    let crash = &seen.crashes()[0];
    assert!(
        crash["text"]
            .as_str()
            .unwrap()
            .ends_with("exit code 2: SIGABRT: abort"),
        "{crash}"
    );
    let failure = &seen.operation("fake_thing.x")["failure"];
    let lines = failure["last_lines"].as_array().unwrap();
    assert!(
        lines.len() <= 100 && lines.iter().any(|l| l == "SIGABRT: abort"),
        "{failure}"
    );
    assert!(
        !lines.iter().any(|l| l.as_str().unwrap().starts_with("gs ")),
        "{failure}"
    );
    assert_contains(
        &bench.run(&["failures"], &[]).expect(0).stdout,
        &[" SIGABRT: abort\n", " goroutine 1 "],
    );
}

#[test]
fn last_line_before_an_answer_is_kept_with_the_failure() {
    // Parallel runs delay the reading of the pipe.
    for_each_row(
        &[0; 6],
        |_| "apply-last-words",
        |_| {
            let bench = FaultWorkspace::new("apply-last-words");
            bench.run(&["deploy", "--auto-approve"], &[]).expect(5);
            let failures = bench.run(&["failures", "--json"], &[]).expect(0).result();
            let lines = failures["failures"][0]["last_lines"]
                .as_array()
                .unwrap()
                .clone();
            assert_eq!(lines.last().unwrap(), "the very last line", "{failures}");
            assert!(
                lines
                    .iter()
                    .any(|l| l.as_str().unwrap().starts_with("line 600 ")),
                "{failures}"
            );
        },
    );
}
