//! Tests of failed operations: remaining operations, retries and records.

use crate::{CHAIN, Lab};
use bundled::lab::control::{Fault, Kind, On};
use serde_json::Value;

fn on(kind: Kind, name: &str) -> Fault {
    Fault {
        on: On::Create,
        name: Some(name.to_owned()),
        ..Fault::new(kind)
    }
}

fn counts(result: &Value) -> [u64; 4] {
    ["done", "failed", "not_attempted", "unknown"]
        .map(|k| result["operations"][k].as_u64().unwrap())
}

#[test]
fn failure_stops_only_dependents_and_the_rest_can_be_retried() {
    let lab = Lab::new(CHAIN);
    lab.set_fault(Fault {
        text: Some("quota of things exceeded".to_owned()),
        ..on(Kind::Permanent, "b")
    });
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(5);
    assert_eq!(run.result()["outcome"], "failed");
    assert_eq!(counts(&run.result()), [2, 1, 1, 0]);
    let errors: Vec<Value> = run
        .diagnostics()
        .into_iter()
        .filter(|d| d["severity"] == "error")
        .collect();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(
        errors[0].to_string().contains("quota of things exceeded"),
        "{errors:#?}"
    );
    assert_eq!(errors[0]["range"]["filename"], "main.tf");
    assert_eq!(lab.state(), ["lab_thing.a", "lab_thing.d"]);

    // The failure reason is recorded.
    let failures = lab
        .workspace
        .run(&["failures", "--json"])
        .expect(0)
        .result();
    let first = &failures["failures"][0];
    assert_eq!(first["count"], 1, "{first:#}");
    assert!(
        first.to_string().contains("quota of things exceeded"),
        "{first:#}"
    );
    assert!(
        first["last_lines"]
            .as_array()
            .is_some_and(|l| !l.is_empty() && l.len() <= 100),
        "{first:#}"
    );

    lab.clear_faults();
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(counts(&run.result()), [2, 0, 0, 0]);
    assert_eq!(
        lab.objects(),
        ["lab_thing.a", "lab_thing.b", "lab_thing.c", "lab_thing.d"]
    );
}

#[test]
fn partially_created_object_is_tainted_and_replaced() {
    let lab = Lab::new(r#"resource "lab_thing" "a" { name = "a" }"#);
    lab.set_fault(on(Kind::Partial, "a"));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(5);
    let state = lab.state();
    // Incomplete is a readiness of its own, beside the taint.
    let expected = "lab_thing.a  tainted  unavailable (read ";
    assert!(
        state.len() == 1 && state[0].starts_with(expected),
        "{state:?}"
    );
    lab.clear_faults();
    let stage = lab.workspace.run(&["stage", "--json"]).expect(0).result();
    assert_eq!(stage["changes"]["replace"], 1, "{stage}");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(lab.objects(), ["lab_thing.a"]);
    assert_eq!(
        lab.workspace.run(&["stage", "--json"]).expect(0).result()["changes"]["no_op"],
        1
    );
}

#[test]
fn bad_input_is_reported_at_the_argument() {
    let lab = Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"odd\"\n}\n");
    lab.set_fault(Fault {
        attribute: Some("kind".to_owned()),
        ..on(Kind::BadInput, "a")
    });
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(5);
    let error = run
        .diagnostics()
        .into_iter()
        .find(|d| d["severity"] == "error")
        .unwrap();
    let text = std::fs::read_to_string(lab.workspace.path().join("main.tf")).unwrap();
    let line = text.lines().position(|l| l.contains("kind =")).unwrap() as u64 + 1;
    assert_eq!(error["range"]["start"]["line"], line, "{error:#}");
    let failures = lab
        .workspace
        .run(&["failures", "--json"])
        .expect(0)
        .result();
    assert_eq!(failures["failures"][0]["class"], "bad_input");
}

#[test]
fn unknown_outcome_is_reported_by_the_next_command() {
    let lab = Lab::new(CHAIN);
    // The lab creates the object, then the plugin crashes, so the outcome is unknown.
    lab.set_fault(Fault {
        after: true,
        times: Some(1),
        ..on(Kind::Crash, "a")
    });
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(5);
    assert!(counts(&run.result())[3] >= 1, "{:#?}", run.result());
    assert!(lab.objects().contains(&"lab_thing.a".to_owned()));

    // The next command names the object.
    let run = lab.workspace.run(&["stage", "--json"]).expect(0);
    // Other calls that the crash interrupted are included.
    let unknown: Vec<Value> = run
        .diagnostics()
        .into_iter()
        .filter(|d| d["summary"] == "Unknown outcome")
        .collect();
    assert!(
        unknown.iter().any(|d| d["address"] == "lab_thing.a"),
        "{unknown:#?}"
    );
    for diagnostic in &unknown {
        let (address, detail) = (
            diagnostic["address"].as_str().unwrap(),
            diagnostic["detail"].as_str().unwrap(),
        );
        assert!(
            detail.contains(&format!("flightdeck state import {address} ID")),
            "{detail}"
        );
        assert!(
            detail.contains(&format!("flightdeck state forget {address}")),
            "{detail}"
        );
    }
    // Read-only commands report it too.
    for args in [
        &["state", "list", "--json"][..],
        &["history", "--json"],
        &["history", "1", "--json"],
    ] {
        let told = lab.workspace.run(args).expect(0).diagnostics();
        assert!(
            told.iter().any(|d| d["address"] == "lab_thing.a"),
            "{args:?}: {told:#?}"
        );
    }
    // The object is not created a second time.
    let made = lab.objects();
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(1);
    assert!(
        run.diagnostics()
            .iter()
            .any(|d| d["severity"] == "error" && d["address"] == "lab_thing.a"),
        "{run:#?}"
    );
    assert_eq!(lab.objects(), made);
    // Import the objects that exist, and discard the others.
    for diagnostic in &unknown {
        let address = diagnostic["address"].as_str().unwrap();
        let objects = bundled::lab::control::objects(&lab.file()).unwrap();
        match objects
            .iter()
            .find(|o| format!("lab_thing.{}", o.name) == address)
        {
            Some(object) => lab
                .workspace
                .run(&["state", "import", address, &object.id])
                .expect(0),
            None => lab.workspace.run(&["state", "forget", address]).expect(0),
        };
    }
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(0);
    assert!(
        run.diagnostics()
            .iter()
            .all(|d| d["summary"] != "Unknown outcome"),
        "{run:#?}"
    );
    assert_eq!(
        lab.objects(),
        ["lab_thing.a", "lab_thing.b", "lab_thing.c", "lab_thing.d"]
    );
    let text = lab.workspace.run(&["history", "1"]).expect(0).stdout;
    assert!(
        text.contains("unknown outcome (imported under the id thing-"),
        "{text}"
    );
}

#[test]
fn import_block_settles_an_unknown_creation_and_refresh_an_unknown_update() {
    let lab = Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"one\"\n}\n");
    let crash = |on: On| Fault {
        on,
        name: Some("a".to_owned()),
        after: true,
        times: Some(1),
        ..Fault::new(Kind::Crash)
    };
    let unknown = |args: &[&str]| {
        let all = lab.workspace.run(args).diagnostics();
        all.iter()
            .filter(|d| d["summary"] == "Unknown outcome")
            .count()
    };
    lab.set_fault(crash(On::Create));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(5);
    let id = bundled::lab::control::objects(&lab.file()).unwrap()[0]
        .id
        .clone();
    let block = format!("import {{\n  to = lab_thing.a\n  id = {id:?}\n}}\n");
    lab.configure(&format!(
        "{block}resource \"lab_thing\" \"a\" {{\n  name = \"a\"\n  kind = \"one\"\n}}\n"
    ));
    let run = lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(run.stdout.contains("lab_thing.a: imported in "), "{run:#?}");
    assert_eq!((lab.objects().len(), unknown(&["stage", "--json"])), (1, 0));

    // An update and a destroy that were never answered.
    lab.clear_faults();
    lab.set_fault(crash(On::Update));
    lab.configure("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"two\"\n}\n");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(5);
    let run = lab.workspace.run(&["stage", "--json"]).expect(0);
    assert_eq!(
        run.result()["changes"]["no_op"],
        1,
        "what is there is as it should be"
    );
    assert!(
        run.diagnostics()[0]["detail"]
            .as_str()
            .unwrap()
            .contains("reads the object"),
        "{run:#?}"
    );
    assert_eq!(
        unknown(&["state", "list", "--json"]),
        1,
        "a stage alone keeps nothing"
    );
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(unknown(&["state", "list", "--json"]), 0);
    lab.clear_faults();
    lab.set_fault(crash(On::Delete));
    lab.workspace.run(&["destroy", "--auto-approve"]).expect(5);
    assert_eq!(
        (
            lab.objects().len(),
            lab.state().len(),
            unknown(&["state", "list", "--json"])
        ),
        (0, 1, 1)
    );
    lab.workspace.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(
        (lab.state().len(), unknown(&["state", "list", "--json"])),
        (0, 0)
    );
}

#[test]
fn stage_from_before_an_unknown_update_is_stale() {
    let lab = Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"one\"\n}\n");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.configure("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"two\"\n}\n");
    lab.workspace.run(&["stage", "--out", "once"]).expect(0);
    lab.set_fault(Fault {
        on: On::Update,
        after: true,
        times: Some(1),
        ..Fault::new(Kind::Crash)
    });
    lab.workspace.run(&["deploy", "once"]).expect(5);
    // The state's serial is unchanged, but the stage read the object before the change.
    let run = lab.workspace.run(&["deploy", "once"]).expect(1);
    assert!(
        run.stderr.contains("stale") && run.stderr.contains("lab_thing.a"),
        "{run:#?}"
    );
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
}

#[test]
fn destroys_run_in_reverse_order() {
    let lab = Lab::new(CHAIN);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let run = lab
        .workspace
        .run(&["destroy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(run.result()["command"], "destroy");
    let done: Vec<String> = run
        .lines()
        .into_iter()
        .filter(|l| l["type"] == "operation" && l["state"] == "done")
        .map(|l| l["address"].as_str().unwrap().to_owned())
        .filter(|a| a != "lab_thing.d")
        .collect();
    assert_eq!(done, ["lab_thing.c", "lab_thing.b", "lab_thing.a"]);
    assert!(lab.objects().is_empty());
    assert!(lab.state().is_empty());
}

#[test]
fn drift_is_repaired_by_a_deploy() {
    let lab = Lab::new("resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"one\"\n}\n");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let id = bundled::lab::control::objects(&lab.file()).unwrap()[0]
        .id
        .clone();
    bundled::lab::control::tamper(&lab.file(), &id, "kind", "two".into()).unwrap();
    let plan = lab.workspace.path().join("plan.json");
    let run = lab
        .workspace
        .run(&["stage", "--json", "--plan-json", plan.to_str().unwrap()])
        .expect(0);
    assert_eq!(run.result()["changes"]["update"], 1);
    let text = std::fs::read_to_string(&plan).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(plan["resource_drift"][0]["address"], "lab_thing.a");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(
        lab.workspace.run(&["stage", "--json"]).expect(0).result()["changes"]["no_op"],
        1
    );
}
