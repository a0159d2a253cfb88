//! Secrets that are given by reference: their values stay out of the store, plan files, logs and
//! output, and reach only the provider and the state.

use super::secret_search::{columns, encodings, files, find_secrets, stages};
use crate::support::{Run, Workspace};
use bundled::lab::control::{self, Fault, Kind, On};
use std::path::PathBuf;

const PASSWORD: &str = "pw-31f7\"quote\\back/ß9";
const TOKEN: &str = "token-8842-write-only";

const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" {
  file = "../lab.json"
}
variable "token" {
  type = string
}
resource "lab_thing" "a" {
  name = "visible-name"
  note = var.token
}
"#;

const DATABASE: &str = r#"
variable "password" {
  type = string
}
resource "lab_database" "a" {
  name     = "a"
  engine   = "postgres"
  password = var.password
}
resource "lab_thing" "b" {
  name = "b"
  data = { url = "postgres://app:${var.password}@db", digest = sha256(var.password) }
}
"#;

const MODULE: &str = r#"
locals {
  login = "app:${var.password}"
}
module "app" {
  source = "./app"
  login  = local.login
  digest = md5(var.password)
}
"#;

const APP: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
variable "login" {}
variable "digest" {}
resource "lab_thing" "c" {
  name = var.digest
  data = { login = var.login }
}
"#;

const TOKEN_FILE: &str = "secret \"token\" {\n  from = \"file:../token\"\n}\n";
const PASSWORD_VARIABLE: &str = "secret \"password\" {\n  from = \"env:DB_PASSWORD\"\n}\n";

struct World {
    w: Workspace,
    /// All output so far.
    out: Vec<u8>,
    password: &'static str,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let w = Workspace::new(files);
        std::fs::write(w.path().join("../token"), format!("{TOKEN}\n")).unwrap();
        Self {
            w,
            out: Vec::new(),
            password: PASSWORD,
        }
    }

    fn run(&mut self, args: &[&str]) -> Run {
        let mut command = self.w.command(args);
        command.env("DB_PASSWORD", self.password);
        let output = command.output().unwrap();
        self.out.extend([&*output.stdout, &output.stderr].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn lab(&self) -> PathBuf {
        self.w.path().join("../lab.json")
    }

    /// Stages, writes a plan file, and deploys: with a failure first, then to the end.
    fn stage_and_deploy(&mut self) {
        let stage = ["stage", "--log-level", "trace", "--plan-json", "plan.json"];
        self.run(&stage).expect(0);
        self.run(&["plan", "--out", "kept"]).expect(0);
        let words = format!("visible-error: {} and {TOKEN}", self.password);
        let fault = Fault {
            on: On::Create,
            name: Some("visible-name".into()),
            times: Some(1),
            text: Some(words),
            ..Fault::new(Kind::Permanent)
        };
        control::set(&self.lab(), fault).unwrap();
        let failed = self.run(&["deploy", "--auto-approve", "--json"]).expect(5);
        assert!(failed.stdout.contains("visible-error"), "{failed:#?}");
        self.run(&["deploy", "--auto-approve", "--log-level", "trace"])
            .expect(0);
        self.run(&["show", "kept"]).expect(0);
        self.run(&["history", "1", "--json"]).expect(0);
        self.run(&["logs"]).expect(0);
    }

    /// Places outside of the state where a text is found, in any encoding.
    fn places_of(&self, text: &str) -> Vec<String> {
        let needles = [("secret", encodings(text).into_iter().collect())];
        let mut found: Vec<String> = Vec::new();
        let mut search = |place: String, bytes: &[u8]| {
            let places = find_secrets(bytes, &needles).into_iter();
            found.extend(places.map(|shown| format!("{place}: {shown}")));
        };
        search("output".to_owned(), &self.out);
        for (column, bytes) in columns(&self.w.store()) {
            search(column, &bytes);
        }
        for stage in stages(&self.w.store()) {
            search("stage".to_owned(), &stage);
        }
        for file in files(&self.w.path()) {
            let name = file.display().to_string();
            let is_state = name.contains("terraform.tfstate") || name.contains("flightdeck.db");
            if !is_state {
                search(name, &std::fs::read(&file).unwrap());
            }
        }
        found
    }
}

#[test]
fn s1_15_value_of_a_write_only_argument_is_stored_nowhere() {
    let files = [("main.tf", MAIN), ("own.flightdeck.hcl", TOKEN_FILE)];
    let mut world = World::new(&files);
    world.stage_and_deploy();
    assert_eq!(world.places_of(TOKEN), [""; 0]);
    // Not even the copy of the state and the raw pages of the store have it.
    for file in super::files(&world.w.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes.windows(TOKEN.len()).any(|w| w == TOKEN.as_bytes());
        assert!(!found, "{}", file.display());
    }
}

#[test]
fn s1_15_value_of_another_argument_is_only_in_the_state() {
    let mut world = World::new(&[
        ("main.tf", MAIN),
        ("database.tf", DATABASE),
        ("own.flightdeck.hcl", TOKEN_FILE),
        ("password.flightdeck.hcl", PASSWORD_VARIABLE),
        ("module.tf", MODULE),
        ("app/main.tf", APP),
    ]);
    world.run(&["get"]).expect(0);
    // Validation has the warning, too, and resolves nothing.
    for command in ["validate", "stage"] {
        let run = world.run(&[command]).expect(0);
        let text = "The value of secret password is stored in the state in clear text, because \
                    lab_database.a.password is not a write-only argument.";
        assert!(run.stderr.contains(text), "{run:#?}");
        let text = "because module.app.lab_thing.c.data is not a write-only argument.";
        assert!(run.stderr.contains(text), "{run:#?}");
        assert!(!run.stderr.contains("secret token is"), "{run:#?}");
    }
    let shown = world.run(&["stage"]).expect(0).stdout;
    for text in [
        "password = (secret password from env:DB_PASSWORD)",
        "\nsecret token from file:../token\n",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
    world.stage_and_deploy();
    assert_eq!(world.places_of(TOKEN), [""; 0]);
    assert_eq!(world.places_of(PASSWORD), [""; 0]);
    let state = world.w.read("terraform.tfstate");
    assert!(state.contains("pw-31f7"), "the argument is not write-only");
    // The stored values are the same again: nothing changes.
    let again = world.run(&["stage"]).expect(0);
    assert!(again.stdout.contains("no changes"), "{again:#?}");
    // After a rotation, neither the former value nor the new one is in the stage.
    world.password = "rotated-5521-password";
    world.run(&["stage"]).expect(0);
    let (stage, password) = (stages(&world.w.store()).pop().unwrap(), world.password);
    let text = String::from_utf8_lossy(&stage).into_owned();
    assert!(
        !text.contains(password) && !text.contains("pw-31f7"),
        "{text}"
    );
    world.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(world.places_of(password), [""; 0]);
    let again = world.run(&["stage"]).expect(0);
    assert!(again.stdout.contains("no changes"), "{again:#?}");
}

#[test]
fn s1_15_stage_is_stale_after_its_secret_has_changed() {
    let mut world = World::new(&[
        ("main.tf", MAIN),
        ("database.tf", DATABASE),
        ("own.flightdeck.hcl", TOKEN_FILE),
        ("password.flightdeck.hcl", PASSWORD_VARIABLE),
    ]);
    world.run(&["plan", "--out", "kept"]).expect(0);
    world.password = "rotated-5521-password";
    for stage in [&["deploy", "1"][..], &["apply", "kept"]] {
        let refused = world.run(stage).expect(1);
        let text =
            "the secret password (from env:DB_PASSWORD) has changed since the stage was planned";
        assert!(refused.stderr.contains(text), "{refused:#?}");
    }
    assert!(!world.w.path().join("terraform.tfstate").exists());
    world.password = PASSWORD;
    world.run(&["apply", "kept"]).expect(0);
    assert!(world.w.read("terraform.tfstate").contains("pw-31f7"));
}

#[test]
fn s1_15_generated_secret_stays_the_same_and_is_kept_in_one_file() {
    let generated = "secret \"token\" {\n  from = \"generate:32\"\n}\n";
    let files = [("main.tf", MAIN), ("own.flightdeck.hcl", generated)];
    let mut world = World::new(&files);
    world.run(&["validate"]).expect(0);
    let file = world.w.path().join(".flightdeck/secrets/token");
    assert!(!file.exists(), "validation generates nothing");
    world.run(&["stage"]).expect(0);
    let value = std::fs::read_to_string(&file).unwrap();
    assert_eq!((value.len(), super::mode(&file)), (32, 0o600));
    world.run(&["deploy", "1"]).expect(0);
    world.run(&["stage"]).expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), value);
    let places = world.places_of(&value);
    assert_eq!(places.len(), 1, "{places:?}");
    assert!(places[0].contains(".flightdeck/secrets/token"));
}

#[test]
fn s1_15_command_of_the_workspace_needs_trust_and_its_failure_shows_no_value() {
    let file = "secret \"token\" {\n  from = \"command:./token print --first 'a b'\"\n}\n";
    let program = "#!/bin/sh\necho ran >> ../ran\ncat ../token\n";
    let files = [
        ("main.tf", MAIN),
        ("own.flightdeck.hcl", file),
        ("token", program),
    ];
    let mut world = World::new(&files);
    let path = world.w.path().join("token");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, executable).unwrap();
    let ran_file = world.w.path().join("../ran");
    let ran = || std::fs::read_to_string(&ran_file).unwrap_or_default();
    world.run(&["validate"]).expect(0);
    world.run(&["fmt"]).expect(0);
    let refused = world.run(&["stage"]).expect(3);
    for text in [
        "./token print --first 'a b'",
        "own.flightdeck.hcl",
        "--trust-workspace",
    ] {
        assert!(refused.stderr.contains(text), "{refused:#?}");
    }
    assert_eq!(ran(), "", "nothing ran");
    world.run(&["stage", "--trust-workspace"]).expect(0);
    assert_eq!(ran(), "ran\n", "once in a stage");
    world.run(&["deploy", "2"]).expect(0);
    assert_eq!(ran(), "ran\nran\n", "once in a deploy");
    assert_eq!(world.places_of(TOKEN), [""; 0]);
    // The program is part of what is trusted.
    world.w.write(
        "token",
        "#!/bin/sh\ncat ../token\ncat ../token >&2\nexit 4\n",
    );
    let refused = world.run(&["stage"]).expect(3);
    assert!(refused.stderr.contains("has changed since"), "{refused:#?}");
    let failed = world.run(&["stage", "--trust-workspace"]).expect(1);
    for text in [
        "Secret not resolved",
        "own.flightdeck.hcl",
        "exit status: 4",
    ] {
        assert!(failed.stderr.contains(text), "{failed:#?}");
    }
}

#[test]
fn s1_15_missing_values_are_errors_with_the_place_of_the_reference() {
    for (from, text) in [
        ("env:NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE is not set"),
        (
            "file:../no-such-file",
            "cannot read the file ../no-such-file",
        ),
        ("file:empty", "file:empty is empty"),
    ] {
        let secret = format!("secret \"token\" {{\n  from = {from:?}\n}}\n");
        let files = [
            ("main.tf", MAIN),
            ("own.flightdeck.hcl", &*secret),
            ("empty", "\n"),
        ];
        let mut world = World::new(&files);
        world.run(&["validate"]).expect(0);
        let failed = world.run(&["stage"]).expect(1);
        assert!(failed.stderr.contains(text), "{from}: {failed:#?}");
        assert!(failed.stderr.contains("own.flightdeck.hcl"), "{failed:#?}");
    }
}

#[test]
fn credentials_of_the_environment_need_trust_and_do_not_reach_plugins() {
    let main = "variable \"token\" {}\nresource \"terraform_data\" \"a\" {\n  input = sha256(var.token)\n}\n";
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "TF_TOKEN_example_com",
        "MY_TOKEN",
        "my_api_key",
    ] {
        let file = format!("secret \"token\" {{\n  from = \"env:{name}\"\n}}\n");
        let w = Workspace::new(&[("main.tf", main), ("own.flightdeck.hcl", &file)]);
        let run = |args: &[&str]| {
            let mut command = w.command(args);
            Run::from_command(command.env(name, "ambient-7712-value"))
        };
        run(&["validate"]).expect(0);
        let refused = run(&["stage"]).expect(3);
        for text in [name, "own.flightdeck.hcl", "--trust-workspace"] {
            assert!(refused.stderr.contains(text), "{refused:#?}");
        }
        let trusted = run(&["stage", "--trust-workspace"]).expect(0);
        assert!(trusted.stderr.contains(name), "{trusted:#?}");
        run(&["stage"]).expect(0);
    }
    // A variable of the application needs none.
    let file = "secret \"token\" {\n  from = \"env:APP_VALUE\"\n}\n";
    let w = Workspace::new(&[("main.tf", main), ("own.flightdeck.hcl", file)]);
    let mut command = w.command(&["stage"]);
    Run::from_command(command.env("APP_VALUE", "value-of-the-app")).expect(0);
}

#[test]
fn command_of_a_secret_has_no_terminal_and_its_question_is_in_the_error() {
    let file = "secret \"token\" {\n  from = \"command:sh -c 'echo PIN of the key: >&2; read x < /dev/tty'\"\n}\n";
    let mut world = World::new(&[("main.tf", MAIN), ("own.flightdeck.hcl", file)]);
    let failed = world.run(&["stage", "--trust-workspace"]).expect(1);
    assert!(failed.stderr.contains("PIN of the key:"), "{failed:#?}");
    assert!(!failed.stderr.contains("in PATH"), "{failed:#?}");
}
