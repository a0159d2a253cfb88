//! Tests of sensitive values: none is shown, even if it is short or deep inside another value.

use crate::deploy_lifecycle::deploy;
use crate::support::{Run, Workspace};
use serde_json::{Value, json};

/// Checks that a run's output has none of the secrets.
fn assert_not_in_output(run: &Run, secrets: &[&str]) {
    for secret in secrets {
        assert!(
            !run.stdout.contains(secret) && !run.stderr.contains(secret),
            "{secret} in {run:#?}"
        );
    }
}

/// `terraform_data.input` has no fixed type, so its value is stored with its type. The path of the
/// sensitive mark must lead through both.
#[test]
fn sensitive_member_of_a_dynamic_value_is_never_shown() {
    const MAIN: &str = r#"
        variable "pin" {
          type      = string
          sensitive = true
        }
        resource "terraform_data" "a" {
          input            = { pin = var.pin, list = [{ pin = "p${var.pin}", open = "visible-1" }], open = "visible-2" }
          triggers_replace = [var.pin, "visible-3"]
        }
        resource "terraform_data" "whole" {
          input = var.pin
        }
    "#;
    let w = Workspace::new(&[("main.tf", MAIN), ("terraform.tfvars", "pin = \"q#7\"\n")]);
    let secrets = ["q#7"];
    let staged = w.run(&["stage"]).expect(0);
    assert_not_in_output(&staged, &secrets);
    assert_not_in_output(
        &w.run(&["deploy", "--auto-approve", "--json"]).expect(0),
        &secrets,
    );
    let shown = w.run(&["state", "show", "terraform_data.a"]).expect(0);
    assert_not_in_output(&shown, &secrets);
    for line in [
        "input.pin = (sensitive)",
        "input.list[0].pin = (sensitive)",
        "output.pin = (sensitive)",
        "output.list[0].open = \"visible-1\"",
        "triggers_replace[0] = (sensitive)",
        "triggers_replace[1] = \"visible-3\"",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {shown:#?}");
    }
    let whole = w.run(&["state", "show", "terraform_data.whole"]).expect(0);
    assert!(
        whole.stdout.contains("input = (sensitive)")
            && whole.stdout.contains("output = (sensitive)"),
        "{whole:#?}"
    );
    for args in [
        &["state", "list", "--json"][..],
        &["state", "show", "terraform_data.a", "--json"],
        &["state", "show", "terraform_data.whole", "--json"],
    ] {
        assert_not_in_output(&w.run(args).expect(0), &secrets);
    }
    // Both the old and the new value are hidden.
    w.write("terraform.tfvars", "pin = \"r#8\"\n");
    let secrets = ["q#7", "r#8"];
    for args in [
        &["stage"][..],
        &["stage", "--json"],
        &["stage", "--destroy"],
        &["stage", "--destroy", "--json"],
    ] {
        let run = w.run(args).expect(0);
        assert_not_in_output(&run, &secrets);
    }
    assert_not_in_output(
        &w.run(&["deploy", "--auto-approve", "--json"]).expect(0),
        &secrets,
    );
    for args in [&["history", "--json"][..], &["history", "2", "--json"]] {
        assert_not_in_output(&w.run(args).expect(0), &secrets);
    }
}

#[test]
fn plan_representation_masks_sensitive_members_of_dynamic_values() {
    const MAIN: &str = r#"
        resource "terraform_data" "a" {
          input = { pin = sensitive("x"), type = "string", value = [sensitive("y"), "z"] }
        }
    "#;
    let w = Workspace::new(&[("main.tf", MAIN)]);
    deploy(&w);
    w.run(&["stage", "--plan-json", "plan.json"]).expect(0);
    let plan: Value =
        serde_json::from_str(&std::fs::read_to_string(w.path().join("plan.json")).unwrap())
            .unwrap();
    let prior = &plan["prior_state"]["values"]["root_module"]["resources"][0];
    let input = json!({"pin": "x", "type": "string", "value": ["y", "z"]});
    assert_eq!(
        prior["values"]["input"], input,
        "as it is, without its type"
    );
    assert_eq!(
        prior["sensitive_values"]["input"],
        json!({"pin": true, "value": [true, false]})
    );
    assert_eq!(
        plan["resource_changes"][0]["change"]["before_sensitive"]["input"],
        json!({"pin": true, "value": [true, false]})
    );
}
