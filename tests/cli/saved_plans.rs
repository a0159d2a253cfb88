//! Tests of saved plans: their variable values, and permitted differences when they are applied.

use crate::support::{Run, Workspace, mode};

const MAIN: &str = r#"
variable "size" { type = string }
variable "count_of" { type = number }
variable "tags" { type = map(string) }
variable "region" { default = "north" }
variable "zones" {
  type    = list(string)
  default = ["a"]
}
resource "terraform_data" "a" {
  input = "${var.size} ${var.count_of} ${var.tags.env} ${var.region} ${join(",", var.zones)}"
}
output "all" { value = terraform_data.a.output }
"#;

fn with(w: &Workspace, words: &[&str], environment: &[(&str, &str)]) -> Run {
    Run::from_command(w.command(words).envs(environment.iter().copied()))
}

/// Saved plan with values from the environment, a flag, a named file and an automatic file, and its
/// workspace.
fn planned() -> Workspace {
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        ("named.tfvars", "tags = { env = \"prod\" }\n"),
        ("some.auto.tfvars", "zones = [\"x\", \"y\"]\n"),
    ]);
    let plan = [
        "plan",
        "-out=p",
        "-var",
        "count_of=3",
        "-var-file=named.tfvars",
    ];
    with(&w, &plan, &[("TF_VAR_size", "large")]).expect(0);
    w
}

const ALL: &str = "large 3 prod north x,y";

/// The same configuration and plan in another directory, without files of variables.
fn copy_to_another_directory(w: &Workspace) -> Workspace {
    Workspace::new(&[("main.tf", &w.read("main.tf")), ("p", &w.read("p"))])
}

fn applied_values(w: &Workspace) -> String {
    w.run(&["output", "-raw", "all"]).expect(0).stdout
}

#[test]
fn saved_plan_needs_no_variable_values() {
    let w = planned();
    w.run(&["apply", "p"]).expect(0);
    assert_eq!(applied_values(&w), ALL);
}

#[test]
fn saved_plan_is_applied_in_another_directory_without_variable_files() {
    let there = copy_to_another_directory(&planned());
    there.run(&["apply", "p"]).expect(0);
    assert_eq!(applied_values(&there), ALL);
}

#[test]
fn equal_variable_values_may_be_given_again() {
    let there = copy_to_another_directory(&planned());
    let environment = [
        ("TF_VAR_size", "large"),
        ("TF_VAR_count_of", "3"),
        ("TF_VAR_tags", "{env = \"prod\"}"),
        ("TF_VAR_unknown", "anything"),
    ];
    there.write("more.tfvars", "count_of = 3\nregion = \"north\"\n");
    let words = ["apply", "-var", "size=large", "-var-file=more.tfvars", "p"];
    with(&there, &words, &environment).expect(0);
    assert_eq!(applied_values(&there), ALL);
}

#[test]
fn different_variable_values_are_refused_by_name() {
    let there = copy_to_another_directory(&planned());
    there.write("other.tfvars", "tags = { env = \"dev\" }\n");
    let table: [(&[&str], &[(&str, &str)], &str); 6] = [
        (&[], &[("TF_VAR_size", "small")], "TF_VAR_size"),
        (&["-var", "count_of=4"], &[], "count_of"),
        (&["-var-file=other.tfvars"], &[], "other.tfvars:1"),
        // Defaults are values of the plan too.
        (&["-var=region=south"], &[], "region"),
        (&[], &[("TF_VAR_region", "south")], "TF_VAR_region"),
        (&[], &[("TF_CLI_ARGS_apply", "-var size=small")], "size"),
    ];
    for (flags, environment, named) in table {
        let words = [&["apply"], flags, &["p"]].concat();
        let run = with(&there, &words, environment).expect(1);
        assert!(
            run.stderr.contains("Mismatch between input and plan") && run.stderr.contains(named),
            "{words:?} {environment:?}: {run:?}"
        );
    }
    there.write("late.auto.tfvars", "zones = [\"z\"]\n");
    let run = there.run(&["apply", "p"]).expect(1);
    assert!(run.stderr.contains("zones"), "{run:?}");
    assert!(!there.path().join("terraform.tfstate").exists());
    let run = there.run(&["apply", "-var", "none=1", "p"]).expect(1);
    assert!(
        run.stderr.contains("Value for undeclared variable"),
        "{run:?}"
    );
}

#[test]
fn overridden_variable_sources_do_not_conflict_with_the_plan() {
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        (
            "terraform.tfvars",
            "size = \"file\"\ntags = { env = \"file\" }\n",
        ),
        ("z.auto.tfvars", "region = \"automatic\"\n"),
        ("named.tfvars", "region = \"named\"\n"),
    ]);
    let environment = [("TF_VAR_size", "environment"), ("TF_VAR_count_of", "1")];
    let plan = [
        "plan",
        "-out=p",
        "-var",
        "size=flag",
        "-var=count_of=2",
        "-var-file=named.tfvars",
    ];
    with(&w, &plan, &environment).expect(0);
    // Automatic files and the environment may be unchanged or missing.
    let there = copy_to_another_directory(&w);
    there.run(&["apply", "p"]).expect(0);
    assert_eq!(applied_values(&there), "flag 2 file named a");
    for environment in [&environment[..], &[]] {
        let there = copy_to_another_directory(&w);
        for file in ["terraform.tfvars", "z.auto.tfvars"] {
            there.write(file, &w.read(file));
        }
        with(&there, &["apply", "p"], environment).expect(0);
        assert_eq!(applied_values(&there), "flag 2 file named a");
    }
    // Flags must repeat the plan's values, and so must changed files.
    let run = w.run(&["apply", "-var", "size=file", "p"]).expect(1);
    assert!(run.stderr.contains("Mismatch"), "{run:?}");
    w.write("z.auto.tfvars", "region = \"another\"\n");
    let run = with(&w, &["apply", "p"], &environment).expect(1);
    assert!(run.stderr.contains("z.auto.tfvars:1"), "{run:?}");
}

#[test]
fn stage_by_number_or_name_contains_its_variable_values() {
    let w = planned();
    w.run(&["deploy", "1"]).expect(0);
    assert_eq!(applied_values(&w), ALL);
    let stage = [
        "stage",
        "--out",
        "kept",
        "--var-file",
        "named.tfvars",
        "--var",
        "size=tiny",
        "--var",
        "count_of=1",
    ];
    w.run(&stage).expect(0);
    std::fs::remove_file(w.path().join("named.tfvars")).unwrap();
    let run = with(&w, &["deploy", "kept"], &[("TF_VAR_size", "other")]).expect(1);
    assert!(run.stderr.contains("Mismatch"), "{run:?}");
    w.run(&["deploy", "kept"]).expect(0);
    assert_eq!(applied_values(&w), "tiny 1 prod north x,y");
}

#[test]
fn values_used_while_loading_belong_to_the_plan() {
    let files = [
        (
            "main.tf",
            "variable \"m\" { type = string }\nvariable \"s\" { type = string }\nterraform {\n  backend \"local\" { path = var.s }\n}\nmodule \"m\" { source = var.m }\noutput \"all\" { value = module.m.x }\n",
        ),
        ("one/main.tf", "output \"x\" { value = 1 }\n"),
    ];
    let w = Workspace::new(&files);
    let values = [("TF_VAR_m", "./one"), ("TF_VAR_s", "own.tfstate")];
    with(&w, &["init"], &values).expect(0);
    with(&w, &["plan", "-out=p"], &values).expect(0);
    let there = Workspace::new(&files);
    there.write("p", &w.read("p"));
    with(&there, &["init"], &values).expect(0);
    there.run(&["apply", "p"]).expect(0);
    assert!(there.read("own.tfstate").contains("\"serial\""));
}

const EPHEMERAL: &str = r#"
variable "token" {
  type      = string
  ephemeral = true
}
variable "mode" {
  type      = string
  ephemeral = true
  default   = "plain"
}
variable "n" { default = "0" }
resource "terraform_data" "a" {
  input = var.n
  provisioner "local-exec" {
    command = "printf '%s %s' \"$TOKEN\" \"$MODE\" >used"
    environment = {
      TOKEN = var.token
      MODE  = var.mode
    }
  }
}
"#;

#[test]
fn ephemeral_variables_are_set_when_a_saved_plan_is_applied() {
    let table: [(&[&str], &[(&str, &str)], &str); 5] = [
        (&["-var", "token=evening"], &[], "evening plain"),
        (&[], &[("TF_VAR_token", "evening")], "evening plain"),
        (&["-var-file=late.vars"], &[], "from a file loud"),
        (
            &["-var", "token=evening", "-var", "mode=quiet"],
            &[("TF_VAR_token", "night")],
            "evening quiet",
        ),
        (
            &[],
            &[("TF_CLI_ARGS_apply", "-var token=args")],
            "args plain",
        ),
    ];
    for (flags, environment, used) in table {
        let w = Workspace::new(&[
            ("main.tf", EPHEMERAL),
            ("late.vars", "token = \"from a file\"\nmode = \"loud\"\n"),
        ]);
        w.run(&["plan", "-out=p", "-var", "token=morning", "-var=mode=then"])
            .expect(0);
        let words = [&["apply"], flags, &["p"]].concat();
        with(&w, &words, environment).expect(0);
        assert_eq!(w.read("used"), used);
        for file in ["p", "terraform.tfstate", ".flightdeck/flightdeck.db"] {
            let bytes = std::fs::read(w.path().join(file)).unwrap();
            for secret in [&b"morning"[..], b"evening"] {
                let found = bytes.windows(secret.len()).any(|part| part == secret);
                assert!(!found, "{file} keeps an ephemeral value");
            }
        }
    }
}

#[test]
fn missing_required_ephemeral_variable_is_an_error() {
    let w = Workspace::new(&[("main.tf", EPHEMERAL)]);
    with(&w, &["plan", "-out=p"], &[("TF_VAR_token", "morning")]).expect(0);
    let run = w.run(&["apply", "p"]).expect(1);
    assert!(
        run.stderr.contains("No value for required variable")
            && run.stderr.contains("\"token\" is ephemeral")
            && run.stderr.contains("TF_VAR_token"),
        "{run:?}"
    );
    let run = w
        .run(&["apply", "-var", "token=t", "-var", "n=1", "p"])
        .expect(1);
    assert!(run.stderr.contains("\"n\""), "{run:?}");
    // `show` needs no values.
    w.run(&["show", "p"]).expect(0);
    w.run(&["show", "-json", "p"]).expect(0);
    w.run(&["graph", "-plan=p"]).expect(0);
}

#[test]
fn differences_to_the_planning_directory_are_named() {
    let w = planned();
    let there = copy_to_another_directory(&w);
    there.write("main.tf", &format!("{}\n# a comment\n", w.read("main.tf")));
    let run = there.run(&["apply", "p"]).expect(1);
    assert!(
        run.stderr
            .contains("main.tf changed since the stage was planned"),
        "{run:?}"
    );
    let there = copy_to_another_directory(&w);
    there.write("other.tf", "variable \"required\" {}\n");
    let run = there.run(&["apply", "p"]).expect(1);
    assert!(
        run.stderr.contains("other.tf (new) changed since"),
        "{run:?}"
    );
    let there = copy_to_another_directory(&w);
    there.run(&["workspace", "new", "prod"]).expect(0);
    let run = there.run(&["apply", "p"]).expect(1);
    assert!(
        run.stderr
            .contains("workspace \"default\", but workspace \"prod\" is selected"),
        "{run:?}"
    );
    // A state that the plan was not made for.
    let there = copy_to_another_directory(&w);
    there.write("main.tf", "resource \"terraform_data\" \"b\" {}\n");
    there.run(&["apply", "-auto-approve"]).expect(0);
    there.write("main.tf", MAIN);
    let run = there.run(&["apply", "p"]).expect(1);
    assert!(run.stderr.contains("serial 0 then"), "{run:?}");
}

#[test]
fn saved_plan_is_bound_to_its_state() {
    let w = planned();
    w.run(&["apply", "p"]).expect(0);
    let plan = [
        "plan",
        "-out=p",
        "-var-file=named.tfvars",
        "-var=size=s",
        "-var=count_of=1",
    ];
    w.run(&plan).expect(0);
    let without = copy_to_another_directory(&w);
    let run = without.run(&["apply", "p"]).expect(1);
    assert!(
        run.stderr.contains("terraform.tfstate has no state now"),
        "{run:?}"
    );
    let along = copy_to_another_directory(&w);
    along.write("terraform.tfstate", &w.read("terraform.tfstate"));
    along.run(&["apply", "p"]).expect(0);
    assert_eq!(applied_values(&along), "s 1 prod north x,y");
    let another = copy_to_another_directory(&w);
    let state = w.read("terraform.tfstate");
    let at = state.find("\"lineage\": \"").unwrap() + 12;
    let mut state = state.into_bytes();
    state[at..at + 8].copy_from_slice(b"00000000");
    another.write("terraform.tfstate", &String::from_utf8(state).unwrap());
    let run = another.run(&["apply", "p"]).expect(1);
    assert!(run.stderr.contains("lineage"), "{run:?}");
}

#[test]
fn plan_of_another_format_version_is_refused_with_a_remedy() {
    let w = planned();
    assert_eq!(mode(&w.path().join("p")), 0o600);
    let text = w.read("p");
    let (_, rest) = text.split_once('\n').unwrap();
    let json = "{\"format\":\"flightdeck stage\",\"layout\":2}";
    for (other, age) in [
        (format!("flightdeck plan 1\n{rest}"), "an older version"),
        (format!("flightdeck plan 99\n{rest}"), "a newer version"),
        (json.to_owned(), "an older version"),
    ] {
        w.write("other", &other);
        for words in [["apply", "other"], ["show", "other"]] {
            let run = w.run(&words).expect(1);
            assert!(
                run.stderr.contains(age) && run.stderr.contains("plan again"),
                "{run:?}"
            );
        }
    }
}

#[test]
fn plan_of_another_program_is_refused_by_its_form() {
    let w = planned();
    w.write("tfplan", "PK\u{3}\u{4} and the rest of an archive");
    for command in ["apply", "show"] {
        let refused = w.run(&[command, "tfplan"]).expect(1).stderr;
        assert!(
            refused.contains("as OpenTofu and Terraform write"),
            "{refused}"
        );
    }
}
