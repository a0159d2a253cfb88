//! Errors in override files have their place there. Errors of the overridden block are reported
//! too, even of arguments that the override replaces.

use super::{Case, Verdict::*, assert_verdicts};

const CHILD: (&str, &str) = ("m/main.tf", "variable \"x\" { default = 1 }\n");

/// Case of a normal file, an override file and the places of the errors.
macro_rules! refused {
    ($name:literal, $base:literal, $over:literal, $places:expr) => {
        Case {
            name: $name,
            files: &[("main.tf", $base), ("override.tf", $over), CHILD],
            verdict: Refused($places),
        }
    };
}

#[test]
fn variable_errors_are_reported_in_the_block_that_has_them() {
    assert_verdicts(&[
        refused!(
            "an empty deprecation",
            "variable \"v\" { default = \"x\" }\n",
            "\nvariable \"v\" {\n  deprecated = \"\"\n}\n",
            &[("override.tf", 2)]
        ),
        refused!(
            "a default value of another type than the override has",
            "variable \"v\" { default = \"x\" }\n",
            "variable \"v\" {\n  type = number\n\n  default = \"y\"\n}\n",
            &[("override.tf", 4)]
        ),
        refused!(
            "a default value of another type than the normal file has",
            "variable \"v\" {\n  type = number\n}\n",
            "variable \"v\" {\n  default = \"y\"\n}\n",
            &[("override.tf", 1)]
        ),
        refused!(
            "a null default value without nullable",
            "variable \"v\" { default = \"x\" }\n",
            "variable \"v\" {\n  nullable = false\n  default  = null\n}\n",
            &[("override.tf", 1), ("override.tf", 3)]
        ),
        refused!(
            "a first override that the second one replaces",
            "variable \"v\" { default = \"x\" }\n",
            "variable \"v\" {\n  default = foo.bar\n}\nvariable \"v\" {\n  default = \"y\"\n}\n",
            &[("override.tf", 2)]
        ),
        refused!(
            "a first override that only the second one makes fit",
            "variable \"v\" { default = \"x\" }\n",
            "variable \"v\" {\n  type = number\n}\nvariable \"v\" {\n  default = 1\n}\n",
            &[("override.tf", 1)]
        ),
        refused!(
            "what the override replaces",
            "variable \"v\" {\n  default = foo.bar\n}\n",
            "variable \"v\" {\n  default = \"y\"\n}\n",
            &[("main.tf", 2)]
        ),
        refused!(
            "a validation",
            "variable \"v\" { default = \"x\" }\n",
            "variable \"v\" {\n  validation {\n    condition = foo\n  }\n}\n",
            &[("override.tf", 2)]
        ),
        Case {
            name: "JSON",
            files: &[
                ("main.tf", "variable \"v\" { default = \"x\" }\n"),
                (
                    "override.tf.json",
                    "{\n  \"variable\": {\n    \"v\": {\"deprecated\": \"\"}\n  }\n}\n",
                ),
            ],
            verdict: Refused(&[("override.tf.json", 3)]),
        },
    ]);
}

#[test]
fn errors_of_other_blocks_are_reported_in_the_block_that_has_them() {
    assert_verdicts(&[
        refused!(
            "an output",
            "output \"o\" {\n  value     = 1\n  sensitive = \"q\"\n}\n",
            "output \"o\" {\n  sensitive = true\n}\n",
            &[("main.tf", 3)]
        ),
        refused!(
            "a precondition of an output",
            "output \"o\" { value = 1 }\n",
            "output \"o\" {\n  precondition {\n    condition = true\n  }\n}\n",
            &[("override.tf", 2)]
        ),
        refused!(
            "two lifecycle blocks",
            "resource \"terraform_data\" \"a\" {}\n",
            "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    create_before_destroy = true\n  }\n  lifecycle {}\n}\n",
            &[("override.tf", 5)]
        ),
        refused!(
            "a lifecycle argument that the override replaces",
            "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    create_before_destroy = \"q\"\n  }\n}\n",
            "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n",
            &[("main.tf", 3)]
        ),
        refused!(
            "count beside enabled",
            "resource \"terraform_data\" \"a\" {}\n",
            "resource \"terraform_data\" \"a\" {\n  count = 1\n  lifecycle {\n    enabled = true\n  }\n}\n",
            &[("override.tf", 2)]
        ),
        refused!(
            "an argument of the lifecycle of a call",
            "module \"m\" {\n  source = \"./m\"\n}\n",
            "module \"m\" {\n  lifecycle {\n    foo = 1\n  }\n}\n",
            &[("override.tf", 3)]
        ),
        refused!(
            "count beside enabled of a call",
            "module \"m\" {\n  source = \"./m\"\n}\n",
            "module \"m\" {\n  count = 1\n  lifecycle {\n    enabled = true\n  }\n}\n",
            &[("override.tf", 2)]
        ),
    ]);
}

#[test]
fn arguments_that_cannot_be_overridden_are_warnings() {
    assert_verdicts(&[
        Case {
            name: "lifecycle arguments of a resource",
            files: &[
                (
                    "main.tf",
                    "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n",
                ),
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    enabled              = false\n    replace_triggered_by = [terraform_data.b]\n  }\n}\n",
                ),
            ],
            verdict: Warned(&[("override.tf", 3), ("override.tf", 4)]),
        },
        Case {
            name: "for_each beside the count of the normal file",
            files: &[
                (
                    "main.tf",
                    "resource \"terraform_data\" \"a\" {\n  count = 1\n}\n",
                ),
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  for_each = toset([\"k\"])\n}\n",
                ),
            ],
            verdict: Warned(&[("override.tf", 2)]),
        },
        Case {
            name: "enabled of a call",
            files: &[
                ("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
                (
                    "override.tf",
                    "module \"m\" {\n  lifecycle {\n    enabled = false\n  }\n}\n",
                ),
                CHILD,
            ],
            verdict: Warned(&[("override.tf", 3)]),
        },
        Case {
            name: "nothing of what it can change",
            files: &[
                (
                    "main.tf",
                    "resource \"terraform_data\" \"a\" {\n  for_each = toset([\"k\"])\n}\n",
                ),
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  for_each = toset([\"l\"])\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n",
                ),
            ],
            verdict: Warned(&[]),
        },
    ]);
}
