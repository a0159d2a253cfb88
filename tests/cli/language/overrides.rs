//! Arguments that an override file changes, and those that stay.

use super::{Case, Verdict::*, assert_verdicts};

const CHILD: (&str, &str) = ("m/main.tf", "resource \"terraform_data\" \"a\" {}\n");
const PLAIN: (&str, &str) = ("main.tf", "resource \"terraform_data\" \"a\" {}\n");

#[test]
fn override_keeps_the_repetition_argument() {
    assert_verdicts(&[
        Case {
            name: "count stays in force beside for_each",
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
            verdict: Staged(&[("terraform_data.a[0]", "create", "")]),
        },
        Case {
            name: "count comes into force beside for_each",
            files: &[
                (
                    "main.tf",
                    "resource \"terraform_data\" \"a\" {\n  for_each = toset([\"k\"])\n}\n",
                ),
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  count = 1\n}\n",
                ),
            ],
            verdict: Staged(&[("terraform_data.a[0]", "create", "")]),
        },
        Case {
            name: "both in one file",
            files: &[
                PLAIN,
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  count    = 2\n  for_each = {}\n}\n",
                ),
            ],
            verdict: Refused(&[("override.tf", 2)]),
        },
        Case {
            name: "count of a call beside for_each",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n  count  = 1\n}\n",
                ),
                (
                    "override.tf",
                    "module \"m\" {\n  for_each = toset([\"k\"])\n}\n",
                ),
                CHILD,
            ],
            verdict: Staged(&[("module.m[0].terraform_data.a", "create", "")]),
        },
        Case {
            name: "enabled of a resource and of a call",
            files: &[
                (
                    "main.tf",
                    "resource \"terraform_data\" \"a\" {}\nmodule \"m\" {\n  source = \"./m\"\n}\n",
                ),
                (
                    "override.tf",
                    "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    enabled = false\n  }\n}\nmodule \"m\" {\n  lifecycle {\n    enabled = false\n  }\n}\n",
                ),
                CHILD,
            ],
            verdict: Staged(&[
                ("terraform_data.a", "create", ""),
                ("module.m.terraform_data.a", "create", ""),
            ]),
        },
    ]);
}

#[test]
fn default_of_an_overridden_type_is_that_of_the_normal_file() {
    const OVER: (&str, &str) = (
        "override.tf",
        "variable \"o\" {\n  type = object({ a = optional(string, \"over\"), b = optional(number, 5) })\n}\n",
    );
    const GIVEN: (&str, &str) = ("terraform.tfvars", "o = {}\n");
    assert_verdicts(&[
        Case {
            name: "of an object",
            files: &[
                (
                    "main.tf",
                    "variable \"o\" {\n  type    = object({ a = optional(string, \"base\") })\n  default = {}\n}\noutput \"o\" { value = var.o }\n",
                ),
                OVER,
                GIVEN,
            ],
            verdict: Outputs(&[("o", "{\"a\":\"base\",\"b\":null}")]),
        },
        Case {
            name: "of no type at all",
            files: &[
                (
                    "main.tf",
                    "variable \"o\" {\n  default = {}\n}\noutput \"o\" { value = var.o }\n",
                ),
                OVER,
                GIVEN,
            ],
            verdict: Outputs(&[("o", "{\"a\":null,\"b\":null}")]),
        },
    ]);
}

/// Configuration of a network with subnets from this text, in the normal file and in the override.
macro_rules! subnets {
    ($base:expr, $over:expr) => {
        &[
            (
                "main.tf",
                concat!(
                    "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n",
                    "resource \"lab_network\" \"n\" {\n  name = \"n\"\n  cidr = \"10.0.0.0/16\"\n",
                    $base,
                    "}\noutput \"names\" { value = lab_network.n.subnet[*].name }\n"
                ),
            ),
            ("override.tf", concat!("resource \"lab_network\" \"n\" {\n", $over, "}\n")),
        ]
    };
}

#[test]
fn dynamic_block_in_an_override_replaces_its_block_type() {
    assert_verdicts(&[
        Case {
            name: "it replaces blocks",
            files: subnets!(
                "  subnet {\n    name = \"base\"\n    cidr = \"10.0.0.0/24\"\n  }\n",
                "  dynamic \"subnet\" {\n    for_each = [1]\n    content {\n      name = \"over\"\n      cidr = \"10.0.0.0/24\"\n    }\n  }\n"
            ),
            verdict: Outputs(&[("names", "[\"over\"]")]),
        },
        Case {
            name: "blocks replace it",
            files: subnets!(
                "  dynamic \"subnet\" {\n    for_each = [1]\n    content {\n      name = \"base\"\n      cidr = \"10.0.0.0/24\"\n    }\n  }\n",
                "  subnet {\n    name = \"over\"\n    cidr = \"10.0.0.0/24\"\n  }\n"
            ),
            verdict: Outputs(&[("names", "[\"over\"]")]),
        },
    ]);
}
