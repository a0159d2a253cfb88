//! Tests of plugins that fail during a call: the recorded outcome, the error, and the lab's
//! operations of the same deploy, which must succeed.

use serde_json::Value;

use super::applies::{LOOK, PANIC, ROW};
use crate::bench::{Bench, GOOD, each, says};

/// Checks that the lab's operation succeeded.
pub(super) fn good(seen: &crate::bench::Seen) {
    assert_eq!(
        seen.operation("lab_bucket.good")["state"],
        "done",
        "{seen:#?}"
    );
}

#[test]
fn what_a_destroy_left_and_no_state_can_hold_is_an_unknown_outcome() {
    let bench = Bench::new("destroy-endless");
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
    says(
        operation["failure"]["detail"].as_str().unwrap(),
        &["cannot serialize infinity as JSON", LOOK],
    );
    // The next stage reports the unknown outcome, and the state still has the old object.
    let next = bench.run(&["stage", "--json"], &[]).expect(0);
    says(
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
            "report it there",
        ],
    ),
];

#[test]
fn a_stage_that_a_plugin_spoils_says_why_and_the_neighbour_is_served() {
    each(
        STAGES,
        |row| row.0,
        |(fake, words)| {
            let bench = Bench::new(fake);
            let seen = bench.run(&["stage", "--json"], &[]).expect(1);
            says(&seen.diagnostics().join("\n"), words);
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
fn what_a_plugin_floods_while_it_serves_fills_no_memory() {
    let bench = Bench::new("floods-in-apply");
    let seen = bench
        .run(&["deploy", "--auto-approve", "--json"], &[])
        .expect(0);
    good(&seen);
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
fn people_read_what_a_plugin_says_and_nothing_of_it_steers_their_terminal() {
    let bench = Bench::new("apply-wild-path");
    let seen = bench.run(&["deploy", "--auto-approve"], &[]).expect(5);
    says(
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
    says(
        &bench.run(&["failures"], &[]).expect(0).stdout,
        &["wrong at a place", "fake_thing.x", &bench.address()],
    );
}

/// The crash message is followed by nine hundred lines of stack frames and registers, so the last
/// line does not explain the crash.
#[test]
fn the_last_words_of_a_crash_are_its_first_line_and_no_register() {
    let bench = Bench::new("aborts-in-apply");
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
    says(
        &bench.run(&["failures"], &[]).expect(0).stdout,
        &[" SIGABRT: abort\n", " goroutine 1 "],
    );
}

#[test]
fn the_very_last_line_before_an_answer_is_kept_with_the_failure() {
    // Parallel runs delay the reading of the pipe.
    each(
        &[0; 6],
        |_| "apply-last-words",
        |_| {
            let bench = Bench::new("apply-last-words");
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
