//! Programs that others wrote read the plan representation: terraform-compliance holds it against
//! features.

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

/// A network by its value, and a thing of a module by what its configuration names.
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

/// The program; where it is not, the test says so.
fn compliance() -> Option<OsString> {
    const NAME: &str = "terraform-compliance";
    if let Some(program) = std::env::var_os("FLIGHTDECK_TEST_COMPLIANCE") {
        return Some(program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|dir| dir.join(NAME).is_file());
    if !there {
        cty::testing::skipped(
            "there is no terraform-compliance on the path, and FLIGHTDECK_TEST_COMPLIANCE names none",
        );
    }
    there.then(|| NAME.into())
}

/// A text without its colours.
fn plain(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    first + &rest.collect::<String>()
}

#[test]
fn terraform_compliance_holds_a_plan_against_features() {
    let Some(program) = compliance() else { return };
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        ("m/main.tf", MODULE),
        ("fits/a.feature", &feature("10")),
        ("does_not/a.feature", &feature("192")),
    ]);
    w.run(&["plan", "-out=p"]).expect(0);
    w.write(
        "plan.json",
        &w.run(&["show", "-json", "p"]).expect(0).stdout,
    );
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
