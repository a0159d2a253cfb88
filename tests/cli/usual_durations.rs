//! Tests of usual durations: reported by resource type and action, from earlier runs of the
//! workspace.

use crate::lab_deploys::Lab;
use crate::support::Run;
use bundled::lab::control::{Fault, Kind, On};
use serde_json::Value;

const TWO: &str = "resource \"lab_bucket\" \"quick\" {\n  name = \"quick\"\n}\n\
                     resource \"lab_thing\" \"slow\" {\n  name = \"slow\"\n}\n";

/// Usual duration of an operation, from the `deploy_started` event.
fn usual_duration(run: &Run, address: &str) -> Option<u64> {
    let lines = run.lines();
    let started = lines
        .iter()
        .find(|l| l["type"] == "deploy_started")
        .unwrap();
    let operations = started["operations"].as_array().unwrap();
    operations.iter().find(|o| o["address"] == address).unwrap()["usual_ms"].as_u64()
}

fn call<'a>(lines: &'a [Value], address: &str) -> &'a Value {
    let apply = |l: &&Value| {
        l["type"] == "call_finished"
            && l["method"] == "ApplyResourceChange"
            && l["resource"] == address
    };
    lines.iter().find(apply).unwrap()
}

#[test]
fn usual_duration_depends_on_type_and_action() {
    let lab = Lab::new(TWO);
    lab.set_fault(Fault {
        ms: Some(900),
        resource: Some("lab_thing".into()),
        on: On::Create,
        ..Fault::new(Kind::Latency)
    });
    let first = lab.deploy().expect(0);
    assert_eq!(
        (
            usual_duration(&first, "lab_bucket.quick"),
            usual_duration(&first, "lab_thing.slow")
        ),
        (None, None),
        "nothing is known of any yet"
    );
    let lines = first.lines();
    let made = call(&lines, "lab_thing.slow");
    assert_eq!(
        (&made["resource_type"], &made["action"]),
        (&"lab_thing".into(), &"create".into())
    );
    // Durations of creates are not used for destroys.
    let destroyed = lab.run(&["destroy", "--auto-approve", "--json"]).expect(0);
    assert_eq!(usual_duration(&destroyed, "lab_thing.slow"), None);
    let again = lab.deploy().expect(0);
    let (quick, slow) = (
        usual_duration(&again, "lab_bucket.quick").unwrap(),
        usual_duration(&again, "lab_thing.slow").unwrap(),
    );
    assert!(quick < 900 && slow >= 800, "{quick} ms and {slow} ms");
    // A replacement is a destroy and a create.
    let replaced = lab
        .run(&[
            "deploy",
            "--auto-approve",
            "--json",
            "--replace",
            "lab_thing.slow",
        ])
        .expect(0);
    assert!(usual_duration(&replaced, "lab_thing.slow").unwrap() >= slow);
}
