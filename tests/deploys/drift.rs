//! Tests of objects that somebody else changed or deleted: detection, output, acceptance and
//! repair.

use crate::Lab;
use serde_json::{Value, json};

const THREE: &str = r#"
resource "lab_thing" "same" { name = "same" }
resource "lab_thing" "changed" { name = "changed" }
resource "lab_thing" "gone" { name = "gone" }
output "id" { value = lab_thing.gone.id }
output "kind" { value = lab_thing.changed.kind }
"#;

/// Changes objects outside flightdeck.
fn change_outside(lab: &Lab, change: impl Fn(&str, &mut Value) -> bool) {
    let mut cloud: Value =
        serde_json::from_str(&std::fs::read_to_string(lab.file()).unwrap()).unwrap();
    cloud["objects"].as_object_mut().unwrap().retain(|_, o| {
        let name = o["name"].as_str().unwrap().to_owned();
        change(&name, o)
    });
    std::fs::write(lab.file(), cloud.to_string()).unwrap();
}

fn drifted(resources: &str) -> Lab {
    let lab = Lab::new(THREE);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.configure(resources);
    change_outside(&lab, |name, object| {
        if name == "changed" {
            object["attributes"]["kind"] = "by hand".into();
        }
        name != "gone"
    });
    lab
}

/// Drift by address, from the result of `stage --json`.
fn reported_drift(lab: &Lab, args: &[&str]) -> Value {
    let run = lab
        .workspace
        .run(&[&["stage", "--json"], args].concat())
        .expect(0);
    let rows = run.result()["drift"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    rows.into_iter()
        .map(|d| (d["address"].as_str().unwrap().to_owned(), d["what"].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn expected_drift() -> Value {
    json!({"lab_thing.changed": "changed", "lab_thing.gone": "gone"})
}

#[test]
fn s1_10_refresh_shows_drift_and_a_deploy_accepts_it() {
    let lab = drifted(THREE);
    let run = lab.workspace.run(&["stage", "--refresh-only"]).expect(0);
    assert!(
        run.stdout
            .contains("! lab_thing.gone  deleted outside of flightdeck"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains(
            "! lab_thing.changed  changed outside of flightdeck\n      kind: null → \"by hand\"\n"
        ),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("1 changed outside of flightdeck, 1 deleted outside of flightdeck, 2 outputs to change; run `flightdeck deploy 2` to accept this"),
        "{}",
        run.stdout
    );
    assert_eq!(
        lab.workspace
            .run(&["stage", "--refresh-only", "--detailed-exitcode"])
            .expect(2)
            .code,
        Some(2)
    );
    assert_eq!(reported_drift(&lab, &["--refresh-only"]), expected_drift());
    // `state list` shows the drift until the state changes.
    let list = lab.workspace.run(&["state", "list"]).expect(0).stdout;
    assert!(
        list.contains("lab_thing.gone  deleted outside of flightdeck")
            && list.contains("lab_thing.changed  changed outside of flightdeck"),
        "{list}"
    );
    assert!(list.contains("lab_thing.same\n"), "{list}");
    let rows = lab
        .workspace
        .run(&["state", "list", "--json"])
        .expect(0)
        .result();
    let drift: Vec<(&str, &Value)> = rows["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["name"].as_str().unwrap(), &r["drift"]))
        .collect();
    assert_eq!(
        drift,
        [
            ("changed", &json!("changed")),
            ("gone", &json!("gone")),
            ("same", &Value::Null)
        ]
    );
    let observed = |of: &Value| {
        let all = of["resources"].as_array().unwrap().iter();
        let facts = all.map(|r| &r["observation"]);
        let facts = facts.map(|o| (o["exists"].clone(), o["drift"].clone()));
        facts.collect::<Vec<_>>()
    };
    assert_eq!(
        observed(&rows),
        [
            (json!(true), json!(["update_needed"])),
            (json!(false), json!([])),
            (json!(true), json!([]))
        ]
    );

    let changed = lab.workspace.run(&["state", "show", "lab_thing.changed"]);
    let changed = changed.expect(0).stdout;
    assert!(
        changed.contains("  aspects    update needed\n"),
        "{changed}"
    );
    // Known from its read even when the newest stage is one of another object.
    let target = "-target=lab_thing.same";
    lab.workspace
        .run(&["stage", "--refresh-only", target])
        .expect(0);
    let list = lab.workspace.run(&["state", "list"]).expect(0).stdout;
    assert!(
        list.contains("lab_thing.gone  does not exist (read 20")
            && list.contains("lab_thing.changed  update needed (read 20"),
        "{list}"
    );
    lab.workspace
        .run(&["deploy", "--auto-approve", "--refresh-only"])
        .expect(0);
    assert_eq!(lab.state(), ["lab_thing.changed", "lab_thing.same"]);
    let shown = |address: &str| {
        let run = lab.workspace.run(&["state", "show", address]).expect(0);
        run.stdout
    };
    let same = shown("lab_thing.same");
    assert!(same.contains("  exists     yes, read 20"), "{same}");
    assert!(!same.contains("aspects"), "{same}");
    let rows = lab.workspace.run(&["state", "list", "--json"]).expect(0);
    let exists_without_drift = (json!(true), json!([]));
    assert_eq!(
        observed(&rows.result()),
        [exists_without_drift.clone(), exists_without_drift]
    );
    let exported: Value =
        serde_json::from_str(&lab.workspace.run(&["state", "export"]).expect(0).stdout).unwrap();
    assert_eq!(exported["outputs"]["kind"]["value"], "by hand");
    assert_eq!(
        exported["outputs"]["id"]["value"],
        Value::Null,
        "what rested on it is none any more"
    );
    assert!(exported["outputs"].get("id").is_some());
    let run = lab.workspace.run(&["stage", "--refresh-only"]).expect(0);
    assert!(run.stdout.contains("no drift"), "{}", run.stdout);
    assert_eq!(lab.objects(), ["lab_thing.changed", "lab_thing.same"]);
}

#[test]
fn normal_stage_shows_drift_and_a_deploy_repairs_it() {
    let lab = drifted(THREE);
    let run = lab.workspace.run(&["stage"]).expect(0);
    assert!(
        run.stdout.contains("! lab_thing.gone  deleted") && run.stdout.contains("+ lab_thing.gone"),
        "{}",
        run.stdout
    );
    assert_eq!(reported_drift(&lab, &[]), expected_drift());
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(
        lab.objects(),
        ["lab_thing.changed", "lab_thing.gone", "lab_thing.same"]
    );
    assert_eq!(reported_drift(&lab, &[]), json!({}));
    assert_eq!(
        lab.state(),
        ["lab_thing.changed", "lab_thing.gone", "lab_thing.same"]
    );
}

/// Objects that are no longer in the configuration are refreshed like the others.
#[test]
fn refresh_finds_drift_of_removed_resources() {
    let lab = drifted("resource \"lab_thing\" \"same\" { name = \"same\" }\n");
    assert_eq!(reported_drift(&lab, &["--refresh-only"]), expected_drift());
    lab.workspace
        .run(&["deploy", "--auto-approve", "--refresh-only"])
        .expect(0);
    assert_eq!(lab.state(), ["lab_thing.changed", "lab_thing.same"]);
    assert!(
        lab.workspace
            .run(&["state", "show", "lab_thing.changed"])
            .expect(0)
            .stdout
            .contains("kind = \"by hand\"")
    );
    assert_eq!(reported_drift(&lab, &["--refresh-only"]), json!({}));
}

/// OpenTofu does the same: the plan of a destroy starts from the refreshed state.
#[test]
fn resource_drift_is_in_every_plan_except_a_destroy() {
    let lab = drifted(THREE);
    for (args, drift) in [
        (&[][..], 2),
        (&["--refresh-only"], 2),
        (&["--destroy"], 0),
        (&["--destroy", "--target", "lab_thing.changed"], 0),
    ] {
        lab.workspace
            .run(&[&["stage", "--plan-json", "plan.json"], args].concat())
            .expect(0);
        let plan: Value = serde_json::from_str(
            &std::fs::read_to_string(lab.workspace.path().join("plan.json")).unwrap(),
        )
        .unwrap();
        assert_eq!(
            plan.get("resource_drift")
                .map_or(0, |d| d.as_array().unwrap().len()),
            drift,
            "{args:?}"
        );
        assert!(
            reported_drift(&lab, args)
                .get("lab_thing.changed")
                .is_some(),
            "whoever looks is told all the same"
        );
    }
    // The destroy skips deleted objects and destroys the others.
    lab.workspace.run(&["destroy", "--auto-approve"]).expect(0);
    assert!(lab.state().is_empty() && lab.objects().is_empty());
}
