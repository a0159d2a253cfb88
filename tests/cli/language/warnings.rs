//! Configurations that are accepted with a warning.

use super::{Case, Verdict::*, assert_verdicts, other_places};
use crate::support::Workspace;

const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";
const NETWORK: &str =
    "resource \"lab_network\" \"a\" {\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n";
const CALL: &str = "module \"m\" {\n  source = \"./m\"\n}\n";
const PASS: &str = "module \"m\" {\n  source    = \"./m\"\n  providers = { lab = lab }\n}\n";

#[test]
fn provider_block_that_only_declares_is_a_warning() {
    assert_verdicts(&[
        Case {
            name: "in a module that nothing is passed to",
            files: &[
                ("main.tf", LAB),
                ("c.tf", CALL),
                ("m/main.tf", LAB),
                ("m/p.tf", "provider \"lab\" {\n}\n"),
                ("m/c.tf", PASS),
                ("m/m/main.tf", LAB),
                ("m/m/n.tf", NETWORK),
            ],
            verdict: Warned(&[("c.tf", 1), ("m/p.tf", 1)]),
        },
        Case {
            name: "with an alias, once for each name",
            files: &[
                ("main.tf", LAB),
                (
                    "c.tf",
                    "provider \"lab\" {\n}\nprovider \"lab\" {\n  alias = \"x\"\n}\nmodule \"m\" {\n  source    = \"./m\"\n  providers = { lab = lab, lab.x = lab.x }\n}\n",
                ),
                ("m/main.tf", LAB),
                (
                    "m/p.tf",
                    "\nprovider \"lab\" {\n  alias = \"x\"\n}\nprovider \"lab\" {\n}\n",
                ),
                ("m/n.tf", NETWORK),
            ],
            verdict: Warned(&[("m/p.tf", 2)]),
        },
        Case {
            name: "not in the root",
            files: &[
                ("main.tf", LAB),
                ("p.tf", "provider \"lab\" {\n}\n"),
                ("n.tf", NETWORK),
            ],
            verdict: Warned(&[]),
        },
    ]);
}

#[test]
fn extra_attribute_of_an_object_type_is_a_warning() {
    const VARIABLES: &str = r#"
        variable "o" { type = object({ name = string, inner = optional(object({ n = number })) }) }
        variable "l" { type = list(object({ a = string })) }
        variable "m" { type = map(object({ a = string })) }
        variable "any" {}
        "#;
    macro_rules! call {
        ($name:literal, $o:literal, $rest:literal, $lines:expr) => {
            Case {
                name: $name,
                files: &[
                    (
                        "main.tf",
                        concat!(
                            "module \"m\" {\n  source = \"./m\"\n  o = {\n    name = \"x\"\n",
                            $o,
                            "  }\n",
                            $rest,
                            "}\n"
                        ),
                    ),
                    ("m/main.tf", VARIABLES),
                ],
                verdict: Warned($lines),
            }
        };
    }
    assert_verdicts(&[
        call!(
            "nothing",
            "",
            "  l = []\n  m = {}\n  any = { x = 1 }\n",
            &[]
        ),
        call!(
            "misspelt",
            "    inne = {}\n",
            "  l = []\n  m = {}\n  any = 1\n",
            &[("main.tf", 5)]
        ),
        call!(
            "within",
            "    \"inner\" = { n = 1, (\"o\") = 2 }\n",
            "  l = []\n  m = {}\n  any = 1\n",
            &[("main.tf", 5)]
        ),
        call!(
            "elements",
            "",
            "  l = [\n    { a = 1 },\n    { a = 1, b = 2 },\n  ]\n  m = { for k in [\"x\"] : k => { a = 1, c = 2 } }\n  any = 1\n",
            &[("main.tf", 8), ("main.tf", 10)]
        ),
        call!(
            "a key that is worked out",
            "    (upper(\"x\")) = 1\n",
            "  l = concat([], [{ a = 1, b = 2 }])\n  m = {}\n  any = 1\n",
            &[]
        ),
        Case {
            name: "in a default",
            files: &[(
                "main.tf",
                "variable \"v\" {\n  type = object({ a = string })\n  default = {\n    a = \"x\"\n    b = 1\n  }\n}\n",
            )],
            verdict: Warned(&[("main.tf", 5)]),
        },
        Case {
            name: "not in JSON",
            files: &[(
                "main.tf.json",
                r#"{"variable":{"v":{"type":"object({a=string})","default":{"a":"x","b":1}}}}"#,
            )],
            verdict: Warned(&[]),
        },
    ]);
}

#[test]
fn backend_of_a_called_module_is_a_warning_and_cloud_is_not() {
    macro_rules! child {
        ($name:literal, $block:literal, $lines:expr) => {
            Case {
                name: $name,
                files: &[
                    ("main.tf", CALL),
                    ("m/main.tf", concat!("terraform {\n  ", $block, " {}\n}\n")),
                ],
                verdict: Warned($lines),
            }
        };
    }
    assert_verdicts(&[
        child!("a backend", "backend \"local\"", &[("m/main.tf", 2)]),
        child!("a cloud block", "cloud", &[]),
    ]);
}

#[test]
fn computed_attribute_in_ignore_changes_is_a_warning() {
    macro_rules! ignored {
        ($name:literal, $what:literal, $lines:expr) => {
            Case {
                name: $name,
                files: &[(
                    "main.tf",
                    concat!(
                        "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    ignore_changes = [",
                        $what,
                        "]\n  }\n}\n"
                    ),
                )],
                verdict: Warned($lines),
            }
        };
    }
    assert_verdicts(&[
        ignored!("its id", "id", &[("main.tf", 1)]),
        ignored!("what is configured", "input", &[]),
        ignored!(
            "both",
            "input, id, output",
            &[("main.tf", 1), ("main.tf", 1)]
        ),
    ]);
}

#[test]
fn compatible_with_constraint_that_allows_older_versions_is_a_warning() {
    macro_rules! constraint {
        ($name:literal, $text:literal, $lines:expr) => {
            Case {
                name: $name,
                files: &[(
                    "main.tofu",
                    concat!(
                        "language {\n  compatible_with {\n    opentofu = \"",
                        $text,
                        "\"\n  }\n}\n"
                    ),
                )],
                verdict: Warned($lines),
            }
        };
    }
    assert_verdicts(&[
        constraint!("from there on", ">= 1.12.0", &[]),
        constraint!("earlier ones too", ">= 1.6.0", &[("main.tofu", 3)]),
        constraint!("all but one", "!= 1.12.1", &[("main.tofu", 3)]),
    ]);
}

#[test]
fn value_of_a_deprecated_root_variable_is_a_warning() {
    const FILES: &[(&str, &str)] = &[(
        "main.tf",
        "variable \"a\" {\n  default = 1\n}\nvariable \"old\" {\n  default    = 1\n  deprecated = \"use a\"\n}\noutput \"o\" {\n  value = var.old\n}\n",
    )];
    let workspace = Workspace::new(FILES);
    for (args, places) in [
        (&["stage", "--json"][..], &[][..]),
        (&["stage", "--json", "--var", "a=2"], &[]),
        (&["stage", "--json", "--var", "old=2"], &[("main.tf", 4)]),
        (&["validate", "--json"], &[]),
    ] {
        let run = workspace.run(args);
        assert_eq!(run.code, Some(0), "{run:#?}");
        assert_eq!(other_places(&run, "warning", places), None, "{args:?}");
    }
}
