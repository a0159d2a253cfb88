//! Tests of flags that scripts for OpenTofu pass to many commands.

use crate::support::{Run, Workspace, mode};
use serde_json::Value;

const TWO: &str = r#"
resource "terraform_data" "a" {
  input = "one"
}
resource "terraform_data" "b" {
  input = "two"
}
"#;

const SECRET: &str = r#"
variable "v" {
  default   = "hunter2"
  sensitive = true
}
resource "terraform_data" "a" {
  input = { open = "seen", closed = var.v }
}
output "o" {
  value     = var.v
  sensitive = true
}
"#;

const DEPRECATED: &str = r#"
module "m" {
  source = "./m"
  old    = 1
}
module "n" {
  source = "./m"
  old    = 2
}
"#;

const OLD: &str = r#"
variable "old" {
  default    = 0
  deprecated = "Use another one."
}
"#;

fn lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    text.lines().map(parse).collect()
}

fn kinds(text: &str) -> Vec<String> {
    let kind = |line: Value| line["type"].as_str().unwrap_or_default().to_owned();
    lines(text).into_iter().map(kind).collect()
}

#[test]
fn json_into_writes_json_lines_next_to_text_output() {
    let w = Workspace::new(&[("main.tf", TWO)]);
    let run = w.run(&["plan", "-json-into=lines"]).expect(0);
    assert!(run.stdout.contains("2 to create"), "{run:?}");
    let text = w.read("lines");
    assert_eq!(mode(&w.path().join("lines")), 0o600);
    let last = lines(&text).pop().unwrap();
    assert_eq!(last["type"], "result", "{text}");
    assert_eq!(last["changes"]["create"], 2, "{text}");
    let as_json = w.run(&["plan", "-json"]).expect(0).stdout;
    let mut kinds_of_both = [kinds(&text), kinds(&as_json)];
    kinds_of_both.iter_mut().for_each(|kinds| {
        kinds.sort();
        kinds.dedup();
    });
    assert_eq!(kinds_of_both[0], kinds_of_both[1]);
    for (words, command) in [
        (
            &["apply", "-auto-approve", "--json-into", "lines"][..],
            "deploy",
        ),
        (&["taint", "-json-into=lines", "terraform_data.a"], "taint"),
        (
            &["untaint", "-json-into=lines", "terraform_data.a"],
            "untaint",
        ),
        (&["state", "list", "-json-into=lines"], "state list"),
        (
            &[
                "state",
                "mv",
                "-json-into=lines",
                "terraform_data.a",
                "terraform_data.c",
            ],
            "state mv",
        ),
        (
            &["state", "rm", "-json-into=lines", "terraform_data.c"],
            "state forget",
        ),
        (&["validate", "-json-into=lines"], "validate"),
        (&["refresh", "-json-into=lines"], "refresh"),
        (&["init", "-json-into=lines"], "init"),
        (&["get", "-json-into=lines"], "get"),
        (
            &["workspace", "new", "-json-into=lines", "x"],
            "workspace new",
        ),
        (
            &["workspace", "select", "-json-into=lines", "default"],
            "workspace select",
        ),
        (
            &["workspace", "delete", "-json-into=lines", "x"],
            "workspace delete",
        ),
        (&["destroy", "-auto-approve", "-json-into=lines"], "destroy"),
    ] {
        w.run(words).expect(0);
        let text = w.read("lines");
        let result = lines(&text).pop().unwrap_or_else(|| panic!("{words:?}"));
        assert_eq!(result["command"], command, "{words:?}: {text}");
    }
}

#[test]
fn json_into_contains_the_errors_of_a_failed_command() {
    let w = Workspace::new(&[("main.tf", "output \"x\" {\n  value = nope.a\n}\n")]);
    let run = w.run(&["plan", "-json-into=lines"]).expect(1);
    assert!(run.stderr.contains("nope"), "{run:?}");
    let text = w.read("lines");
    assert!(kinds(&text).contains(&"diagnostic".to_owned()), "{text}");
    assert_eq!(lines(&text).pop().unwrap()["exit_code"], 1);
    let run = w.run(&["state", "rm", "-json-into=lines", "a.b"]).expect(1);
    assert!(w.read("lines").contains("a.b"), "{run:?}");
}

#[test]
fn json_into_accepts_the_tofu_format_and_excludes_json() {
    let w = Workspace::new(&[("main.tf", TWO)]);
    let words = ["plan", "-json-into=lines", "--format", "tofu"];
    w.run(&words).expect(0);
    let first = lines(&w.read("lines")).remove(0);
    assert_eq!(first["@module"], "tofu.ui", "{first}");
    let run = w.run(&["plan", "-json", "-json-into=lines"]).expect(1);
    assert!(run.stdout.contains("cannot be combined"), "{run:?}");
    let run = w.run(&["plan", "--format", "tofu"]).expect(1);
    assert!(run.stderr.contains("--json-into"), "{run:?}");
    for path in ["main.tf", "terraform.tfstate", ".flightdeck/x"] {
        let run = w.run(&["plan", &format!("-json-into={path}")]).expect(1);
        assert!(run.stderr.contains("not overwritten"), "{path}: {run:?}");
    }
    assert_eq!(w.read("main.tf"), TWO);
}

#[test]
fn concise_shows_the_plan_without_progress() {
    let w = Workspace::new(&[("main.tf", TWO)]);
    let run = w.run(&["apply", "-auto-approve", "-concise"]).expect(0);
    assert!(run.stdout.contains("2 to create"), "{run:?}");
    assert!(run.stdout.contains("Deploy #1"), "{run:?}");
    assert!(!run.stdout.contains("terraform_data.a: "), "{run:?}");
    let run = w.run(&["destroy", "-auto-approve"]).expect(0);
    assert!(run.stdout.contains("terraform_data.a: "), "{run:?}");
}

#[test]
fn warnings_are_compacted_or_consolidated_by_flags() {
    let w = Workspace::new(&[("main.tf", DEPRECATED), ("m/main.tf", OLD)]);
    let shown = |flags: &[&str]| w.run(&[&["validate"], flags].concat()).expect(0).stderr;
    let whole = shown(&[]);
    let warnings = whole.matches("warning:").count();
    assert!(warnings >= 2, "{whole}");
    let one = shown(&["-consolidate-warnings"]);
    assert_eq!(one.matches("warning:").count(), 1, "{one}");
    assert!(one.contains("more similar warning"), "{one}");
    assert_eq!(shown(&["-consolidate-warnings=false"]), whole);
    assert_eq!(shown(&["-consolidate-errors"]), whole);
    let compact = shown(&["-compact-warnings"]);
    assert!(compact.starts_with("Warnings:"), "{compact}");
    assert!(compact.lines().count() < whole.lines().count(), "{compact}");
    assert!(!compact.contains("warning: "), "{compact}");
}

#[test]
fn errors_are_consolidated_by_a_flag() {
    let w = Workspace::new(&[(
        "main.tf",
        "output \"x\" {\n  value = nope.a\n}\noutput \"y\" {\n  value = nope.a\n}\n",
    )]);
    let whole = w.run(&["validate"]).expect(1).stderr;
    assert_eq!(whole.matches("error:").count(), 2, "{whole}");
    let one = w.run(&["validate", "-consolidate-errors"]).expect(1).stderr;
    assert_eq!(one.matches("error:").count(), 1, "{one}");
    assert!(one.contains("1 more similar error"), "{one}");
}

#[test]
fn sensitive_values_are_shown_only_in_text_output_with_the_flag() {
    let w = Workspace::new(&[("main.tf", SECRET)]);
    let shows = |words: &[&str]| {
        let run = w.run(words).expect(0);
        assert!(!run.stderr.contains("hunter2"), "{run:?}");
        run.stdout.contains("hunter2")
    };
    assert!(!shows(&["plan"]));
    assert!(shows(&["plan", "-show-sensitive"]));
    assert!(!shows(&["plan", "-out=p"]));
    assert!(!shows(&["show", "p"]));
    assert!(shows(&["show", "-show-sensitive", "p"]));
    assert!(!shows(&["plan", "-json", "-show-sensitive"]));
    w.run(&["plan", "-json-into=lines", "-show-sensitive"])
        .expect(0);
    assert!(!w.read("lines").contains("hunter2"));
    assert!(shows(&["apply", "-auto-approve", "-show-sensitive"]));
    for command in [
        &["output"][..],
        &["show"],
        &["state", "show", "terraform_data.a"],
    ] {
        assert!(!shows(command), "{command:?}");
        let with = [command, &["--show-sensitive"]].concat();
        assert!(shows(&with), "{command:?}");
    }
    assert!(!shows(&[
        "state",
        "show",
        "-json",
        "-show-sensitive",
        "terraform_data.a"
    ]));
    let into = [
        "state",
        "show",
        "-json-into=lines",
        "-show-sensitive",
        "terraform_data.a",
    ];
    assert!(shows(&into));
    let text = w.read("lines");
    assert!(text.contains("seen") && !text.contains("hunter2"), "{text}");
    assert!(shows(&["show", "-show-sensitive", "terraform.tfstate"]));
    assert!(!shows(&["show", "terraform.tfstate"]));
    assert!(!shows(&["plan", "-destroy"]));
    assert!(shows(&["destroy", "-auto-approve", "-show-sensitive"]));
}

#[test]
fn address_files_select_in_every_command_with_addresses() {
    let w = Workspace::new(&[
        ("main.tf", TWO),
        ("one", "# the first\n\nterraform_data.a\n"),
        ("other", "terraform_data.b\n"),
    ]);
    let plan = |flag: &str| w.run(&["plan", flag]).expect(0).stdout;
    assert!(plan("-target-file=one").contains("1 to create"));
    assert!(plan("-exclude-file=one").contains("1 to create"));
    w.run(&["apply", "-auto-approve", "-target-file", "one"])
        .expect(0);
    let state = || w.run(&["state", "list"]).expect(0).stdout;
    assert_eq!(state(), "terraform_data.a\n");
    w.run(&["apply", "-auto-approve", "-exclude-file=one"])
        .expect(0);
    assert_eq!(state(), "terraform_data.a\nterraform_data.b\n");
    for flag in ["-target-file=one", "-exclude-file=one"] {
        w.run(&["refresh", flag]).expect(0);
    }
    w.run(&["destroy", "-auto-approve", "-target-file=other"])
        .expect(0);
    assert_eq!(state(), "terraform_data.a\n");
    w.run(&["destroy", "-auto-approve", "-exclude-file=other"])
        .expect(0);
    assert_eq!(state(), "");
}

#[test]
fn unsupported_flag_is_refused_with_a_reason_in_every_spelling() {
    let w = Workspace::new(&[("main.tf", TWO)]);
    let said = "`plan` does not support -generate-config-out: configuration is not generated";
    for flag in ["-generate-config-out=x.tf", "--generate-config-out=x.tf"] {
        let run = w.run(&["plan", flag]).expect(1);
        assert!(run.stderr.contains(said), "{flag}: {run:?}");
    }
    let mut command = w.command(&["plan"]);
    let run =
        Run::from_command(command.env("TF_CLI_ARGS_plan", "-generate-config-out=x.tf")).expect(1);
    assert!(run.stderr.contains(said), "{run:?}");
    assert!(run.stderr.contains("TF_CLI_ARGS_plan"), "{run:?}");
    let run = w
        .run(&["plan", "-json", "-generate-config-out=x.tf"])
        .expect(1);
    assert_eq!(run.result()["exit_code"], 1);
}

#[test]
fn common_pipeline_flags_can_be_combined() {
    let w = Workspace::new(&[("main.tf", TWO)]);
    let mut command = w.command(&["apply", "-auto-approve=true"]);
    let common = "-input=false -no-color -compact-warnings -lock=true -lock-timeout=0s -concise";
    Run::from_command(command.env("TF_CLI_ARGS", common)).expect(0);
    let mut command = w.command(&["output", "-json=true"]);
    let run = Run::from_command(command.env("TF_CLI_ARGS", "-input=false -no-color")).expect(0);
    assert_eq!(run.stdout.trim(), "{}");
    let run = w
        .run(&["plan", "-detailed-exitcode=true", "-refresh=0"])
        .expect(0);
    assert!(run.stdout.contains("no changes"), "{run:?}");
    let run = w.run(&["plan", "-refresh=maybe"]).expect(1);
    assert!(run.stderr.contains("maybe"), "{run:?}");
}

#[test]
fn state_commands_accept_their_flags() {
    let w = Workspace::new(&[("main.tf", TWO)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    let id = {
        let shown = w
            .run(&["state", "show", "--json", "terraform_data.b"])
            .expect(0);
        let attributes = shown.result()["resources"][0]["attributes"].clone();
        let all: Vec<(String, String)> = serde_json::from_value(attributes).unwrap();
        let id = all.into_iter().find(|(path, _)| path == "id").unwrap().1;
        id.trim_matches('"').to_owned()
    };
    let listed = w.run(&["state", "list", &format!("-id={id}")]).expect(0);
    assert_eq!(listed.stdout, "terraform_data.b\n");
    let run = w
        .run(&["state", "rm", "-dry-run", "terraform_data.a"])
        .expect(0);
    assert!(
        run.stdout.contains("terraform_data.a would be forgotten"),
        "{run:?}"
    );
    assert_eq!(w.run(&["state", "ls"]).expect(0).stdout.lines().count(), 2);
    let run = w.run(&["taint", "terraform_data.z"]).expect(1);
    assert!(run.stderr.contains("not in the state"), "{run:?}");
    let run = w
        .run(&["taint", "-allow-missing", "terraform_data.z"])
        .expect(0);
    assert!(run.stderr.contains("nothing was changed"), "{run:?}");
    w.run(&["untaint", "-allow-missing", "terraform_data.z"])
        .expect(0);
    w.run(&["untaint", "-allow-missing", "terraform_data.a"])
        .expect(1);
    let shown = w.run(&["show", "-state"]).expect(0);
    assert_eq!(shown.stdout, w.run(&["show"]).expect(0).stdout);
    w.run(&["plan", "-out=p", "-destroy"]).expect(0);
    let shown = w.run(&["show", "-plan=p"]).expect(0);
    assert!(shown.stdout.contains("2 to destroy"), "{shown:?}");
}
