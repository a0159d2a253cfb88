//! Dependents of single members change in the batch of their member, with its new values.

use crate::Lab;
use crate::groups::group;

/// Servers, and what needs one of them each: by `for_each`, by a local value that is the resource,
/// and by one with an element for each server. The revision is known only after an update.
const SERVERS: &str = r#"
variable "kind" { default = "v1" }
variable "keys" {
  type    = set(string)
  default = ["a", "b", "c"]
}
resource "lab_thing" "web" {
  for_each = var.keys
  name     = "web-${each.key}"
  kind     = var.kind
}
locals {
  servers   = lab_thing.web
  revisions = { for key, web in lab_thing.web : key => "${web.name} ${web.revision}" }
}
resource "lab_thing" "chained" {
  for_each = lab_thing.web
  name     = "chained-${each.key}"
  payload  = each.value.revision
}
resource "lab_thing" "direct" {
  for_each = var.keys
  name     = "direct-${each.key}"
  payload  = local.servers[each.key].revision
}
resource "lab_thing" "element" {
  for_each = var.keys
  name     = "element-${each.key}"
  payload  = local.revisions[each.key]
}
"#;

/// Deploys; returns the keys of the completed operations in their order.
fn deploy(lab: &Lab, args: &[&str]) -> String {
    let args = [&["deploy", "--auto-approve", "--json"], args].concat();
    let lines = lab.workspace.run(&args).expect(0).lines();
    let operations = lines.iter().filter(|line| line["type"] == "operation");
    let done = operations.filter(|operation| operation["state"] == "done");
    let address = done.map(|operation| operation["address"].as_str().unwrap().to_owned());
    let key = address.filter_map(|address| Some(address.split('"').nth(1)?.to_owned()));
    key.collect()
}

#[test]
fn dependents_of_a_member_get_its_new_values_in_its_batch() {
    let lab = Lab::new(SERVERS);
    deploy(&lab, &[]);
    lab.workspace
        .write("web.flightdeck.hcl", &group("    batch = 1"));
    // A stale value would be a change for the next stage.
    let is_unchanged = |args: &[&str]| {
        let run = lab
            .workspace
            .run(&[&["stage", "--detailed-exitcode"], args].concat());
        assert_eq!(run.code, Some(0), "{}", run.stdout);
    };
    let rolled = deploy(&lab, &["--var", "kind=v2"]);
    assert_eq!(rolled, "aaaabbbbcccc");
    is_unchanged(&["--var", "kind=v2"]);
    // A member goes, another one comes, and the others are updated.
    let changed = ["--var", "kind=v3", "--var", "keys=[\"b\",\"c\",\"d\"]"];
    assert_eq!(deploy(&lab, &changed), "aaaabbbbccccdddd");
    is_unchanged(&changed);
}
