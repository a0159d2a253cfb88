//! Tests of plugins that fail to start, or start despite a fault: the verdict, the recorded launch
//! attempts, and the errors.

use serde_json::Value;

use super::launch_fault_table::{ALL, FAILING, PATIENT, Row, SAID, SMALL};
use crate::observed_run::{FaultWorkspace, GOOD, assert_contains, for_each_row};

/// Recorded launch attempts of a plugin.
fn attempts(plugin: &Value) -> &[Value] {
    plugin["attempts"].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn phases(attempt: &Value) -> Vec<&str> {
    attempt["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect()
}

fn plugin<'a>(result: &'a Value, id: &str) -> &'a Value {
    let all = result["plugins"]
        .as_array()
        .unwrap_or_else(|| panic!("{result}"));
    all.iter()
        .find(|p| p["id"] == id)
        .unwrap_or_else(|| panic!("no {id} in {result}"))
}

/// Checks that the lab became ready at its first launch and has a schema.
fn assert_lab_ready(result: &Value) {
    let good = plugin(result, GOOD);
    assert_eq!(good["state"]["state"], "ready", "{good}");
    assert_eq!(attempts(good).len(), 1, "{good}");
    assert!(
        good["schema"]["resources"].as_u64() > Some(0),
        "{}",
        good["schema"]
    );
}

fn assert_launch_fails(row: &Row) {
    let bench = match row.file {
        Some((content, mode)) => FaultWorkspace::of_file(row.fake, content, mode),
        None => FaultWorkspace::new(row.fake),
    };
    let seen = bench.run(&["plugins", "--json"], row.env).expect(3);
    let result = seen.result();
    assert_eq!(
        (&result["outcome"], &result["exit_code"]),
        (&"error".into(), &3.into())
    );
    assert_lab_ready(&result);
    let fake = plugin(&result, &bench.address());
    let (state, count) = if row.retried {
        ("gave_up", 2)
    } else {
        ("incompatible", 1)
    };
    assert_eq!(fake["state"]["state"], state, "{fake}");
    assert_eq!(attempts(fake).len(), count, "{fake}");
    for (attempt, number) in attempts(fake).iter().zip(1..) {
        let verdict = &attempt["verdict"];
        assert_eq!(verdict["kind"], row.verdict, "{attempt}");
        assert_contains(verdict["text"].as_str().unwrap(), row.words);
        assert_eq!(verdict["retryable"], row.retried, "{attempt}");
        assert_eq!(phases(attempt), row.phases, "{attempt}");
        assert_eq!(
            (attempt["exit_code"].as_i64(), attempt["signal"].as_i64()),
            (row.code, row.signal),
            "{attempt}"
        );
        assert_eq!(
            (attempt["number"].as_i64(), attempt["limit"].as_i64()),
            (Some(number), Some(2)),
            "{attempt}"
        );
        assert_eq!(attempt["pid"].is_null(), row.phases.is_empty(), "{attempt}");
        assert!(attempt["took_ms"].is_u64(), "{attempt}");
    }
    assert_eq!(
        bench.count("launches"),
        if row.file.is_none() { count } else { 0 }
    );
    // The diagnostic names the plugin, the number of launches, and the same reason.
    let told = seen
        .diagnostics()
        .into_iter()
        .find(|d| d.contains(&bench.address()))
        .unwrap_or_default();
    assert_contains(&told, row.words);
    assert_contains(
        &told,
        &[if row.retried {
            "was given up after 2 launches"
        } else {
            "is incompatible"
        }],
    );
    assert!(seen.peak_mb < row.memory, "{} MB", seen.peak_mb);
}

#[test]
fn s0_04_plugin_that_fails_to_start_is_reported_and_affects_no_other() {
    for_each_row(FAILING, |row| row.fake, assert_launch_fails);
}

#[test]
fn text_output_has_the_same_reason() {
    let rows: Vec<&Row> = FAILING
        .iter()
        .filter(|r| ["exit-1", "protocol-7", "garbage-bytes", "other-machine"].contains(&r.fake))
        .collect();
    assert_eq!(rows.len(), 4);
    for_each_row(
        &rows,
        |row| row.fake,
        |row| {
            let bench = match row.file {
                Some((content, mode)) => FaultWorkspace::of_file(row.fake, content, mode),
                None => FaultWorkspace::new(row.fake),
            };
            let seen = bench.run(&["plugins"], row.env).expect(3);
            assert_contains(&seen.stdout, row.words);
            let (state, launch) = if row.retried {
                ("gave up", "launch 2 of 2")
            } else {
                ("incompatible", "launch 1 of 2")
            };
            assert_contains(
                &seen.stdout,
                &[
                    &format!("{}  {state}", bench.address()),
                    launch,
                    "bundled/lab  ready",
                ],
            );
            assert_contains(&seen.stderr, row.words);
            assert_contains(&seen.stderr, &[&bench.address()]);
            assert!(
                !seen.stdout.contains('\x1b') && !seen.stderr.contains('\x1b'),
                "what a plugin says must not steer a terminal: {seen:#?}"
            );
        },
    );
}

/// Unusual plugins that serve, with the limit for flightdeck's memory in MB.
const SERVING: &[(&str, u64)] = &[
    ("good", SMALL),
    ("tcp", SMALL),
    ("without-tls", SMALL),
    ("stdout-closed-later", SMALL),
    ("stubborn", SMALL),
    ("floods", SMALL),
    ("floods-by-stream", SMALL),
    ("schema-without-provider", SMALL),
    // The schema has 70 MB in the message.
    ("schema-large", 200),
];

#[test]
fn unusual_plugin_that_serves_is_used() {
    for_each_row(
        SERVING,
        |row| row.0,
        |&(fake, memory)| {
            let bench = FaultWorkspace::new(fake);
            let seen = bench
                .run(
                    &["plugins", "--json"],
                    &[("FLIGHTDECK_STOP_GRACE_MS", "500"), PATIENT[0]],
                )
                .expect(0);
            let result = seen.result();
            assert_lab_ready(&result);
            let fake = plugin(&result, &bench.address());
            assert_eq!(fake["state"]["state"], "ready", "{fake}");
            assert_eq!(attempts(fake).len(), 1, "{fake}");
            assert_eq!(attempts(fake)[0]["verdict"]["kind"], "ready", "{fake}");
            assert_eq!(phases(&attempts(fake)[0]), ALL);
            assert!(
                fake["schema"]["resources"].as_u64() > Some(0),
                "{}",
                fake["schema"]
            );
            assert!(seen.peak_mb < memory, "{} MB", seen.peak_mb);
        },
    );
}

/// Follows the remedy of the verdict.
#[test]
fn s0_05_tcp_port_without_a_certificate_is_accepted_with_tls_disabled() {
    let bench = FaultWorkspace::new("tcp-without-certificate");
    let seen = bench
        .run(&["plugins", "--json"], &[("TF_DISABLE_PLUGIN_TLS", "1")])
        .expect(0);
    assert_eq!(
        plugin(&seen.result(), &bench.address())["state"]["state"],
        "ready"
    );
}

#[test]
fn fifth_launch_is_the_last() {
    for_each_row(
        &["fifth", "never"],
        |name| name,
        |fake| {
            let bench = FaultWorkspace::new(fake);
            let comes_up = *fake == "fifth";
            let seen = bench
                .run(
                    &["plugins", "--json"],
                    &[("FLIGHTDECK_LAUNCH_ATTEMPTS", "5")],
                )
                .expect(if comes_up { 0 } else { 3 });
            let result = seen.result();
            assert_lab_ready(&result);
            let fake = plugin(&result, &bench.address());
            let verdicts: Vec<&str> = attempts(fake)
                .iter()
                .map(|a| a["verdict"]["kind"].as_str().unwrap())
                .collect();
            assert_eq!(
                verdicts,
                [
                    "exited",
                    "exited",
                    "exited",
                    "exited",
                    if comes_up { "ready" } else { "exited" }
                ]
            );
            assert_eq!(bench.count("launches"), 5);
            if !comes_up {
                assert_contains(
                    &seen.diagnostics().concat(),
                    &["was given up after 5 launches", "permission denied"],
                );
            }
        },
    );
}

#[test]
fn schema_with_invalid_types_is_unavailable_and_reported() {
    let bench = FaultWorkspace::new("schema-of-no-type");
    let words = [
        "cannot decode the answer of ",
        "fake_broken.size",
        "this is a bug in the plugin",
    ];
    let seen = bench.run(&["plugins", "--json"], &[]).expect(3);
    assert_lab_ready(&seen.result());
    assert!(plugin(&seen.result(), &bench.address())["schema"].is_null());
    assert_contains(&seen.diagnostics().concat(), &words);
    let seen = bench.run(&["plugins"], &[]).expect(3);
    assert_contains(&seen.stdout, &words);
    assert_contains(&seen.stdout, &["ready, schema unavailable"]);
}

#[test]
fn child_outside_the_process_group_delays_nothing_and_ends_with_its_plugin() {
    let bench = FaultWorkspace::new("grandchild-away");
    let seen = bench.start(&["plugins", "--json"], &[]).end().expect(3);
    let result = seen.result();
    assert_lab_ready(&result);
    let fake = plugin(&result, &bench.address());
    for attempt in attempts(fake) {
        assert_contains(
            attempt["verdict"]["text"].as_str().unwrap(),
            &["exit code 1; last output: left a daemon behind"],
        );
        assert_eq!(phases(attempt), SAID);
    }
    // Two launches started one daemon each; both ended with their plugins.
    assert_eq!(bench.running_processes(), Vec::<String>::new());
}

#[test]
fn all_plugins_that_did_not_start_are_named() {
    let bench = FaultWorkspace::new("exit-1");
    let second = FaultWorkspace::new("protocol-7");
    let both = std::fs::read_to_string(bench.folder().join("rc")).unwrap();
    let line = format!("    \"{}\" = {:?}\n", second.address(), second.folder());
    std::fs::write(
        bench.folder().join("rc"),
        both.replace("dev_overrides {\n", &format!("dev_overrides {{\n{line}")),
    )
    .unwrap();
    bench.add("module \"m\" {\n  source = \"./m\"\n}\n");
    bench.module(&format!(
        "terraform {{\n  required_providers {{\n    other = {{ source = \"{}\" }}\n  }}\n}}\nresource \"other_thing\" \"y\" {{\n  name = \"y\"\n}}\n",
        second.address()
    ));
    let seen = bench.run(&["plugins", "--json"], &[]).expect(3);
    assert_contains(
        &seen.diagnostics().concat(),
        &[
            &bench.address(),
            &second.address(),
            "permission denied",
            "protocol version 7",
        ],
    );
    assert_lab_ready(&seen.result());
}
