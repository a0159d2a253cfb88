//! What can be wrong with a workspace: each gets its words, its place and its exit code; none a panic or a hang.

use crate::support::{Run, Workspace};

/// One workspace that is wrong.
struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    code: i32,
    /// File and line of one of the errors.
    at: Option<(&'static str, u64)>,
    /// What one of the errors must say, in lower case.
    says: &'static str,
}

const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";

const CASES: &[Case] = &[
    Case { name: "empty directory", files: &[], args: &[], code: 1, at: None, says: "configuration" },
    Case {
        name: "syntax error",
        files: &[("main.tf", "resource \"terraform_data\" \"a\" {\n  input = = 1\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 2)),
        says: "",
    },
    Case {
        name: "syntax error in JSON",
        files: &[("main.tf.json", "{\n  \"locals\": {,}\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf.json", 2)),
        says: "",
    },
    Case {
        name: "unknown provider",
        files: &[("main.tf", "resource \"frob_thing\" \"a\" {}\n")],
        args: &[],
        code: 3,
        at: Some(("main.tf", 1)),
        says: "hashicorp/frob",
    },
    Case {
        name: "unknown resource type",
        files: &[("main.tf", "resource \"terraform_thing\" \"a\" {\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 1)),
        says: "terraform_thing",
    },
    Case {
        name: "unknown attribute",
        files: &[("main.tf", "resource \"terraform_data\" \"a\" {\n\n  nope = 1\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 3)),
        says: "nope",
    },
    Case {
        name: "missing required attribute",
        files: &[("versions.tf", LAB), ("main.tf", "\nresource \"lab_server\" \"a\" {\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 2)),
        says: "name",
    },
    Case {
        name: "wrong type",
        files: &[("main.tf", "resource \"terraform_data\" \"a\" {\n  count = [1]\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 2)),
        says: "number",
    },
    Case {
        name: "wrong type of an attribute",
        files: &[("versions.tf", LAB), ("main.tf", "resource \"lab_server\" \"a\" {\n  name = [\"x\"]\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 2)),
        says: "string",
    },
    Case {
        name: "cycle",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = terraform_data.b.id\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id\n}\n",
        )],
        args: &[],
        code: 1,
        at: None,
        says: "cycle",
    },
    Case {
        name: "undeclared variable",
        files: &[("main.tf", "output \"o\" {\n  value = var.gone\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 2)),
        says: "gone",
    },
    Case {
        name: "value for a variable that is not declared",
        files: &[("main.tf", "output \"o\" {\n  value = 1\n}\n")],
        args: &["--var", "gone=1"],
        code: 1,
        at: Some(("<value for var.gone>", 1)),
        says: "gone",
    },
    Case {
        name: "variable without a value",
        files: &[("main.tf", "variable \"v\" {\n  type = string\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 1)),
        says: "v",
    },
    Case {
        name: "for_each over what is not known",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  for_each = toset([terraform_data.a.id])\n}\n",
        )],
        args: &[],
        code: 1,
        at: Some(("main.tf", 3)),
        says: "for_each",
    },
    Case {
        name: "plugin missing",
        files: &[("main.tf", "terraform {\n  required_providers {\n    x = { source = \"acme/x\" }\n  }\n}\nresource \"x_y\" \"a\" {}\n")],
        args: &[],
        code: 3,
        at: None,
        says: "acme/x",
    },
    Case {
        name: "cloud block",
        files: &[("main.tf", "terraform {\n  cloud {\n    organization = \"o\"\n  }\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 2)),
        says: "cloud",
    },
    Case {
        name: "backend",
        files: &[("main.tf", "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n")],
        args: &[],
        code: 1,
        at: Some(("main.tf", 2)),
        says: "s3",
    },
    Case {
        name: "state of another tool",
        files: &[
            ("main.tf", "resource \"terraform_data\" \"a\" {}\n"),
            (
                "terraform.tfstate",
                "{\"version\":4,\"terraform_version\":\"1.5.0\",\"serial\":3,\"lineage\":\"l\",\"outputs\":{},\"resources\":[{\"mode\":\"managed\",\"type\":\"terraform_data\",\"name\":\"a\",\"provider\":\"provider[\\\"terraform.io/builtin/terraform\\\"]\",\"instances\":[{\"schema_version\":0,\"attributes\":{\"id\":\"1\"}}]}]}",
            ),
        ],
        args: &[],
        code: 1,
        at: None,
        says: "terraform.tfstate",
    },
];

fn check(case: &Case, run: &Run) -> Vec<String> {
    let mut wrong = Vec::new();
    if run.code != Some(case.code) {
        wrong.push(format!("exit code {:?} instead of {}", run.code, case.code));
    }
    let lines = run.diagnostics();
    let errors: Vec<_> = lines.iter().filter(|d| d["severity"] == "error").collect();
    if let Some((file, line)) = case.at
        && !errors.iter().any(|d| d["range"]["filename"] == file && d["range"]["start"]["line"] == line)
    {
        wrong.push(format!("no error at {file}:{line}"));
    }
    let said = |d: &&serde_json::Value| format!("{} {}", d["summary"], d["detail"]).to_lowercase().contains(case.says);
    if !errors.iter().any(said) {
        wrong.push(format!("no error says {:?}", case.says));
    }
    if !wrong.is_empty() {
        wrong.push(format!("said: {errors:#?} {}", run.stderr));
    }
    wrong
}

#[test]
fn everything_that_can_be_wrong_has_its_words_its_place_and_its_exit_code() {
    let mut wrong = Vec::new();
    for case in CASES {
        let w = Workspace::new(case.files);
        for command in [&["stage", "--json"][..], &["deploy", "--auto-approve", "--json"][..]] {
            let args: Vec<&str> = command.iter().chain(case.args).copied().collect();
            let run = w.run(&args);
            let outcome = run.result();
            if outcome["outcome"] != "error" || outcome["exit_code"] != case.code {
                wrong.push(format!("{}: {}: the result is {outcome}", case.name, command[0]));
            }
            wrong.extend(check(case, &run).into_iter().map(|text| format!("{}: {}: {text}", case.name, command[0])));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const ACME: &str = "terraform {\n  required_providers {\n    x = { source = \"acme/x\" }\n  }\n}\nresource \"x_y\" \"a\" {}\n";

fn executable(w: &Workspace, platform: &str, bytes: &[u8], mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let dir = w.path().join(format!(".terraform/providers/registry.opentofu.org/acme/x/1.0.0/{platform}"));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("terraform-provider-x_v1.0.0");
    std::fs::write(&file, bytes).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn here() -> &'static str {
    if cfg!(target_arch = "aarch64") { "linux_arm64" } else { "linux_amd64" }
}

#[test]
fn a_plugin_that_cannot_be_executed_is_told_from_one_for_another_machine() {
    // The first 20 bytes of an ELF file for the IBM S/390, which no machine of ours is.
    let mut other = b"\x7fELF\x02\x02\x01".to_vec();
    other.resize(64, 0);
    other[16..20].copy_from_slice(&[0, 2, 0, 22]);
    let rows: [(&str, &str, &[u8], u32, &str); 3] = [
        ("not executable", here(), b"#!/bin/sh\nexit 0\n", 0o644, "execut"),
        ("other architecture", here(), &other, 0o755, "is built for linux s390x"),
        ("other system", "plan9_mips", b"#!/bin/sh\nexit 0\n", 0o755, "acme/x"),
    ];
    for (name, platform, bytes, mode, says) in rows {
        let w = Workspace::new(&[("main.tf", ACME)]);
        executable(&w, platform, bytes, mode);
        for args in [["stage"], ["plugins"]] {
            let run = w.run(&args).expect(3);
            assert!(run.stderr.to_lowercase().contains(says), "{name}: {run:#?}");
        }
    }
}
