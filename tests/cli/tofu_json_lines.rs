//! Tests of the line-by-line JSON output in OpenTofu's format.

use crate::install::{run_tofu, tofu};
use crate::support::{Run, Workspace};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Configuration with every kind of line, except those for slow operations.
const ALL: &str = r#"
variable "size" {
  default = 1
}
resource "terraform_data" "each" {
  for_each = toset(["p", "q"])
  input    = "v${var.size}"
  provisioner "local-exec" {
    command = "echo hi; echo there"
  }
}
resource "terraform_data" "again" {
  triggers_replace = var.size
}
module "m" {
  source = "./m"
}
data "terraform_remote_state" "other" {
  backend  = "local"
  config   = { path = "${path.module}/other.tfstate" }
}
output "id" {
  value = terraform_data.again.id
}
output "secret" {
  value     = "x<y"
  sensitive = true
}
check "size" {
  assert {
    condition     = var.size < 2
    error_message = "too large"
  }
}
"#;
const MODULE: &str = "resource \"terraform_data\" \"in\" {\n  count = 1\n}\n";
const OTHER: &str = "{\"version\":4,\"terraform_version\":\"1.5.0\",\"serial\":1,\"lineage\":\"x\",\"outputs\":{},\"resources\":[]}";
/// Second configuration: no provisioners, one object moved, one object destroyed.
const NEXT: &str = r#"
variable "size" {
  default = 1
}
resource "terraform_data" "each" {
  for_each = toset(["p"])
  input    = "v${var.size}"
}
moved {
  from = terraform_data.again
  to   = terraform_data.moved
}
resource "terraform_data" "moved" {
  triggers_replace = 1
}
removed {
  from = module.m
  lifecycle {
    destroy = false
  }
}
import {
  to = terraform_data.adopted
  id = "abc"
}
resource "terraform_data" "adopted" {
}
"#;
const FAILS: &str = "resource \"terraform_data\" \"f\" {\n  provisioner \"local-exec\" {\n    command = \"exit 3\"\n  }\n}\n";

fn workspace() -> Workspace {
    Workspace::new(&[
        ("main.tf", ALL),
        ("m/main.tf", MODULE),
        ("other.tfstate", OTHER),
    ])
}

fn of_type<'l>(lines: &'l [Value], kind: &str) -> Vec<&'l Value> {
    lines.iter().filter(|l| l["type"] == kind).collect()
}

fn run_in_tofu_format(w: &Workspace, words: &[&str]) -> Run {
    let mut command = w.command(words);
    Run::from_command(command.env("FLIGHTDECK_FORMAT", "tofu"))
}

#[test]
fn each_line_has_tofus_members_in_their_order() {
    let w = workspace();
    let lines = run_in_tofu_format(&w, &["apply", "-json", "-auto-approve"])
        .expect(0)
        .lines();
    assert_eq!(lines[0]["type"], "version");
    assert_eq!(lines[0]["ui"], "1.2");
    for line in &lines {
        let names: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(names[..4], ["@level", "@message", "@module", "@timestamp"]);
        assert!(names[4..].is_sorted(), "{line}");
        assert_eq!(line["@module"], "tofu.ui");
        assert!(line["@timestamp"].as_str().unwrap().len() >= 27, "{line}");
    }
    let planned = of_type(&lines, "planned_change");
    let q = planned
        .iter()
        .find(|l| l["change"]["resource"]["resource_key"] == "q")
        .unwrap();
    let resource = json!({
        "addr": "terraform_data.each[\"q\"]", "module": "", "resource": "terraform_data.each[\"q\"]",
        "implied_provider": "terraform", "resource_type": "terraform_data", "resource_name": "each",
        "resource_key": "q",
    });
    assert_eq!(
        q["change"],
        json!({ "resource": resource, "action": "create" })
    );
    let inside = planned
        .iter()
        .find(|l| l["change"]["resource"]["module"] == "module.m")
        .unwrap();
    assert_eq!(
        inside["change"]["resource"]["resource"],
        "terraform_data.in[0]"
    );
    assert_eq!(inside["change"]["resource"]["resource_key"], 0);
    let said: Vec<&Value> = of_type(&lines, "provision_progress")
        .into_iter()
        .filter(|l| l["hook"]["resource"] == resource)
        .map(|l| &l["hook"]["output"])
        .collect();
    let executing = "Executing: [\"/bin/sh\" \"-c\" \"echo hi; echo there\"]";
    assert_eq!(said, [executing, "hi", "there"]);
    let sums = of_type(&lines, "change_summary");
    assert_eq!(
        sums[1]["@message"],
        "Apply complete! Resources: 4 added, 0 changed, 0 destroyed."
    );
    // Sensitive values are in none of the lines.
    let outputs = of_type(&lines, "outputs");
    assert_eq!(
        outputs[1]["outputs"]["secret"],
        json!({ "sensitive": true, "type": "string" })
    );
}

#[test]
fn tofu_format_is_selected_by_flag_or_environment_only() {
    let w = workspace();
    let own = w.run(&["plan", "-json"]).expect(0);
    let types: Vec<Value> = own.lines().iter().map(|l| l["type"].clone()).collect();
    assert_eq!(own.result()["type"], "result");
    assert!(!types.contains(&json!("object")), "{types:?}");
    let by_flag = w.run(&["plan", "-json", "-format=tofu"]).expect(0);
    assert_eq!(by_flag.lines()[0]["type"], "version");
    assert!(!by_flag.stdout.contains("\"result\""));
    // Output for people stays the same, and an unknown format is refused.
    assert!(
        run_in_tofu_format(&w, &["plan"])
            .expect(0)
            .stdout
            .contains("terraform_data.again")
    );
    let mut wrong = w.command(&["plan", "-json"]);
    let wrong = Run::from_command(wrong.env("FLIGHTDECK_FORMAT", "other")).expect(1);
    assert!(wrong.stdout.contains("FLIGHTDECK_FORMAT"), "{wrong:?}");
}

#[test]
fn failure_is_a_line_about_the_object_then_a_diagnostic_without_a_summary() {
    let w = Workspace::new(&[("main.tf", FAILS)]);
    let lines = run_in_tofu_format(&w, &["apply", "-json", "-auto-approve"])
        .expect(5)
        .lines();
    assert_eq!(of_type(&lines, "provision_errored").len(), 1);
    let errored = of_type(&lines, "apply_errored");
    assert_eq!(
        errored[0]["@message"],
        "terraform_data.f: Creation errored after 0s"
    );
    assert_eq!(of_type(&lines, "change_summary").len(), 1);
    let told = of_type(&lines, "diagnostic");
    assert_eq!(
        (&told[0]["@level"], &told[0]["diagnostic"]["severity"]),
        (&json!("error"), &json!("error"))
    );
    assert_eq!(told[0]["diagnostic"]["range"]["start"]["line"], 2);
}

/// A plan that fails half way; an output and a check depend on unknown values.
const HALF: &str = r#"
variable "size" {
  default = 1
}
resource "terraform_data" "a" {
  input = "x"
}
resource "terraform_data" "b" {
  input = terraform_data.a.output
  lifecycle {
    precondition {
      condition     = var.size > 3
      error_message = "too few"
    }
  }
}
resource "terraform_data" "c" {
  input = terraform_data.b.output
}
output "a" {
  value = terraform_data.a.input
}
output "c" {
  value = terraform_data.c.output
}
check "sane" {
  assert {
    condition     = terraform_data.a.output == "y"
    error_message = "insane"
  }
}
"#;

/// Lines without timestamps, program names and texts, which always differ. The diagnostics come
/// last and are sorted.
fn normalized(lines: &[Value]) -> Vec<Value> {
    let mut all = lines.to_vec();
    all.retain(|l| l["type"] != "version");
    for line in &mut all {
        line["@timestamp"] = Value::Null;
        if line["type"] == "diagnostic" {
            let d = &line["diagnostic"];
            *line = json!([line["@message"], d["severity"], d["summary"], d["range"]]);
        }
    }
    let last = all.iter().position(Value::is_array).unwrap_or(all.len());
    all[last..].sort_by_key(Value::to_string);
    all
}

#[test]
fn failed_plan_lists_planned_changes_like_tofu() {
    let w = Workspace::new(&[("main.tf", HALF)]);
    for command in [&["plan", "-json"][..], &["apply", "-json", "-auto-approve"]] {
        let lines = run_in_tofu_format(&w, command).expect(1).lines();
        let planned = of_type(&lines, "planned_change");
        assert_eq!(planned.len(), 1, "{lines:?}");
        assert_eq!(planned[0]["@message"], "terraform_data.a: Plan to create");
        let sums = of_type(&lines, "change_summary");
        assert_eq!(
            sums[0]["@message"],
            "Plan: 1 to add, 0 to change, 0 to destroy."
        );
        let outputs = of_type(&lines, "outputs");
        assert_eq!(
            outputs[0]["outputs"],
            json!({ "a": { "sensitive": false, "action": "create" } })
        );
        // Diagnostics come last, in the order of the graph walk, which is not fixed.
        let said = |n: usize| lines[lines.len() - n]["@message"].as_str().unwrap();
        assert_eq!(
            BTreeSet::from([said(1), said(2)]),
            BTreeSet::from([
                "Warning: Check block assertion known after apply",
                "Error: Resource precondition failed"
            ])
        );
        if let Some(tofu) = tofu("a_plan_that_fails_tells_what_was_planned_before_as_tofu_does") {
            let theirs = run_tofu(&tofu, &w, None, command).expect(1).lines();
            assert_eq!(normalized(&lines), normalized(&theirs));
        }
    }
    // A failed stage cannot be deployed.
    w.run(&["deploy", "1", "--auto-approve"]).expect(1);
}

#[test]
fn long_operation_is_reported_every_ten_seconds() {
    let text = FAILS.replace("exit 3", "sleep 11");
    let w = Workspace::new(&[("main.tf", &text)]);
    let lines = run_in_tofu_format(&w, &["apply", "-json", "-auto-approve"])
        .expect(0)
        .lines();
    let said = of_type(&lines, "apply_progress");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(
        said[0]["@message"],
        "terraform_data.f: Still creating... [10s elapsed]"
    );
    assert_eq!(said[0]["hook"]["elapsed_seconds"], 10);
}

/// Counts of lines, without timestamps. The order is ignored, because independent objects have
/// none.
fn line_counts(run: &Run) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for mut line in run.lines() {
        let kind = line["type"].clone();
        if kind == "version" || kind == "log" {
            continue;
        }
        line.as_object_mut().unwrap().remove("@timestamp");
        if kind == "diagnostic" && line["diagnostic"].get("range").is_none() {
            // Diagnostics without a place are specific to one program.
            continue;
        }
        if kind == "diagnostic" {
            line =
                json!({ "severity": line["@level"], "at": line["diagnostic"]["range"]["start"] });
        }
        if line["hook"].get("id_value").is_some() {
            line["hook"]["id_value"] = json!("ID");
        }
        if line["outputs"]["id"].get("value").is_some() {
            line["outputs"]["id"]["value"] = json!("ID");
        }
        if line["hook"].get("elapsed_seconds").is_some() {
            line["hook"]["elapsed_seconds"] = json!(0);
        }
        let words = line["@message"].as_str().unwrap_or_default();
        let words = words.split(" [id=").next().unwrap_or_default();
        let words = words.split(" after ").next().unwrap_or_default().to_owned();
        line["@message"] = words.into();
        *all.entry(line.to_string()).or_default() += 1;
    }
    all
}

#[test]
fn lines_match_those_of_tofu() {
    let Some(tofu) = tofu("the_lines_are_those_that_tofu_writes") else {
        return;
    };
    let (theirs, ours) = (workspace(), workspace());
    run_tofu(&tofu, &theirs, None, &["init"]).expect(0);
    let steps: [(&str, &[&str]); 8] = [
        (ALL, &["plan", "-json"]),
        (ALL, &["apply", "-json", "-auto-approve"]),
        (ALL, &["apply", "-json", "-auto-approve", "-var=size=2"]),
        (ALL, &["refresh", "-json"]),
        (NEXT, &["plan", "-json", "-out=p"]),
        (NEXT, &["apply", "-json", "p"]),
        (NEXT, &["plan", "-json", "-refresh-only"]),
        (NEXT, &["destroy", "-json", "-auto-approve"]),
    ];
    for (text, words) in steps {
        for w in [&theirs, &ours] {
            w.write("main.tf", text);
        }
        let want = line_counts(&run_tofu(&tofu, &theirs, None, words).expect(0));
        let got = line_counts(&run_in_tofu_format(&ours, words).expect(0));
        let missing: Vec<_> = want.iter().filter(|l| got.get(l.0) != Some(l.1)).collect();
        let more: Vec<_> = got.iter().filter(|l| want.get(l.0) != Some(l.1)).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{words:?}\ntofu's alone: {missing:#?}\nours alone: {more:#?}"
        );
    }
}
