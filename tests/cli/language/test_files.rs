//! Test files: their errors are errors of the configuration for `validate`, and a plan ignores
//! them. No test is run.

use super::{Case, Verdict::*, assert_verdicts};

const ROOT: &str = "variable \"v\" {\n  default = 1\n}\noutput \"o\" {\n  value = var.v\n}\nresource \"terraform_data\" \"a\" {}\n";
const OTHER: &str = "resource \"terraform_data\" \"b\" {}\n";

/// Case of a root module, another module and a test file.
macro_rules! tested {
    ($name:literal, $text:literal, $lines:expr) => {
        Case {
            name: $name,
            files: &[
                ("main.tf", ROOT),
                ("other/main.tf", OTHER),
                ("main.tftest.hcl", $text),
            ],
            verdict: Invalid($lines),
        }
    };
}

#[test]
fn test_files_are_read_by_validate_and_not_by_stage() {
    const GOOD: &str = "variables {\n  v = 2\n}\nrun \"one\" {\n  command = plan\n  expect_failures = [output.o, var.v, check.c, terraform_data.a[0]]\n  assert {\n    condition     = output.o == 2\n    error_message = \"no\"\n  }\n}\nrun \"two\" {\n  module {\n    source = \"./other\"\n  }\n}\n";
    const JSON: &str = "{\"run\": {\"one\": {\"command\": \"plan\", \"expect_failures\": [\"output.o\"]}}, \"override_resource\": {\"target\": \"terraform_data.a\", \"values\": {\"id\": \"x\"}}}\n";
    assert_verdicts(&[
        Case {
            name: "in order",
            files: &[
                ("main.tf", ROOT),
                ("other/main.tf", OTHER),
                ("main.tftest.hcl", GOOD),
                ("tests/more.tftest.json", JSON),
                ("tests/deeper/wrong.tftest.hcl", "foo {}\n"),
                ("other/wrong.tftest.hcl", "foo {}\n"),
                ("tests/.hidden.tftest.hcl", "foo {}\n"),
            ],
            verdict: Warned(&[]),
        },
        Case {
            name: "wrong",
            files: &[("main.tf", ROOT), ("main.tftest.hcl", "foo {}\n")],
            verdict: Invalid(&[("main.tftest.hcl", 1)]),
        },
        Case {
            name: "wrong, and staged all the same",
            files: &[
                ("main.tf", "output \"o\" {\n  value = 1\n}\n"),
                ("main.tftest.hcl", "foo {}\n"),
            ],
            verdict: Outputs(&[("o", "1")]),
        },
        Case {
            name: "wrong in the folder of tests",
            files: &[("main.tf", ROOT), ("tests/a.tofutest.hcl", "\nfoo {}\n")],
            verdict: Invalid(&[("tests/a.tofutest.hcl", 2)]),
        },
        Case {
            name: "wrong in JSON",
            files: &[
                ("main.tf", ROOT),
                (
                    "a.tftest.json",
                    "{\"run\": {\"x\": {\n\"command\": \"nope\"}}}\n",
                ),
            ],
            verdict: Invalid(&[("a.tftest.json", 2)]),
        },
        Case {
            name: "another takes its place",
            files: &[
                ("main.tf", ROOT),
                ("a.tftest.hcl", "foo {}\n"),
                ("a.tofutest.hcl", "run \"x\" {}\n"),
            ],
            verdict: Warned(&[]),
        },
        Case {
            name: "the folder of tests is none",
            files: &[("main.tf", ROOT), ("tests", "")],
            verdict: Invalid(&[("", 0)]),
        },
    ]);
}

#[test]
fn invalid_run_blocks_are_refused() {
    assert_verdicts(&[
        tested!(
            "what is there twice, and words that are none",
            "variables {}\nvariables {}\nrun \"1x\" {\n  command = apply_it\n  variables {}\n  variables {}\n  plan_options {}\n  plan_options {}\n}\n",
            &[
                ("main.tftest.hcl", 2),
                ("main.tftest.hcl", 3),
                ("main.tftest.hcl", 4),
                ("main.tftest.hcl", 6),
                ("main.tftest.hcl", 8)
            ]
        ),
        tested!(
            "options of its plan",
            "run \"x\" {\n  command = \"plan\"\n  nope    = 1\n  plan_options {\n    mode    = refresh-only\n    refresh = false\n    target  = [terraform_data.a]\n    replace = terraform_data.a\n  }\n}\n",
            &[
                ("main.tftest.hcl", 2),
                ("main.tftest.hcl", 3),
                ("main.tftest.hcl", 6),
                ("main.tftest.hcl", 8)
            ]
        ),
        tested!(
            "assertions that hold nothing",
            "run \"x\" {\n  assert {\n    condition     = true\n    error_message = \"x\"\n  }\n  assert {\n    condition = var.v == 1\n  }\n}\n",
            &[("main.tftest.hcl", 3), ("main.tftest.hcl", 6)]
        ),
        tested!(
            "what cannot fail",
            "run \"x\" {\n  expect_failures = [\n    module.x,\n    local.y,\n    output,\n    terraform_data.a[0],\n    each.key,\n  ]\n}\n",
            &[
                ("main.tftest.hcl", 3),
                ("main.tftest.hcl", 4),
                ("main.tftest.hcl", 5),
                ("main.tftest.hcl", 7)
            ]
        ),
    ]);
}

#[test]
fn invalid_mocks_and_overrides_are_refused() {
    assert_verdicts(&[
        tested!(
            "of one thing twice",
            "override_resource {\n  target = terraform_data.a\n}\noverride_data {\n  target = terraform_data.a\n}\noverride_module {\n  target = module.m\n}\noverride_module {\n  target = module.m\n}\nrun \"x\" {\n  override_resource {\n    target = terraform_data.a\n  }\n  override_resource {\n    target = terraform_data.a\n  }\n}\n",
            &[
                ("main.tftest.hcl", 5),
                ("main.tftest.hcl", 11),
                ("main.tftest.hcl", 18)
            ]
        ),
        tested!(
            "of something else",
            "override_resource {\n  target = module.m\n}\noverride_resource {\n  target = terraform_data.a[0]\n}\noverride_resource {\n  target = module.m[0].terraform_data.a\n}\noverride_resource {\n  target = terraform_data.a.b.c\n}\noverride_module {\n  target = terraform_data.a\n}\noverride_module {\n  target = module.m.terraform_data.a\n}\noverride_module {\n  target = module.m[0]\n}\noverride_resource {\n  target = \"terraform_data.a\"\n}\n",
            &[
                ("main.tftest.hcl", 2),
                ("main.tftest.hcl", 5),
                ("main.tftest.hcl", 8),
                ("main.tftest.hcl", 11),
                ("main.tftest.hcl", 14),
                ("main.tftest.hcl", 17),
                ("main.tftest.hcl", 20),
                ("main.tftest.hcl", 23)
            ]
        ),
        tested!(
            "values that are none",
            "override_resource {\n  values = {}\n}\noverride_resource {\n  target = terraform_data.a\n  values = \"x\"\n}\noverride_resource {\n  target = terraform_data.a\n  values = { x = var.v }\n}\n",
            &[
                ("main.tftest.hcl", 1),
                ("main.tftest.hcl", 6),
                ("main.tftest.hcl", 10)
            ]
        ),
        tested!(
            "mocked providers",
            "mock_provider \"aws\" {\n  mock_resource \"a\" {}\n  mock_resource \"a\" {}\n  mock_data \"a\" { defaults = 1 }\n}\nmock_provider \"b\" {\n}\nmock_provider \"b\" {\n  alias = \"x\"\n}\nmock_provider \"b\" {\n}\nmock_provider \"b\" {\n  alias = \"1\"\n}\nmock_provider \"c\" {\n  for_each = {}\n}\nmock_provider \"Bad_Name\" {\n}\nprovider \"terraform\" {\n  count = 1\n}\n",
            &[
                ("main.tftest.hcl", 1),
                ("main.tftest.hcl", 4),
                ("main.tftest.hcl", 11),
                ("main.tftest.hcl", 14),
                ("main.tftest.hcl", 17),
                ("main.tftest.hcl", 19),
                ("main.tftest.hcl", 22)
            ]
        ),
    ]);
}

#[test]
fn modules_of_run_blocks_are_validated() {
    const RUNS: &str = "run \"one\" {\n  module {\n    source = \"./other\"\n  }\n}\nrun \"two\" {\n  module {\n    source = \"./other\"\n  }\n}\n";
    macro_rules! other {
        ($name:literal, $text:literal, $lines:expr) => {
            Case {
                name: $name,
                files: &[
                    ("main.tf", ROOT),
                    ("other/main.tf", $text),
                    ("main.tftest.hcl", RUNS),
                ],
                verdict: Invalid($lines),
            }
        };
    }
    assert_verdicts(&[
        other!(
            "as it is written",
            "output \"x\" {\n  vlue = 1\n}\n",
            &[("other/main.tf", 1), ("other/main.tf", 2)]
        ),
        other!(
            "what it means, once",
            "output \"x\" {\n  value = local.nope\n}\n",
            &[("other/main.tf", 2)]
        ),
        other!(
            "an import that only a root may have",
            "import {\n  to = terraform_data.b\n  id = \"x\"\n}\n",
            &[("other/main.tf", 1)]
        ),
        tested!(
            "where it is",
            "run \"a\" {\n  module {}\n}\nrun \"b\" {\n  module {\n    source = \"other\"\n  }\n}\nrun \"c\" {\n  module {\n    source  = \"./other\"\n    version = \"1.0.0\"\n  }\n}\n",
            &[
                ("main.tftest.hcl", 2),
                ("main.tftest.hcl", 6),
                ("main.tftest.hcl", 11)
            ]
        ),
        tested!(
            "it is not there",
            "run \"a\" {\n  module {\n    source = \"./nope\"\n  }\n}\n",
            &[("main.tftest.hcl", 3)]
        ),
    ]);
}

#[test]
fn provider_of_a_test_file_is_the_same_in_all_its_runs() {
    const REQUIRES: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";
    const OTHERWISE: &str = "terraform {\n  required_providers {\n    lab = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\n";
    assert_verdicts(&[
        Case {
            name: "another module's, by its name",
            files: &[
                ("main.tf", REQUIRES),
                ("other/main.tf", OTHERWISE),
                (
                    "main.tftest.hcl",
                    "provider \"lab\" {}\nrun \"one\" {\n  module {\n    source = \"./other\"\n  }\n}\nrun \"two\" {}\n",
                ),
            ],
            verdict: Invalid(&[("main.tftest.hcl", 1)]),
        },
        Case {
            name: "passed under another name",
            files: &[
                ("main.tf", REQUIRES),
                ("other/main.tf", OTHERWISE),
                (
                    "main.tftest.hcl",
                    "provider \"x\" {}\nrun \"one\" {\n  providers = { lab = x }\n  module {\n    source = \"./other\"\n  }\n}\nrun \"two\" {\n  providers = {\n    lab = x\n  }\n}\n",
                ),
            ],
            verdict: Invalid(&[("main.tftest.hcl", 10)]),
        },
        Case {
            name: "one in all runs",
            files: &[
                ("main.tf", REQUIRES),
                (
                    "main.tftest.hcl",
                    "provider \"x\" {}\nrun \"one\" {\n  providers = { lab = x }\n}\nrun \"two\" {}\n",
                ),
            ],
            verdict: Warned(&[]),
        },
    ]);
}
