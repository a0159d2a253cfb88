//! Tests of check results in the state, compared with tofu.

use crate::install::{run_tofu, tofu};
use crate::support::Workspace;
use serde_json::{Value, json};

/// Conditions of every kind, some with unknown values while staging.
const ALL: &str = r#"
variable "v" {
  default = "ok"
  validation {
    condition     = length(var.v) > 1
    error_message = "Too short."
  }
}
resource "terraform_data" "first" {
  input = var.v
}
resource "terraform_data" "each" {
  count = 2
  input = terraform_data.first.id
  lifecycle {
    precondition {
      condition     = terraform_data.first.id != "x"
      error_message = "Empty."
    }
    postcondition {
      condition     = self.output != "x"
      error_message = "Odd."
    }
  }
}
module "m" {
  source = "./m"
  id     = terraform_data.first.id
}
output "guarded" {
  value = var.v
  precondition {
    condition     = terraform_data.first.id != ""
    error_message = "None."
  }
}
check "c" {
  assert {
    condition     = var.v == "ok"
    error_message = "Not <ok>."
  }
  assert {
    condition     = terraform_data.first.id != ""
    error_message = "None."
  }
}
"#;
const MODULE: &str = r#"
variable "id" {}
resource "terraform_data" "none" {
  count = 0
  lifecycle {
    precondition {
      condition     = var.id != ""
      error_message = "None."
    }
  }
}
check "in" {
  assert {
    condition     = var.id != ""
    error_message = "None."
  }
}
"#;

fn workspace() -> Workspace {
    Workspace::new(&[("main.tf", ALL), ("m/main.tf", MODULE)])
}

fn state(w: &Workspace) -> Value {
    serde_json::from_str(&w.read("terraform.tfstate")).unwrap()
}

/// Check results in the order of addresses, because tofu has no fixed order.
fn results(w: &Workspace) -> Vec<Value> {
    let mut all = state(w)["check_results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for one in &mut all {
        if let Some(objects) = one["objects"].as_array_mut() {
            objects.sort_by_key(|o| o["object_addr"].to_string());
        }
    }
    all.sort_by_key(|one| one["config_addr"].to_string());
    all
}

fn of<'r>(all: &'r [Value], address: &str) -> &'r Value {
    all.iter()
        .find(|one| one["config_addr"] == address)
        .unwrap()
}

#[test]
fn check_results_are_in_the_state_and_its_representation() {
    let w = workspace();
    w.run(&["apply", "-auto-approve", "-var=v=no"]).expect(0);
    let all = results(&w);
    let each = json!({
        "object_kind": "resource", "config_addr": "terraform_data.each", "status": "pass",
        "objects": [
            { "object_addr": "terraform_data.each[0]", "status": "pass" },
            { "object_addr": "terraform_data.each[1]", "status": "pass" },
        ],
    });
    assert_eq!(*of(&all, "terraform_data.each"), each);
    let check = json!({
        "object_kind": "check", "config_addr": "check.c", "status": "fail",
        "objects": [{ "object_addr": "check.c", "status": "fail", "failure_messages": ["Not <ok>."] }],
    });
    assert_eq!(*of(&all, "check.c"), check);
    let none = of(&all, "module.m.terraform_data.none");
    assert_eq!(
        (&none["status"], &none["objects"]),
        (&json!("pass"), &Value::Null)
    );
    // The state file escapes `<` and `>` in all texts.
    assert!(
        w.read("terraform.tfstate")
            .contains("Not \\u003cok\\u003e.")
    );
    let shown: Value = serde_json::from_str(&w.run(&["show", "-json"]).expect(0).stdout).unwrap();
    let told = shown["checks"].as_array().unwrap();
    assert_eq!(told.len(), all.len());
    let output = told
        .iter()
        .find(|c| c["address"]["kind"] == "output_value")
        .unwrap();
    assert_eq!(output["instances"][0]["status"], "pass");
}

#[test]
fn deploy_without_changes_leaves_the_check_results_unchanged() {
    let w = workspace();
    w.run(&["apply", "-auto-approve"]).expect(0);
    let before = w.read("terraform.tfstate");
    w.run(&["apply", "-auto-approve"]).expect(0);
    assert_eq!(w.read("terraform.tfstate"), before);
    // A changed check result is written, even if nothing else changes.
    let serial = state(&w)["serial"].as_u64().unwrap();
    w.run(&["apply", "-auto-approve", "-var=v=no", "-target=module.m"])
        .expect(0);
    let narrowed = results(&w);
    assert_eq!(of(&narrowed, "check.c")["status"], "unknown");
    assert_eq!(state(&w)["serial"].as_u64().unwrap(), serial + 1);
    w.run(&["taint", "terraform_data.first"]).expect(0);
    assert_eq!(results(&w), narrowed);
    w.run(&["destroy", "-auto-approve"]).expect(0);
    let gone = results(&w);
    assert!(
        gone.iter().all(|one| one["status"] == "unknown"),
        "{gone:?}"
    );
    w.write("main.tf", "");
    w.run(&["apply", "-auto-approve"]).expect(0);
    assert_eq!(state(&w)["check_results"], Value::Null);
}

#[test]
fn unknown_conditions_of_unchanged_objects_are_evaluated_by_the_deploy() {
    let text = "resource \"terraform_data\" \"a\" {\n  triggers_replace = 1\n}\nresource \"terraform_data\" \"b\" {\n  lifecycle {\n    postcondition {\n      condition     = terraform_data.a.id != \"\"\n      error_message = \"None.\"\n    }\n  }\n}\n";
    let w = Workspace::new(&[("main.tf", text)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    let held = |w: &Workspace| of(&results(w), "terraform_data.b")["status"].clone();
    assert_eq!(held(&w), "pass");
    w.write("main.tf", &text.replace("= 1", "= 2"));
    w.run(&["apply", "-auto-approve"]).expect(0);
    assert_eq!(held(&w), "pass");
    // A condition that is false after the change fails the deploy.
    let broken = text
        .replace("= 1", "= 3")
        .replace("id != \"\"", "id == \"\"");
    w.write("main.tf", &broken);
    let run = w.run(&["apply", "-auto-approve", "-json"]).expect(5);
    assert_eq!(run.diagnostics()[0]["address"], "terraform_data.b");
    assert_eq!(held(&w), "fail");
}

#[test]
fn check_results_match_those_of_tofu() {
    let Some(tofu) = tofu("the_results_are_those_that_tofu_writes") else {
        return;
    };
    let (theirs, ours) = (workspace(), workspace());
    run_tofu(&tofu, &theirs, None, &["init"]).expect(0);
    for words in [
        &["apply", "-auto-approve"] as &[&str],
        &["apply", "-auto-approve", "-var=v=no"],
        &["apply", "-auto-approve", "-target=terraform_data.each[0]"],
        &["apply", "-auto-approve", "-refresh-only"],
        &["apply", "-auto-approve", "-destroy"],
    ] {
        run_tofu(&tofu, &theirs, None, words).expect(0);
        ours.run(words).expect(0);
        assert_eq!(results(&ours), results(&theirs), "{words:?}");
    }
    // Each program accepts the state of the other.
    run_tofu(&tofu, &ours, None, &["init"]).expect(0);
    run_tofu(&tofu, &ours, None, &["apply", "-auto-approve"]).expect(0);
    let before = results(&ours);
    ours.run(&["apply", "-auto-approve"]).expect(0);
    assert_eq!(results(&ours), before);
    let text = ours.read("terraform.tfstate");
    ours.run(&["apply", "-auto-approve"]).expect(0);
    assert_eq!(ours.read("terraform.tfstate"), text);
}

#[test]
fn sensitive_null_is_masked_in_the_representation() {
    let text = "variable \"s\" {\n  default   = null\n  sensitive = true\n  type      = string\n}\nresource \"terraform_data\" \"a\" {\n  input = [var.s, \"x\"]\n}\n";
    let w = Workspace::new(&[("main.tf", text)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    let shown: Value = serde_json::from_str(&w.run(&["show", "-json"]).expect(0).stdout).unwrap();
    let resource = &shown["values"]["root_module"]["resources"][0];
    assert_eq!(resource["sensitive_values"]["input"], json!([true, false]));
}
