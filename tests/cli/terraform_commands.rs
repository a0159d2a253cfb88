//! Tests of Terraform-compatible commands: plan files, outputs, the state as a document, flags with
//! one dash.

use crate::support::{Workspace, mode};
use serde_json::{Value, json};

const MAIN: &str = r#"
variable "word" { default = "one" }
resource "terraform_data" "a" { input = var.word }
resource "terraform_data" "b" { input = terraform_data.a.output }
output "word" { value = terraform_data.a.output }
output "hidden" {
  value     = "hush"
  sensitive = true
}
output "many" { value = toset(["b<", "a"]) }
output "parts" { value = { number = 1.50, list = [true, null], text = "l1\nl2" } }
"#;

fn deployed() -> Workspace {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    w
}

#[test]
fn plan_is_written_to_a_file_and_deployed_from_it() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    let plan = ["plan", "-input=false", "-out=tfplan", "-detailed-exitcode"];
    let run = w
        .run(&[&plan[..], &["-var", "word=two"]].concat())
        .expect(2);
    assert!(run.stdout.contains("terraform_data.a"), "{run:?}");
    assert_eq!(mode(&w.path().join("tfplan")), 0o600);
    // `show` needs neither the store nor the configuration.
    let elsewhere = Workspace::new(&[("tfplan", &w.read("tfplan"))]);
    let shown = elsewhere.run(&["show", "-json", "tfplan"]).expect(0).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["format_version"], "1.2");
    assert_eq!(shown["variables"]["word"]["value"], "two");
    let text = elsewhere.run(&["show", "tfplan"]).expect(0).stdout;
    assert!(text.contains("terraform_data.b"), "{text}");
    let run = w.run(&["apply", "-input=false", "tfplan"]).expect(0);
    assert!(run.stdout.contains("2 done"), "{run:?}");
    assert_eq!(w.run(&["output", "-raw", "word"]).expect(0).stdout, "two");
    let run = w.run(&["apply", "tfplan"]).expect(1);
    assert!(run.stderr.contains("stale"), "{run:?}");
}

#[test]
fn plan_file_is_applied_without_the_original_store() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["plan", "-out=tfplan"]).expect(0);
    std::fs::remove_dir_all(w.path().join(".flightdeck")).unwrap();
    w.run(&["stage", "--out", "another"]).expect(0);
    w.run(&["apply", "tfplan"]).expect(0);
    assert!(w.run(&["history"]).expect(0).stdout.contains("stage #2"));
}

#[test]
fn invalid_plan_file_is_refused_by_name() {
    let w = Workspace::new(&[("main.tf", MAIN), ("odd", "{\"format\":\"other\"}")]);
    for words in [&["show", "odd"][..], &["apply", "odd"], &["show", "none"]] {
        let run = w.run(words).expect(1);
        assert!(run.stderr.contains("plan --out"), "{run:?}");
    }
}

#[test]
fn outputs_are_shown_as_expressions_and_as_json() {
    let w = deployed();
    let all = w.run(&["output"]).expect(0).stdout;
    assert_eq!(
        all,
        "hidden = <sensitive>\nmany = toset([\n  \"a\",\n  \"b<\",\n])\nparts = {\n  \"list\" = [\n    true,\n    null,\n  ]\n  \"number\" = 1.5\n  \"text\" = <<-EOT\n  l1\n  l2\n  EOT\n}\nword = \"one\"\n"
    );
    assert_eq!(w.run(&["output", "hidden"]).expect(0).stdout, "\"hush\"\n");
    assert_eq!(
        w.run(&["output", "-raw", "hidden"]).expect(0).stdout,
        "hush"
    );
    let many = w.run(&["output", "--json", "many"]).expect(0).stdout;
    assert_eq!(many, "[\"a\",\"b\\u003c\"]\n");
    let document = w.run(&["output", "-json"]).expect(0).stdout;
    assert!(
        document.starts_with("{\n  \"hidden\": {\n    \"sensitive\": true,\n"),
        "{document}"
    );
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        document["many"],
        json!({"sensitive": false, "type": ["set", "string"], "value": ["a", "b<"]})
    );
    for (words, why) in [
        (&["output", "-raw", "many"][..], "--json"),
        (&["output", "wrod"], "did you mean `word`?"),
    ] {
        let run = w.run(words).expect(1);
        assert!(run.stderr.contains(why), "{run:?}");
    }
    let empty = Workspace::new(&[("main.tf", "")]);
    assert_eq!(empty.run(&["output", "-json"]).expect(0).stdout, "{}\n");
    // A script must be able to distinguish a missing output from an empty one, even without any
    // outputs.
    for flags in [&["-json"][..], &["-raw"], &[]] {
        let run = empty
            .run(&[&["output"], flags, &["any"]].concat())
            .expect(1);
        assert!(run.stdout.is_empty(), "{run:?}");
        assert!(run.stderr.contains("has no output \"any\""), "{run:?}");
    }
}

#[test]
fn state_is_shown_as_json_and_pulled_unchanged() {
    let w = deployed();
    let shown = w.run(&["show", "-json"]).expect(0).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["format_version"], "1.0");
    let first = &shown["values"]["root_module"]["resources"][0];
    assert_eq!(
        (&first["address"], &first["values"]["input"]),
        (&json!("terraform_data.a"), &json!("one"))
    );
    let text = w.run(&["show"]).expect(0).stdout;
    assert!(
        text.contains("terraform_data.b") && text.contains("word = \"one\""),
        "{text}"
    );
    let pulled = w.run(&["state", "pull"]).expect(0).stdout;
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(read(&pulled), read(&w.read("terraform.tfstate")));
    assert!(
        pulled.ends_with("}\n\n") && pulled.lines().count() == 2,
        "{pulled}"
    );
    let empty = Workspace::new(&[("main.tf", "")]);
    assert_eq!(empty.run(&["state", "pull"]).expect(0).stdout, "");
    assert_eq!(
        empty.run(&["show", "-json"]).expect(0).stdout,
        "{\"format_version\":\"1.0\"}\n"
    );
}

#[test]
fn refresh_updates_the_state_without_confirmation() {
    let w = deployed();
    let changed = MAIN.replace("\"hush\"", "\"other\"");
    w.write("main.tf", &changed);
    let run = w.run(&["-chdir=.", "refresh", "-json"]).expect(0);
    assert_eq!(run.result()["command"], "refresh");
    assert_eq!(
        w.run(&["output", "-raw", "hidden"]).expect(0).stdout,
        "other"
    );
}

#[test]
fn taint_untaint_and_import_are_top_level_commands() {
    let w = deployed();
    w.run(&["taint", "terraform_data.b"]).expect(0);
    let run = w.run(&["plan", "-detailed-exitcode"]).expect(2);
    assert!(run.stdout.contains("1 to replace"), "{run:?}");
    w.run(&["untaint", "terraform_data.b"]).expect(0);
    w.run(&["plan", "-detailed-exitcode"]).expect(0);
    w.run(&["state", "rm", "terraform_data.b"]).expect(0);
    w.run(&["import", "terraform_data.b", "some-id"]).expect(0);
    let listed = w.run(&["state", "list"]).expect(0).stdout;
    assert_eq!(listed, "terraform_data.a\nterraform_data.b\n");
}

#[test]
fn state_file_is_shown_like_the_state() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" { input = \"one\" }\noutput \"o\" { value = terraform_data.a.output }\n",
    )]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    std::fs::rename(
        w.path().join("terraform.tfstate"),
        w.path().join("old.state"),
    )
    .unwrap();
    let elsewhere = Workspace::new(&[("old.state", w.read("old.state").as_str())]);
    let shown = elsewhere.run(&["show", "old.state"]).expect(0).stdout;
    assert!(shown.contains("terraform_data.a"), "{shown}");
    assert!(shown.contains("o = \"one\""), "{shown}");
    let json = elsewhere.run(&["show", "-json", "old.state"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let resources = &json["values"]["root_module"]["resources"];
    assert_eq!(resources[0]["values"]["input"], "one");
    assert_eq!(json["values"]["outputs"]["o"]["value"], "one");
    assert!(
        !elsewhere.path().join(".flightdeck").exists(),
        "only looked at"
    );
    elsewhere.write("odd", "{\"version\": 9}");
    let refused = elsewhere.run(&["show", "odd"]).expect(1).stderr;
    assert!(
        refused.contains("odd") && refused.contains("version 9"),
        "{refused}"
    );
}
