//! The reconcile loop over a committed group: drift by kind, repairs, and approvals.

use crate::Lab;
use crate::reconcile::{drift, id, names};
use bundled::lab::control;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Workspace with a committed group, and a home directory for its trust.
struct Committed {
    lab: Lab,
    home: TempDir,
}

impl Committed {
    fn run(&self, words: &[&str]) -> Vec<Value> {
        let mut command = self.lab.workspace.command(words);
        let output = command.env("HOME", self.home.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{words:?}: {text}");
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    fn commit(&self, size: u32, kind: &str, reconcile: &Value) {
        let spec = json!({"ID": "app", "Properties": {
            "Allocation": {"Size": size},
            "Instance": {"Type": "lab_thing", "Properties": {"resource": {"lab_thing": {
                "host": {"name": "{{ var `/self/instId` }}", "kind": kind},
                "disk": {
                    "@scope": "@dedicated-app",
                    "name": "disk-{{ var `/self/dedicated/attachId` }}",
                },
            }}}},
            "Reconcile": reconcile,
        }});
        self.lab.workspace.write("app.json", &spec.to_string());
        self.run(&["group", "commit", "app.json", "--json"]);
    }

    /// Runs the loop once; returns the run of the group.
    fn once(&self, more: &[&str]) -> Value {
        let words = [&["reconcile", "--once", "--json"], more].concat();
        let mut events = self.run(&words).into_iter();
        events.find(|e| e["type"] == "reconcile").expect("a run")
    }

    fn delete(&self, name: &str) {
        control::delete_object(&self.lab.file(), &id(&self.lab, name)).unwrap();
    }
}

/// A group of three that has been deployed.
fn deployed() -> Committed {
    let group = Committed {
        lab: Lab::new(""),
        home: tempfile::tempdir().unwrap(),
    };
    group.commit(3, "v1", &json!({}));
    group.run(&["deploy", "--auto-approve", "--json"]);
    group
}

#[test]
fn observe_reports_drift_of_a_committed_group_by_kind() {
    let group = deployed();
    let run = group.once(&[]);
    let state = (&run["outcome"], &run["mode"]);
    assert_eq!(state, (&json!("in_sync"), &json!("observe")), "{run}");
    group.delete("instance-1");
    let lab = &group.lab;
    control::tamper(&lab.file(), &id(lab, "instance-2"), "kind", json!("manual")).unwrap();
    let run = group.once(&[]);
    assert_eq!(
        drift(&run),
        ["1 missing report", "2 attribute_drift report"]
    );
    // The commit removes the member that is missing, and replaces the others.
    group.commit(2, "v2", &json!({}));
    let run = group.once(&[]);
    let outdated = ["2 outdated_hash report", "3 outdated_hash report"];
    assert_eq!(drift(&run), outdated, "{run}");
    // A declaration that is deleted by hand leaves its disk behind.
    std::fs::remove_file(lab.workspace.path().join("instance-5.tf.json")).unwrap();
    let run = group.once(&["app"]);
    let found = drift(&run);
    let orphan = "app_dedicated_3 orphaned_attachment report".to_owned();
    assert!(found.contains(&orphan), "{found:?}");
    let history = lab.workspace.run(&["history", "--json"]).expect(0);
    assert_eq!(history.lines().len(), 1, "nothing was deployed");
}

#[test]
fn enforce_repairs_a_committed_group_and_asks_before_a_replacement() {
    let group = deployed();
    // A changed mode alone changes no member, and has an effect nevertheless.
    let enforce = json!({"Mode": "enforce"});
    group.commit(3, "v1", &enforce);
    group.delete("instance-1");
    let run = group.once(&[]);
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("needs your trust"), "{run}");
    let run = group.once(&["--trust-workspace"]);
    assert_eq!(run["outcome"], "repaired", "{run}");
    assert_eq!(drift(&run), ["1 missing repair"]);
    let disks = ["disk-1", "disk-2", "disk-3"];
    let all = |instances: [&'static str; 3]| [&disks[..], &instances[..]].concat();
    let first = all(["instance-1", "instance-2", "instance-3"]);
    assert_eq!(names(&group.lab), first);

    // Another configuration replaces the instances, but not before someone approves it.
    group.commit(3, "v2", &enforce);
    let run = group.once(&[]);
    assert_eq!(run["outcome"], "awaits_approval", "{run}");
    assert_eq!(names(&group.lab), first);
    let stage = run["stage"].as_i64().expect("a stage").to_string();
    assert_eq!(group.once(&[])["stage"], run["stage"], "asked once");
    let approved = group.run(&["deploy", &stage, "--auto-approve", "--json"]);
    let result = approved.last().unwrap();
    assert_eq!(result["operations"]["done"], 6, "{result}");
    let second = all(["instance-4", "instance-5", "instance-6"]);
    assert_eq!(names(&group.lab), second);
    assert_eq!(group.once(&[])["outcome"], "in_sync");

    // A smaller size destroys, which needs an approval as well.
    group.commit(2, "v2", &enforce);
    let run = group.once(&[]);
    assert_eq!(drift(&run), ["1 unknown_member ask_approval"], "{run}");
    assert_eq!(names(&group.lab), second);
}
