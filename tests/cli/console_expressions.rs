//! Tests of `flightdeck console`, with expressions from a pipe and with the rules for terminals.

use crate::install::tofu;
use crate::support::{Run, Workspace};
use std::process::{Command, Stdio};

const MAIN: &str = r#"
variable "a" { default = 1 }
variable "unset" { type = string }
variable "hidden" {
  default   = "hush-hush"
  sensitive = true
}
locals {
  l = var.a + 1
  s = "${var.hidden}!"
}
resource "terraform_data" "a" { input = local.l }
resource "terraform_data" "many" {
  count = 2
  input = count.index
}
module "m" {
  source = "./m"
  x      = terraform_data.a.output
}
"#;

fn workspace() -> Workspace {
    let inner = "variable \"x\" {}\noutput \"y\" {\n  value = [var.x]\n}\n";
    Workspace::new(&[("main.tf", MAIN), ("m/main.tf", inner)])
}

fn evaluate(w: &Workspace, input: &str) -> Run {
    w.run_with_input(&["console"], input)
}

const ASKED: &str = r#"1 + 2
local.l
var.unset
var.hidden
[local.s]
terraform_data.a.output
terraform_data.many[*].output
module.m

{
  a = 1
  b = [1,
2]}
type(var.a)
type({ a = [1, "x"], b = tomap({ c = 1 }), d = {}, e = [] })
"a\nb"
toset(["a"])
null
length(timestamp())
terraform.workspace
path.module
exit
9
"#;

#[test]
fn expressions_are_evaluated_with_configuration_variables_and_state() {
    let w = workspace();
    let input = "local.l\nterraform_data.a.output\nterraform_data.many\n";
    let before = evaluate(&w, input).expect(0);
    assert_eq!(
        before.stdout,
        "2\n(known after apply)\n(known after apply)\n"
    );
    assert!(!w.path().join(".terraform").exists());
    w.run(&["apply", "-auto-approve", "-var=unset=x"]).expect(0);
    let run = evaluate(&w, ASKED).expect(0);
    let start = "3\n2\n(known after apply)\n(sensitive value)\n[\n  (sensitive value),\n]\n2\n[\n  0,\n  1,\n]\n{\n  \"y\" = [\n    2,\n  ]\n}\n\n{\n  \"a\" = 1\n";
    assert!(run.stdout.starts_with(start), "{}", run.stdout);
    assert!(
        run.stdout.ends_with("20\n\"default\"\n\".\"\n"),
        "{}",
        run.stdout
    );
    let args = ["console", "-var", "a=41"];
    let run = Run::with_input(w.command(&args), "local.l\nvar.unset").expect(0);
    assert_eq!(run.stdout, "42\n(known after apply)\n");
}

#[test]
fn first_error_from_a_pipe_ends_the_command_with_its_place() {
    let w = workspace();
    for (wrong, words) in [
        ("nope", "Invalid reference"),
        ("1 +", "Missing expression"),
        ("local.nope", "Reference to undeclared local value"),
        ("{", "closing brace"),
        ("1 + var.hidden", "Invalid operand"),
    ] {
        let run = evaluate(&w, &format!("1\n{wrong}\n5\n")).expect(1);
        assert_eq!(run.stdout, "1\n", "{wrong}");
        assert!(run.stderr.contains(words), "{run:?}");
        assert!(run.stderr.contains("<console-input>:1:"), "{run:?}");
        assert!(!run.stderr.contains("hush-hush"), "{run:?}");
    }
}

#[test]
fn configuration_errors_are_reported_and_other_expressions_evaluated() {
    let w = Workspace::new(&[("main.tf", "locals {\n  bad  = 1 + \"x\"\n  good = 2\n}\n")]);
    let run = evaluate(&w, "local.good\n").expect(0);
    assert_eq!(run.stdout, "2\n");
    assert!(run.stderr.contains("main.tf:2:"), "{run:?}");
}

#[test]
fn functions_need_no_configuration() {
    let run = evaluate(&Workspace::new(&[]), "upper(\"x\")\n").expect(0);
    assert_eq!(run.stdout, "\"X\"\n");
}

#[test]
fn expressions_have_the_values_that_tofu_gives() {
    let Some(tofu) = tofu("expressions are worth what tofu says") else {
        return;
    };
    let w = workspace();
    w.run(&["apply", "-auto-approve", "-var=unset=x"]).expect(0);
    let theirs = |args: &[&str]| {
        let mut command = Command::new(&tofu);
        command
            .args(args)
            .current_dir(w.path())
            .env("TF_CLI_CONFIG_FILE", "/dev/null")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    assert!(theirs(&["get"]).output().unwrap().status.success());
    let by_tofu = Run::with_input(theirs(&["console", "-var=unset=x"]), ASKED).expect(0);
    let ours = Run::with_input(w.command(&["console", "-var=unset=x"]), ASKED).expect(0);
    assert_eq!(ours.stdout, by_tofu.stdout);
}
