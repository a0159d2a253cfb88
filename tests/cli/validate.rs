//! Tests of `validate`, which needs neither variable values nor state nor store.

use crate::install::{run_tofu, tofu};
use crate::support::{Run, Workspace};
use serde_json::{Value, json};

const NEEDS: &str = "variable \"name\" {\n  type = string\n}\nresource \"terraform_data\" \"a\" {\n  input = var.name\n}\n";

#[test]
fn configuration_without_variable_values_is_valid() {
    // The backend is not evaluated either.
    let backend = "terraform {\n  backend \"s3\" {}\n}\n";
    let w = Workspace::new(&[("main.tf", NEEDS), ("backend.tf", backend)]);
    let run = w.run(&["validate", "--json"]).expect(0);
    assert_eq!(
        (&run.result()["command"], &run.result()["valid"]),
        (&json!("validate"), &json!(true))
    );
    assert_eq!(
        w.run(&["validate"]).expect(0).stdout,
        "The configuration is valid.\n"
    );
    // A stage needs the values; `validate` has stored nothing.
    std::fs::remove_file(w.path().join("backend.tf")).unwrap();
    assert!(
        w.run(&["stage", "--json"])
            .expect(1)
            .stdout
            .contains("No value for required variable")
    );
    w.run(&["deploy", "1"]).expect(1);
}

#[test]
fn errors_are_reported_with_their_place_for_any_values() {
    let text = format!(
        "{NEEDS}resource \"terraform_data\" \"b\" {{\n  inputs = terraform_data.none.id\n}}\n"
    );
    let w = Workspace::new(&[("main.tf", &text)]);
    let run = w.run(&["validate", "--json"]).expect(1);
    let lines: Vec<_> = run
        .lines()
        .into_iter()
        .filter(|l| l["type"] == "diagnostic")
        .map(|l| l["range"]["start"]["line"].clone())
        .collect();
    assert!(
        !lines.is_empty() && lines.iter().all(|l| *l == json!(8)),
        "{}",
        run.stdout
    );
    assert_eq!(run.result()["outcome"], "error");
}

const WRONG: &str = "locals {\n  m = { a = 1 }\n}\n\nresource \"terraform_data\" \"b\" {\n  input = local.m[\n    \"k\"\n  ]\n}\n\noutput \"o\" {\n  value = <<E\n${nope.x}\nE\n}\n\noutput \"p\" {\n  value = 1 + \"ä${local.m.a}\"\n}\n";

fn document(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn tofu_format_is_one_document_with_diagnostics_and_snippets() {
    let w = Workspace::new(&[("main.tf", WRONG)]);
    let run = w.run(&["validate", "-json", "-format=tofu"]).expect(1);
    assert_eq!(run.stderr, "");
    let all = document(&run);
    assert_eq!(all["format_version"], "1.0");
    assert_eq!(all["valid"], false);
    assert_eq!(
        (&all["error_count"], &all["warning_count"]),
        (&json!(3), &json!(0))
    );
    let index = all["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .find(|d| d["summary"] == "Invalid index")
        .unwrap();
    assert_eq!(
        index["snippet"],
        json!({
            "context": "resource \"terraform_data\" \"b\"",
            "code": "  input = local.m[\n    \"k\"\n  ]",
            "start_line": 6,
            "highlight_start_offset": 17,
            "highlight_end_offset": 30,
            "values": [],
        })
    );
    assert_eq!(
        index["range"]["end"],
        json!({"line": 8, "column": 4, "byte": 90})
    );

    w.write("main.tf", NEEDS);
    let all = document(&w.run(&["validate", "-json", "-format=tofu"]).expect(0));
    let valid = json!({"format_version": "1.0", "valid": true, "error_count": 0, "warning_count": 0, "diagnostics": []});
    assert_eq!(all, valid);
    // The format applies to `-json` only.
    w.run(&["validate", "--format", "tofu"]).expect(1);
}

#[test]
fn directory_without_configuration_is_valid_and_needs_no_providers() {
    let w = Workspace::new(&[]);
    assert_eq!(
        w.run(&["validate"]).expect(0).stdout,
        "The configuration is valid.\n"
    );
    let valid = document(&w.run(&["validate", "-json", "-format=tofu"]).expect(0));
    assert_eq!(valid["valid"], true);
    w.run(&["providers", "lock"]).expect(0);
    assert!(!w.path().join(".terraform.lock.hcl").exists());
    // Commands that need a configuration report a missing one.
    for words in [["providers"], ["plan"]] {
        let run = w.run(&words).expect(1);
        assert!(run.stderr.contains("No configuration files"), "{run:?}");
    }
}

#[test]
fn early_failure_is_in_the_tofu_document() {
    let w = Workspace::new(&[("main.tf", NEEDS)]);
    let mut command = w.command(&["validate", "-json", "-format=tofu"]);
    let run = Run::from_command(command.env("FLIGHTDECK_SLOTS", "many")).expect(1);
    let all = document(&run);
    let summary = all["diagnostics"][0]["summary"].as_str().unwrap();
    assert!(summary.contains("FLIGHTDECK_SLOTS"), "{all}");
}

#[test]
fn tofu_format_matches_that_of_tofu() {
    let Some(tofu) = tofu("tofus_form_is_what_tofu_writes") else {
        return;
    };
    let unclosed = "output \"x\" {";
    let crlf = "output \"x\" {\r\n  value = nope.a\r\n}\r\n";
    let second = "variable \"a\" {\n}\nvariable \"a\" {\n}\n";
    for text in [
        WRONG,
        unclosed,
        crlf,
        second,
        NEEDS,
        "x = 1\n",
        "output \"x\" {\n}\n",
    ] {
        let w = Workspace::new(&[("main.tf", text)]);
        let parts = |run: &Run| -> Vec<Value> {
            let all = document(run)["diagnostics"].take();
            let mut all: Vec<Value> = all.as_array().unwrap().clone();
            for d in &mut all {
                let d = d.as_object_mut().unwrap();
                // Addresses, details and values differ between the two programs.
                d.remove("address");
                d.remove("detail");
                if let Some(snippet) = d.get_mut("snippet") {
                    snippet["values"] = json!([]);
                }
            }
            all.sort_by_key(ToString::to_string);
            all
        };
        let theirs = run_tofu(&tofu, &w, None, &["validate", "-json"]);
        let ours = w.run(&["validate", "-json", "-format", "tofu"]);
        assert_eq!(ours.code, theirs.code, "{text}");
        assert_eq!(parts(&ours), parts(&theirs), "{text}");
    }
}
