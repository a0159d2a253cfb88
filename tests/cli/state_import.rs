//! Tests of `state import`.

use bundled::lab::control;
use serde_json::json;

use crate::lab_deploys::Lab;

const THINGS: &str = r#"
resource "lab_thing" "a" {
  count = 2
  name  = "a-${count.index}"
}

resource "lab_thing" "k" {
  for_each = toset(["x", "y z"])
  name     = "k-${substr(each.key, 0, 1)}"
}

resource "lab_bucket" "b" {
  name = "b"
}

module "m" {
  source = "./m"
  count  = 2
  name   = "m-${count.index}"
}
"#;

const MODULE: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}

variable "name" {
  type = string
}

resource "lab_thing" "t" {
  name = var.name
}
"#;

pub(super) fn things() -> Lab {
    let lab = Lab::new(THINGS);
    lab.workspace.write("m/main.tf", MODULE);
    lab.deploy().expect(0);
    lab
}

/// Id that the lab gave to the object of a name.
pub(super) fn id(lab: &Lab, name: &str) -> String {
    control::objects(&lab.file())
        .unwrap()
        .into_iter()
        .find(|o| o.name == name)
        .unwrap()
        .id
}

pub(super) fn listed(lab: &Lab) -> Vec<String> {
    lab.run(&["state", "list"])
        .expect(0)
        .stdout
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn invalid_import_is_refused_with_a_reason() {
    let lab = things();
    let (thing, bucket) = (id(&lab, "a-0"), id(&lab, "b"));
    lab.run(&["state", "forget", "lab_thing.a[0]", "module.m"])
        .expect(0);
    for (address, id, says) in [
        (
            "lab_thing.a[1]",
            thing.as_str(),
            "already has an object there",
        ),
        (
            "lab_thing.a[7]",
            &thing,
            "Declared instances: lab_thing.a[0], lab_thing.a[1].",
        ),
        (
            "lab_thing.a",
            &thing,
            "Declared instances: lab_thing.a[0], lab_thing.a[1].",
        ),
        (
            "lab_thing.a[\"0\"]",
            &thing,
            "Declared instances: lab_thing.a[0], lab_thing.a[1].",
        ),
        (
            "module.m[2].lab_thing.t",
            &thing,
            "Declared instances: module.m[0], module.m[1].",
        ),
        ("lab_thing.aa", &thing, "Did you mean lab_thing.a?"),
        ("lab_server.web", &thing, "is not in the configuration"),
        ("data.lab_image.x", &thing, "only managed resources"),
        ("module.m", &thing, "not a valid address"),
        (
            "lab_thing.a[0]",
            "thing-ffffffff",
            "there is no object thing-ffffffff in the lab",
        ),
        ("lab_thing.a[0]", &bucket, "is a lab_bucket"),
        ("lab_thing.a[0]", "", "is empty"),
    ] {
        let run = lab.run(&["state", "import", address, id]).expect(1);
        let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(says), "{address} {id}: {run:#?}");
        let run = lab
            .run(&["state", "import", address, id, "--json"])
            .expect(1);
        assert_eq!(
            (&run.result()["outcome"], &run.result()["command"]),
            (&json!("error"), &json!("state import"))
        );
        assert!(
            run.diagnostics().iter().any(|d| d["severity"] == "error"),
            "{run:#?}"
        );
    }
    assert_eq!(listed(&lab).len(), 4);
    assert_eq!(
        lab.run(&["history", "--json"]).expect(0).result()["state_changes"]
            .as_array()
            .unwrap()
            .len(),
        3
    );

    // An import of one object under a second address is allowed, with a warning.
    let run = lab
        .run(&["state", "import", "lab_thing.a[0]", &id(&lab, "a-1")])
        .expect(0);
    assert!(
        run.stderr
            .contains("is also in the state as lab_thing.a[1]"),
        "{run:#?}"
    );
}

#[test]
fn import_configures_the_provider_from_variables_and_state() {
    let lab = Lab::new("");
    let file = lab.file().display().to_string();
    lab.workspace.write(
        "provider.tf",
        "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n\
         variable \"lab\" {\n  type = string\n}\nresource \"terraform_data\" \"file\" {\n  input = var.lab\n}\n\
         provider \"lab\" {\n  file = terraform_data.file.output\n}\n",
    );
    lab.workspace.write(
        "main.tf",
        "resource \"lab_thing\" \"a\" {\n  name = \"a\"\n}\n",
    );
    let var = format!("lab={file}");
    lab.run(&[
        "deploy",
        "--auto-approve",
        "--target",
        "terraform_data.file",
        "--var",
        &var,
    ])
    .expect(0);
    lab.run(&["deploy", "--auto-approve", "--var", &var])
        .expect(0);
    let thing = id(&lab, "a");
    lab.run(&["state", "forget", "lab_thing.a"]).expect(0);
    assert!(
        lab.run(&["state", "import", "lab_thing.a", &thing])
            .expect(1)
            .stderr
            .contains("lab"),
        "a variable has no value"
    );
    lab.run(&["state", "import", "lab_thing.a", &thing, "--var", &var])
        .expect(0);
    let state = lab
        .run(&["state", "show", "lab_thing.a", "--json"])
        .expect(0)
        .result();
    assert_eq!(
        state["resources"][0]["dependencies"],
        json!(["terraform_data.file"]),
        "{state}"
    );
    assert_eq!(
        lab.run(&["stage", "--json", "--var", &var])
            .expect(0)
            .result()["changes"]["no_op"],
        2
    );
}
