//! A data source waits for every pending change of an object that its block refers to.

use super::{Case, Verdict::*, assert_verdicts};

/// Configuration with this data source, a resource to create, and a state to read.
macro_rules! data {
    ($name:literal, $text:literal, $verdict:expr $(, $file:expr)?) => {
        Case {
            name: $name,
            files: &[
                ("main.tf", concat!("resource \"terraform_data\" \"a\" {\n  input = \"up.json\"\n}\n", $text)),
                ("up.json", "{\"version\": 4, \"terraform_version\": \"1.12.6\", \"serial\": 1, \"lineage\": \"l0\", \"outputs\": {}, \"resources\": []}\n"),
                $($file)?
            ],
            verdict: $verdict,
        }
    };
}

const A: (&str, &str, &str) = ("terraform_data.a", "create", "");

/// Expected plan: the data source is read during the deploy.
const WAITS: super::Verdict = Staged(&[
    (
        "data.terraform_remote_state.up",
        "read",
        "read_because_dependency_pending",
    ),
    A,
]);

#[test]
fn data_source_waits_for_changes_of_its_references() {
    assert_verdicts(&[
        data!(
            "an attribute that is known",
            "data \"terraform_remote_state\" \"up\" {\n  backend = \"local\"\n  config  = { path = terraform_data.a.input }\n}\n",
            WAITS
        ),
        data!(
            "a branch that is not taken",
            "data \"terraform_remote_state\" \"up\" {\n  backend = \"local\"\n  config  = { path = true ? \"up.json\" : terraform_data.a.id }\n}\n",
            WAITS
        ),
        data!(
            "how often it is there",
            "data \"terraform_remote_state\" \"up\" {\n  for_each = toset([terraform_data.a.input])\n  backend  = \"local\"\n  config   = { path = \"up.json\" }\n}\n",
            Staged(&[
                (
                    "data.terraform_remote_state.up[\"up.json\"]",
                    "read",
                    "read_because_dependency_pending"
                ),
                A
            ])
        ),
        data!(
            "a condition",
            "data \"terraform_remote_state\" \"up\" {\n  backend = \"local\"\n  config  = { path = \"up.json\" }\n  lifecycle {\n    precondition {\n      condition     = terraform_data.a.input != \"\"\n      error_message = \"x\"\n    }\n  }\n}\n",
            WAITS
        ),
    ]);
}

#[test]
fn data_source_does_not_wait_for_unrelated_changes() {
    assert_verdicts(&[
        data!(
            "a local value",
            "locals {\n  p = terraform_data.a.input\n}\ndata \"terraform_remote_state\" \"up\" {\n  backend = \"local\"\n  config  = { path = local.p }\n}\n",
            Staged(&[A])
        ),
        data!(
            "a variable",
            "module \"m\" {\n  source = \"./m\"\n  p      = terraform_data.a.input\n}\n",
            Staged(&[A]),
            (
                "m/main.tf",
                "variable \"p\" {}\ndata \"terraform_remote_state\" \"up\" {\n  backend = \"local\"\n  config  = { path = var.p }\n}\n"
            )
        ),
        data!(
            "an output",
            "module \"m\" {\n  source = \"./m\"\n}\ndata \"terraform_remote_state\" \"up\" {\n  backend = \"local\"\n  config  = { path = module.m.p }\n}\n",
            Staged(&[A, ("module.m.terraform_data.b", "create", "")]),
            (
                "m/main.tf",
                "resource \"terraform_data\" \"b\" {\n  input = \"up.json\"\n}\noutput \"p\" { value = terraform_data.b.input }\n"
            )
        ),
    ]);
}
