//! Tests with other programs that read the plan representation: terraform-compliance checks it
//! against features, OPA evaluates a policy on it.

use crate::support::Workspace;
use std::ffi::OsString;
use std::process::Command;

const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" { file = "lab.json" }
resource "lab_network" "main" {
  name = "main"
  cidr = "10.0.0.0/16"
}
module "m" {
  source = "./m"
  name   = lab_network.main.id
}
"#;

const MODULE: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
variable "name" { type = string }
resource "lab_thing" "t" {
  name     = "t"
  triggers = { on = var.name }
}
"#;

/// Feature that checks a network by its value, and a thing in a module by the references of its
/// configuration.
fn feature(network: &str) -> String {
    format!(
        "Feature: What is planned is as the house wants it\n\
         \x20 Scenario: A network lies in a range\n\
         \x20   Given I have lab_network defined\n\
         \x20   Then it must have cidr\n\
         \x20   And its value must match the \"^{network}\" regex\n\
         \x20 Scenario: A thing names what it rests on\n\
         \x20   Given I have lab_thing defined\n\
         \x20   Then it must contain triggers\n"
    )
}

/// Program from `PATH` or from a variable; if it is missing, prints that the test is skipped.
fn program(name: &str, variable: &str) -> Option<OsString> {
    if let Some(program) = std::env::var_os(variable) {
        return Some(program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    if !there {
        cty::testing::skipped(&format!(
            "there is no {name} on the path, and {variable} names none"
        ));
    }
    there.then(|| name.into())
}

/// Workspace with a plan in `plan.json`, and these further files.
fn planned(more: &[(&str, &str)]) -> Workspace {
    let w = Workspace::new(&[&[("main.tf", MAIN), ("m/main.tf", MODULE)], more].concat());
    w.run(&["plan", "-out=p"]).expect(0);
    w.write(
        "plan.json",
        &w.run(&["show", "-json", "p"]).expect(0).stdout,
    );
    w
}

/// Removes colour sequences from a text.
fn plain(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    first + &rest.collect::<String>()
}

#[test]
fn terraform_compliance_checks_a_plan() {
    let Some(program) = program("terraform-compliance", "FLIGHTDECK_TEST_COMPLIANCE") else {
        return;
    };
    let w = planned(&[
        ("fits/a.feature", &feature("10")),
        ("does_not/a.feature", &feature("192")),
    ]);
    let held = |features: &str| {
        let mut command = Command::new(&program);
        command
            .args(["-p", "plan.json", "-f", features])
            .current_dir(w.path());
        let ended = command.output().unwrap();
        (ended.status.code(), plain(&ended.stdout))
    };
    let (code, told) = held("fits");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("2 scenarios (2 passed)"), "{told}");
    let (code, told) = held("does_not");
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("10.0.0.0/16"), "{told}");
}

/// Policy over planned values, references, and places in the configuration.
const POLICY: &str = r#"package house

small contains change.address if {
	some change in input.resource_changes
	change.type == "lab_network"
	change.change.actions == ["create"]
	endswith(change.change.after.cidr, "/16")
}

rests_on contains reference if {
	some reference in input.configuration.root_module.module_calls.m.expressions.name.references
}

within contains resource.address if {
	some module in input.planned_values.root_module.child_modules
	some resource in module.resources
}
"#;

#[test]
fn opa_evaluates_a_policy_on_a_plan() {
    let Some(program) = program("opa", "FLIGHTDECK_TEST_OPA") else {
        return;
    };
    let w = planned(&[("house.rego", POLICY)]);
    let mut command = Command::new(&program);
    command
        .args(["eval", "-i", "plan.json", "-d", "house.rego"])
        .args(["--format", "raw", "data.house"])
        .current_dir(w.path());
    let ended = command.output().unwrap();
    let told: serde_json::Value =
        serde_json::from_slice(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let expected = serde_json::json!({
        "small": ["lab_network.main"],
        "rests_on": ["lab_network.main", "lab_network.main.id"],
        "within": ["module.m.lab_thing.t"],
    });
    assert_eq!(told, expected);
}
