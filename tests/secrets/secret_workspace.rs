//! Workspace full of secrets: the secrets, and the configuration that contains them.

use std::collections::BTreeMap;

use crate::support::{Run, Workspace};

/// Secrets by name, so that a failure can name one without showing it.
pub(super) const SECRETS: [(&str, &str); 9] = [
    ("password", "pw-7f3a\"quote\\back/ß9"),
    ("second password", "pw-8c41-after-the-change"),
    ("provider configuration", "region-secret-4411"),
    ("write-only", "note-write-only-5522"),
    (
        "of an object",
        "first-line-secret-661\nsecond-line-secret-772",
    ),
    ("literal marked in the configuration", "literal-secret-8833"),
    ("literal of a sensitive attribute", "schema-secret-9944"),
    ("in a value that is none", "inline-secret-1155"),
    ("number", "554433221199"),
];

const VARIABLES: &str = r#"
variable "password" {
  type      = string
  sensitive = true
}
variable "region" {
  type      = string
  sensitive = true
}
variable "note" {
  type      = string
  ephemeral = true
}
variable "object" {
  type      = object({ key = string, other = string })
  sensitive = true
}
variable "number" {
  type      = number
  sensitive = true
}
"#;

const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" {
  file = "../lab.json"
  fault {
    kind     = "latency"
    ms       = 1
    resource = "lab_dns_record"
    text     = var.region
  }
}
locals {
  url = "postgres://app:${var.password}@db"
}
resource "lab_database" "a" {
  name     = "a"
  engine   = "postgres"
  password = var.password
}
resource "lab_database" "plain" {
  name     = "plain"
  engine   = "mysql"
  password = "schema-secret-9944"
}
resource "lab_thing" "a" {
  name    = "visible-name"
  note    = var.note
  data    = { key = var.object.key, url = local.url, open = "visible-value" }
  payload = { list = [sensitive("literal-secret-8833")], number = var.number }
}
resource "terraform_data" "run" {
  input = var.object
  provisioner "local-exec" {
    command     = "echo by argument ${base64encode(var.password)}; echo by variable $KEY; echo visible-output"
    environment = { KEY = var.object.key }
  }
}
resource "lab_thing" "trouble" {
  name     = "trouble"
  triggers = { a = lab_database.a.id, b = lab_thing.a.id }
}
output "password" {
  value     = var.password
  sensitive = true
}
output "nested" {
  value     = { list = [local.url, "literal-secret-8833"], visible = "no" }
  sensitive = true
}
output "open" {
  value = "visible-value"
}
"#;

/// Configurations in which a secret takes part in an error.
pub(super) const ERRORS: [&str; 20] = [
    "output \"e\" { value = { for x in [1, 2] : var.password => x } }",
    "output \"e\" { value = [for x in [var.password] : parseint(x, 10)] }",
    "output \"e\" { value = cidrsubnet(var.password, 8, 1) }",
    "output \"e\" { value = lookup({ a = 1 }, var.password) }",
    "output \"e\" { value = filesha256(var.password) }",
    "output \"e\" { value = regexall(\"(${var.password}\", \"x\") }",
    "output \"e\" { value = tonumber(var.password) }",
    "output \"e\" { value = { a = 1 }[var.password] }",
    "output \"e\" { value = file(var.password) }",
    "output \"e\" { value = jsondecode(var.password) }",
    "output \"e\" { value = regex(\"^x$\", var.password) }",
    "output \"e\" { value = templatefile(var.password, {}) }",
    "output \"e\" { value = var.object.nothing }",
    "output \"e\" { value = cidrhost(var.password, 1) }",
    "resource \"terraform_data\" \"e\" {\n  for_each = toset([var.password])\n}",
    "resource \"terraform_data\" \"e\" {\n  for_each = { (var.password) = 1 }\n}",
    "resource \"terraform_data\" \"e\" {\n  count = var.password\n}",
    "resource \"terraform_data\" \"e\" {\n  lifecycle {\n    precondition {\n      condition     = var.password == \"x\"\n      error_message = \"it was ${var.password}\"\n    }\n  }\n}",
    "resource \"lab_bucket\" \"e\" {\n  name   = \"e\"\n  policy = var.password\n}",
    "variable \"checked\" {\n  type      = string\n  sensitive = true\n  default   = \"literal-secret-8833\"\n  validation {\n    condition     = length(var.checked) < 3\n    error_message = \"too long: ${var.checked}\"\n  }\n}",
];

/// Workspace and all output of its commands.
pub(super) struct SecretWorkspace {
    pub(super) w: Workspace,
    /// Output by command.
    pub(super) out: BTreeMap<String, Vec<u8>>,
    pub(super) password: &'static str,
}

impl SecretWorkspace {
    pub(super) fn new() -> Self {
        let world = Self {
            w: Workspace::new(&[]),
            out: BTreeMap::new(),
            password: secret("password"),
        };
        world.w.write("variables.tf", VARIABLES);
        world.w.write("main.tf", MAIN);
        world.w.write(
            "terraform.tfvars",
            &format!("region = {:?}\n", secret("provider configuration")),
        );
        world
    }

    pub(super) fn command(&self, args: &[&str]) -> std::process::Command {
        let object = serde_json::json!({ "key": secret("of an object"), "other": "x" }).to_string();
        let mut command = self.w.command(args);
        command
            .env("TF_VAR_password", self.password)
            .env("TF_VAR_note", secret("write-only"))
            .env("TF_VAR_object", object);
        command.env("TF_VAR_number", secret("number"));
        if args.contains(&"trace") {
            command.env("RUST_LOG", "trace");
        }
        command
    }

    /// Runs a command, as text and, if it changes nothing, also with `--json`.
    pub(super) fn run(&mut self, args: &[&str]) -> Run {
        let output = self.command(args).output().unwrap();
        let name = format!("{} ({})", args.join(" "), self.out.len());
        self.out.insert(
            name,
            [output.stdout.clone(), output.stderr.clone()].concat(),
        );
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let run = Run {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(
            !run.stderr.contains("panicked at src"),
            "{args:?}: {run:#?}"
        );
        run
    }

    pub(super) fn run_read_only(&mut self, args: &[&str]) {
        self.run(args).expect(0);
        self.run(&[args, &["--json"]].concat()).expect(0);
    }
}

pub(super) fn secret(name: &str) -> &'static str {
    SECRETS.iter().find(|(n, _)| *n == name).unwrap().1
}
