//! Rules found by random changes of recorded configurations, each compared with OpenTofu.

use super::{Case, Verdict::*, assert_verdicts};
use crate::support::Workspace;

#[test]
fn unexpected_content_of_an_overridden_block_is_a_warning() {
    const BASE: &str = "resource \"terraform_data\" \"a\" {\n  input = 1\n  nonsense = 1\n}\nmodule \"m\" {\n  source = \"./m\"\n}\n";
    let w = Workspace::new(&[
        ("main.tf", BASE),
        (
            "override.tf",
            "resource \"terraform_data\" \"a\" {\n  input = 2\n}\nmodule \"m\" {\n  other = 1\n}\n",
        ),
        ("m/main.tf", ""),
    ]);
    let run = w.run(&["stage", "--json"]).expect(0);
    let all = run.diagnostics();
    let mut places: Vec<_> = all
        .iter()
        .map(|d| {
            assert_eq!(d["severity"], "warning", "{d}");
            let range = &d["range"];
            (
                range["filename"].to_string(),
                range["start"]["line"].to_string(),
            )
        })
        .collect();
    places.sort();
    let place = |file: &str, line: &str| (format!("\"{file}\""), line.to_owned());
    assert_eq!(places, [place("main.tf", "3"), place("override.tf", "5")]);
    // Without the override file the configuration is invalid.
    std::fs::remove_file(w.path().join("override.tf")).unwrap();
    w.run(&["stage"]).expect(1);
}

#[test]
fn overridden_and_overriding_blocks_must_each_be_valid() {
    assert_verdicts(&[
        Case {
            name: "what replaces nothing, and is no list",
            files: &[
                ("main.tf", "resource \"terraform_data\" \"a\" {}\n"),
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    replace_triggered_by = local.a\n  }\n}\n",
                ),
            ],
            verdict: Invalid(&[("override.tf", 3)]),
        },
        Case {
            name: "a flag that is replaced",
            files: &[
                (
                    "main.tf",
                    "variable \"v\" {\n  default   = \"v\"\n  ephemeral = terraform_data.a\n}\n",
                ),
                ("override.tf", "variable \"v\" {\n  ephemeral = false\n}\n"),
            ],
            verdict: Invalid(&[("main.tf", 3)]),
        },
        Case {
            name: "an argument that no variable has",
            files: &[
                (
                    "main.tf",
                    "variable \"v\" {\n  default = \"v\"\n  count   = 0\n}\n",
                ),
                ("override.tf", "variable \"v\" {\n  ephemeral = false\n}\n"),
            ],
            verdict: Invalid(&[("main.tf", 3)]),
        },
        Case {
            name: "an argument that no lifecycle block has",
            files: &[
                (
                    "main.tf",
                    "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n",
                ),
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    input = 1\n  }\n}\n",
                ),
            ],
            verdict: Invalid(&[("override.tf", 3)]),
        },
    ]);
}

#[test]
fn root_errors_are_reported_before_modules_are_loaded() {
    assert_verdicts(&[
        Case {
            name: "two of a name in both",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n}\noutput \"a\" { value = 1 }\noutput \"a\" { value = 1 }\n",
                ),
                (
                    "m/main.tf",
                    "output \"x\" { value = 1 }\noutput \"x\" { value = 1 }\n",
                ),
            ],
            verdict: Invalid(&[("main.tf", 5)]),
        },
        Case {
            name: "a version without a source",
            files: &[("main.tf", "module \"m\" {\n  version = \"newest\"\n}\n")],
            verdict: Invalid(&[("main.tf", 1), ("main.tf", 2)]),
        },
        Case {
            name: "two circles",
            files: &[(
                "main.tf",
                "locals {\n  a = local.b\n  b = local.a\n}\nresource \"terraform_data\" \"c\" {\n  input = terraform_data.d.id\n}\nresource \"terraform_data\" \"d\" {\n  input = terraform_data.c.id\n}\n",
            )],
            verdict: Invalid(&[("main.tf", 2), ("main.tf", 5)]),
        },
    ]);
}

#[test]
fn error_message_is_checked_even_if_the_condition_is_invalid() {
    assert_verdicts(&[Case {
        name: "a precondition",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    precondition {\n      condition     = self.id != \"\"\n      error_message = \"x.\" + 1\n    }\n  }\n}\n",
        )],
        verdict: Invalid(&[("main.tf", 4), ("main.tf", 5)]),
    }]);
}

#[test]
fn error_that_depends_on_a_value_is_reported_by_the_plan() {
    assert_verdicts(&[
        Case {
            name: "whether it is there at all",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    enabled = keys(true)\n  }\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 3)]),
        },
        Case {
            name: "what it is repeated over",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  for_each = sensitive({ a = 1 })[0]\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 2)]),
        },
        Case {
            name: "what a file says of a variable",
            files: &[
                (
                    "main.tf",
                    "variable \"a\" {}\noutput \"o\" { value = var.a }\n",
                ),
                ("terraform.tfvars", "a = max(1, 2)\n"),
            ],
            verdict: OnlyValid(&[("main.tf", 1), ("terraform.tfvars", 1)]),
        },
        Case {
            name: "an object that is read as one to import",
            files: &[(
                "main.tf",
                "data \"terraform_remote_state\" \"a\" {\n  backend = \"local\"\n}\nimport {\n  to = data.terraform_remote_state.a\n  id = \"a\"\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 4)]),
        },
        Case {
            name: "whether an object is destroyed or forgotten",
            files: &[(
                "main.tf",
                r#"variable "k" { default = true }
resource "terraform_data" "named" {
  lifecycle { destroy = var.k }
}
resource "terraform_data" "null" {
  lifecycle { destroy = null }
}
resource "terraform_data" "text" {
  lifecycle { destroy = "false" }
}
resource "terraform_data" "nobody" {
  count = 0
  lifecycle { destroy = upper("false") }
}
resource "terraform_data" "computed" {
  lifecycle { destroy = !(1 == 2) }
}
"#,
            )],
            verdict: OnlyValid(&[("main.tf", 3), ("main.tf", 6), ("main.tf", 9)]),
        },
        Case {
            name: "but no fault of syntax in it",
            files: &[
                ("main.tf", "variable \"a\" {}\n"),
                ("terraform.tfvars", "a = 1\nb = = 1\n"),
            ],
            verdict: Invalid(&[("terraform.tfvars", 2)]),
        },
    ]);
}

/// `input` has no fixed type: its value is an object, whose keys `ignore_changes` does not compare
/// one by one.
#[test]
fn ignore_changes_with_a_key_of_an_object_ignores_all_of_it() {
    let text = |input: &str| {
        format!(
            "resource \"terraform_data\" \"a\" {{\n  input = {input}\n  lifecycle {{\n    ignore_changes = [input[\"k\"]]\n  }}\n}}\n"
        )
    };
    let w = Workspace::new(&[("main.tf", &text("{ k = 1, l = 1 }"))]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("main.tf", &text("{ k = 2, l = 2 }"));
    let run = w.run(&["stage"]).expect(0);
    assert!(run.stdout.contains("no changes"), "{}", run.stdout);
}

/// A reference to an instance that does not exist triggers no replacement and adds no dependency.
#[test]
fn key_of_a_resource_without_instances_triggers_nothing() {
    const A: (&str, &str) = ("a.tf", "resource \"terraform_data\" \"a\" {}\n");
    assert_verdicts(&[
        Case {
            name: "in replace_triggered_by",
            files: &[
                A,
                (
                    "main.tf",
                    "resource \"terraform_data\" \"b\" {\n  lifecycle {\n    replace_triggered_by = [terraform_data.a[0]]\n  }\n}\n",
                ),
            ],
            // Only the plan knows that the instance is missing.
            verdict: OnlyValid(&[("", 0)]),
        },
        Case {
            name: "in depends_on",
            files: &[
                A,
                (
                    "main.tf",
                    "resource \"terraform_data\" \"b\" {\n  depends_on = [terraform_data.a[0]]\n}\n",
                ),
            ],
            verdict: Invalid(&[("main.tf", 2)]),
        },
        Case {
            name: "in depends_on of an output",
            files: &[
                A,
                (
                    "main.tf",
                    "output \"o\" {\n  value      = 1\n  depends_on = [terraform_data.a[0]]\n}\n",
                ),
            ],
            verdict: Invalid(&[("main.tf", 3)]),
        },
    ]);
}

#[test]
fn infinite_output_is_refused_before_the_deploy() {
    assert_verdicts(&[
        Case {
            name: "infinite",
            files: &[("main.tf", "output \"o\" {\n  value = 1 / 0\n}\n")],
            verdict: OnlyValid(&[("main.tf", 1)]),
        },
        Case {
            name: "infinite somewhere inside",
            files: &[(
                "main.tf",
                "output \"o\" {\n  value = { a = [pow(0, -1)] }\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 1)]),
        },
        Case {
            name: "of a local value that nobody keeps",
            files: &[(
                "main.tf",
                "locals {\n  a = 1 / 0\n}\noutput \"o\" {\n  value = local.a > 1\n}\n",
            )],
            verdict: Outputs(&[("o", "true")]),
        },
    ]);
}

#[test]
fn function_convert_does_not_exist() {
    assert_verdicts(&[Case {
        name: "convert",
        files: &[(
            "main.tf",
            "output \"o\" {\n  value = convert(\"1\", \"x\")\n}\n",
        )],
        verdict: Invalid(&[("main.tf", 2)]),
    }]);
}
