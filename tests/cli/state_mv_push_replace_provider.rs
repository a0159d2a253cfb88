//! Tests of `state mv`, `state replace-provider` and `state push`: effects, refusals, and records.

use crate::support::Workspace;
use serde_json::{Value, json};

const MAIN: &str = r#"
resource "terraform_data" "a" { input = "a" }
resource "terraform_data" "many" {
  count = 2
  input = terraform_data.a.output
}
module "m" {
  source   = "./m"
  for_each = toset(["x"])
}
"#;
const MODULE: &str = "resource \"terraform_data\" \"in\" { input = 1 }\n";

fn deployed() -> Workspace {
    let w = Workspace::new(&[("main.tf", MAIN), ("m/main.tf", MODULE)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w
}

fn listed(w: &Workspace) -> Vec<String> {
    let run = w.run(&["state", "list"]).expect(0);
    run.stdout.lines().map(str::to_owned).collect()
}

fn state(w: &Workspace) -> Value {
    serde_json::from_str(&w.read("terraform.tfstate")).unwrap()
}

#[test]
fn moved_objects_keep_their_contents() {
    let w = deployed();
    let run = w.run(&[
        "state",
        "mv",
        "--dry-run",
        "terraform_data.a",
        "terraform_data.z",
    ]);
    assert_eq!(
        run.expect(0).stdout,
        "terraform_data.a would move to terraform_data.z\n"
    );
    let before = state(&w);
    for (from, to) in [
        ("terraform_data.a", "terraform_data.z[\"k\"]"),
        ("terraform_data.many", "terraform_data.several"),
        (
            "terraform_data.several[1]",
            "module.n[0].terraform_data.one",
        ),
        ("module.m[\"x\"]", "module.o"),
    ] {
        w.run(&["state", "mv", from, to]).expect(0);
    }
    assert_eq!(
        listed(&w),
        [
            "module.n[0].terraform_data.one",
            "module.o.terraform_data.in",
            "terraform_data.several[0]",
            "terraform_data.z[\"k\"]",
        ]
    );
    let after = state(&w);
    assert_eq!(
        after["serial"].as_i64(),
        before["serial"].as_i64().map(|n| n + 4)
    );
    let several = after["resources"].as_array().unwrap();
    let several = several.iter().find(|r| r["name"] == "several").unwrap();
    // Recorded dependencies follow the move.
    assert_eq!(
        several["instances"][0]["dependencies"],
        json!(["terraform_data.z"])
    );
    let history = w.run(&["history", "--json"]).expect(0).result();
    let newest = &history["state_changes"][0];
    assert_eq!(
        (&newest["what"], &newest["address"], &newest["to"]),
        (
            &json!("renamed"),
            &json!("module.m[\"x\"].terraform_data.in"),
            &json!("module.o.terraform_data.in")
        )
    );
}

#[test]
fn plan_after_a_move_has_no_changes() {
    let w = deployed();
    w.run(&["state", "mv", "terraform_data.a", "terraform_data.b"])
        .expect(0);
    let renamed = MAIN
        .replace("\"terraform_data\" \"a\"", "\"terraform_data\" \"b\"")
        .replace("terraform_data.a.", "terraform_data.b.");
    w.write("main.tf", &renamed);
    w.run(&["stage", "--detailed-exitcode"]).expect(0);
}

#[test]
fn invalid_move_is_refused_and_changes_nothing() {
    let w = deployed();
    let before = w.read("terraform.tfstate");
    for (from, to, why) in [
        (
            "terraform_data.none",
            "terraform_data.x",
            "is not in the state",
        ),
        (
            "terraform_data.aa",
            "terraform_data.x",
            "did you mean `terraform_data.a`?",
        ),
        (
            "terraform_data.a",
            "terraform_data.many[0]",
            "is already in the state",
        ),
        (
            "terraform_data.many",
            "terraform_data.x[0]",
            "several instances",
        ),
        ("terraform_data.a", "lab_thing.a", "resource types differ"),
        ("module.m[\"x\"]", "terraform_data.x", "is a module"),
        (
            "terraform_data.a",
            "terraform_data.a",
            "is already in the state",
        ),
        ("terraform_data.a", "module.x", "is a resource instance"),
    ] {
        let run = w.run(&["state", "mv", from, to]).expect(1);
        assert!(run.stderr.contains(why), "{from} {to}: {run:?}");
    }
    assert_eq!(w.read("terraform.tfstate"), before);
}

#[test]
fn replace_provider_changes_objects_after_a_confirmation() {
    let w = deployed();
    let words = [
        "state",
        "replace-provider",
        "terraform.io/builtin/terraform",
        "acme/x",
    ];
    for (input, text) in [("", "--auto-approve"), ("no\n", "nothing was changed")] {
        let run = w.run_with_input(&words, input).expect(1);
        assert!(run.stderr.contains(text), "{input:?}: {run:?}");
    }
    let yes = [&words[..], &["-auto-approve", "--json"]].concat();
    let changes = w.run(&yes).expect(0).result();
    assert_eq!(changes["state_changes"].as_array().unwrap().len(), 4);
    assert!(
        w.read("terraform.tfstate")
            .contains("registry.opentofu.org/acme/x")
    );
    let none = w.run(&yes).expect(0).result();
    assert_eq!(none["state_changes"], json!([]));
}

#[test]
fn push_refuses_an_older_or_foreign_state() {
    let w = deployed();
    let pulled = w.run(&["state", "pull"]).expect(0).stdout;
    w.write("pulled", &pulled);
    let run = w.run(&["state", "push", "pulled"]).expect(0);
    assert!(run.stdout.contains("already has this state"), "{run:?}");
    w.run(&["state", "rm", "terraform_data.a"]).expect(0);
    let run = w.run(&["state", "push", "pulled"]).expect(1);
    assert!(run.stderr.contains("--force"), "{run:?}");
    w.run(&["state", "push", "-force", "pulled"]).expect(0);
    assert!(listed(&w).contains(&"terraform_data.a".to_owned()));
    let mut other: Value = serde_json::from_str(&pulled).unwrap();
    other["serial"] = 90.into();
    w.write("later", &other.to_string());
    w.run(&["state", "rm", "terraform_data.a"]).expect(0);
    w.run(&["state", "push", "later"]).expect(0);
    assert_eq!(state(&w)["serial"], 90);
    other["lineage"] = "another".into();
    other["serial"] = 91.into();
    w.write("another", &other.to_string());
    let run = w.run(&["state", "push", "another"]).expect(1);
    assert!(run.stderr.contains("lineage"), "{run:?}");
    for (name, text) in [("empty", ""), ("garbage", "{\"version\": 5}")] {
        w.write(name, text);
        w.run(&["state", "push", name]).expect(1);
    }
    assert_eq!(state(&w)["serial"], 90);
}
