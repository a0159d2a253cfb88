//! Tests of instances of a provider configuration, each with its own world: the file of the bundled
//! lab.

use crate::support::{Run, Workspace};
use serde_json::Value;

const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
variable "worlds" {
  type    = map(string)
  default = { x = "one", y = "two" }
}
variable "used" {
  type    = set(string)
  default = ["x", "y"]
}
provider "lab" {
  alias    = "by"
  for_each = var.worlds
  file     = "${each.value}.json"
}
resource "lab_network" "n" {
  for_each = var.used
  provider = lab.by[each.key]
  name     = each.key
  cidr     = "10.0.0.0/16"
}
"#;

const ONLY_X: [&str; 4] = ["--var", r#"worlds={x="one"}"#, "--var", r#"used=["x"]"#];

fn deployed() -> Workspace {
    let workspace = Workspace::new(&[("main.tf", MAIN)]);
    let run = workspace.run(&["deploy", "--auto-approve", "--json"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    workspace
}

/// Names of the objects in a world.
fn names(workspace: &Workspace, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(workspace.path().join(file)).unwrap();
    let world: Value = serde_json::from_str(&text).unwrap();
    world["objects"]
        .as_object()
        .unwrap()
        .values()
        .map(|o| o["name"].as_str().unwrap().to_owned())
        .collect()
}

fn refused(run: &Run, summary: &str) -> Vec<String> {
    let errors: Vec<_> = run
        .diagnostics()
        .into_iter()
        .filter(|d| d["severity"] == "error")
        .collect();
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(
        errors.iter().all(|d| d["summary"] == summary),
        "{errors:#?}"
    );
    errors
        .iter()
        .map(|d| d["address"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn each_provider_instance_has_its_own_connection_and_is_recorded_in_the_state() {
    let workspace = Workspace::new(&[("main.tf", MAIN)]);
    let run = workspace.run(&["deploy", "--auto-approve", "--json"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        (names(&workspace, "one.json"), names(&workspace, "two.json")),
        (vec!["x".to_owned()], vec!["y".to_owned()])
    );
    for key in ["x", "y"] {
        let said = format!(
            "this process serves provider[\\\"flightdeck.internal/bundled/lab\\\"].by[\\\"{key}\\\"]"
        );
        assert!(
            run.stdout.contains(&said),
            "{said} is said nowhere: {}",
            run.stdout
        );
    }
    assert_eq!(
        workspace.run(&["state", "export", "out.json"]).code,
        Some(0)
    );
    let state: Value =
        serde_json::from_str(&std::fs::read_to_string(workspace.path().join("out.json")).unwrap())
            .unwrap();
    let resource = &state["resources"][0];
    assert_eq!(resource.get("provider"), None, "{state:#}");
    let whose: Vec<_> = resource["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["provider"].as_str().unwrap())
        .collect();
    let of = |key| format!("provider[\"flightdeck.internal/bundled/lab\"].by[\"{key}\"]");
    assert_eq!(whose, [of("x"), of("y")]);
}

#[test]
fn provider_instance_with_objects_cannot_be_removed() {
    let workspace = deployed();
    let gone = workspace.run(&[&["stage", "--json"], &ONLY_X[..]].concat());
    assert_eq!(
        refused(&gone, "Provider instance not present"),
        ["lab_network.n[\"y\"]"]
    );
    let run = workspace.run(&[&["deploy", "--auto-approve", "--json"], &ONLY_X[2..]].concat());
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        (
            names(&workspace, "one.json").len(),
            names(&workspace, "two.json").len()
        ),
        (1, 0)
    );
    let run = workspace.run(&[&["stage", "--detailed-exitcode"], &ONLY_X[..]].concat());
    assert_eq!(run.code, Some(0), "{run:#?}");
}

#[test]
fn removed_resource_is_destroyed_by_its_recorded_provider_instance() {
    let workspace = deployed();
    workspace.write(
        "main.tf",
        &MAIN[..MAIN.find("resource \"lab_network\"").unwrap()],
    );
    let run = workspace.run(&[&["stage", "--json"], &ONLY_X[..]].concat());
    assert_eq!(
        refused(&run, "Provider instance not present"),
        ["lab_network.n[\"y\"]"]
    );
    let run = workspace.run(&["deploy", "--auto-approve", "--json"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        (
            names(&workspace, "one.json").len(),
            names(&workspace, "two.json").len()
        ),
        (0, 0)
    );
}

#[test]
fn objects_of_a_removed_provider_block_do_not_move_to_an_empty_one() {
    let workspace = deployed();
    let (head, _) = MAIN.split_once("provider \"lab\"").unwrap();
    workspace.write("main.tf", head);
    let run = workspace.run(&["stage", "--json"]);
    assert_eq!(
        refused(&run, "Provider configuration not present"),
        ["lab_network.n[\"x\"]", "lab_network.n[\"y\"]"]
    );
}

#[test]
fn objects_of_a_provider_block_that_gains_for_each_are_refused() {
    let plain = MAIN
        .replace("  for_each = var.worlds\n", "")
        .replace("${each.value}.json", "one.json")
        .replace("lab.by[each.key]", "lab.by");
    let workspace = Workspace::new(&[("main.tf", &plain)]);
    assert_eq!(
        workspace.run(&["deploy", "--auto-approve", "--json"]).code,
        Some(0)
    );
    workspace.write(
        "main.tf",
        &MAIN[..MAIN.find("resource \"lab_network\"").unwrap()],
    );
    let run = workspace.run(&["stage", "--json"]);
    assert_eq!(
        refused(&run, "Provider instance not present"),
        ["lab_network.n[\"x\"]", "lab_network.n[\"y\"]"]
    );
}

#[test]
fn equal_for_each_of_provider_and_resource_is_a_warning() {
    let same = MAIN.replace("for_each = var.used", "for_each = var.worlds");
    let workspace = Workspace::new(&[("main.tf", &same)]);
    let run = workspace.run(&["stage", "--json"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let said = run.diagnostics();
    let warning = said
        .iter()
        .find(|d| d["summary"] == "Provider configuration for_each matches resource");
    assert_eq!(
        warning.map(|d| d["range"]["start"]["line"].clone()),
        Some(21.into()),
        "{said:#?}"
    );
}
