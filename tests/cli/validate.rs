//! A configuration is held valid or not without values, state or record.

use crate::support::Workspace;
use serde_json::json;

const NEEDS: &str = "variable \"name\" {\n  type = string\n}\nresource \"terraform_data\" \"a\" {\n  input = var.name\n}\n";

#[test]
fn a_configuration_is_valid_whatever_values_its_variables_will_have() {
    // Nor does it matter where the state lies.
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
    // Staging is what needs them; validating has staged nothing.
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
fn what_is_wrong_whatever_the_values_is_said_with_its_place() {
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
