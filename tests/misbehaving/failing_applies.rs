//! Table of failing applies: the plugin's fault, and the recorded outcome.

use serde_json::Value;

use super::faults_in_calls::assert_lab_succeeded;
use crate::observed_run::{FaultWorkspace, assert_contains, for_each_row};

/// One fault of an apply.
pub(super) struct Row {
    pub(super) fake: &'static str,
    /// Outcome of the operation: `failed` if the plugin reported an error, otherwise `unknown`.
    pub(super) state: &'static str,
    pub(super) class: &'static str,
    /// Parts of the failure's summary and detail.
    pub(super) words: &'static [&'static str],
    /// Exit code or signal of the crash, if there is one.
    pub(super) crash: Option<(Option<i64>, Option<i64>)>,
    /// Last line of the plugin that the failure contains.
    pub(super) last_line: Option<&'static str>,
    /// `Some(tainted)` if the state has the object.
    pub(super) object: Option<bool>,
    pub(super) memory: u64,
}

pub(super) const ROW: Row = Row {
    fake: "",
    state: "failed",
    class: "unexpected",
    words: &[],
    crash: None,
    last_line: None,
    object: None,
    memory: 50,
};

/// Remedy for an unknown outcome.
pub(super) const LOOK: &str = "Before the next stage, check the object in the target system";

pub(super) const PANIC: &str =
    "panic: runtime error: invalid memory address or nil pointer dereference";

const APPLIES: &[Row] = &[
    // The plugin crashes.
    Row {
        fake: "panics-in-apply",
        state: "unknown",
        class: "plugin_crashed",
        words: &[
            "test.local/fakes/panics-in-apply crashed during ApplyResourceChange",
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
            "crashed during ApplyResourceChange",
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
            "crashed during ApplyResourceChange",
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
            "crashed during ApplyResourceChange",
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
            "it closed its connection without exiting and was killed; this is a bug in the plugin",
            LOOK,
        ],
        crash: Some((None, None)),
        last_line: Some("the connection is cut"),
        ..ROW
    },
    // The answer cannot be read.
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
            "cannot decode the answer of ",
            "this is a bug in the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-other-type",
        state: "unknown",
        words: &[
            "ApplyResourceChange: an object is required",
            "this is a bug in the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-not-text",
        state: "unknown",
        words: &[
            "cannot decode the answer of ",
            "not UTF-8",
            "this is a bug in the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-value-not-text",
        state: "unknown",
        words: &[
            "cannot decode the answer of ",
            "note",
            "the text is not valid UTF-8",
            "this is a bug in the plugin",
            LOOK,
        ],
        ..ROW
    },
    Row {
        fake: "apply-too-large",
        state: "unknown",
        words: &[
            "ApplyResourceChange: the message exceeds the limit of 256 MiB",
            "this is a bug in the plugin",
            LOOK,
        ],
        ..ROW
    },
    // The state cannot store the answer.
    Row {
        fake: "apply-endless",
        state: "unknown",
        words: &[
            "Object cannot be stored in the state",
            "failed to encode fake_thing.x",
            "cannot serialize infinity as JSON",
            "report it to the provider's developers",
            LOOK,
        ],
        ..ROW
    },
    // The answer differs from the plan.
    Row {
        fake: "apply-unknown",
        class: "inconsistent_result",
        words: &[
            "the result still contains unknown values after the apply",
            "report it to the provider's developers",
        ],
        object: Some(true),
        ..ROW
    },
    Row {
        fake: "apply-other-value",
        class: "inconsistent_result",
        words: &[
            ".name: was \"x\", but now \"another\"",
            "report it to the provider's developers",
        ],
        object: Some(true),
        ..ROW
    },
    Row {
        fake: "apply-nothing",
        class: "inconsistent_result",
        words: &[
            "the result contains no object after the apply",
            "report it to the provider's developers",
        ],
        ..ROW
    },
    // The answer is an error.
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
        memory: 150,
        ..ROW
    },
    Row {
        fake: "apply-many-words",
        words: &["wrong for the 1th time"],
        ..ROW
    },
];

fn applies(row: &Row) {
    let bench = FaultWorkspace::new(row.fake);
    let seen = bench
        .run(&["deploy", "--auto-approve", "--json"], &[])
        .expect(5);
    assert_lab_succeeded(&seen);
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
    assert_contains(&text, row.words);
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
    assert_contains(&seen.diagnostics().join("\n"), row.words);
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
fn failing_apply_is_recorded_correctly_and_the_lab_succeeds() {
    for_each_row(APPLIES, |row| row.fake, applies);
}
