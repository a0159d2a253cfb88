//! Tests of flags and their sources: the order of `-var` and `-var-file`, and arguments from
//! `TF_CLI_ARGS`.

use crate::support::{Run, Workspace};

const MAIN: &str = r#"
variable "a" { default = "default" }
variable "b" { default = "default" }
output "a" { value = var.a }
output "b" { value = var.b }
"#;

fn workspace() -> Workspace {
    Workspace::new(&[
        ("main.tf", MAIN),
        ("one.tfvars", "a = \"one\"\nb = \"one\"\n"),
        ("two.tfvars.json", "{\"a\": \"two\"}"),
        ("z.auto.tfvars", "a = \"automatic\"\nb = \"automatic\"\n"),
    ])
}

fn outputs(w: &Workspace) -> [String; 2] {
    ["a", "b"].map(|name| w.run(&["output", "-raw", name]).expect(0).stdout)
}

#[test]
fn later_variable_flags_override_earlier_ones_of_either_kind() {
    let w = workspace();
    let table: [(&[&str], [&str; 2]); 7] = [
        (&["-var", "a=flag", "-var-file=one.tfvars"], ["one", "one"]),
        (&["-var-file=one.tfvars", "-var", "a=flag"], ["flag", "one"]),
        (
            &["--var-file", "one.tfvars", "--var-file=two.tfvars.json"],
            ["two", "one"],
        ),
        (
            &["-var-file=two.tfvars.json", "-var-file=one.tfvars"],
            ["one", "one"],
        ),
        (&["-var=a=1", "-var", "a=2"], ["2", "automatic"]),
        (
            &["-var=b=1", "-var-file=two.tfvars.json", "-var=a=3"],
            ["3", "1"],
        ),
        (&[], ["automatic", "automatic"]),
    ];
    for command in [
        &["apply", "-auto-approve"][..],
        &["deploy", "--auto-approve"],
    ] {
        for (flags, expected) in table {
            w.run(&[command, flags].concat()).expect(0);
            assert_eq!(outputs(&w), expected, "{command:?} {flags:?}");
        }
    }
}

#[test]
fn console_and_validate_apply_variable_flags_in_order() {
    let w = workspace();
    let mut console = w.command(&["console", "-var", "a=flag", "-var-file=one.tfvars"]);
    let mut child = console.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"var.a\n").unwrap();
    let run = Run::from(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(run.stdout.trim(), "\"one\"");
}

fn with(w: &Workspace, words: &[&str], environment: &[(&str, &str)]) -> Run {
    Run::from_command(w.command(words).envs(environment.iter().copied()))
}

#[test]
fn arguments_from_the_environment_come_before_those_of_the_command_line() {
    let w = workspace();
    let specific = ("TF_CLI_ARGS_apply", "-auto-approve -var-file=one.tfvars");
    with(&w, &["apply"], &[specific]).expect(0);
    assert_eq!(outputs(&w), ["one", "one"]);
    with(&w, &["apply", "-var", "a=own"], &[specific]).expect(0);
    assert_eq!(outputs(&w), ["own", "one"]);
    // Arguments for one command come before the general ones, because they are inserted last.
    let general = ("TF_CLI_ARGS", "-no-color -var 'a=with a space'");
    with(&w, &["apply"], &[general, specific]).expect(0);
    assert_eq!(outputs(&w), ["with a space", "one"]);
    // Both variables may set a flag that takes one value: the later one wins.
    let once = (
        "TF_CLI_ARGS_plan",
        "-out=a.plan -input=false -parallelism=3",
    );
    let own = ["plan", "-input=false", "-out=b.plan", "-parallelism=2"];
    with(&w, &own, &[once]).expect(0);
    assert!(w.path().join("b.plan").is_file() && !w.path().join("a.plan").exists());
}

#[test]
fn native_command_names_read_environment_arguments() {
    let w = workspace();
    for (command, variable) in [
        ("deploy", "TF_CLI_ARGS_deploy"),
        ("deploy", "TF_CLI_ARGS_apply"),
        ("apply", "TF_CLI_ARGS_deploy"),
    ] {
        let text = format!("--auto-approve --var b={variable}_{command}");
        with(&w, &[command], &[(variable, text.as_str())]).expect(0);
        assert_eq!(outputs(&w)[1], format!("{variable}_{command}"));
    }
    let file = ("TF_CLI_ARGS_plan", "-input=false -var-file=one.tfvars");
    let staged = with(&w, &["stage", "--json"], &[file]).expect(0);
    assert!(staged.stdout.contains("one"), "{staged:?}");
}

#[test]
fn environment_arguments_apply_to_subcommands_after_global_flags() {
    let w = workspace();
    let elsewhere = Workspace::new(&[]);
    let chdir = format!("-chdir={}", w.path().display());
    let or_create = ("TF_CLI_ARGS_workspace_select", "-or-create");
    with(
        &elsewhere,
        &[&chdir, "workspace", "select", "select"],
        &[or_create],
    )
    .expect(0);
    assert_eq!(
        w.run(&["workspace", "show"]).expect(0).stdout.trim(),
        "select"
    );
    let approve = ("TF_CLI_ARGS_apply", "-auto-approve -var-file=one.tfvars");
    with(&elsewhere, &[&chdir, "apply"], &[approve]).expect(0);
    let filter = ("TF_CLI_ARGS_state_list", "-json");
    let listed = with(&elsewhere, &[&chdir, "state", "list"], &[filter]).expect(0);
    assert_eq!(listed.result()["resources"], serde_json::json!([]));
}

#[test]
fn invalid_environment_arguments_are_refused_by_name() {
    let w = workspace();
    let run = with(&w, &["plan"], &[("TF_CLI_ARGS_plan", "-var 'a=1")]).expect(1);
    assert!(run.stderr.contains("TF_CLI_ARGS_plan"), "{run:?}");
    let run = with(&w, &["plan"], &[("TF_CLI_ARGS", "-var a=1;b")]).expect(1);
    assert!(run.stderr.contains("TF_CLI_ARGS:"), "{run:?}");
    let run = with(&w, &["plan"], &[("TF_CLI_ARGS_plan", "-no-such-flag")]).expect(1);
    assert!(run.stderr.contains("TF_CLI_ARGS_plan"), "{run:?}");
    let run = with(&w, &["plan", "-json"], &[("TF_CLI_ARGS", "-out")]).expect(1);
    assert_eq!(run.result()["outcome"], "error");
    // Arguments for another command have no effect.
    with(&w, &["plan"], &[("TF_CLI_ARGS_apply", "-no-such-flag")]).expect(0);
}

#[test]
fn bundled_plugins_do_not_receive_environment_arguments() {
    let lab = crate::lab_deploys::Lab::new("resource \"lab_bucket\" \"a\" { name = \"a\" }");
    let general = ("TF_CLI_ARGS", "-parallelism=2");
    with(&lab.workspace, &["plan"], &[general]).expect(0);
}
