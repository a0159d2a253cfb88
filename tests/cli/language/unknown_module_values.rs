//! `validate` treats all inputs and outputs of modules as unknown values.

use super::{Case, Verdict::*, assert_verdicts};

/// Call of the module in `m`.
const CALL: &str = "module \"m\" {\n  source = \"./m\"\n}\n";

#[test]
fn module_is_valid_for_all_inputs() {
    assert_verdicts(&[
        Case {
            name: "an object that is null and is not looked into",
            files: &[
                ("main.tf", CALL),
                (
                    "m/main.tf",
                    r#"
                    variable "options" {
                      type    = object({ prefix = string })
                      default = null
                    }
                    resource "terraform_data" "a" {
                      count = var.options != null ? 1 : 0
                      input = var.options.prefix
                    }
                    "#,
                ),
            ],
            verdict: Staged(&[]),
        },
        Case {
            name: "a text made of null that nobody makes",
            files: &[
                ("main.tf", CALL),
                (
                    "m/main.tf",
                    r#"
                    variable "x" { default = null }
                    resource "terraform_data" "a" {
                      count = var.x == null ? 0 : 1
                      input = "a-${var.x}"
                    }
                    "#,
                ),
            ],
            verdict: Staged(&[]),
        },
        Case {
            name: "the first of nothing, in an index, a call and a file's name",
            files: &[
                ("main.tf", CALL),
                (
                    "m/main.tf",
                    r#"
                    variable "x" {
                      type    = list(string)
                      default = []
                    }
                    resource "terraform_data" "a" {
                      count = length(var.x)
                      input = [var.x[0], element(var.x, 0), file("${var.x[0]}.txt")]
                    }
                    "#,
                ),
            ],
            verdict: Staged(&[]),
        },
        Case {
            name: "null given by the call",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n  x = null\n}\n",
                ),
                (
                    "m/main.tf",
                    r#"
                    variable "x" { type = string }
                    resource "terraform_data" "a" {
                      count = var.x == null ? 0 : 1
                      input = "a-${var.x}"
                    }
                    "#,
                ),
            ],
            verdict: Staged(&[]),
        },
        Case {
            name: "what a call gives is checked as it is",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n  x = \"bad\"\n}\n",
                ),
                (
                    "m/main.tf",
                    "variable \"x\" {\n  validation {\n    condition     = var.x == \"good\"\n    error_message = \"no\"\n  }\n}\n",
                ),
            ],
            verdict: Refused(&[("main.tf", 3)]),
        },
    ]);
}

#[test]
fn module_outputs_have_an_unknown_type() {
    const ARN: (&str, &str) = ("m/main.tf", "output \"arn\" {\n  value = \"x\"\n}\n");
    assert_verdicts(&[
        Case {
            name: "a text taken for a list where nothing is",
            files: &[
                (
                    "main.tf",
                    r#"
                    module "m" { source = "./m" }
                    resource "terraform_data" "a" {
                      count = 0
                      input = [for v in module.m.arn : v]
                    }
                    "#,
                ),
                ARN,
            ],
            verdict: Staged(&[]),
        },
        Case {
            name: "an output that is not there, asked for in try and in a branch not taken",
            files: &[
                (
                    "main.tf",
                    r#"
                    module "m" { source = "./m" }
                    output "tried" { value = try(module.m.nope, "d") }
                    output "untaken" { value = true ? 1 : module.m.nope }
                    "#,
                ),
                ARN,
            ],
            verdict: Outputs(&[("tried", "\"d\""), ("untaken", "1")]),
        },
        Case {
            name: "instances in a splat, a for and behind a condition",
            files: &[
                (
                    "main.tf",
                    r#"
                    module "m" {
                      source = "./m"
                      count  = 1
                    }
                    module "n" {
                      source   = "./m"
                      for_each = toset(["a"])
                    }
                    output "a" { value = module.m[*].arn }
                    output "b" { value = { for k, v in module.m : k => v.arn } }
                    output "c" { value = length(module.m) > 0 ? module.m[0].arn : null }
                    output "d" { value = module.n["a"].arn }
                    output "e" { value = values(module.n)[*].arn }
                    "#,
                ),
                ARN,
            ],
            verdict: Outputs(&[
                ("a", "[\"x\"]"),
                ("b", "{\"0\":\"x\"}"),
                ("c", "\"x\""),
                ("d", "\"x\""),
                ("e", "[\"x\"]"),
            ]),
        },
        Case {
            name: "an output of all instances at once",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n  count  = 1\n}\noutput \"a\" {\n  value = module.m.arn\n}\n",
                ),
                ARN,
            ],
            verdict: Refused(&[("main.tf", 6)]),
        },
        Case {
            name: "an attribute of a text",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n}\noutput \"a\" {\n  value = module.m.arn.foo\n}\n",
                ),
                ARN,
            ],
            verdict: Refused(&[("main.tf", 5)]),
        },
    ]);
}
