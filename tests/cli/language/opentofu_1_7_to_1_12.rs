//! Features of OpenTofu 1.7 to 1.12, in the language and on the command line, one test each. The
//! table in docs/compatibility.md names these tests.

use super::{Case, Verdict::*, assert_verdicts};
use crate::support::Workspace;

#[test]
fn enabled_disables_resources_and_modules() {
    assert_verdicts(&[
        Case {
            name: "one resource, one module",
            files: &[
                (
                    "main.tf",
                    r#"
                    variable "on" { default = false }
                    resource "terraform_data" "off" {
                      lifecycle { enabled = var.on }
                    }
                    resource "terraform_data" "on" {
                      lifecycle { enabled = !var.on }
                    }
                    module "m" {
                      source = "./m"
                      lifecycle { enabled = var.on }
                    }
                    "#,
                ),
                ("m/main.tf", "resource \"terraform_data\" \"x\" {}\n"),
            ],
            verdict: Staged(&[("terraform_data.on", "create", "")]),
        },
        Case {
            name: "null for whoever asks",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  lifecycle { enabled = false }\n}\noutput \"o\" { value = terraform_data.a == null }\n",
            )],
            verdict: Outputs(&[("o", "true")]),
        },
        Case {
            name: "not beside count",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n  count = 1\n  lifecycle {\n    enabled = true\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
        Case {
            name: "not by what a deploy decides",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"x\" {}\nresource \"terraform_data\" \"a\" {\n  lifecycle {\n    enabled = terraform_data.x.id == \"\"\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
    ]);
}

#[test]
fn use_of_deprecated_values_is_a_warning() {
    let w = Workspace::new(&[
        (
            "main.tf",
            "module \"m\" {\n  source = \"./m\"\n  v      = 1\n}\nmodule \"quiet\" { source = \"./m\" }\noutput \"o\" {\n  value = module.m.x\n}\n",
        ),
        (
            "m/main.tf",
            "variable \"v\" {\n  default    = 0\n  deprecated = \"use w\"\n}\noutput \"x\" {\n  value      = var.v\n  deprecated = \"use y\"\n}\n",
        ),
    ]);
    let run = w.run(&["stage", "--json"]).expect(0);
    let told: Vec<_> = run
        .diagnostics()
        .iter()
        .map(|d| (d["severity"].clone(), d["range"]["start"]["line"].clone()))
        .collect();
    assert_eq!(
        told,
        [("warning".into(), 3.into()), ("warning".into(), 7.into())],
        "{run:?}"
    );
    assert!(
        run.stdout.contains("use w") && run.stdout.contains("use y"),
        "{run:?}"
    );
    assert_verdicts(&[Case {
        name: "by words, not by nothing",
        files: &[(
            "main.tf",
            "variable \"v\" {\n  default    = 0\n  deprecated = \"\"\n}\n",
        )],
        verdict: Refused(&[("main.tf", 1)]),
    }]);
}

#[test]
fn target_addresses_are_read_from_files() {
    let w = Workspace::new(&[
        (
            "main.tf",
            "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\nresource \"terraform_data\" \"c\" {}\n",
        ),
        (
            "some.txt",
            "# the first\nterraform_data.a\n\n  terraform_data.b  \n",
        ),
        ("bad.txt", "terraform_data.a\nterraform_data.\n"),
    ]);
    let created = |flags: &[&str]| {
        let run = w.run(&[&["stage", "--json"], flags].concat()).expect(0);
        run.result()["changes"]["create"].clone()
    };
    assert_eq!(created(&["--target-file", "some.txt"]), 2);
    assert_eq!(
        created(&["--target-file", "some.txt", "--target", "terraform_data.c"]),
        3
    );
    assert_eq!(created(&["--exclude-file", "some.txt"]), 1);
    let bad = w.run(&["stage", "--target-file", "bad.txt"]).expect(1);
    assert!(bad.stderr.contains("bad.txt:2"), "{bad:?}");
    w.run(&[
        "stage",
        "--target-file",
        "some.txt",
        "--exclude",
        "terraform_data.c",
    ])
    .expect(1);
    w.run(&["stage", "--target-file", "missing.txt"]).expect(1);
}

#[test]
fn removed_block_decides_about_the_object() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n",
    )]);
    w.run(&["deploy", "--auto-approve", "--json"]).expect(0);
    w.write(
        "main.tf",
        "removed {\n  from = terraform_data.a\n  lifecycle { destroy = true }\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"echo ${self.id} > gone.txt\"\n  }\n}\nremoved {\n  from = terraform_data.b\n  lifecycle { destroy = false }\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"touch never.txt\"\n  }\n}\n",
    );
    let run = w.run(&["deploy", "--auto-approve", "--json"]).expect(0);
    assert!(w.path().join("gone.txt").exists() && !w.path().join("never.txt").exists());
    assert!(
        run.stdout
            .contains("Removed block provisioners will not be executed"),
        "{run:?}"
    );
}

#[test]
fn destroy_ignores_removed_blocks() {
    for flags in [&[][..], &["--target", "terraform_data.a"]] {
        let w = Workspace::new(&[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n",
        )]);
        w.run(&["deploy", "--auto-approve"]).expect(0);
        w.write(
            "main.tf",
            "removed {\n  from = terraform_data.a\n  lifecycle { destroy = false }\n}\nresource \"terraform_data\" \"b\" {}\n",
        );
        let words = [&["deploy", "--auto-approve", "--json", "--destroy"], flags].concat();
        let run = w.run(&words).expect(0);
        assert_eq!(run.result()["outcome"], "succeeded", "{run:?}");
        let actions = run.stdout.matches("\"action\":\"forget\"");
        assert_eq!(actions.count(), 0, "{run:?}");
        let warning = "The removed block has no effect in destroy mode";
        assert!(run.stdout.contains(warning), "{run:?}");
    }
}

#[test]
fn lifecycle_accepts_expressions_and_keeps_objects() {
    let w = Workspace::new(&[(
        "main.tf",
        "variable \"p\" { default = true }\nresource \"terraform_data\" \"a\" {\n  lifecycle { prevent_destroy = var.p }\n}\nresource \"terraform_data\" \"b\" {\n  lifecycle { destroy = false }\n}\n",
    )]);
    w.run(&["deploy", "--auto-approve", "--json"]).expect(0);
    w.run(&["stage", "--destroy"]).expect(1);
    let run = w
        .run(&["stage", "--destroy", "--var", "p=false", "--json"])
        .expect(0);
    assert_eq!(
        (
            &run.result()["changes"]["destroy"],
            &run.result()["changes"]["forget"]
        ),
        (&1.into(), &1.into()),
        "{run:?}"
    );
}

#[test]
fn import_supports_for_each_and_modules() {
    assert_verdicts(&[
        Case {
            name: "for_each",
            files: &[(
                "main.tf",
                "locals { all = { a = \"1\", b = \"2\" } }\nimport {\n  for_each = local.all\n  to       = terraform_data.x[each.key]\n  id       = each.value\n}\nresource \"terraform_data\" \"x\" { for_each = local.all }\n",
            )],
            verdict: Staged(&[
                ("terraform_data.x[\"a\"]", "no-op", ""),
                ("terraform_data.x[\"b\"]", "no-op", ""),
            ]),
        },
        Case {
            name: "a key that is worked out",
            files: &[(
                "main.tf",
                "variable \"k\" { default = \"b\" }\nimport {\n  to = terraform_data.x[var.k]\n  id = \"1\"\n}\nresource \"terraform_data\" \"x\" { for_each = toset([\"b\"]) }\n",
            )],
            verdict: Staged(&[("terraform_data.x[\"b\"]", "no-op", "")]),
        },
    ]);
}

#[test]
fn functions_of_newer_versions_exist() {
    assert_verdicts(&[Case {
        name: "functions",
        files: &[(
            "main.tf",
            r#"
            locals { greeting = "hi $${n}" }
            variable "e" {
              ephemeral = true
              default   = "x"
            }
            output "a" { value = templatestring(local.greeting, { n = "x" }) }
            output "b" { value = [cidrcontains("10.0.0.0/8", "10.1.0.0/16"), issensitive(sensitive(1)), strcontains("abc", "b")] }
            output "c" { value = [urldecode("a%20b"), base64gunzip(base64gzip("z")), core::upper("a")] }
            output "d" { value = ephemeralasnull(var.e) == null }
            output "e" { value = [tofu.workspace, terraform.workspace] }
            "#,
        )],
        verdict: Outputs(&[
            ("a", "\"hi x\""),
            ("b", "[true, true, true]"),
            ("c", "[\"a b\", \"z\", \"A\"]"),
            ("d", "true"),
            ("e", "[\"default\", \"default\"]"),
        ]),
    }]);
}

#[test]
fn sources_and_versions_are_evaluated_while_loading() {
    assert_verdicts(&[
        Case {
            name: "a constant variable, a local",
            files: &[
                (
                    "main.tf",
                    "variable \"dir\" {\n  default = \"m\"\n  const   = true\n}\nlocals { at = \"./${var.dir}\" }\nmodule \"m\" { source = local.at }\noutput \"o\" { value = module.m.x }\n",
                ),
                ("m/main.tf", "output \"x\" { value = 1 }\n"),
            ],
            verdict: Outputs(&[("o", "1")]),
        },
        Case {
            name: "a constant variable is not given what a deploy decides",
            files: &[
                (
                    "main.tf",
                    "resource \"terraform_data\" \"x\" {}\nmodule \"m\" {\n  source = \"./m\"\n  v      = terraform_data.x.id\n}\n",
                ),
                ("m/main.tf", "variable \"v\" { const = true }\n"),
            ],
            verdict: Refused(&[("main.tf", 2), ("main.tf", 4)]),
        },
        Case {
            name: "files of OpenTofu go before others of their name",
            files: &[
                ("main.tf", "output \"o\" { value = 1 }\n"),
                ("main.tofu", "output \"o\" { value = 2 }\n"),
            ],
            verdict: Outputs(&[("o", "2")]),
        },
    ]);
}
