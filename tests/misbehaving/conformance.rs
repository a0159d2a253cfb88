//! Tables of `plugin conform` against every fake: the check that must fail for its fault.

use serde_json::{Value, json};

use super::launch_fault_table::{FAILING, Row as LaunchRow};
use crate::fake_names::NAMES;
use crate::observed_run::{FaultWorkspace, Observations, assert_contains, for_each_row};

/// A fake, the check that must fail, and words of its evidence.
type Row = (&'static str, &'static str, &'static str);

const FAULTS: &[Row] = &[
    // Before an object exists, or at a later launch.
    ("fifth", "start", "the caches are cold"),
    ("replaces-itself", "start", "but not at a later one"),
    ("never", "start", "cannot be read: permission denied"),
    ("protocol-5", "start", "GetSchema is not for a fake"),
    ("schema-of-no-type", "schema", "the type of"),
    ("configure-error", "configure", "neither a token nor a file"),
    (
        "panics-in-configure",
        "configure",
        "crashed during Configure",
    ),
    (
        "panics-in-plan",
        "plan-create",
        "crashed during PlanResource",
    ),
    ("plan-empty-path", "plan-create", "has an empty step"),
    ("plan-nonsense", "plan-create", "failed to decode Protobuf"),
    (
        "plan-other-name",
        "plan-create",
        "\"of my own choice\" does not match",
    ),
    // Create: the process.
    ("aborts-in-apply", "create", "SIGABRT"),
    ("dies-of-segv-in-apply", "create", "killed by SIGSEGV (11)"),
    ("exits-in-apply", "create", "exit code 3"),
    ("flood-and-die-in-apply", "create", "panic: runtime error"),
    (
        "hangs-in-apply",
        "create",
        "did not answer ApplyResourceChange",
    ),
    ("hangs-up-in-apply", "create", "closed its connection"),
    ("panics-in-apply", "create", "panic: runtime error"),
    ("panics-once", "create", "panic: runtime error"),
    ("replaced-and-panics", "create", "panic: runtime error"),
    ("stubborn", "create", "did not answer ApplyResourceChange"),
    ("stubborn", "shutdown", "did not end within"),
    // Create: the answer.
    ("apply-endless", "create", "cannot serialize infinity"),
    ("apply-half", "create", "half of it is there"),
    ("apply-last-words", "create", "not this time"),
    ("apply-long-words", "create", "long long"),
    ("apply-many-words", "create", "wrong for the 1th time"),
    ("apply-no-severity", "create", "is this an error?"),
    ("apply-nonsense", "create", "failed to decode Protobuf"),
    ("apply-not-text", "create", "not UTF-8"),
    (
        "apply-nothing",
        "create",
        "contains no object after the apply",
    ),
    ("apply-other-type", "create", "an object is required"),
    (
        "apply-other-value",
        "create",
        ".name: was \"conform-name\", but now \"another\"",
    ),
    ("apply-too-large", "create", "exceeds the limit of 256 MiB"),
    ("apply-unknown", "create", "still contains unknown values"),
    ("apply-unknown", "unknowns", "unknown after the apply: id"),
    ("apply-value-not-text", "create", "not valid UTF-8"),
    ("apply-wild-path", "create", "wrong at a place"),
    ("busy-in-apply", "create", "is being restarted"),
    ("refuses-in-apply", "create", "the database is locked"),
    // Later.
    ("panics-in-read", "read", "crashed during ReadResource"),
    ("busy-for-good", "no-op-plan", "all 3 attempts failed"),
    (
        "legacy-other-note",
        "update:name",
        ".note: was null, but now \"another\"",
    ),
    ("destroy-endless", "destroy", "it is not gone"),
    (
        "blind-read",
        "read-after-destroy",
        "but an import does not: no such thing",
    ),
    (
        "destroys-nothing",
        "read-after-destroy",
        "a read and an import still return the object",
    ),
    ("answers-otherwise", "functions", "returned 1 and 2"),
    ("ignores-stop", "cancel", "did not end with an answer"),
    (
        "never-answers-stop",
        "cancel",
        "did not answer StopProvider",
    ),
    ("floods", "stdout", "log lines, limit"),
    ("floods-by-stream", "stdout", "log lines, limit"),
    ("floods-in-apply", "stdout", "log lines, limit"),
];

/// Fakes without a fault of the protocol: tests of other behaviour use them.
const FAULTLESS: &[&str] = &[
    "good",
    "tcp",
    "without-tls",
    "schema-large",
    "schema-without-provider",
    "stdout-closed-later",
    "grandchild-in-use",
    "obeys-stop",
    // Temporary refusals that calls repeat.
    "busy-in-plan",
    "throttled-in-stage",
];

/// Fakes of other tests, with the reason that they are in no table.
const OTHERS: &[(&str, &str)] = &[
    ("answers", "its faults are chosen by a test"),
    ("answers-nested", "its faults are chosen by a test"),
    ("grandchild-away", "its daemon outlives every run"),
    ("takes-all-memory-in-apply", "it needs a control group"),
    ("takes-memory-in-apply", "it needs a limit of its own"),
];

/// Chosen answers of the fake `answers`: call, answer, error, the check that must fail, and words
/// of its evidence.
const ANSWERS: &[(&str, &str, bool, &str, &str)] = &[
    ("create", "none", false, "create", "contains no object"),
    ("create", "null", false, "create", "contains no object"),
    ("create", "half", false, "create", ".name: was"),
    (
        "create",
        "unreadable",
        false,
        "create",
        "an object is required",
    ),
    (
        "create",
        "planned",
        true,
        "create",
        "the answer has an error",
    ),
    ("update", "null", false, "update:name", "contains no object"),
    ("update", "prior", false, "update:name", ".name: was"),
    (
        "update",
        "half",
        true,
        "update:name",
        "the answer has an error",
    ),
    ("read", "null", false, "read", "does not exist"),
    (
        "read",
        "half",
        false,
        "read",
        ".name: was \"conform-name\", but now \"half\"",
    ),
    ("read", "unknown", false, "read", "unknown"),
    ("read", "planned", true, "read", "the answer has an error"),
    (
        "delete",
        "prior",
        false,
        "destroy",
        "still contains an object",
    ),
    ("delete", "null", true, "destroy", "the answer has an error"),
    ("create", "planned", false, "identity", "has no identity"),
];

fn conform(bench: &FaultWorkspace, more: &[&str], env: &[(&str, &str)]) -> Observations {
    let executable = bench.executable();
    let words = [
        "plugin",
        "conform",
        executable.to_str().unwrap(),
        "--json",
        "--call-deadline",
    ];
    let words = [&words, &["4s"][..], more].concat();
    let few = [
        ("FLIGHTDECK_CALL_ATTEMPTS", "3"),
        ("FLIGHTDECK_CALL_BACKOFF_MS", "1"),
    ];
    bench.run(&words, &[&few, env].concat())
}

const OBJECTS: &[&str] = &["--yes", "--type", "fake_thing"];

/// Failed checks of a report, with their evidence.
fn failed(seen: &Observations) -> Vec<(String, String)> {
    let report = &seen.result()["report"];
    let all = |of: &Value| of.as_array().unwrap().clone();
    let types = all(&report["types"]);
    let types = types.iter().flat_map(|of| all(&of["checks"]));
    let failed = all(&report["checks"]).into_iter().chain(types);
    let failed = failed.filter(|check| check["status"] == "fail");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    failed
        .map(|c| (text(&c["id"]), text(&c["evidence"])))
        .collect()
}

fn assert_fails(seen: &Observations, check: &str, words: &str) {
    assert_eq!(seen.code, Some(1), "{seen:#?}");
    let failed = failed(seen);
    let evidence = failed.iter().find(|(id, _)| id == check);
    let (_, evidence) = evidence.unwrap_or_else(|| panic!("{check} did not fail: {failed:#?}"));
    assert_contains(evidence, &[words]);
    assert!(evidence.chars().count() <= 401, "{evidence}");
}

#[test]
fn fault_of_each_fake_fails_the_check_of_its_rule() {
    for_each_row(
        FAULTS,
        |(fake, _, _)| fake,
        |(fake, check, words)| {
            let bench = FaultWorkspace::new(fake);
            assert_fails(&conform(&bench, OBJECTS, &[]), check, words);
        },
    );
}

#[test]
fn each_fake_is_in_a_table_or_has_a_reason() {
    let launches = FAILING.iter().filter(|row| row.file.is_none());
    let mut listed: Vec<&str> = launches.map(|row| row.fake).collect();
    listed.extend(FAULTS.iter().map(|(fake, _, _)| fake));
    listed.extend(FAULTLESS);
    listed.extend(OTHERS.iter().map(|(fake, _)| fake));
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed, NAMES);
}

#[test]
fn memory_and_start_above_their_limits_fail() {
    let bench = FaultWorkspace::new("takes-memory-in-apply");
    let limits = ["--memory-limit", "200", "--start-limit", "0s"];
    let seen = conform(&bench, &[OBJECTS, &limits].concat(), &[]);
    assert_fails(&seen, "memory", "limit 200 MiB");
    assert_fails(&seen, "start-time", "limit 0 ms");
}

#[test]
fn wrong_answer_fails_the_check_of_its_call() {
    for_each_row(
        ANSWERS,
        |(_, _, _, check, _)| check,
        |(call, answer, error, check, words)| {
            let bench = FaultWorkspace::new("answers");
            let chosen = json!([{"call": call, "answer": answer, "error": error}]);
            std::fs::write(bench.folder().join("answers.json"), chosen.to_string()).unwrap();
            assert_fails(&conform(&bench, OBJECTS, &[]), check, words);
        },
    );
}

#[test]
fn dropped_change_of_a_nested_block_fails_the_update_of_its_argument() {
    let given = "resource \"fake_thing\" \"x\" {\n  name = \"x\"\n  require_new = \"x\"\n  rule {\n    port = \"80\"\n  }\n}\n";
    let changed = ".rule[0].port: was \"80-2\", but now \"80\"";
    let absent = "block count changed from 1 to 0";
    for (more, check, words) in [
        (&["--config", "given.hcl"], "update:rule.port", changed),
        (&["--type", "fake_thing"], "update:rule", absent),
    ] {
        let bench = FaultWorkspace::new("answers-nested");
        let chosen = json!([{"call": "update", "answer": "prior-rule", "error": false}]);
        std::fs::write(bench.folder().join("answers.json"), chosen.to_string()).unwrap();
        bench.write("given.hcl", given);
        let seen = conform(&bench, &[&["--yes"], &more[..]].concat(), &[]);
        assert_fails(&seen, check, words);
        // Changes outside of the block are not dropped.
        let others = failed(&seen);
        assert!(
            others.iter().all(|(id, _)| id != "update:name"),
            "{others:?}"
        );
    }
}

#[test]
fn plugin_that_does_not_start_fails_the_check_of_its_start_or_schema() {
    // A flood is slow on a busy machine; the others need no deadline of their own.
    let short = [
        ("FLIGHTDECK_LAUNCH_ATTEMPTS", "1"),
        ("FLIGHTDECK_CONNECT_DEADLINE_MS", "5000"),
        ("FLIGHTDECK_SCHEMA_DEADLINE_MS", "5000"),
    ];
    let run = |row: &LaunchRow| {
        let bench = match row.file {
            Some((content, mode)) => FaultWorkspace::of_file(row.fake, content, mode),
            None => FaultWorkspace::new(row.fake),
        };
        let own = row.env.iter().filter(|(name, _)| name.contains("LAUNCH"));
        let env: Vec<(&str, &str)> = short.iter().chain(own).copied().collect();
        let check = match row.verdict {
            "schema" => "schema",
            _ => "start",
        };
        assert_fails(&conform(&bench, &[], &env), check, "");
    };
    for_each_row(FAILING, |row| row.fake, run);
}

#[test]
fn fake_without_a_fault_passes_and_leaves_nothing() {
    for_each_row(
        FAULTLESS,
        |fake| fake,
        |fake| {
            let bench = FaultWorkspace::new(fake);
            let seen = conform(&bench, OBJECTS, &[]);
            assert_eq!(
                (seen.code, failed(&seen)),
                (Some(0), Vec::new()),
                "{seen:#?}"
            );
            assert_eq!(seen.result()["report"]["leftovers"], json!([]));
        },
    );
}

#[test]
fn request_to_stop_reaches_a_create_in_progress() {
    let bench = FaultWorkspace::new("obeys-stop");
    let seen = conform(&bench, OBJECTS, &[]).expect(0);
    let checks = seen.result()["report"]["checks"].clone();
    let mut checks = checks.as_array().unwrap().iter();
    let cancel = checks.find(|check| check["id"] == "cancel").unwrap();
    let words = ["after the request, with an error: the create was cancelled"];
    assert_contains(cancel["evidence"].as_str().unwrap(), &words);
    // The process that was asked to stop is one of its own.
    assert_eq!((bench.count("launches"), bench.count("stops")), (2, 1));
}

#[test]
fn object_of_a_create_that_ignores_the_request_to_stop_is_listed() {
    let bench = FaultWorkspace::new("ignores-stop");
    let seen = conform(&bench, OBJECTS, &[]).expect(1);
    let left = seen.result()["report"]["leftovers"].clone();
    assert_eq!(left[0]["id"], "conform-name", "{left}");
    assert_contains(left[0]["why"].as_str().unwrap(), &["it may exist"]);
}

#[test]
fn object_of_a_create_whose_answer_has_none_is_listed() {
    let bench = FaultWorkspace::new("apply-nothing");
    let seen = conform(&bench, OBJECTS, &[]).expect(1);
    let left = seen.result()["report"]["leftovers"].clone();
    assert_eq!(left[0]["id"], "conform-name", "{left}");
    assert_contains(left[0]["why"].as_str().unwrap(), &["it may exist"]);
}

#[test]
fn nothing_is_created_without_consent() {
    let bench = FaultWorkspace::new("panics-in-apply");
    let seen = conform(&bench, &["--type", "fake_thing"], &[]).expect(0);
    let report = &seen.result()["report"];
    let checks = report["types"][0]["checks"].as_array().unwrap();
    let create = checks.iter().find(|check| check["id"] == "create").unwrap();
    assert_eq!(create["status"], "skipped");
    assert_contains(create["evidence"].as_str().unwrap(), &["--yes"]);
}

#[test]
fn object_whose_destroy_has_no_effect_is_listed() {
    let bench = FaultWorkspace::new("destroys-nothing");
    let seen = conform(&bench, OBJECTS, &[]).expect(1);
    let left = &seen.result()["report"]["leftovers"];
    assert_eq!(left[0]["id"], "made", "{left}");
    let why = left[0]["why"].as_str().unwrap();
    assert_contains(why, &["the destroy succeeded", "still returns the object"]);
}

#[test]
fn object_that_cannot_be_destroyed_is_listed() {
    let bench = FaultWorkspace::new("destroy-endless");
    let seen = conform(&bench, OBJECTS, &[]).expect(1);
    let left = &seen.result()["report"]["leftovers"];
    assert_eq!(
        (&left[0]["type_name"], &left[0]["id"]),
        (&"fake_thing".into(), &"made".into())
    );
    assert_contains(left[0]["why"].as_str().unwrap(), &["it is not gone"]);
}
