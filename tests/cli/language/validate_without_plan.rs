//! Cases where `validate` accepts a configuration that only a plan can judge.

use super::{Case, Verdict::*, assert_verdicts};

const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";
const ALIASES: &str = "terraform {\n  required_providers {\n    lab = {\n      source                = \"flightdeck.internal/bundled/lab\"\n      configuration_aliases = [lab.other]\n    }\n  }\n}\n";
const NETWORK: &str =
    "resource \"lab_network\" \"a\" {\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n";
const OTHER: &str = "resource \"lab_network\" \"b\" {\n  provider = lab.other\n  name     = \"b\"\n  cidr     = \"10.0.0.0/16\"\n}\n";
const CALL: &str = "module \"m\" {\n  source = \"./m\"\n}\n";
const PASS: &str = "module \"m\" {\n  source    = \"./m\"\n  providers = { lab = lab }\n}\n";

#[test]
fn module_with_configuration_aliases_is_valid_alone() {
    const PASS_OTHER: &str =
        "module \"m\" {\n  source    = \"./m\"\n  providers = { lab = lab.other }\n}\n";
    assert_verdicts(&[
        Case {
            name: "a resource has it",
            files: &[("main.tf", ALIASES), ("r.tf", OTHER)],
            verdict: OnlyValid(&[("r.tf", 2)]),
        },
        Case {
            name: "it is passed on",
            files: &[
                ("main.tf", ALIASES),
                ("r.tf", PASS_OTHER),
                ("m/main.tf", LAB),
                ("m/n.tf", NETWORK),
            ],
            verdict: OnlyValid(&[("r.tf", 3)]),
        },
        Case {
            name: "an alias that it does not ask for",
            files: &[("main.tf", LAB), ("r.tf", OTHER)],
            verdict: Refused(&[("r.tf", 2)]),
        },
    ]);
}

#[test]
fn passed_provider_configurations_must_exist() {
    assert_verdicts(&[
        Case {
            name: "nothing in the root says what it is",
            files: &[("main.tf", PASS), ("m/main.tf", LAB), ("m/n.tf", NETWORK)],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "it is merely inherited",
            files: &[
                ("main.tf", LAB),
                ("c.tf", CALL),
                ("m/main.tf", LAB),
                ("m/c.tf", PASS),
                ("m/m/main.tf", LAB),
                ("m/m/n.tf", NETWORK),
            ],
            verdict: Refused(&[("m/c.tf", 3)]),
        },
        Case {
            name: "a resource of its type is not it",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source    = \"./m\"\n  providers = { terraform = terraform }\n}\nresource \"terraform_data\" \"a\" {}\n",
                ),
                ("m/main.tf", "resource \"terraform_data\" \"a\" {}\n"),
            ],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "passed from module to module",
            files: &[
                ("main.tf", LAB),
                ("c.tf", PASS),
                ("m/main.tf", LAB),
                ("m/c.tf", PASS),
                ("m/m/main.tf", LAB),
                ("m/m/n.tf", NETWORK),
            ],
            verdict: Staged(&[("module.m.module.m.lab_network.a", "create", "")]),
        },
        Case {
            name: "known by another name",
            files: &[
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    mine = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nmodule \"m\" {\n  source    = \"./m\"\n  providers = { lab = mine }\n}\n",
                ),
                ("m/main.tf", LAB),
                ("m/n.tf", NETWORK),
            ],
            verdict: Staged(&[("module.m.lab_network.a", "create", "")]),
        },
    ]);
}

#[test]
fn import_target_is_required_by_the_plan_only() {
    const IMPORT: &str = "import {\n  to = terraform_data.x\n  id = \"1\"\n}\n";
    assert_verdicts(&[
        Case {
            name: "no such resource",
            files: &[("main.tf", IMPORT)],
            verdict: OnlyValid(&[("main.tf", 1)]),
        },
        Case {
            name: "what its id refers to does not matter then",
            files: &[(
                "main.tf",
                "import {\n  to = lab_network.x\n  id = nope.x.y\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 1)]),
        },
        Case {
            name: "what is wrong in any case is told first",
            files: &[
                ("main.tf", IMPORT),
                ("o.tf", "output \"o\" {\n  value = nope.x.y\n}\n"),
            ],
            verdict: Refused(&[("o.tf", 2)]),
        },
    ]);
}

#[test]
fn moves_are_checked_by_the_plan() {
    const CIRCLE: &str = "moved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}\nmoved {\n  from = terraform_data.b\n  to   = terraform_data.a\n}\n";
    assert_verdicts(&[
        Case {
            name: "a circle",
            files: &[("main.tf", CIRCLE)],
            verdict: OnlyValid(&[("main.tf", 1), ("main.tf", 5)]),
        },
        Case {
            name: "what is wrong in any case is told first",
            files: &[
                ("main.tf", CIRCLE),
                ("o.tf", "output \"o\" {\n  value = nope.x.y\n}\n"),
            ],
            verdict: Refused(&[("o.tf", 2)]),
        },
        Case {
            name: "that they are ambiguous says more than the circle that this makes",
            files: &[(
                "main.tf",
                "moved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}\nmoved {\n  from = terraform_data.a\n  to   = terraform_data.b[\"k\"]\n}\nmoved {\n  from = terraform_data.a\n  to   = module.m.terraform_data.a\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 9)]),
        },
    ]);
}

#[test]
fn instance_may_not_refer_to_itself_unless_count_is_zero() {
    assert_verdicts(&[
        Case {
            name: "one",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  input = terraform_data.a.id\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 2)]),
        },
        Case {
            name: "none",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  count = 0\n  input = terraform_data.a[0].id\n}\n",
            )],
            verdict: Staged(&[]),
        },
    ]);
}

#[test]
fn only_one_cloud_block_is_allowed_in_override_files() {
    const TWO: &str = "terraform {\n  cloud {\n    organization = \"a\"\n  }\n}\nterraform {\n  cloud {\n    organization = \"b\"\n  }\n}\n";
    const BACKENDS: &str =
        "terraform {\n  backend \"local\" {\n  }\n}\nterraform {\n  backend \"local\" {\n  }\n}\n";
    assert_verdicts(&[
        Case {
            name: "two, of which none can be used here",
            files: &[
                ("main.tf", "terraform {\n  cloud {}\n}\n"),
                ("override.tf", TWO),
            ],
            verdict: Refused(&[("override.tf", 2), ("override.tf", 7)]),
        },
        Case {
            name: "of a backend and a cloud block the backend is one too many",
            files: &[
                ("a.tf", "terraform {\n  backend \"local\" {}\n}\n"),
                ("b.tf", "terraform {\n  cloud {}\n}\n"),
            ],
            verdict: Invalid(&[("a.tf", 2)]),
        },
        Case {
            name: "in whichever order",
            files: &[
                ("a.tf", "terraform {\n  cloud {}\n}\n"),
                ("b.tf", "terraform {\n  backend \"local\" {}\n}\n"),
            ],
            verdict: Invalid(&[("b.tf", 2)]),
        },
        Case {
            name: "two backends",
            files: &[("main.tf", "locals {}\n"), ("override.tf", BACKENDS)],
            verdict: Refused(&[("override.tf", 6)]),
        },
        Case {
            name: "one in each of two",
            files: &[
                ("main.tf", "terraform {\n  cloud {}\n}\n"),
                ("a_override.tf", "terraform {\n  backend \"local\" {}\n}\n"),
                ("b_override.tf", "terraform {\n  backend \"local\" {}\n}\n"),
            ],
            verdict: Staged(&[]),
        },
    ]);
}

#[test]
fn conditions_are_checked_by_the_plan() {
    const VALUES: &str = "locals {\n  no = false\n  nothing = null\n  text = \"maybe\"\n}\n";
    macro_rules! resource {
        ($name:literal, $kind:literal, $condition:literal, $message:literal, $verdict:expr) => {
            Case {
                name: $name,
                files: &[
                    ("locals.tf", VALUES),
                    (
                        "main.tf",
                        concat!(
                            "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    ",
                            $kind,
                            " {\n      condition     = ",
                            $condition,
                            "\n      error_message = ",
                            $message,
                            "\n    }\n  }\n}\n"
                        ),
                    ),
                ],
                verdict: $verdict,
            }
        };
    }
    macro_rules! assertion {
        ($name:literal, $condition:literal, $message:literal, $verdict:expr) => {
            Case {
                name: $name,
                files: &[
                    ("locals.tf", VALUES),
                    (
                        "main.tf",
                        concat!(
                            "check \"c\" {\n  assert {\n    condition     = ",
                            $condition,
                            "\n    error_message = ",
                            $message,
                            "\n  }\n}\n"
                        ),
                    ),
                ],
                verdict: $verdict,
            }
        };
    }
    assert_verdicts(&[
        resource!(
            "never met",
            "precondition",
            "local.no",
            "\"x\"",
            OnlyValid(&[("main.tf", 4)])
        ),
        resource!(
            "never met by what is made",
            "postcondition",
            "local.no && self.id != null",
            "\"x\"",
            OnlyValid(&[("main.tf", 4)])
        ),
        resource!(
            "null",
            "precondition",
            "local.nothing",
            "\"x\"",
            OnlyValid(&[("main.tf", 4)])
        ),
        resource!(
            "no bool",
            "precondition",
            "local.text",
            "\"x\"",
            OnlyValid(&[("main.tf", 4)])
        ),
        resource!(
            "a message that is none",
            "precondition",
            "local.no",
            "local.nothing",
            OnlyValid(&[("main.tf", 5)])
        ),
        resource!(
            "what cannot be evaluated is wrong in any case",
            "precondition",
            "local.no.x",
            "\"x\"",
            Invalid(&[("main.tf", 4)])
        ),
        resource!(
            "its message neither",
            "postcondition",
            "local.no",
            "local.no.x",
            Invalid(&[("main.tf", 5)])
        ),
        assertion!("never met", "local.no", "\"x\"", Warned(&[])),
        assertion!(
            "null",
            "local.nothing",
            "\"x\"",
            OnlyValid(&[("main.tf", 3)])
        ),
        assertion!(
            "not to be evaluated",
            "local.no.x",
            "\"x\"",
            OnlyValid(&[("main.tf", 3)])
        ),
        assertion!(
            "names are looked up",
            "local.nope",
            "\"x\"",
            Invalid(&[("main.tf", 3)])
        ),
        assertion!(
            "its message is evaluated",
            "local.no",
            "local.nothing",
            Invalid(&[("main.tf", 4)])
        ),
        Case {
            name: "an output's is looked at before, where it is known",
            files: &[
                ("locals.tf", VALUES),
                (
                    "main.tf",
                    "output \"o\" {\n  value = 1\n  precondition {\n    condition     = local.no\n    error_message = \"x\"\n  }\n}\n",
                ),
            ],
            verdict: Invalid(&[("main.tf", 4)]),
        },
    ]);
}
