//! Tests of failure reasons: classes, groups, and related log lines.

use crate::lab_deploys::{Lab, Running};
use bundled::lab::control::{Fault, Kind, On};
use serde_json::{Value, json};

fn buckets(names: &[&str]) -> String {
    names
        .iter()
        .map(|n| format!("resource \"lab_bucket\" \"{n}\" {{\n  name = \"{n}\"\n}}\n"))
        .collect()
}

fn failures(lab: &Lab) -> Vec<Value> {
    lab.run(&["failures", "--json"]).expect(0).result()["failures"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn throttled_and_denied_calls_have_their_own_classes() {
    let said = [
        (
            "https response error StatusCode: 403, RequestID: 1, api error AccessDenied: no",
            "denied",
        ),
        (
            "googleapi: Error 403: Required permission for 'projects/p'",
            "denied",
        ),
        ("unexpected response: 429 Too Many Requests", "transient"),
        ("a name that nobody likes", "unexpected"),
    ];
    for (text, class) in said {
        let lab = Lab::new(&buckets(&["a"]));
        lab.set_fault(Fault {
            text: Some(text.to_owned()),
            ..Fault::new(Kind::Permanent)
        });
        let run = lab.deploy().expect(5);
        let operation = run
            .lines()
            .into_iter()
            .rev()
            .find(|l| l["type"] == "operation" && l["state"] == "failed")
            .unwrap();
        assert_eq!(operation["failure"]["class"], class, "{text}");
        assert_eq!(failures(&lab)[0]["class"], class, "{text}");
    }
}

#[test]
fn operations_stopped_by_signals_are_cancelled() {
    let lab = Lab::new(&buckets(&["a"]));
    lab.set_fault(Fault {
        times: Some(1),
        ..Fault::new(Kind::Hang)
    });
    let mut running = Running::start(&lab);
    running.until_applying();
    running.signal(rustix::process::Signal::INT);
    let (code, result) = running.end();
    assert_eq!(
        (code, &result["outcome"]),
        (Some(130), &json!("cancelled")),
        "{result}"
    );
    let groups = failures(&lab);
    assert_eq!(
        (groups.len(), &groups[0]["class"]),
        (1, &json!("cancelled")),
        "{groups:#?}"
    );
}

#[test]
fn one_crash_is_one_group_of_failures() {
    // Resources of two types: one create crashes the plugin while the others run.
    let thing = "resource \"lab_thing\" \"c\" {\n  name = \"c\"\n}\n";
    let lab = Lab::new(&(buckets(&["a", "b"]) + thing));
    let slow = |name: &str| Fault {
        name: Some(name.to_owned()),
        ms: Some(20_000),
        on: On::Create,
        ..Fault::new(Kind::Latency)
    };
    lab.set_fault(slow("b"));
    lab.set_fault(slow("c"));
    // The crash comes late enough for the other calls to be sent.
    lab.set_fault(Fault {
        name: Some("a".to_owned()),
        on: On::Create,
        ..Fault::new(Kind::Crash)
    });
    lab.set_fault(Fault {
        name: Some("a".to_owned()),
        ms: Some(1_500),
        on: On::Create,
        ..Fault::new(Kind::Latency)
    });
    for deploys in 1..=2 {
        let run = lab.deploy().expect(5);
        assert_eq!(
            run.lines().iter().filter(|l| l["what"] == "crash").count(),
            1,
            "{}",
            run.stderr
        );
        let groups = failures(&lab);
        assert_eq!(groups.len(), 1, "{groups:#?}");
        assert_eq!(groups[0]["count"], 3 * deploys, "{groups:#?}");
        // Discard the unknown outcomes, because they block another creation.
        lab.run(&[
            "state",
            "forget",
            "lab_bucket.a",
            "lab_bucket.b",
            "lab_thing.c",
        ])
        .expect(0);
    }
}

#[test]
fn log_lines_of_a_failure_belong_to_its_operation_and_have_times() {
    let text = "resource \"lab_bucket\" \"first\" {\n  name = \"first\"\n}\n\
                resource \"lab_bucket\" \"second\" {\n  name = \"second-${lab_bucket.first.name}\"\n}\n";
    let lab = Lab::new(text);
    lab.set_fault(Fault {
        name: Some("second-first".to_owned()),
        on: On::Create,
        ..Fault::new(Kind::Transient)
    });
    let run = lab.deploy().expect(5);
    let operation = run
        .lines()
        .into_iter()
        .rev()
        .find(|l| l["type"] == "operation" && l["state"] == "failed")
        .unwrap();
    let failure = &operation["failure"];
    let (lines, times) = (
        failure["last_lines"].as_array().unwrap(),
        failure["last_lines_at"].as_array().unwrap(),
    );
    assert!(
        !lines.is_empty() && lines.len() == times.len(),
        "{failure:#}"
    );
    let began = operation["began"].as_i64().unwrap();
    assert!(
        times.iter().all(|at| at.as_i64().unwrap() >= began),
        "{failure:#}"
    );
    assert!(
        lines
            .iter()
            .all(|l| !l.as_str().unwrap().contains("name=first ")),
        "of the operation before: {failure:#}"
    );
    assert!(
        lines
            .iter()
            .any(|l| l.as_str().unwrap().contains("name=second-first")),
        "{failure:#}"
    );
    assert_eq!(failures(&lab)[0]["last_lines_at"], failure["last_lines_at"]);
    // Text output has a time for each log line.
    let said = lab.run(&["failures"]).expect(0).stdout;
    let line = said
        .lines()
        .find(|l| l.contains("name=second-first"))
        .unwrap();
    let time = line
        .trim()
        .trim_start_matches("| ")
        .split(' ')
        .next()
        .unwrap();
    assert!(
        time.len() == "10:15:02.071".len() && time.matches(':').count() == 2,
        "{line}"
    );
}
