//! Edge cases that change a plan: numbers, patterns, comparisons, messages, JSON.

use super::{Case, Verdict::*, assert_verdicts};

#[test]
fn functions_return_known_results_for_edge_cases() {
    assert_verdicts(&[
        Case {
            name: "numbers from text, and ranges without a step",
            files: &[(
                "main.tf",
                r#"
                output "powers" { value = [tonumber("1p3"), tonumber("-3P-1"), can(tonumber("1p3e1"))] }
                output "range" { value = [range(1, 1, 0), can(range(1, 5, 0))] }
                "#,
            )],
            verdict: Outputs(&[("powers", "[8, -1.5, false]"), ("range", "[[], false]")]),
        },
        Case {
            name: "patterns with braces in their escapes",
            files: &[(
                "main.tf",
                r#"
                output "code" { value = regex("\\x{e9}", "é") }
                output "class" { value = regexall("\\P{Decimal_Number}", "1a2b") }
                "#,
            )],
            verdict: Outputs(&[("code", "\"é\""), ("class", "[\"a\", \"b\"]")]),
        },
        Case {
            name: "a pattern of a class that there is not",
            files: &[(
                "main.tf",
                "output \"o\" {\n  value = regex(\"\\\\p{Nonsense}\", \"x\")\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
        Case {
            name: "lists compared up to what is not known",
            files: &[(
                "main.tf",
                r#"
                resource "terraform_data" "r" { input = "x" }
                output "decided" { value = ["a", terraform_data.r.output] == ["b", "x"] }
                output "open" { value = coalesce([terraform_data.r.output, 1] == [terraform_data.r.output, 2], true) }
                "#,
            )],
            verdict: Outputs(&[("decided", "false"), ("open", "null")]),
        },
    ]);
}

#[test]
fn json_text_is_a_template_only_where_it_is_evaluated() {
    assert_verdicts(&[
        Case {
            name: "a description",
            files: &[(
                "main.tf.json",
                "{\"output\": {\"v\": {\"value\": \"${1 + 1}\", \"description\": \"${not a template}\"}}}\n",
            )],
            verdict: Outputs(&[("v", "2")]),
        },
        Case {
            name: "a value",
            files: &[(
                "main.tf.json",
                "{\"output\": {\"v\": {\n\"value\": \"${not a template}\"}}}\n",
            )],
            verdict: Refused(&[("main.tf.json", 2)]),
        },
    ]);
}

#[test]
fn error_message_is_always_checked() {
    assert_verdicts(&[
        Case {
            name: "of a condition that is met",
            files: &[(
                "main.tf",
                "locals {\n  o = {}\n}\nresource \"terraform_data\" \"a\" {\n  lifecycle {\n    precondition {\n      condition     = length(local.o) == 0\n      error_message = \"not ${local.o.x}\"\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 8)]),
        },
        Case {
            name: "with a secret in it, beside what it is about",
            files: &[(
                "main.tf",
                "variable \"s\" {\n  sensitive = true\n  default   = \"hidden\"\n  validation {\n    condition     = length(var.s) > 10\n    error_message = \"Bad: ${var.s}.\"\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 1), ("main.tf", 6)]),
        },
    ]);
}

#[test]
fn settings_of_other_engines_are_ignored() {
    assert_verdicts(&[Case {
        name: "experiments and a language",
        files: &[(
            "main.tf",
            "terraform {\n  experiments = [something_new]\n  language    = TF2021\n}\noutput \"o\" { value = 1 }\n",
        )],
        verdict: Outputs(&[("o", "1")]),
    }]);
}
