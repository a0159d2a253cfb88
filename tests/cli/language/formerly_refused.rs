//! Valid configurations that flightdeck once refused.

use super::{Case, Verdict::*, assert_verdicts};

const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";

#[test]
fn providers_can_be_declared_in_every_form() {
    assert_verdicts(&[
        Case {
            name: "configuration_aliases with the bare name",
            files: &[
                (
                    "main.tf",
                    r#"
                    terraform {
                      required_providers {
                        lab = { source = "flightdeck.internal/bundled/lab" }
                      }
                    }
                    provider "lab" {}
                    provider "lab" { alias = "other" }
                    module "m" {
                      source    = "./m"
                      providers = { lab = lab, lab.other = lab.other }
                    }
                    "#,
                ),
                (
                    "m/main.tf",
                    r#"
                    terraform {
                      required_providers {
                        lab = {
                          source                = "flightdeck.internal/bundled/lab"
                          configuration_aliases = [lab, lab.other]
                        }
                      }
                    }
                    resource "lab_network" "a" {
                      name = "a"
                      cidr = "10.0.0.0/16"
                    }
                    resource "lab_network" "b" {
                      name     = "b"
                      cidr     = "10.0.0.0/16"
                      provider = lab.other
                    }
                    "#,
                ),
            ],
            verdict: Staged(&[
                ("module.m.lab_network.a", "create", ""),
                ("module.m.lab_network.b", "create", ""),
            ]),
        },
        Case {
            name: "provider_meta for a provider that is not used",
            files: &[(
                "main.tf",
                r#"
                terraform {
                  required_providers {
                    lab = { source = "flightdeck.internal/bundled/lab" }
                  }
                  provider_meta "lab" { x = 1 }
                }
                "#,
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "provider_meta for a provider that takes none",
            files: &[
                ("main.tf", LAB),
                (
                    "meta.tf",
                    "terraform {\n  provider_meta \"lab\" {\n    x = 1\n  }\n}\nresource \"lab_network\" \"a\" {\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n",
                ),
            ],
            verdict: Refused(&[("meta.tf", 2)]),
        },
    ]);
}

#[test]
fn resource_may_name_itself_in_a_provisioner_and_in_count() {
    assert_verdicts(&[
        Case {
            name: "its own name in a provisioner",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"echo ${terraform_data.x.id}\"\n  }\n}\n",
            )],
            verdict: Staged(&[("terraform_data.x", "create", "")]),
        },
        Case {
            name: "how many instances it has before it has any",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"x\" {\n  count = length(terraform_data.x)\n}\n",
            )],
            verdict: Staged(&[]),
        },
    ]);
}

#[test]
fn unused_provider_block_is_neither_evaluated_nor_configured() {
    const X: &str = "resource \"terraform_data\" \"x\" {\n}\n";
    const NETWORK: &str =
        "resource \"lab_network\" \"a\" {\n  name = \"a\"\n  cidr = \"10.0.0.0/16\"\n}\n";
    // A provider block with an unsupported argument, and one with an invalid reference.
    const NO_ARGUMENT: &str = "provider \"lab\" {\n  nonsense = 1\n}\n";
    const NO_RESOURCE: &str =
        "provider \"lab\" {\n  alias = \"spare\"\n  file  = lab_network.none.id\n}\n";
    const PASSED: &str = "module \"m\" {\n  source    = \"./m\"\n  providers = { lab = lab }\n}\n";
    const STAGED: super::Verdict = Staged(&[("terraform_data.x", "create", "")]);
    assert_verdicts(&[
        Case {
            name: "an argument that it has not",
            files: &[("lab.tf", LAB), ("p.tf", NO_ARGUMENT), ("x.tf", X)],
            verdict: STAGED,
        },
        Case {
            name: "a reference to nothing",
            files: &[("lab.tf", LAB), ("p.tf", NO_RESOURCE), ("x.tf", X)],
            verdict: STAGED,
        },
        Case {
            name: "passed to a module without resources of it",
            files: &[
                ("lab.tf", LAB),
                ("p.tf", NO_ARGUMENT),
                ("m.tf", PASSED),
                ("m/lab.tf", LAB),
                ("x.tf", X),
            ],
            verdict: STAGED,
        },
        Case {
            name: "a resource has it",
            files: &[("lab.tf", LAB), ("p.tf", NO_ARGUMENT), ("n.tf", NETWORK)],
            verdict: Refused(&[("p.tf", 2)]),
        },
        Case {
            name: "a resource in a module has it",
            files: &[
                ("lab.tf", LAB),
                ("p.tf", NO_ARGUMENT),
                ("m.tf", PASSED),
                ("m/lab.tf", LAB),
                ("m/n.tf", NETWORK),
            ],
            verdict: Refused(&[("p.tf", 2)]),
        },
    ]);
}
