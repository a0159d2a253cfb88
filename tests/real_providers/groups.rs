//! Rolling updates of groups whose instances belong to unmodified providers: of protocols 5 and 6,
//! and hashicorp/aws on moto.

use crate::parts::{Part, find};
use crate::provider_workspace::ProviderWorkspace;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

const WORKERS: &str = r#"
terraform {
  required_providers {
    interop = { source = "acme/interop" }
    legacy  = { source = "acme/legacy" }
  }
}
variable "file" {}
variable "text" { default = "one" }
variable "size" { default = 3 }
variable "fail" { default = null }
provider "interop" { file = var.file }
provider "legacy" { file = var.file }
resource "interop_brittle" "worker" {
  count = 3
  name  = "worker-${count.index}"
  text  = var.text
  fail  = count.index == 1 ? var.fail : null
}
resource "legacy_thing" "server" {
  for_each = toset(["a", "b"])
  name     = "server-${each.key}"
  size     = var.size
  route    = []
}
resource "legacy_thing" "attachment" {
  for_each = toset(["a", "b"])
  name     = "attachment-${each.key}"
  note     = legacy_thing.server[each.key].id
  route    = []
}
"#;

const GROUPS: &str = r#"
group "workers" {
  instance = interop_brittle.worker
  update {
    health {
      ready    = self.done == "updated"
      interval = "10ms"
    }
  }
}
group "servers" {
  instance = legacy_thing.server
}
"#;

/// Newest rollout of a group: its state, and key and state of each member.
fn rollout(place: &ProviderWorkspace, group: &str) -> (String, Vec<String>) {
    let shown = place.run(&["group", "show", group, "--json"]).expect(0);
    let newest = shown.result()["rollouts"][0].clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let members = newest["members"].as_array().unwrap().iter();
    let members = members.map(|m| format!("{} {}", text(&m["key"]), text(&m["state"])));
    (text(&newest["state"]), members.collect())
}

#[test]
fn members_of_both_protocols_are_rolled_in_batches() {
    let files = [("main.tf", WORKERS)];
    let Some(place) = ProviderWorkspace::with_built_providers(&files) else {
        return;
    };
    place.deploy(&[], 0);
    place.workspace.write("groups.flightdeck.hcl", GROUPS);
    // The update of the second worker fails, so that the third one stays as it is.
    let failing = [
        "--var",
        "text=two",
        "--var",
        "fail=update",
        "--var",
        "size=2",
    ];
    let run = place.deploy(&failing, 5);
    let plan = "rolling update of 3 instances in 3 batches";
    assert!(run.stdout.contains(plan), "{}", run.stdout);
    let (state, members) = rollout(&place, "workers");
    assert_eq!(state, "paused (failed)");
    assert_eq!(members, ["0 done", "1 change failed", "2 waiting"]);
    // A smaller size replaces a thing of protocol 5.
    let (state, members) = rollout(&place, "servers");
    assert_eq!(
        (&*state, members),
        ("converged", vec!["a done".to_owned(), "b done".to_owned()])
    );
    place.deploy(&["--var", "text=two", "--var", "size=2"], 0);
    let (state, members) = rollout(&place, "workers");
    assert_eq!((&*state, members.len()), ("converged", 2));
    let changes = place.changes(&["--var", "text=two", "--var", "size=2"], 0);
    assert_eq!(changes, serde_json::json!({"no_op": 7}));
}

const AWS: &str = r#"
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
variable "file" {}
variable "endpoint" {}
variable "release" { default = "v1" }
provider "aws" {
  region                      = "us-east-1"
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  endpoints {
    ec2 = var.endpoint
    sts = var.endpoint
  }
}
resource "aws_instance" "worker" {
  count                       = 2
  ami                         = "ami-12c6146b"
  instance_type               = "t3.small"
  availability_zone           = "us-east-1a"
  user_data                   = var.release
  user_data_replace_on_change = true
}
resource "aws_ebs_volume" "data" {
  count             = 2
  availability_zone = "us-east-1a"
  size              = 1
}
resource "aws_volume_attachment" "data" {
  count       = 2
  device_name = "/dev/sdh"
  volume_id   = aws_ebs_volume.data[count.index].id
  instance_id = aws_instance.worker[count.index].id
}
"#;

const AWS_GROUP: &str = r#"
group "workers" {
  instance  = aws_instance.worker
  dedicated = [aws_ebs_volume.data]
  update {
    health {
      ready       = self.instance_state == "running"
      interval    = "100ms"
      consecutive = 2
    }
  }
}
"#;

/// Mirror with the provider, and the service; `None` with a message if one is missing.
fn aws() -> Option<(PathBuf, Part)> {
    let mirror = std::env::var_os("FLIGHTDECK_TEST_MIRROR").map(PathBuf::from);
    let of_aws = "registry.terraform.io/hashicorp/aws";
    let Some(mirror) = mirror.filter(|mirror| mirror.join(of_aws).is_dir()) else {
        cty::testing::skipped("FLIGHTDECK_TEST_MIRROR names no mirror with hashicorp/aws");
        return None;
    };
    let Some(program) = find("FLIGHTDECK_TEST_MOTO", "moto_server") else {
        cty::testing::skipped(
            "there is no moto_server on the path, and FLIGHTDECK_TEST_MOTO names none",
        );
        return None;
    };
    let moto = Part::start(|_, port| {
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        command
    });
    Some((mirror, moto))
}

#[test]
fn instances_of_aws_are_replaced_one_by_one_with_their_volumes() {
    let Some((mirror, moto)) = aws() else {
        return;
    };
    let files = [("main.tf", AWS), ("groups.flightdeck.hcl", AWS_GROUP)];
    let mut place = ProviderWorkspace::new(mirror, &files);
    let endpoint = format!("http://127.0.0.1:{}", moto.port);
    place.set("TF_VAR_endpoint", &endpoint);
    place.deploy(&[], 0);
    let ids = |place: &ProviderWorkspace, kind: &str| -> Vec<String> {
        let state = place.exported();
        let mut resources = state["resources"].as_array().unwrap().iter();
        let found = resources.find(|r| r["type"] == kind).unwrap();
        let instances = found["instances"].as_array().unwrap().iter();
        let id = |i: &Value| i["attributes"]["id"].as_str().unwrap().to_owned();
        instances.map(id).collect()
    };
    let (instances, volumes) = (ids(&place, "aws_instance"), ids(&place, "aws_ebs_volume"));
    let run = place.deploy(&["--var", "release=v2"], 0);
    let plan = "rolling update of 2 instances in 2 batches";
    assert!(run.stdout.contains(plan), "{}", run.stdout);
    let (state, members) = rollout(&place, "workers");
    assert_eq!(
        (&*state, members),
        ("converged", vec!["0 done".to_owned(), "1 done".to_owned()])
    );
    let now = ids(&place, "aws_instance");
    assert!(instances.iter().zip(&now).all(|(old, new)| old != new));
    assert_eq!(ids(&place, "aws_ebs_volume"), volumes, "they survive");
    // The first attachment is back before the second instance is destroyed.
    let done = |line: &Value, address: &str, action: &str| {
        line["address"] == address && line["state"] == action
    };
    let lines = run.lines();
    let place_of = |address: &str, state: &str| {
        let found = lines.iter().position(|line| done(line, address, state));
        found.unwrap_or_else(|| panic!("{address} is never {state}"))
    };
    assert!(
        place_of("aws_volume_attachment.data[0]", "done")
            < place_of("aws_instance.worker[1]", "running")
    );
}
