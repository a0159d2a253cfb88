//! Provider blocks with `for_each`, and references to their instances.

use super::Verdict::*;
use super::{Case, assert_verdicts};

#[test]
fn provider_instance_key_must_be_known() {
    assert_verdicts(&[
        Case {
            name: "all instances at once",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "a key that for_each does not have",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[\"z\"]\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "a key where there is no for_each",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n  alias = \"p\"\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.p[\"x\"]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 5)]),
        },
        Case {
            name: "a key without an alias",
            files: &[(
                "main.tf",
                "provider \"terraform\" {\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform[\"x\"]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
        Case {
            name: "a key of what is not declared",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  provider = terraform.by[\"x\"]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
        Case {
            name: "a key known after the deploy",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"o\" {}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[terraform_data.o.id]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 12)]),
        },
        Case {
            name: "a sensitive key",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nvariable \"k\" {\n  default = \"x\"\n  sensitive = true\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[var.k]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 15)]),
        },
        Case {
            name: "a key that is null",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nvariable \"k\" {\n  default = null\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[var.k]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 14)]),
        },
        Case {
            name: "a key that is a list",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nlocals {\n  k = [\"x\"]\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[local.k]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 14)]),
        },
        Case {
            name: "an undeclared name in a key",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[local.nope]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "each.key of a resource without for_each",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[each.key]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "the resource itself in its key",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[terraform_data.a.id]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "count in a key",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[count.index == 0 ? \"x\" : \"y\"]\n  count = 2\n}\n",
            )],
            verdict: Staged(&[
                ("terraform_data.a[0]", "create", ""),
                ("terraform_data.a[1]", "create", ""),
            ]),
        },
        Case {
            name: "a local in a key",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nlocals {\n  k = \"x\"\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[local.k]\n}\n",
            )],
            verdict: Staged(&[("terraform_data.a", "create", "")]),
        },
        Case {
            name: "of a data source",
            files: &[
                (
                    "main.tf",
                    "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\ndata \"terraform_remote_state\" \"s\" {\n  provider = terraform.by[\"x\"]\n  backend = \"local\"\n  config = {\n    path = \"s.json\"\n  }\n}\n",
                ),
                (
                    "s.json",
                    "{\"version\": 4, \"terraform_version\": \"1.12.6\", \"serial\": 1, \"lineage\": \"l0\", \"outputs\": {\"v\": {\"value\": \"1\", \"type\": \"string\"}}, \"resources\": []}",
                ),
            ],
            verdict: Staged(&[]),
        },
        Case {
            name: "a missing key of a data source",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\ndata \"terraform_remote_state\" \"s\" {\n  provider = terraform.by[\"q\"]\n  backend = \"local\"\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "a key that a resource will have, as planned",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"o\" {\n  input = \"x\"\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[terraform_data.o.input]\n}\n",
            )],
            verdict: Staged(&[
                ("terraform_data.a", "create", ""),
                ("terraform_data.o", "create", ""),
            ]),
        },
        Case {
            name: "an undeclared resource in a key",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[terraform_data.nope.input]\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "more after the key",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = terraform.by[\"x\"].y\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "in quotes, all at once",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\nprovider \"terraform\" {\n  alias    = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\nresource \"terraform_data\" \"a\" {\n  provider = \"terraform.by\"\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "in JSON",
            files: &[(
                "p.tf.json",
                "{\"provider\": {\"terraform\": {\"alias\": \"by\", \"for_each\": \"${toset([\\\"x\\\"])}\"}}, \"resource\": {\"terraform_data\": {\"a\": {\"provider\": \"terraform.by[\\\"x\\\"]\"}}}}",
            )],
            verdict: Staged(&[("terraform_data.a", "create", "")]),
        },
    ]);
}

#[test]
fn provider_block_is_evaluated_once_per_used_instance() {
    assert_verdicts(&[
        Case {
            name: "each.value in the block",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  for_each = { x = \"one\", y = \"two\" }\n  file     = \"${each.value}.json\"\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\nresource \"lab_network\" \"b\" {\n  provider = lab.by[each.key]\n  name = \"b\"\n  cidr = \"10.0.0.0/16\"\n  for_each = toset([\"x\", \"y\"])\n}\n",
            )],
            verdict: Staged(&[
                ("lab_network.a", "create", ""),
                ("lab_network.b[\"x\"]", "create", ""),
                ("lab_network.b[\"y\"]", "create", ""),
            ]),
        },
        Case {
            name: "what each does not have",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  for_each = { x = \"one\", y = \"two\" }\n  file     = \"${each.nope}.json\"\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Refused(&[("main.tf", 9)]),
        },
        Case {
            name: "an each.value of another type",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  for_each = { x = \"one\", y = \"two\" }\n  file     = each.value.name\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Refused(&[("main.tf", 9)]),
        },
        Case {
            name: "an argument that is none",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  for_each = { x = \"one\", y = \"two\" }\n  fil     = \"${each.value}.json\"\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Refused(&[("main.tf", 9)]),
        },
        Case {
            name: "each without for_each, in a block that nothing uses",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  file     = \"${each.value}.json\"\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "beside the default configuration",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  for_each = { x = \"one\", y = \"two\" }\n  file     = \"${each.value}.json\"\n}\nprovider \"lab\" {\n  file = \"d.json\"\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\nresource \"lab_network\" \"c\" {\n  provider = lab\n  name = \"c\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Staged(&[
                ("lab_network.a", "create", ""),
                ("lab_network.c", "create", ""),
            ]),
        },
        Case {
            name: "sensitive values under plain keys",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nvariable \"s\" {\n  default = \"two\"\n  sensitive = true\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  for_each = { x = var.s }\n  file     = \"${each.value}.json\"\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Staged(&[("lab_network.a", "create", "")]),
        },
        Case {
            name: "a body that rests on a resource",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nresource \"terraform_data\" \"t\" {\n  input = \"f.json\"\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  for_each = toset([\"x\"])\n  file     = terraform_data.t.input\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Staged(&[
                ("lab_network.a", "create", ""),
                ("terraform_data.t", "create", ""),
            ]),
        },
        Case {
            name: "each without for_each",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"by\"\n  file     = \"${each.value}.json\"\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Refused(&[("main.tf", 8)]),
        },
        Case {
            name: "a wrong block that nothing uses",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias    = \"p\"\n  fil     = \"x.json\"\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "an undeclared name in a block that nothing uses",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  file     = var.nope\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "a wrong instance that nothing uses",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  alias = \"by\"\n  for_each = { x = 1, y = [] }\n  file     = each.value\n}\nresource \"lab_network\" \"a\" {\n  provider = lab.by[\"x\"]\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Refused(&[("main.tf", 9)]),
        },
        Case {
            name: "a wrong block of a resource without instances",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  fil     = \"x.json\"\n}\nresource \"lab_network\" \"a\" {\n  provider = lab\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n  count = 0\n}\n",
            )],
            verdict: Refused(&[("main.tf", 7)]),
        },
    ]);
}
