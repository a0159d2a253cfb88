//! Providers with instances: valid values of `for_each`, and instances passed to modules.

use super::Verdict::*;
use super::{Case, assert_verdicts};

#[test]
fn for_each_of_a_provider_must_be_known_from_variables_and_locals() {
    assert_verdicts(&[
        Case {
            name: "for_each of nothing",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = {}\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "an instance of none",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = {}\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[\"x\"]\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "for_each of null",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = null\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "for_each of numbers",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([1, 2])\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "for_each of a data source",
            files: &[(
                "main.tf",
                "data \"terraform_remote_state\" \"s\" {\n  backend = \"local\"\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = data.terraform_remote_state.s.outputs\n}\n",
            )],
            verdict: Refused(&[("main.tf", 6)]),
        },
        Case {
            name: "the same for_each as that of its resource",
            files: &[(
                "main.tf",
                "variable \"r\" {\n  default = { x = 1 }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = var.r\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[each.key]\n  for_each = var.r\n}\n",
            )],
            verdict: Staged(&[("terraform_data.a[\"x\"]", "create", "")]),
        },
        Case {
            name: "for_each declared after its use",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = var.s\n}\nvariable \"s\" {\n  type = map(object({ a = string }))\n  default = { x = { a = \"1\" } }\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[keys(var.s)[0]]\n}\n",
            )],
            verdict: Staged(&[("terraform_data.a", "create", "")]),
        },
        Case {
            name: "for_each of the workspace and a path",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([terraform.workspace, path.module])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[\"default\"]\n}\n",
            )],
            verdict: Staged(&[("terraform_data.a", "create", "")]),
        },
        Case {
            name: "for_each of what is not declared",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = var.nope\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "for_each of a module",
            files: &[
                ("m/main.tf", "output \"r\" {\n  value = toset([\"x\"])\n}\n"),
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = module.m.r\n}\n",
                ),
            ],
            verdict: Refused(&[("main.tf", 6)]),
        },
        Case {
            name: "in a module, of what the call says",
            files: &[
                (
                    "m/main.tf",
                    "variable \"r\" {\n  type = set(string)\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = var.r\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[\"x\"]\n}\n",
                ),
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n  r = toset([\"x\"])\n}\n",
                ),
            ],
            verdict: Staged(&[("module.m.terraform_data.a", "create", "")]),
        },
        Case {
            name: "for_each of what a call learns later",
            files: &[
                (
                    "m/main.tf",
                    "variable \"r\" {\n  type = set(string)\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = var.r\n}\n",
                ),
                (
                    "main.tf",
                    "resource \"terraform_data\" \"o\" {}\nmodule \"m\" {\n  source = \"./m\"\n  r = toset([terraform_data.o.id])\n}\n",
                ),
            ],
            verdict: Refused(&[("m/main.tf", 6), ("main.tf", 4)]),
        },
        Case {
            name: "for_each of an ephemeral variable",
            files: &[(
                "main.tf",
                "variable \"r\" {\n  default = { x = 1 }\n  ephemeral = true\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = var.r\n}\n",
            )],
            verdict: Refused(&[("main.tf", 7)]),
        },
        Case {
            name: "for_each of a sensitive map",
            files: &[(
                "main.tf",
                "variable \"s\" {\n  default = { x = 1 }\n  sensitive = true\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = var.s\n}\n",
            )],
            verdict: Refused(&[("main.tf", 7)]),
        },
    ]);
}

#[test]
fn provider_instances_are_passed_to_modules_individually() {
    assert_verdicts(&[
        Case {
            name: "all instances passed to a module",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner\n}\n",
                ),
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  providers = {\n    terraform.inner = terraform.by\n  }\n}\n",
                ),
            ],
            verdict: Refused(&[("main.tf", 13)]),
        },
        Case {
            name: "one passed to a module",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner\n}\n",
                ),
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  providers = {\n    terraform.inner = terraform.by[\"x\"]\n  }\n}\n",
                ),
            ],
            verdict: Staged(&[("module.m.terraform_data.m", "create", "")]),
        },
        Case {
            name: "each to its instance of the module",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner\n}\n",
                ),
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  for_each = toset([\"x\"])\n  providers = {\n    terraform.inner = terraform.by[each.key]\n  }\n}\n",
                ),
            ],
            verdict: Staged(&[("module.m[\"x\"].terraform_data.m", "create", "")]),
        },
        Case {
            name: "a key on the left side",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner\n}\n",
                ),
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  providers = {\n    terraform.inner[\"x\"] = terraform.by[\"x\"]\n  }\n}\n",
                ),
            ],
            verdict: Refused(&[("main.tf", 13)]),
        },
        Case {
            name: "a key of what a module is passed",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner[\"x\"]\n}\n",
                ),
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  providers = {\n    terraform.inner = terraform.by[\"x\"]\n  }\n}\n",
                ),
            ],
            verdict: Refused(&[("m/main.tf", 10)]),
        },
        Case {
            name: "by count.index",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner\n}\n",
                ),
                (
                    "main.tf",
                    "provider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"0\", \"1\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  count = 2\n  providers = {\n    terraform.inner = terraform.by[count.index]\n  }\n}\n",
                ),
            ],
            verdict: Refused(&[("main.tf", 9)]),
        },
        Case {
            name: "through two modules",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nmodule \"n\" {\n  source = \"../n\"\n  providers = {\n    terraform.inner = terraform.inner\n  }\n}\n",
                ),
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  for_each = toset([\"x\", \"y\"])\n  providers = {\n    terraform.inner = terraform.by[each.key]\n  }\n}\n",
                ),
                (
                    "n/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner\n}\n",
                ),
            ],
            verdict: Staged(&[
                ("module.m[\"x\"].module.n.terraform_data.m", "create", ""),
                ("module.m[\"y\"].module.n.terraform_data.m", "create", ""),
            ]),
        },
        Case {
            name: "a missing key passed to a module",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n      configuration_aliases = [terraform.inner]\n    }\n  }\n}\nresource \"terraform_data\" \"m\" {\n  provider = terraform.inner\n}\n",
                ),
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nmodule \"m\" {\n  source = \"./m\"\n  providers = {\n    terraform.inner = terraform.by[\"z\"]\n  }\n}\n",
                ),
            ],
            verdict: Refused(&[("", 0)]),
        },
    ]);
}
