//! What is accepted with a warning.

use super::{Case, Verdict::*, judge};

const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";
const NETWORK: &str = "resource \"lab_network\" \"a\" {\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n";
const CALL: &str = "module \"m\" {\n  source = \"./m\"\n}\n";
const PASS: &str = "module \"m\" {\n  source    = \"./m\"\n  providers = { lab = lab }\n}\n";

#[test]
fn provider_blocks_that_only_stand_for_one_are_warned_about() {
    judge(&[
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
                ("m/p.tf", "\nprovider \"lab\" {\n  alias = \"x\"\n}\nprovider \"lab\" {\n}\n"),
                ("m/n.tf", NETWORK),
            ],
            verdict: Warned(&[("m/p.tf", 2)]),
        },
        Case {
            name: "not in the root",
            files: &[("main.tf", LAB), ("p.tf", "provider \"lab\" {\n}\n"), ("n.tf", NETWORK)],
            verdict: Warned(&[]),
        },
    ]);
}
