//! Invalid configurations that flightdeck once accepted.

use super::{Case, Verdict::*, assert_verdicts};

const LAB: (&str, &str) = (
    "main.tf",
    "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nresource \"lab_network\" \"r\" {\n  name = \"b\"\n  cidr = \"10.0.0.0/16\"\n}\n",
);

/// Configuration with an output of this expression, and a network.
macro_rules! output {
    ($name:literal, $expression:literal) => {
        Case {
            name: $name,
            files: &[
                LAB,
                (
                    "outputs.tf",
                    concat!("output \"o\" {\n  value = ", $expression, "\n}\n"),
                ),
            ],
            verdict: Refused(&[("outputs.tf", 2)]),
        }
    };
}

#[test]
fn unknown_attribute_name_is_an_error_everywhere() {
    assert_verdicts(&[
        output!(
            "in a block, in try",
            "try(lab_network.r.subnet[0].nme, \"lost\")"
        ),
        output!(
            "in a block, in a branch not taken",
            "true ? \"x\" : lab_network.r.subnet[0].nme"
        ),
        output!(
            "of a list of blocks as a whole",
            "try(lab_network.r.subnet.name, \"lost\")"
        ),
        output!("of a text", "try(lab_network.r.name.foo, \"lost\")"),
        output!(
            "of an element of a list of texts",
            "try(lab_network.r.tags[\"x\"].y, \"lost\")"
        ),
        output!("in brackets", "lab_network.r[\"name\"]"),
        output!("count", "lab_network.r.count"),
        Case {
            name: "of self, in try",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    postcondition {\n      condition     = try(self.nope, true)\n      error_message = \"x\"\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
        Case {
            name: "which is looked for once its place in the list is known",
            files: &[
                LAB,
                (
                    "outputs.tf",
                    "locals {\n  i = 0\n}\noutput \"o\" {\n  value = try(lab_network.r.subnet[local.i].nme, \"lost\")\n}\n",
                ),
            ],
            verdict: Outputs(&[("o", "\"lost\"")]),
        },
    ]);
}

#[test]
fn used_provider_configuration_must_be_declared() {
    assert_verdicts(&[
        Case {
            name: "configuration_aliases of a root",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    lab = {\n      source                = \"flightdeck.internal/bundled/lab\"\n      configuration_aliases = [lab.other]\n    }\n  }\n}\nresource \"lab_network\" \"b\" {\n  provider = lab.other\n  name     = \"b\"\n  cidr     = \"10.0.0.0/16\"\n}\n",
            )],
            verdict: Refused(&[("main.tf", 10)]),
        },
        Case {
            name: "an underscore in a local name",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    my_lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "an implied local name that ends in a dash",
            files: &[("main.tf", "resource \"lab-_x\" \"a\" {\n}\n")],
            verdict: Refused(&[("main.tf", 1)]),
        },
        Case {
            name: "an alias that nobody declares",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"r\" {\n  provider = terraform.nope\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
    ]);
}

#[test]
fn arguments_that_decide_over_objects_must_have_valid_values() {
    assert_verdicts(&[
        Case {
            name: "an ephemeral output of the root",
            files: &[(
                "main.tf",
                "output \"a\" {\n  value     = \"x\"\n  ephemeral = true\n}\n",
            )],
            verdict: Refused(&[("main.tf", 1)]),
        },
        Case {
            name: "prevent_destroy of a text",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    prevent_destroy = \"nope\"\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "prevent_destroy of a list, by name",
            files: &[(
                "main.tf",
                "locals {\n  x = [\"a\"]\n}\nresource \"terraform_data\" \"a\" {\n  lifecycle {\n    prevent_destroy = local.x\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 6)]),
        },
        Case {
            name: "prevent_destroy of an ephemeral value",
            files: &[(
                "main.tf",
                "variable \"x\" {\n  default   = true\n  ephemeral = true\n}\nresource \"terraform_data\" \"a\" {\n  lifecycle {\n    prevent_destroy = var.x\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 7)]),
        },
        Case {
            name: "prevent_destroy by instance",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  count = 1\n  lifecycle {\n    prevent_destroy = count.index == 0\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
        Case {
            name: "prevent_destroy of null, as long as nothing is destroyed",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  lifecycle {\n    prevent_destroy = null\n  }\n}\n",
            )],
            verdict: Staged(&[("terraform_data.a", "create", "")]),
        },
        Case {
            name: "depends_on of a check",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  depends_on = [check.c]\n}\nresource \"terraform_data\" \"b\" {}\ncheck \"c\" {\n  assert {\n    condition     = terraform_data.b.id != \"\"\n    error_message = \"x.\"\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
    ]);
}

#[test]
fn version_of_the_built_in_provider_is_refused() {
    assert_verdicts(&[
        Case {
            name: "by its name alone",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = {\n      version = \"1.2.0\"\n    }\n  }\n}\n",
            )],
            verdict: Invalid(&[("main.tf", 3)]),
        },
        Case {
            name: "without one",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    terraform = {\n      source = \"terraform.io/builtin/terraform\"\n    }\n  }\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "another one",
            files: &[(
                "main.tf",
                "terraform {\n  required_providers {\n    nonexist = {\n      source = \"terraform.io/builtin/nonexist\"\n    }\n  }\n}\n",
            )],
            verdict: Invalid(&[("main.tf", 3)]),
        },
    ]);
}

/// In JSON the label of the type has its own line, before that of the name.
#[test]
fn unknown_resource_type_is_reported_at_its_label() {
    assert_verdicts(&[
        Case {
            name: "of a resource",
            files: &[(
                "main.tf.json",
                "{\n  \"resource\": {\n    \"terraform_nothing\": {\n      \"a\": {}\n    }\n  }\n}\n",
            )],
            verdict: Invalid(&[("main.tf.json", 3)]),
        },
        Case {
            name: "of a data source",
            files: &[(
                "main.tf.json",
                "{\n  \"data\": {\n    \"terraform_nothing\": {\n      \"a\": {}\n    }\n  }\n}\n",
            )],
            verdict: Invalid(&[("main.tf.json", 3)]),
        },
    ]);
}

/// Arguments of `import` blocks are checked with the configuration, as far as they are known.
#[test]
fn imports_are_checked_before_the_plan() {
    const TYPE: &str = "resource \"terraform_data\" \"a\" {\n  for_each = { k = 1 }\n}\n";
    let case = |import: &str| format!("{TYPE}{import}");
    let cases = [
        (
            "an id of null",
            case(
                "import {\n  for_each = { k = null }\n  to = terraform_data.a[each.key]\n  id = each.value\n}\n",
            ),
            7,
        ),
        (
            "a sensitive id",
            case(
                "import {\n  for_each = { k = sensitive(\"x\") }\n  to = terraform_data.a[each.key]\n  id = each.value\n}\n",
            ),
            7,
        ),
        (
            "sensitive keys",
            case(
                "import {\n  for_each = sensitive({ k = \"x\" })\n  to = terraform_data.a[each.key]\n  id = each.value\n}\n",
            ),
            5,
        ),
        (
            "a list that is no tuple",
            case(
                "import {\n  for_each = tolist([\"k\"])\n  to = terraform_data.a[each.value]\n  id = each.value\n}\n",
            ),
            5,
        ),
        (
            "an identity of a type that has none",
            case("import {\n  to = terraform_data.a[\"k\"]\n  identity = { id = \"x\" }\n}\n"),
            6,
        ),
    ];
    for (name, text, line) in cases {
        let w = crate::support::Workspace::new(&[("main.tf", &text)]);
        let run = w.run(&["validate", "--json"]).expect(1);
        let all = run.diagnostics();
        assert_eq!(
            (all.len(), &all[0]["range"]["start"]["line"]),
            (1, &serde_json::Value::from(line)),
            "{name}: {all:?}"
        );
    }
    // An unknown argument may still be valid, and a removed resource is checked by the plan.
    assert_verdicts(&[
        Case {
            name: "an id that depends on a variable",
            files: &[(
                "main.tf",
                "variable \"v\" {}\nresource \"terraform_data\" \"a\" {}\nimport {\n  to = terraform_data.a\n  id = var.v\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 1)]),
        },
        Case {
            name: "what is removed, and declared",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {}\nremoved {\n  from = terraform_data.a\n  lifecycle {\n    destroy = false\n  }\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 2)]),
        },
        Case {
            name: "the same instance twice, by keys that are worked out",
            files: &[(
                "main.tf",
                "locals {\n  k = 1\n}\nresource \"terraform_data\" \"a\" {\n  count = 2\n}\nimport {\n  to = terraform_data.a[local.k]\n  id = \"1\"\n}\nimport {\n  to = terraform_data.a[local.k]\n  id = \"1\"\n}\n",
            )],
            verdict: OnlyValid(&[("main.tf", 7)]),
        },
    ]);
}

/// The imports of a resource are planned before its instances, so the two would wait for each
/// other.
#[test]
fn import_that_needs_its_own_target_is_an_error() {
    const A: &str = "resource \"terraform_data\" \"a\" {\n  for_each = toset([\"x\"])\n}\n";
    macro_rules! case {
        ($name:literal, $line:literal, $($text:expr),+) => {
            Case {
                name: $name,
                files: &[("a.tf", A), ("main.tf", concat!($($text),+))],
                verdict: Refused(&[("main.tf", $line)]),
            }
        };
    }
    assert_verdicts(&[
        case!(
            "in for_each",
            2,
            "import {\n  for_each = terraform_data.a\n  to = terraform_data.a[each.key]\n  id = each.key\n}\n"
        ),
        case!(
            "in an expression of for_each",
            2,
            "import {\n  for_each = { for k, v in terraform_data.a : k => v.id }\n  to = terraform_data.a[each.key]\n  id = each.value\n}\n"
        ),
        case!(
            "in id",
            3,
            "import {\n  to = terraform_data.a[\"x\"]\n  id = terraform_data.a[\"x\"].id\n}\n"
        ),
        case!(
            "in a key of the target",
            2,
            "import {\n  to = terraform_data.a[keys(terraform_data.a)[0]]\n  id = \"1\"\n}\n"
        ),
    ]);
}
