//! Values that must be known while modules are loaded: sources and versions of modules, backends,
//! variables with `const`. The rules are OpenTofu's.

use super::{Case, Verdict, Verdict::*, assert_verdicts};
use crate::support::Workspace;

const M: (&str, &str) = ("m/main.tf", "output \"a\" {\n  value = 1\n}\n");

/// Configuration that calls the module `m`, or an error of its source on line 2.
macro_rules! source {
    ($name:literal, $source:literal, $verdict:expr) => {
        source!($name, $source, "", $verdict)
    };
    ($name:literal, $source:literal, $more:literal, $verdict:expr) => {
        Case {
            name: $name,
            files: &[
                M,
                (
                    "main.tf",
                    concat!("module \"m\" {\n  source = ", $source, "\n}\n", $more),
                ),
            ],
            verdict: $verdict,
        }
    };
}

const NOTHING: Verdict = Staged(&[]);
const LINE_2: Verdict = Invalid(&[("main.tf", 2)]);

#[test]
fn module_source_must_be_known_and_not_sensitive() {
    assert_verdicts(&[
        source!(
            "a local value",
            "local.a",
            "locals {\n  a = local.b\n  b = \"./m\"\n}\n",
            NOTHING
        ),
        source!("of a path", "\"${path.module}/m\"", NOTHING),
        source!(
            "of the workspace",
            "\"./${terraform.workspace == \"default\" ? \"m\" : \"n\"}\"",
            NOTHING
        ),
        source!("out of a file", "jsondecode(file(\"x.json\")).a", LINE_2),
        source!("unknown", "plantimestamp()", LINE_2),
        source!("unknown in a part", "\"./m${plantimestamp()}\"", LINE_2),
        source!(
            "unknown through a local value",
            "local.a",
            "locals {\n  a = plantimestamp()\n}\n",
            LINE_2
        ),
        source!("null", "null", LINE_2),
        source!("a list", "[\"./m\"]", LINE_2),
        source!("sensitive", "sensitive(\"./m\")", LINE_2),
        source!(
            "of a sensitive variable",
            "var.s",
            "variable \"s\" {\n  default   = \"./m\"\n  sensitive = true\n}\n",
            LINE_2
        ),
        source!(
            "of an ephemeral variable",
            "var.s",
            "variable \"s\" {\n  default   = \"./m\"\n  ephemeral = true\n}\n",
            LINE_2
        ),
        source!(
            "a name that is not there, in try",
            "try(var.nope, \"./m\")",
            LINE_2
        ),
        source!(
            "the same in can",
            "can(local.nope) ? \"./n\" : \"./m\"",
            LINE_2
        ),
        source!(
            "a resource in a branch not taken",
            "true ? \"./m\" : terraform_data.x.id",
            "resource \"terraform_data\" \"x\" {}\n",
            LINE_2
        ),
        source!(
            "a provider's function",
            "provider::terraform::encode_expr(\"./m\")",
            LINE_2
        ),
        source!("a whole object", "var", LINE_2),
        source!(
            "a resource through a local value",
            "local.a",
            "locals {\n  a = terraform_data.x.id\n}\nresource \"terraform_data\" \"x\" {}\n",
            Invalid(&[("main.tf", 2), ("main.tf", 5)])
        ),
        source!(
            "local values in a circle",
            "local.a",
            "locals {\n  a = local.b\n  b = local.a\n}\n",
            Invalid(&[("main.tf", 2), ("main.tf", 5), ("main.tf", 5)])
        ),
    ]);
}

#[test]
fn module_version_must_be_text_and_not_sensitive() {
    macro_rules! version {
        ($name:literal, $version:literal, $more:literal, $verdict:expr) => {
            Case {
                name: $name,
                files: &[
                    M,
                    (
                        "main.tf",
                        concat!(
                            "module \"m\" {\n  source  = \"./m\"\n  version = ",
                            $version,
                            "\n}\n",
                            $more
                        ),
                    ),
                ],
                verdict: $verdict,
            }
        };
    }
    const SOURCE: Verdict = Invalid(&[("main.tf", 2)]);
    const BOTH: Verdict = Invalid(&[("main.tf", 2), ("main.tf", 3)]);
    assert_verdicts(&[
        version!("null is none", "null", "", NOTHING),
        version!(
            "null of a secret",
            "var.s",
            "variable \"s\" {\n  default   = null\n  sensitive = true\n}\n",
            NOTHING
        ),
        version!("a number is one", "1.0", "", SOURCE),
        version!("unknown", "plantimestamp()", "", SOURCE),
        version!("no constraint", "\"x.y\"", "", BOTH),
        version!("a list", "[\"1.0\"]", "", BOTH),
        version!("sensitive", "sensitive(\"1.0\")", "", BOTH),
    ]);
}

#[test]
fn const_variable_is_known_while_loading() {
    assert_verdicts(&[
        Case {
            name: "beside one with const",
            files: &[
                M,
                (
                    "main.tf",
                    "variable \"a\" {\n  default = 1\n  const   = true\n}\nvariable \"s\" {\n  default = \"./m\"\n}\nmodule \"m\" {\n  source = var.s\n}\n",
                ),
            ],
            verdict: NOTHING,
        },
        Case {
            name: "which says that it is not",
            files: &[
                M,
                (
                    "main.tf",
                    "variable \"s\" {\n  default = \"./m\"\n  const   = false\n}\nmodule \"m\" {\n  source = var.s\n}\n",
                ),
            ],
            verdict: Invalid(&[("main.tf", 6)]),
        },
        Case {
            name: "of the root without a value",
            files: &[("main.tf", "variable \"a\" {\n  const = true\n}\n")],
            verdict: Invalid(&[("main.tf", 1), ("main.tf", 1)]),
        },
        Case {
            name: "of a module, known later",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n  x      = terraform_data.t.id\n}\nresource \"terraform_data\" \"t\" {}\n",
                ),
                ("m/main.tf", "variable \"x\" {\n  const = true\n}\n"),
            ],
            verdict: Invalid(&[("main.tf", 1), ("main.tf", 3)]),
        },
        Case {
            name: "of a module, without a value",
            files: &[
                ("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
                (
                    "m/main.tf",
                    "variable \"x\" {}\nmodule \"n\" {\n  source = var.x\n}\n",
                ),
            ],
            verdict: Invalid(&[("m/main.tf", 3), ("main.tf", 1)]),
        },
        Case {
            name: "of a module, of another type",
            files: &[
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n  x      = [\"../n\"]\n}\n",
                ),
                (
                    "m/main.tf",
                    "variable \"x\" {\n  type = string\n}\nmodule \"n\" {\n  source = var.x\n}\n",
                ),
            ],
            verdict: Invalid(&[("m/main.tf", 5), ("main.tf", 3)]),
        },
    ]);
}

/// `validate` does not evaluate the backend, because its user may have no access to it.
#[test]
fn backend_is_evaluated_by_the_plan_only() {
    for path in [
        "each.key",
        "var.nope",
        "terraform_data.x.id",
        "sensitive(\"x\")",
        "[\"a\"]",
    ] {
        let text = format!("terraform {{\n  backend \"local\" {{\n    path = {path}\n  }}\n}}\n");
        let w = crate::support::Workspace::new(&[("main.tf", &text)]);
        w.run(&["validate"]).expect(0);
        let refused = w.run(&["stage", "--json"]).expect(1).diagnostics();
        let line = &refused[0]["range"]["start"]["line"];
        let expected = if path.starts_with("sens") { 2 } else { 3 };
        assert_eq!(line, expected, "{path}: {refused:?}");
    }
}

#[test]
fn module_source_may_depend_on_other_values() {
    let mut main = String::from("module \"m\" {\n  source = local.l2999\n}\nlocals {\n");
    main.push_str("  l0 = \"./m\"\n");
    (1..3000).for_each(|n| main.push_str(&format!("  l{n} = local.l{}\n", n - 1)));
    main.push_str("}\n");
    let w = Workspace::new(&[("main.tf", &main), M]);
    w.run(&["stage"]).expect(0);
    w.write("main.tf", &main.replace("\"./m\"", "local.l2999"));
    let run = w.run(&["stage", "--json"]).expect(1);
    let told = run.diagnostics();
    assert!(
        told.iter().any(|d| d["summary"] == "Circular reference") && told.len() < 50,
        "{told:#?}"
    );
}

#[test]
fn value_passed_through_modules_is_evaluated_once() {
    let deep = 24;
    let at = |n: usize| "m/".repeat(n) + "main.tf";
    let inner = "variable \"v\" {}\nmodule \"m\" {\n  source = \"./${var.v}\"\n  v      = \"${var.v}\"\n}\n";
    let outer = inner.replacen("{}", "{\n  default = \"m\"\n}", 1);
    let mut files: Vec<(String, &str)> = (1..deep).map(|n| (at(n), inner)).collect();
    files.push((at(0), &outer));
    files.push((at(deep), "variable \"v\" {}\n"));
    let files: Vec<_> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
    // An implementation that evaluates each reference anew takes hours.
    Workspace::new(&files).run(&["validate"]).expect(0);
}
