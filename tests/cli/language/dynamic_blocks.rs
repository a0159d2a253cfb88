//! `dynamic` blocks: a reference inside a block that is not generated is no dependency, and an
//! unknown `for_each` is not counted.

use super::{Case, Verdict::*, assert_verdicts};

/// Configuration of a network with this text, and a resource whose `output` is unknown.
macro_rules! network {
    ($text:expr) => {
        &[(
            "main.tf",
            concat!(
                "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n",
                "variable \"none\" {\n  type    = list(any)\n  default = []\n}\n",
                "resource \"terraform_data\" \"u\" {\n  input = \"x\"\n}\n",
                "resource \"lab_network\" \"n\" {\n  name = \"n\"\n  cidr = \"10.0.0.0/16\"\n", // These are lines 13 to 15.
                $text,
                "}\n"
            ),
        )]
    };
}

const STAGED: super::Verdict = Staged(&[
    ("lab_network.n", "create", ""),
    ("terraform_data.u", "create", ""),
]);

#[test]
fn dynamic_block_without_blocks_adds_no_dependency() {
    assert_verdicts(&[
        Case {
            name: "nothing to make blocks of",
            files: network!(
                "dynamic \"subnet\" {\nfor_each = var.none\ncontent {\nname = local.nope\ncidr = each.key\nzone = secondary.value\n}\n}\n"
            ),
            verdict: STAGED,
        },
        Case {
            name: "an empty list as it is written",
            files: network!(
                "dynamic \"subnet\" {\nfor_each = []\ncontent {\nname = terraform_data.nope.id\ncidr = module.nope.x\n}\n}\n"
            ),
            verdict: STAGED,
        },
        Case {
            name: "a collection that is not known",
            files: network!(
                "dynamic \"subnet\" {\nfor_each = terraform_data.u.output == \"x\" ? [1] : []\ncontent {\nname = var.nope\ncidr = each.key\n}\n}\n"
            ),
            verdict: STAGED,
        },
        Case {
            name: "another iterator",
            files: network!(
                "dynamic \"subnet\" {\nfor_each = var.none\niterator = it\ncontent {\nname = subnet.value\ncidr = \"10.0.0.0/24\"\n}\n}\n"
            ),
            verdict: STAGED,
        },
        Case {
            name: "a block that is made",
            files: network!(
                "dynamic \"subnet\" {\nfor_each = [1]\ncontent {\nname = \"a\"\ncidr = local.nope\n}\n}\n"
            ),
            verdict: Refused(&[("main.tf", 20)]),
        },
        Case {
            name: "what blocks are made of",
            files: network!(
                "dynamic \"subnet\" {\nfor_each = local.nope\ncontent {\nname = \"a\"\ncidr = \"10.0.0.0/24\"\n}\n}\n"
            ),
            verdict: Refused(&[("main.tf", 17)]),
        },
    ]);
}

#[test]
fn block_count_is_not_checked_while_for_each_is_unknown() {
    assert_verdicts(&[
        Case {
            name: "more than there may be, beside one that is not known",
            files: network!(concat!(
                "dynamic \"subnet\" {\nfor_each = terraform_data.u.output == \"x\" ? [1] : []\ncontent {\nname = \"a\"\ncidr = \"10.0.0.0/24\"\n}\n}\n",
                "dynamic \"subnet\" {\nfor_each = range(17)\ncontent {\nname = \"a${subnet.value}\"\ncidr = \"10.0.${subnet.value}.0/24\"\n}\n}\n"
            )),
            verdict: STAGED,
        },
        Case {
            name: "one that lacks an argument, after one that is not known",
            files: network!(concat!(
                "dynamic \"subnet\" {\nfor_each = terraform_data.u.output == \"x\" ? [1] : []\ncontent {\nname = \"a\"\ncidr = \"10.0.0.0/24\"\n}\n}\n",
                "subnet {\nname = \"x\"\n}\n"
            )),
            verdict: STAGED,
        },
    ]);
}
