//! Tests of files that functions read: their contents belong to the stage, so that the approved
//! contents are deployed.

use crate::support::Workspace;
use serde_json::Value;

/// Stages `main`, changes something, and deploys that stage.
fn stage_change_and_deploy(
    files: &[(&str, &str)],
    change: impl FnOnce(&Workspace),
) -> crate::support::Run {
    let w = Workspace::new(files);
    w.run(&["stage", "--out", "friday"]).expect(0);
    change(&w);
    let run = w.run(&["deploy", "friday"]);
    assert_eq!(
        w.run(&["state", "list"]).expect(0).stdout,
        "",
        "nothing runs"
    );
    assert!(!w.path().join("ran").exists(), "nothing runs");
    run
}

fn assert_stale(run: crate::support::Run, of: &str) {
    let run = run.expect(1);
    assert!(
        run.stderr
            .contains(&format!("external inputs changed: {of}")),
        "{}",
        run.stderr
    );
    assert!(
        !run.stderr.contains("bug in the provider"),
        "{}",
        run.stderr
    );
}

const COMMAND: &str = r#"
resource "terraform_data" "a" {
  provisioner "local-exec" { command = file("cmd.sh") }
}
"#;

#[test]
fn deploy_runs_the_command_that_was_read_from_a_file_while_staging() {
    let run = stage_change_and_deploy(
        &[("main.tf", COMMAND), ("cmd.sh", "echo approved >> ran")],
        |w| w.write("cmd.sh", "echo other >> ran"),
    );
    assert_stale(run, "cmd.sh");
    // Without a change the staged command runs.
    let w = Workspace::new(&[("main.tf", COMMAND), ("cmd.sh", "echo approved >> ran")]);
    w.run(&["stage", "--out", "friday"]).expect(0);
    w.run(&["deploy", "friday"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(w.path().join("ran")).unwrap(),
        "approved\n"
    );
}

#[test]
fn every_function_that_reads_files_is_an_external_input() {
    for (expression, file) in [
        ("file(\"f.txt\")", "f.txt"),
        ("filebase64(\"f.txt\")", "f.txt"),
        ("templatefile(\"f.txt\", {})", "f.txt"),
        ("filemd5(\"f.txt\")", "f.txt"),
        ("filesha1(\"f.txt\")", "f.txt"),
        ("filesha256(\"f.txt\")", "f.txt"),
        ("filesha512(\"f.txt\")", "f.txt"),
        ("filebase64sha256(\"f.txt\")", "f.txt"),
        ("filebase64sha512(\"f.txt\")", "f.txt"),
        ("try(file(\"none.txt\"), \"x\")", "none.txt"),
        ("fileexists(\"none.txt\") ? \"x\" : \"y\"", "none.txt"),
        (
            "join(\",\", fileset(path.module, \"*.txt\"))",
            "the files that match *.txt",
        ),
    ] {
        for main in [
            format!("resource \"terraform_data\" \"a\" {{ input = {expression} }}\n"),
            format!(
                "output \"o\" {{ value = {expression} }}\nresource \"terraform_data\" \"a\" {{}}\n"
            ),
            format!(
                "locals {{ l = {expression} }}\nresource \"terraform_data\" \"a\" {{ triggers_replace = local.l }}\n"
            ),
            format!(
                "resource \"terraform_data\" \"a\" {{\n provisioner \"local-exec\" {{\n  command = \"echo >> ran\"\n  environment = {{ X = {expression} }}\n }}\n}}\n"
            ),
        ] {
            let run = stage_change_and_deploy(&[("main.tf", &main), ("f.txt", "one")], |w| {
                w.write("f.txt", "two");
                w.write("none.txt", "there");
            });
            assert_stale(run, file);
        }
    }
}

/// A command changes the file before it is read again. The deploy stops there, and the error names
/// the file.
#[test]
fn file_changed_during_the_deploy_is_detected_when_it_is_read() {
    for (read, what) in [
        ("file(\"f.txt\")", "input"),
        ("try(file(\"f.txt\"), \"none\")", "input"),
    ] {
        let main = format!(
            r#"
resource "terraform_data" "first" {{
  provisioner "local-exec" {{ command = "printf two > f.txt" }}
}}
resource "terraform_data" "second" {{
  {what}     = {read}
  depends_on = [terraform_data.first]
}}
resource "terraform_data" "third" {{
  depends_on = [terraform_data.first]
  provisioner "local-exec" {{ command = "echo ${{{read}}} >> ran" }}
}}
resource "terraform_data" "apart" {{}}
output "o" {{ value = {read} }}
"#
        );
        let w = Workspace::new(&[("main.tf", &main), ("f.txt", "one")]);
        let run = w.run(&["deploy", "--auto-approve", "--json"]).expect(5);
        let errors: Vec<Value> = run
            .diagnostics()
            .into_iter()
            .filter(|d| d["severity"] == "error")
            .collect();
        assert_eq!(errors.len(), 2, "{errors:#?}");
        for error in &errors {
            let text = error.to_string();
            assert!(
                text.contains("f.txt changed since the stage was planned") && !text.contains("bug"),
                "{text}"
            );
        }
        assert!(!w.path().join("ran").exists());
        // Independent resources were applied, and the output has the approved value.
        let state: Value =
            serde_json::from_str(&w.run(&["state", "export"]).expect(0).stdout).unwrap();
        assert!(
            state["resources"]
                .as_array()
                .unwrap()
                .iter()
                .any(|r| r["name"] == "apart"),
            "{state:#}"
        );
        assert_eq!(state["outputs"]["o"]["value"], "one");
        // The next stage reads the new contents.
        w.write("main.tf", &main.replace("printf two > f.txt", "true"));
        w.run(&["deploy", "--auto-approve"]).expect(0);
    }
}

/// As in a build of packages: a command creates the file that another resource checks with
/// `fileexists`. The approved plan says that the file was missing; the next stage finds it.
#[test]
fn file_created_by_a_command_of_the_deploy_is_seen_by_the_next_stage() {
    let main = r#"
resource "terraform_data" "build" {
  provisioner "local-exec" {
    command = "echo made > out.zip"
  }
}
resource "terraform_data" "code" {
  input      = fileexists("out.zip") ? filebase64sha256("out.zip") : "none"
  depends_on = [terraform_data.build]
}
output "code" {
  value = terraform_data.code.output
}
"#;
    let w = Workspace::new(&[("main.tf", main)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let code = || {
        let state: serde_json::Value =
            serde_json::from_str(&w.run(&["state", "export"]).expect(0).stdout).unwrap();
        state["outputs"]["code"]["value"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (code().as_str(), w.read("out.zip").as_str()),
        ("none", "made\n")
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert_ne!(code(), "none");
    assert!(w.run(&["stage"]).expect(0).stdout.contains("no changes"));
}

/// A file that a resource of the same configuration writes is read at the next deploy, after it was
/// written.
#[test]
fn file_written_by_the_deploy_itself_is_reported_with_a_remedy() {
    let main = |content: &str| {
        format!(
            r#"
terraform {{
  required_providers {{ local = {{ source = "flightdeck.internal/bundled/local" }} }}
}}
resource "local_file" "f" {{
  filename = "written.txt"
  content  = "{content}"
}}
resource "terraform_data" "reads" {{
  input      = file("written.txt")
  depends_on = [local_file.f]
}}
"#
        )
    };
    let w = Workspace::new(&[("main.tf", &main("one")), ("written.txt", "one")]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("main.tf", &main("two"));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    // The contents from the stage were approved; the new ones come with the next deploy.
    let run = w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(
        run.stdout.contains("terraform_data.reads"),
        "{}",
        run.stdout
    );
    let state = w.run(&["state", "export"]).expect(0).stdout;
    assert!(
        state.contains("\"input\": {") && state.contains("two"),
        "{state}"
    );
    w.write(
        "main.tf",
        &main("three").replace(
            "depends_on = [local_file.f]",
            "triggers_replace = local_file.f.content\n  depends_on = [local_file.f]",
        ),
    );
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stderr
            .contains("written.txt changed since the stage was planned"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("refer to that resource instead"),
        "{}",
        run.stderr
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
}

/// Every step that finds the change hides a sensitive file name.
#[test]
fn sensitive_file_name_is_not_shown() {
    let main = r#"
variable "name" {
  default   = "hush-7f3a.txt"
  sensitive = true
}
resource "terraform_data" "first" {
  provisioner "local-exec" { command = "test ! -e go || printf two > hush-7f3a.txt" }
}
resource "terraform_data" "second" {
  input      = [try(file(var.name), "none"), filesha256(var.name)]
  depends_on = [terraform_data.first]
}
"#;
    let silent =
        |run: &crate::support::Run| assert!(!format!("{run:?}").contains("hush-7f3a"), "{run:#?}");
    let run = stage_change_and_deploy(&[("main.tf", main), ("hush-7f3a.txt", "one")], |w| {
        w.write("hush-7f3a.txt", "two")
    });
    silent(&run);
    assert_stale(run, "a file whose name is sensitive");
    let w = Workspace::new(&[("main.tf", main), ("hush-7f3a.txt", "one"), ("go", "")]);
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    silent(&run);
    assert!(
        run.stderr
            .contains("a file whose name is sensitive changed since the stage was planned"),
        "{}",
        run.stderr
    );
}
