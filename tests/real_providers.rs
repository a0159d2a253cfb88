//! Unmodified providers through the real binary: protocol 5 (terraform-provider-time) and protocol 6 (the interop provider in
//! `tests/interop`, on the official framework). `FLIGHTDECK_TEST_GO_BIN` names the folder that `tests/interop/build` filled;
//! `FLIGHTDECK_TEST_MIRROR` a filesystem mirror whose every provider is launched. What is not named is skipped.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

#[allow(dead_code, reason = "shared with the other tests of the binary")]
#[path = "cli/support.rs"]
mod support;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::{Run, Workspace};

/// A workspace that finds providers in one filesystem mirror, and nowhere else.
struct Place {
    workspace: Workspace,
    mirror: PathBuf,
    extra: tempfile::TempDir,
}

impl Place {
    fn new(mirror: PathBuf, files: &[(&str, &str)]) -> Self {
        Self { workspace: Workspace::new(files), mirror, extra: tempfile::tempdir().unwrap() }
    }

    /// A place whose mirror holds the programs that the environment names; `None`, said in words, where it names none.
    fn built(files: &[(&str, &str)]) -> Option<Self> {
        let Some(folder) = std::env::var_os("FLIGHTDECK_TEST_GO_BIN").map(PathBuf::from) else {
            println!("skipped: FLIGHTDECK_TEST_GO_BIN names no folder; fill one with tests/interop/build");
            return None;
        };
        let mut place = Self::new(PathBuf::new(), files);
        place.mirror = place.extra.path().join("mirror");
        for (address, version, name) in [("hashicorp/time", "0.13.1", "time"), ("acme/interop", "0.1.0", "interop")] {
            let target = place.mirror.join(format!("registry.terraform.io/{address}/{version}/linux_amd64"));
            std::fs::create_dir_all(&target).unwrap();
            let program = std::fs::canonicalize(folder.join(format!("terraform-provider-{name}"))).unwrap();
            std::os::unix::fs::symlink(program, target.join(format!("terraform-provider-{name}_v{version}"))).unwrap();
        }
        Some(place)
    }

    fn objects(&self) -> PathBuf {
        self.extra.path().join("objects.json")
    }

    /// What the provider's file holds.
    fn kept(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.objects()).unwrap()).unwrap()
    }

    fn run(&self, args: &[&str]) -> Run {
        let rc = self.extra.path().join("rc");
        let text = format!("provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n", self.mirror.display());
        std::fs::write(&rc, text).unwrap();
        let mut command = self.workspace.command(args);
        command.env("TF_CLI_CONFIG_FILE", rc).env("TF_VAR_file", self.objects());
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let run = Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!run.stderr.contains("panicked at"), "{args:?}: {run:#?}");
        run
    }

    /// Counts of changes by action, those that are zero left out.
    fn changes(&self, args: &[&str], code: i32) -> Value {
        let args = [&["stage", "--json", "--detailed-exitcode"], args].concat();
        let result = self.run(&args).expect(code).result();
        assert_eq!(result["command"], "stage");
        let changes = result["changes"].as_object().unwrap();
        changes.iter().filter(|(_, n)| **n != json!(0)).map(|(k, n)| (k.clone(), n.clone())).collect::<serde_json::Map<_, _>>().into()
    }

    fn deploy(&self, args: &[&str], code: i32) -> Run {
        self.run(&[&["deploy", "--auto-approve", "--json"], args].concat()).expect(code)
    }

    fn attributes(&self, address: &str) -> Value {
        let (kind, name) = address.split_once('.').unwrap();
        attributes_of(&self.exported(), kind, name).clone()
    }

    fn addresses(&self) -> Vec<String> {
        self.run(&["state", "list"]).expect(0).stdout.lines().map(str::to_owned).collect()
    }

    fn exported(&self) -> Value {
        serde_json::from_str(&self.run(&["state", "export"]).expect(0).stdout).unwrap()
    }
}

fn attributes_of<'a>(state: &'a Value, kind: &str, name: &str) -> &'a Value {
    let is = |r: &&Value| r["type"] == kind && r["name"] == name && r["mode"] == "managed";
    let resource = state["resources"].as_array().unwrap().iter().find(is);
    &resource.unwrap_or_else(|| panic!("{kind}.{name} is not in the state"))["instances"][0]["attributes"]
}

const TIME: &str = r#"
terraform {
  required_providers {
    time = {
      source  = "hashicorp/time"
      version = "~> 0.13"
    }
  }
}

variable "days" {
  type    = number
  default = 7
}

variable "start" {
  default = "2026-11-21T10:00:00Z"
}

resource "time_static" "start" {
  rfc3339 = var.start
}

resource "time_offset" "later" {
  base_rfc3339 = time_static.start.rfc3339
  offset_days  = var.days
}

resource "time_sleep" "short" {
  create_duration = "10ms"
  triggers = {
    later = time_offset.later.rfc3339
  }
}

output "later" {
  value = time_offset.later.rfc3339
}
"#;

#[test]
fn a_provider_of_protocol_5_from_stage_to_destroy() {
    let Some(place) = Place::built(&[("main.tf", TIME)]) else { return };

    let result = place.run(&["plugins", "--json"]).expect(0).result();
    let plugin = &result["plugins"][0];
    assert_eq!(plugin["found"]["address"], "registry.terraform.io/hashicorp/time");
    assert_eq!(plugin["found"]["version"], "0.13.1");
    assert_eq!(plugin["found"]["dialect"], "tfplugin5");
    assert!(plugin["found"]["source"].as_str().unwrap().contains("mirror"), "{plugin}");
    let phases: Vec<&str> = plugin["attempts"][0]["phases"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(phases, ["exec", "first_output", "handshake", "connected", "schema"]);
    assert_eq!(plugin["attempts"][0]["verdict"]["kind"], "ready");

    assert_eq!(place.changes(&[], 2), json!({"create": 3}));
    let result = place.deploy(&[], 0).result();
    assert_eq!(result["outcome"], "succeeded");
    assert_eq!(result["operations"], json!({"done": 3, "failed": 0, "not_attempted": 0, "unknown": 0}));
    assert_eq!(place.addresses(), ["time_offset.later", "time_sleep.short", "time_static.start"]);
    let shown = place.run(&["state", "show", "time_offset.later", "--json"]).expect(0).result();
    assert!(shown["resources"][0]["attributes"].to_string().contains("2026-11-28T10:00:00Z"), "{shown}");
    let state = place.exported();
    assert_eq!(state["version"], 4);
    assert_eq!(state["outputs"]["later"], json!({"type": "string", "value": "2026-11-28T10:00:00Z"}));
    assert_eq!(attributes_of(&state, "time_static", "start")["unix"], 1_795_255_200);
    assert_eq!(place.attributes("time_offset.later")["day"], 28);

    assert_eq!(place.changes(&[], 0), json!({"no_op": 3}), "nothing changed");

    // The offset is updated in place, what it triggers is replaced.
    assert_eq!(place.changes(&["--var", "days=8"], 2), json!({"update": 1, "replace": 1, "no_op": 1}));
    place.deploy(&["--var", "days=8"], 0);
    assert_eq!(place.attributes("time_offset.later")["rfc3339"], "2026-11-29T10:00:00Z");
    assert_eq!(place.attributes("time_sleep.short")["triggers"]["later"], "2026-11-29T10:00:00Z");
    assert_eq!(place.changes(&["--var", "days=8"], 0), json!({"no_op": 3}));

    // What the provider refuses is shown with the place of the attribute.
    let refused = place.run(&["stage", "--json", "--var", "start=yesterday"]).expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(diagnostic["address"], "time_static.start");
    assert_eq!((&diagnostic["range"]["filename"], &diagnostic["range"]["start"]["line"]), (&json!("main.tf"), &json!(21)), "{diagnostic}");

    let result = place.run(&["destroy", "--auto-approve", "--json"]).expect(0).result();
    assert_eq!((&result["command"], &result["outcome"]), (&json!("destroy"), &json!("succeeded")));
    assert_eq!(place.addresses(), Vec::<String>::new());

    let history = place.run(&["history", "--json"]).expect(0).result();
    let outcomes: Vec<&str> = history["history"].as_array().unwrap().iter().map(|d| d["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["succeeded"; 3]);
    let logs = place.run(&["logs", "time", "--json"]).expect(0);
    assert!(logs.result()["lines"].as_u64().unwrap() > 0, "{logs:#?}");
    let failures = place.run(&["failures", "--json"]).expect(0).result();
    assert_eq!(failures["failures"], json!([]));
}

const INTEROP: &str = r#"
terraform {
  required_providers {
    interop = {
      source = "acme/interop"
    }
  }
}

variable "file" {}

variable "name" {
  default = "first"
}

variable "text" {
  default = "one"
}

variable "mode" {
  default = "fast"
}

provider "interop" {
  file = var.file
}

resource "interop_record" "a" {
  name   = var.name
  text   = var.text
  ratio  = 0.1
  lines  = ["x", "y"]
  ports  = [443, 80, 443]
  labels = { env = "test" }
  secret = "hunter2"

  settings = {
    mode = var.mode
  }

  rules = [
    { match = "*", allow = true },
    { match = "a" },
  ]

  endpoint {
    host = "a.example"
    port = 80
  }

  endpoint {
    host = "b.example"
  }
}

resource "interop_record" "b" {
  name = "after-${interop_record.a.revision}"
  text = "needs ${interop_record.a.id}"
}

resource "interop_record" "apart" {
  name    = "apart"
  enabled = false
  amount  = 5
}

resource "interop_anything" "any" {
  value = { list = [1, "two", true], id = interop_record.apart.id }
}

data "interop_record" "again" {
  id = interop_record.a.id
}

output "again" {
  value = data.interop_record.again
}

output "secret" {
  value     = interop_record.a.secret
  sensitive = true
}
"#;

#[test]
fn a_provider_on_the_official_framework_from_stage_to_destroy() {
    let Some(place) = Place::built(&[("main.tf", INTEROP)]) else { return };
    let result = place.run(&["plugins", "--json"]).expect(0).result();
    assert_eq!(result["plugins"][0]["found"]["dialect"], "tfplugin6");

    assert_eq!(place.changes(&[], 2), json!({"create": 4, "read": 1}));
    let run = place.deploy(&[], 0);
    assert!(!run.stdout.contains("hunter2"), "a sensitive value is in the events");
    let a = json!({
        "amount": 1, "enabled": true, "id": "record-first", "name": "first", "text": "one", "ratio": 0.1,
        "labels": {"env": "test"}, "lines": ["x", "y"], "ports": [80, 443], "revision": 1, "secret": "hunter2",
        "settings": {"mode": "fast", "retries": 3},
        "rules": [{"match": "*", "allow": true}, {"match": "a", "allow": false}],
        "endpoint": [{"host": "a.example", "port": 80}, {"host": "b.example", "port": null}],
    });
    let state = place.exported();
    assert_eq!(*attributes_of(&state, "interop_record", "a"), a);
    assert_eq!(attributes_of(&state, "interop_record", "b")["name"], "after-1");
    let any = attributes_of(&state, "interop_anything", "any");
    assert_eq!(any["same"], any["value"]);
    assert_eq!(state["outputs"]["again"]["value"], json!({"id": "record-first", "text": "one", "revision": 1}));
    assert_eq!(state["outputs"]["secret"]["sensitive"], true);
    assert_eq!(place.kept()["record-first"], json!({"revision": 1, "text": "one"}));
    let shown = place.run(&["state", "show", "interop_record.a"]).expect(0);
    assert!(shown.stdout.contains("record-first") && !shown.stdout.contains("hunter2"), "{shown:#?}");

    assert_eq!(place.changes(&[], 0), json!({"no_op": 4}), "nothing changed");

    // Another revision is another name of what needs it, and another name is another object.
    let two = ["--var", "text=two"];
    assert_eq!(place.changes(&two, 2), json!({"update": 1, "replace": 1, "no_op": 2}));
    place.deploy(&two, 0);
    assert_eq!(place.attributes("interop_record.a")["revision"], 2);
    assert_eq!(place.kept()["record-after-2"]["text"], "needs record-first");
    assert_eq!(place.kept().as_object().unwrap().len(), 3);

    // What somebody else changed or took away is seen.
    let mut objects = place.kept();
    objects["record-first"]["text"] = "theirs".into();
    objects.as_object_mut().unwrap().remove("record-apart");
    std::fs::write(place.objects(), objects.to_string()).unwrap();
    assert_eq!(place.changes(&two, 2)["create"], 1);
    place.deploy(&two, 0);
    assert_eq!(place.kept()["record-first"]["text"], "two");
    assert!(place.kept().get("record-apart").is_some());

    let result = place.run(&["destroy", "--auto-approve", "--json"]).expect(0).result();
    assert_eq!((&result["outcome"], &result["operations"]["failed"]), (&json!("succeeded"), &json!(0)));
    assert_eq!(place.kept(), json!({}));
    let state = place.exported();
    assert_eq!((&state["resources"], &state["outputs"]), (&json!([]), &json!({})), "nothing is left, data sources neither");
}

#[test]
fn what_a_framework_provider_refuses_has_its_place_and_leaves_the_rest_done() {
    let Some(place) = Place::built(&[("main.tf", INTEROP)]) else { return };

    let refused = place.run(&["stage", "--json", "--var", "mode=never"]).expect(1);
    let diagnostic = &refused.diagnostics()[0];
    assert_eq!(diagnostic["summary"], "Unsupported mode");
    assert_eq!(diagnostic["address"], "interop_record.a");
    let line = 1 + INTEROP.lines().position(|l| l.contains("mode = var.mode")).unwrap();
    assert_eq!(diagnostic["range"]["filename"], "main.tf");
    let from = diagnostic["range"]["start"]["line"].as_u64().unwrap() as usize;
    let to = diagnostic["range"]["end"]["line"].as_u64().unwrap() as usize;
    assert!((from..=to).contains(&line) || from + 1 == line, "{diagnostic} is not about line {line}");

    let run = place.deploy(&["--var", "text=refuse"], 5);
    let result = run.result();
    assert_eq!(result["outcome"], "failed");
    // a is refused; b and the data source need it; the other two do not.
    assert_eq!(result["operations"], json!({"done": 2, "failed": 1, "not_attempted": 2, "unknown": 0}));
    let diagnostic = &run.diagnostics()[0];
    assert_eq!(diagnostic["detail"], "the text \"refuse\" is refused on purpose");
    let line = 1 + INTEROP.lines().position(|l| l.contains("text   = var.text")).unwrap();
    assert_eq!(diagnostic["range"]["start"]["line"], line);
    assert_eq!(place.addresses(), ["interop_anything.any", "interop_record.apart"]);

    let failures = place.run(&["failures", "--json"]).expect(0).result();
    assert_eq!(failures["failures"].as_array().unwrap().len(), 1);
    let words = failures["failures"][0].to_string();
    assert!(words.contains("Record not written") && words.contains("interop_record.a"), "{words}");

    // Mended, the rest is done.
    place.deploy(&[], 0);
    assert_eq!(place.changes(&[], 0), json!({"no_op": 4}));
}

#[test]
fn a_framework_provider_that_panics_is_one_incident_with_its_last_words() {
    let Some(place) = Place::built(&[("main.tf", INTEROP)]) else { return };
    let run = place.deploy(&["--var", "text=panic"], 5);
    let crashes = run.lines().into_iter().filter(|l| l["type"] == "plugin" && l["what"] == "crash").count();
    assert_eq!(crashes, 1, "{run:#?}");
    // The record that panicked, and what else was under way in the same process.
    let operations = run.result()["operations"].clone();
    assert!(operations["unknown"].as_u64().unwrap() >= 1, "{operations}");
    let failures = place.run(&["failures"]).expect(0).stdout;
    assert!(failures.contains("plugin crashed") && failures.contains("the record asked for it"), "{failures}");
    assert!(!failures.contains("did not respond"));
    let logs = place.run(&["logs", "interop", "--level", "error"]).expect(0).stdout;
    assert!(logs.contains("panic: the record asked for it"), "{logs}");

    let history = place.run(&["history", "--json"]).expect(0).result();
    assert_eq!(history["history"][0]["outcome"], "failed");
}

#[test]
fn every_provider_of_the_mirror_comes_up_with_its_schema() {
    let Some(mirror) = std::env::var_os("FLIGHTDECK_TEST_MIRROR").map(PathBuf::from) else {
        println!("skipped: FLIGHTDECK_TEST_MIRROR names no filesystem mirror");
        return;
    };
    let addresses = addresses(&mirror);
    assert!(!addresses.is_empty(), "{} holds no provider", mirror.display());
    let entries: Vec<String> = addresses.iter().enumerate().map(|(n, a)| format!("    p{n} = {{ source = \"{a}\" }}\n")).collect();
    let text = format!("terraform {{\n  required_providers {{\n{}  }}\n}}\n", entries.concat());
    let place = Place::new(std::fs::canonicalize(mirror).unwrap(), &[("main.tf", &text)]);
    let result = place.run(&["plugins", "--json"]).expect(0).result();
    let plugins = result["plugins"].as_array().unwrap();
    assert_eq!(plugins.len(), addresses.len());
    for plugin in plugins {
        println!("{}: {}", plugin["found"]["address"], plugin["attempts"][0]["phases"]);
        assert_eq!(plugin["state"]["state"], "ready", "{plugin}");
    }
}

/// `HOST/NAMESPACE/TYPE` of everything in the mirror.
fn addresses(mirror: &Path) -> Vec<String> {
    let mut level = vec![(String::new(), mirror.to_owned())];
    for _ in 0..3 {
        let inner = |(address, folder): &(String, PathBuf)| -> Vec<(String, PathBuf)> {
            let entries = std::fs::read_dir(folder).unwrap().flatten().filter(|e| e.path().is_dir());
            entries.map(|e| (format!("{address}/{}", e.file_name().to_string_lossy()), e.path())).collect()
        };
        level = level.iter().flat_map(inner).collect();
    }
    let mut all: Vec<String> = level.into_iter().map(|(address, _)| address.trim_start_matches('/').to_owned()).collect();
    all.sort();
    all
}
