//! Plugins that come up and then go wrong under a call: what is kept of the operation, what the
//! operator reads, and that the neighbour's part of the same deploy is done.

use crate::bench::{Bench, GOOD, each, says};
use serde_json::Value;

/// One misbehaviour in an apply.
struct Row {
    fake: &'static str,
    /// How the operation ends: `failed` where the plugin said so, `unknown` where nobody knows what
    /// it did.
    state: &'static str,
    class: &'static str,
    /// Summary and detail of the failure.
    words: &'static [&'static str],
    /// Exit code or signal of the crash, where it is one.
    crash: Option<(Option<i64>, Option<i64>)>,
    /// The last line of the plugin's that the failure keeps.
    last_line: Option<&'static str>,
    /// What the state has of the object: whether it is tainted.
    object: Option<bool>,
    memory: u64,
}

const ROW: Row = Row {
    fake: "",
    state: "failed",
    class: "unexpected",
    words: &[],
    crash: None,
    last_line: None,
    object: None,
    memory: 110,
};
/// Where nobody knows what the plugin did the words say what to do about it.
const LOOK: &str = "look whether the object is there before the next stage";
const PANIC: &str = "panic: runtime error: invalid memory address or nil pointer dereference";

const APPLIES: &[Row] = &[
    // It dies.
    Row {
        fake: "panics-in-apply",
        state: "unknown",
        class: "plugin_crashed",
        words: &[
            "test.local/fakes/panics-in-apply died during ApplyResourceChange",
            "exit code 2",
            PANIC,
            LOOK,
        ],
        crash: Some((Some(2), None)),
        last_line: Some("\tacme/internal/provider/thing.go:117 +0x31"),
        ..ROW
    },
    Row {
        fake: "exits-in-apply",
        state: "unknown",
        class: "plugin_crashed",
        words: &[
            "died during ApplyResourceChange",
            "exit code 3: enough of it",
            LOOK,
        ],
        crash: Some((Some(3), None)),
        last_line: Some("enough of it"),
        ..ROW
    },
    Row {
        fake: "dies-of-segv-in-apply",
        state: "unknown",
        class: "plugin_crashed",
        words: &[
            "died during ApplyResourceChange",
            "killed by SIGSEGV (11)",
            LOOK,
        ],
        crash: Some((None, Some(11))),
        ..ROW
    },
    Row {
        fake: "flood-and-die-in-apply",
        state: "unknown",
        class: "plugin_crashed",
        words: &[
            "died during ApplyResourceChange",
            "exit code 2",
            PANIC,
            LOOK,
        ],
        crash: Some((Some(2), None)),
        last_line: Some("\tacme/internal/provider/thing.go:117 +0x31"),
        ..ROW
    },
    Row {
        fake: "hangs-up-in-apply",
        state: "unknown",
        class: "plugin_crashed",
        words: &[
            "it closed its connection and went on running, so that it was ended; this is an error of the plugin",
            LOOK,
        ],
        crash: Some((None, None)),
        last_line: Some("the connection is cut"),
        ..ROW
    },
    // It answers what is no answer.
    Row {
        fake: "refuses-in-apply",
        state: "unknown",
        words: &[
            "refused ApplyResourceChange: the database is locked (gRPC Internal)",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-nonsense",
        state: "unknown",
        words: &[
            "answered ApplyResourceChange with something that cannot be read",
            "this is an error of the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-other-type",
        state: "unknown",
        words: &[
            "cannot be read: an object is required",
            "this is an error of the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-not-text",
        state: "unknown",
        words: &[
            "cannot be read",
            "not UTF-8",
            "this is an error of the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-value-not-text",
        state: "unknown",
        words: &[
            "cannot be read",
            "note",
            "the text is not valid UTF-8",
            "this is an error of the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-too-large",
        state: "unknown",
        words: &[
            "cannot be read: the message is larger than the 256 MiB that are taken",
            "this is an error of the plugin",
            LOOK,
        ],
        ..ROW
    },
    // It answers what no state can hold.
    Row {
        fake: "apply-endless",
        state: "unknown",
        words: &[
            "Object cannot be kept",
            "fake_thing.x cannot be kept",
            "cannot serialize infinity as JSON",
            "report it there",
            LOOK,
        ],
        ..ROW
    },
    // It answers something else than it had planned.
    Row {
        fake: "apply-unknown",
        class: "inconsistent_result",
        words: &["it left values unknown after the apply", "report it there"],
        object: Some(true),
        ..ROW
    },
    Row {
        fake: "apply-other-value",
        class: "inconsistent_result",
        words: &[".name: was \"x\", but now \"another\"", "report it there"],
        object: Some(true),
        ..ROW
    },
    Row {
        fake: "apply-nothing",
        class: "inconsistent_result",
        words: &["it left no object after the apply", "report it there"],
        ..ROW
    },
    // It answers an error.
    Row {
        fake: "apply-half",
        words: &["half of it is there", "its note was not written"],
        object: Some(true),
        ..ROW
    },
    Row {
        fake: "apply-last-words",
        words: &["not this time"],
        last_line: Some("the very last line"),
        ..ROW
    },
    Row {
        fake: "apply-no-severity",
        words: &["is this an error?"],
        ..ROW
    },
    Row {
        fake: "apply-wild-path",
        class: "bad_input",
        words: &["wrong at a place"],
        ..ROW
    },
    Row {
        fake: "apply-long-words",
        words: &["long long", "bytes more)", "longer longer"],
        memory: 200,
        ..ROW
    },
    Row {
        fake: "apply-many-words",
        words: &["wrong for the 1th time"],
        ..ROW
    },
];

/// The neighbour's part of the deploy is done.
fn good(seen: &crate::bench::Seen) {
    assert_eq!(
        seen.operation("lab_bucket.good")["state"],
        "done",
        "{seen:#?}"
    );
}

fn applies(row: &Row) {
    let bench = Bench::new(row.fake);
    let seen = bench
        .run(&["deploy", "--auto-approve", "--json"], &[])
        .expect(5);
    good(&seen);
    let counts = &seen.result()["operations"];
    assert_eq!(
        (&counts["done"], &counts[row.state]),
        (&1.into(), &1.into()),
        "{counts}"
    );
    let operation = seen.operation("fake_thing.x");
    let failure = &operation["failure"];
    assert_eq!(
        (&operation["state"], &failure["class"]),
        (&row.state.into(), &row.class.into()),
        "{operation}"
    );
    let text = format!(
        "{}\n{}",
        failure["summary"].as_str().unwrap(),
        failure["detail"].as_str().unwrap()
    );
    assert!(text.len() < 100_000, "{} bytes", text.len());
    says(&text, row.words);
    let told = seen.of_type("diagnostic");
    let told: Vec<&Value> = told
        .iter()
        .filter(|d| d["address"] == "fake_thing.x")
        .collect();
    assert!(
        told.iter().any(|d| d["range"]["filename"] == "main.tf"
            || d["range"]["filename"]
                .as_str()
                .is_some_and(|f| f.ends_with("/main.tf"))),
        "{told:?}"
    );
    says(&seen.diagnostics().join("\n"), row.words);
    let crashes = seen.crashes();
    match row.crash {
        Some((code, signal)) => {
            assert_eq!(crashes.len(), 1, "{crashes:?}");
            assert_eq!(
                (crashes[0]["code"].as_i64(), crashes[0]["signal"].as_i64()),
                (code, signal),
                "{crashes:?}"
            );
            assert_eq!(
                failure["incident"], crashes[0]["incident"],
                "the failure points to the crash"
            );
        }
        None => assert!(
            crashes.is_empty() && failure["incident"].is_null(),
            "{crashes:?}"
        ),
    }
    if let Some(line) = row.last_line {
        assert_eq!(
            failure["last_lines"].as_array().unwrap().last().unwrap(),
            line,
            "{failure}"
        );
    }
    assert!(seen.peak_mb < row.memory, "{} MB", seen.peak_mb);
    assert!(
        seen.stdout.len() < 2_000_000,
        "{} bytes of output",
        seen.stdout.len()
    );
    let state = bench
        .run(&["state", "list", "--json"], &[])
        .expect(0)
        .result();
    let objects = state["resources"].as_array().unwrap();
    assert!(
        objects.iter().any(|o| o["address"] == "lab_bucket.good"),
        "{state}"
    );
    let object = objects
        .iter()
        .find(|o| o["address"] == "fake_thing.x")
        .map(|o| o["tainted"].as_bool().unwrap());
    assert_eq!(object, row.object, "{state}");
}

#[test]
fn an_apply_that_goes_wrong_is_kept_as_what_it_was_and_the_neighbour_is_done() {
    each(APPLIES, |row| row.fake, applies);
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
    // It is named to who comes next, and what the state has of it is what it was.
    let next = bench.run(&["stage", "--json"], &[]).expect(0);
    says(
        &next.diagnostics().join("\n"),
        &[
            "Unknown outcome",
            "the destroy of fake_thing.x was begun in deploy #2",
        ],
    );
    let state = bench
        .run(&["state", "list", "--json"], &[])
        .expect(0)
        .result();
    assert_eq!(state["resources"].as_array().unwrap().len(), 1, "{state}");
}

/// Misbehaviours while a stage is worked out: fake, words.
const STAGES: &[(&str, &[&str])] = &[
    (
        "panics-in-configure",
        &[
            "test.local/fakes/panics-in-configure died during ConfigureProvider",
            "exit code 2",
            PANIC,
        ],
    ),
    (
        "panics-in-plan",
        &[
            "test.local/fakes/panics-in-plan died during PlanResourceChange",
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
            "answered PlanResourceChange with something that cannot be read",
            "this is an error of the plugin",
        ],
    ),
    (
        "plan-empty-path",
        &[
            "answered PlanResourceChange with something that cannot be read",
            "this is an error of the plugin",
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
    // How much is left out is said, and the last line is kept.
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
    assert!(said(
        "lines are left out here: there were more than 5000 in a second"
    ));
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

/// Nine hundred lines of frames and registers follow the one that says it, which is not the last
/// word then.
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
    // Several at once, so that somebody is late.
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
