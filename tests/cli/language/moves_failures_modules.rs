//! Rules of OpenTofu that only show with moves, with failures, or across modules.

use super::{Case, Verdict::*, assert_verdicts};
use crate::support::Workspace;
use serde_json::Value;

fn state(w: &Workspace) -> (Vec<String>, Value) {
    let all: Value = serde_json::from_str(&w.run(&["state", "export"]).expect(0).stdout).unwrap();
    let resources = all["resources"].as_array().unwrap().iter();
    let instances = resources.flat_map(|r| {
        r["instances"]
            .as_array()
            .unwrap()
            .iter()
            .map(move |i| (r, i))
    });
    let mut names: Vec<String> = instances
        .map(|(r, i)| {
            format!(
                "{}{}",
                r["name"].as_str().unwrap(),
                i["index_key"].as_str().unwrap_or_default()
            )
        })
        .collect();
    names.sort();
    (names, all["outputs"].clone())
}

#[test]
fn failed_instance_only_blocks_its_dependents() {
    let w = Workspace::new(&[(
        "main.tf",
        r#"
        resource "terraform_data" "a" {
          for_each = toset(["x", "y"])
          provisioner "local-exec" { command = "test ${each.key} = x" }
        }
        locals { x = terraform_data.a["x"].id }
        resource "terraform_data" "named" { input = terraform_data.a["x"].id }
        resource "terraform_data" "local" { input = local.x }
        resource "terraform_data" "waits" { depends_on = [terraform_data.a["x"]] }
        resource "terraform_data" "other" { input = terraform_data.a["y"].id }
        resource "terraform_data" "both" { input = [terraform_data.a["x"].id, terraform_data.a["y"].id] }
        resource "terraform_data" "whole" { input = length(terraform_data.a) }
        resource "terraform_data" "computed" { input = terraform_data.a[upper("X") == "X" ? "x" : "y"].id }
        "#,
    )]);
    w.run(&["deploy", "--auto-approve", "--json"]).expect(5);
    assert_eq!(state(&w).0, ["ax", "ay", "local", "named", "waits"]);
    // Other instances of the resource are usable, although one instance failed.
    let again = w
        .run(&["stage", "--json", "--plan-json", "plan.json"])
        .expect(0);
    assert_eq!(again.result()["changes"]["no_op"], 4, "{again:?}");
}

#[test]
fn output_known_while_staging_is_kept_despite_failures() {
    let w = Workspace::new(&[(
        "main.tf",
        r#"
        resource "terraform_data" "a" {
          input = "text"
          provisioner "local-exec" { command = "false" }
        }
        output "known" { value = terraform_data.a.input }
        output "unknown" { value = terraform_data.a.id }
        "#,
    )]);
    w.run(&["deploy", "--auto-approve", "--json"]).expect(5);
    let outputs = state(&w).1;
    assert_eq!(outputs["known"]["value"], "text");
    assert!(outputs["unknown"].is_null(), "{outputs}");
}

#[test]
fn provider_functions_require_required_providers() {
    assert_verdicts(&[
        Case {
            name: "told alone, even where it is not evaluated",
            files: &[(
                "main.tf",
                "output \"a\" {\n  value = try(provider::terraform::encode_expr(1), 2)\n}\noutput \"b\" {\n  value = tonumber(\"x\")\n}\nresource \"terraform_data\" \"c\" {\n  input = provider::nope::f()\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2), ("main.tf", 8)]),
        },
        Case {
            name: "in each module for itself",
            files: &[
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    mine = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nmodule \"m\" { source = \"./m\" }\noutput \"a\" { value = provider::mine::encode_expr(1) }\n",
                ),
                (
                    "m/main.tf",
                    "output \"a\" { value = provider::mine::encode_expr(1) }\n",
                ),
            ],
            verdict: Refused(&[("m/main.tf", 1)]),
        },
        Case {
            name: "required",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    mine = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\noutput \"a\" { value = provider::mine::encode_expr([1]) }\n",
            )],
            verdict: Outputs(&[("a", "\"[1]\"")]),
        },
    ]);
}

/// `validate` cannot know the functions of a configured provider. For the plan an unknown function
/// is an error that `can` does not suppress.
#[test]
fn unknown_provider_function_is_reported_by_the_plan_even_inside_can() {
    const LAB: &str = "terraform {\n  required_providers {\n    lab   = { source = \"flightdeck.internal/bundled/lab\" }\n    other = {}\n  }\n}\n";
    let case = |name, text: &'static str, line| (name, format!("{LAB}{text}"), line);
    let cases = [
        case(
            "in an output",
            "output \"a\" { value = provider::lab::nothing(1) }\n",
            7,
        ),
        case(
            "where can would swallow it",
            "output \"a\" { value = can(provider::lab::nothing(1)) }\n",
            7,
        ),
        case(
            "in a validation",
            "variable \"v\" {\n  default = \"x\"\n  validation {\n    condition     = can(provider::lab::nothing(var.v))\n    error_message = \"no\"\n  }\n}\n",
            10,
        ),
    ];
    for (name, text, line) in cases {
        let w =
            crate::support::Workspace::new(&[("main.tf", &text.replace("    other = {}\n", "\n"))]);
        w.run(&["validate"]).expect(0);
        let run = w.run(&["stage", "--json"]).expect(1);
        let all = run.diagnostics();
        assert_eq!(
            (all.len(), &all[0]["range"]["start"]["line"]),
            (1, &serde_json::Value::from(line)),
            "{name}: {all:?}"
        );
    }
}
