//! Dependents of single members change in the batch of their member, with its new values. Members
//! in several instances of a module change with the objects of their own instance.

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

/// What a server needs, the server, and what needs it, in each instance of a module. In the
/// instance `b` the first of them fails while the file `fails` exists.
const MODULE: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
variable "name" {}
variable "kind" {}
resource "terraform_data" "first" {
  triggers_replace = var.kind
  provisioner "local-exec" {
    command = var.name == "b" ? "test ! -e fails" : "true"
  }
}
resource "lab_thing" "web" {
  name     = "web-${var.name}"
  kind     = var.kind
  triggers = { after = terraform_data.first.id }
}
resource "lab_thing" "balancer" {
  name     = "balancer-${var.name}"
  triggers = { all = join(",", lab_thing.web[*].id) }
}
"#;

const CALL: &str = r#"
variable "kind" { default = "v1" }
module "m" {
  source   = "./m"
  for_each = toset(["a", "b", "c"])
  name     = each.key
  kind     = var.kind
}
"#;

#[test]
fn batch_of_a_member_in_a_module_holds_what_its_own_instance_changes() {
    let lab = Lab::new(CALL);
    let w = &lab.workspace;
    w.write("m/main.tf", MODULE);
    w.run(&["init"]).expect(0);
    let rolling = group("    batch = 1").replace("lab_thing.web", "module.m.lab_thing.web");
    w.write("web.flightdeck.hcl", &rolling);
    deploy(&lab, &[]);
    w.write("fails", "");
    let changed = ["--var", "kind=v2"];
    let run = w.run(&[&["deploy", "--auto-approve", "--json"], &changed[..]].concat());
    let counts = &run.expect(5).result()["operations"];
    // The instance `a` is complete, `b` is half replaced, and `c` waits.
    let found = ["done", "half_replaced", "failed", "not_attempted"].map(|name| &counts[name]);
    assert_eq!(found, [3, 2, 1, 3], "{counts}");
    let shown = w.run(&["group", "show", "web", "--json"]).expect(0);
    let rollout = &shown.result()["rollouts"][0];
    assert_eq!(rollout["state"], "paused (failed)", "{rollout}");
    std::fs::remove_file(w.path().join("fails")).unwrap();
    // The member that exists comes first, and the missing one afterwards.
    assert_eq!(deploy(&lab, &changed), "bcccbb");
    let stage = [&["stage", "--detailed-exitcode"], &changed[..]].concat();
    w.run(&stage).expect(0);
}

#[test]
fn member_of_a_module_is_counted_and_named_by_both_keys() {
    let call = "module \"m\" {\n  source   = \"./m\"\n  for_each = { \"a\" = [\"b/c\"], \"a/b\" = [\"c\"] }\n  names    = each.value\n}\n";
    let module = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nvariable \"names\" {}\nresource \"lab_thing\" \"web\" {\n  for_each = toset(var.names)\n  name     = replace(each.key, \"/\", \"-\")\n}\n";
    let lab = Lab::new(call);
    let w = &lab.workspace;
    w.write("m/main.tf", module);
    w.run(&["init"]).expect(0);
    let members = group("").replace("lab_thing.web", "module.m.lab_thing.web");
    w.write("web.flightdeck.hcl", &members);
    deploy(&lab, &[]);
    let shown = w.run(&["group", "show", "web"]).expect(0).stdout;
    for member in ["a/b\\/c", "a\\/b/c"] {
        assert!(shown.contains(member), "{shown}");
    }
    let scaled = w.run(&["group", "scale", "web", "3"]).expect(0).stdout;
    for line in [
        "for_each = toset(var.names) in m/main.tf:8 decides the size",
        "multiplied by for_each = { \"a\" = [\"b/c\"], \"a/b\" = [\"c\"] } in main.tf:",
        "change these expressions to get 3 members",
    ] {
        assert!(scaled.contains(line), "{scaled}");
    }
}
