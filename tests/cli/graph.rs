//! Tests of `flightdeck graph`, which prints dependencies in the DOT language.

use crate::install::{run_tofu, tofu};
use crate::support::Workspace;

const MAIN: &str = r#"
variable "a" { default = 1 }
variable "unused" { default = 1 }
locals {
  l = var.a
  u = 1
}
resource "terraform_data" "a" { input = local.l }
resource "terraform_data" "b" {
  count = 2
  input = terraform_data.a.output
}
data "terraform_remote_state" "r" {
  count   = 0
  backend = "local"
}
module "m" {
  source = "./m"
  x      = terraform_data.b[0].id
}
output "o" { value = module.m.y }
output "l" { value = data.terraform_remote_state.r }
check "c" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "no"
  }
}
"#;

const INNER: &str = r#"
variable "x" {}
locals { z = var.x }
resource "terraform_data" "c" {
  input      = local.z
  depends_on = [terraform_data.d]
}
resource "terraform_data" "d" {}
module "n" {
  source   = "../n"
  for_each = toset(["k"])
  w        = terraform_data.d.id
}
output "y" { value = terraform_data.c.id }
"#;

const INMOST: &str = "variable \"w\" {}\nresource \"terraform_data\" \"e\" {\n  input = var.w\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n";

fn workspace() -> Workspace {
    let gone = "resource \"terraform_data\" \"gone\" {\n  input = terraform_data.b[0].id\n}\n";
    Workspace::new(&[
        ("main.tf", MAIN),
        ("gone.tf", gone),
        ("m/main.tf", INNER),
        ("n/main.tf", INMOST),
    ])
}

/// Changes the configuration: objects are destroyed, created and replaced.
fn change(w: &Workspace) {
    w.write("gone.tf", "");
    let main = MAIN.replace("count = 2", "count = 1");
    w.write("main.tf", &main.replace("= local.l", "= \"y${local.l}\""));
    let inmost = INMOST.replace("var.w", "var.w\n  triggers_replace = 1");
    w.write("n/main.tf", &inmost);
}

#[test]
fn plan_graph_is_printed_without_a_state() {
    let text = workspace().run(&["graph"]).expect(0).stdout;
    assert!(text.starts_with("digraph {\n"), "{text}");
    for line in [
        "\"[root] terraform_data.a (expand)\" [label = \"terraform_data.a\", shape = \"box\"]",
        "\"[root] terraform_data.b (expand)\" -> \"[root] terraform_data.a (expand)\"",
        "\"[root] module.m (close)\" -> \"[root] module.m.module.n (close)\"",
        "\"[root] provider[\\\"terraform.io/builtin/terraform\\\"]\" [label = \"provider[\\\"terraform.io/builtin/terraform\\\"]\", shape = \"diamond\"]",
        "\"[root] root\" -> \"[root] var.unused (expand, reference)\"",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // An edge that other edges imply is omitted.
    assert!(
        !text.contains("\"[root] terraform_data.b (expand)\" -> \"[root] provider"),
        "{text}"
    );
}

#[test]
fn apply_graph_is_printed_from_a_plan_file() {
    let w = workspace();
    w.run(&["apply", "-auto-approve"]).expect(0);
    change(&w);
    w.run(&["plan", "-out=p"]).expect(0);
    let text = w.run(&["graph", "-plan=p"]).expect(0).stdout;
    for line in [
        "\"[root] terraform_data.a\" -> \"[root] terraform_data.a (expand)\"",
        "\"[root] terraform_data.a\" -> \"[root] terraform_data.b[1] (destroy)\"",
        "\"[root] terraform_data.b[1] (destroy)\" -> \"[root] terraform_data.gone (destroy)\"",
        "\"[root] module.m.output.y (expand)\" -> \"[root] module.m.terraform_data.c (expand)\"",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for (wrong, why) in [
        (
            vec!["-type=plan", "-plan=p"],
            "a plan file contains only the apply graph",
        ),
        (vec!["-plan=none"], "plan --out"),
    ] {
        let run = w.run(&[vec!["graph"], wrong].concat()).expect(1);
        assert!(run.stderr.contains(why), "{run:?}");
    }
}

#[test]
fn graphs_match_those_of_tofu() {
    let Some(tofu) = tofu("graphs are those that tofu draws") else {
        return;
    };
    let (ours, theirs) = (workspace(), workspace());
    run_tofu(&tofu, &theirs, None, &["get"]).expect(0);
    let both = |args: &[&str]| {
        let drawn = ours.run(args).expect(0).stdout;
        let by_tofu = run_tofu(&tofu, &theirs, None, args).expect(0).stdout;
        assert_eq!(drawn, by_tofu, "{args:?}");
    };
    both(&["graph"]);
    both(&["graph", "-type=plan-destroy"]);
    both(&["graph", "-type=apply"]);
    ours.run(&["apply", "-auto-approve"]).expect(0);
    run_tofu(&tofu, &theirs, None, &["apply", "-auto-approve"]).expect(0);
    both(&["graph", "-type=plan-destroy"]);
    both(&["graph", "-type=apply"]);
    change(&ours);
    change(&theirs);
    both(&["graph"]);
}

#[test]
fn apply_graph_without_a_plan_has_no_changes() {
    let w = workspace();
    let text = w.run(&["graph", "-type=apply"]).expect(0).stdout;
    // The check refers to `terraform_data.a`; only a root output refers to the module's resource.
    assert!(
        text.contains("\"[root] terraform_data.a (expand)\" [label"),
        "{text}"
    );
    assert!(!text.contains("data.terraform_remote_state.r"), "{text}");
    assert!(!text.contains("(report)"), "{text}");
}
