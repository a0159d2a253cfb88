//! Tests of reproducible output: the same configuration gives the same lines in the same order on
//! every run, for any order of evaluation.

use crate::support::Workspace;
use serde_json::Value;
use std::fmt::Write as _;

const RUNS: usize = 20;

/// Two hundred resources in modules and counts that depend on each other.
fn resources() -> String {
    let mut text = String::new();
    for i in 0..50 {
        let needs = if i > 4 {
            format!("terraform_data.r{}.id", i - 5)
        } else {
            "null".to_owned()
        };
        writeln!(
            text,
            "resource \"terraform_data\" \"r{i}\" {{\n  input = [{needs}, {i}]\n}}"
        )
        .unwrap();
    }
    text + "resource \"terraform_data\" \"many\" {\n  count = 150\n  input = [count.index, terraform_data.r0.id]\n}\n\
            output \"all\" {\n  value = terraform_data.many[*].id\n}\n"
}

/// Lines without the parts that differ between runs: event numbers, times, processes, and progress
/// of the stage.
fn reproducible_parts(lines: Vec<Value>) -> Vec<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| {
                    ![
                        "seq",
                        "at",
                        "at_ms",
                        "since",
                        "began",
                        "ended",
                        "took_ms",
                        "staged_at",
                        "pid",
                        "start_time",
                        "stage",
                        "timestamp",
                    ]
                    .contains(&key.as_str())
                });
                map.values_mut().for_each(strip);
            }
            Value::Array(all) => all.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let told = lines.into_iter().filter(|l| l["type"] != "stage_progress");
    told.map(|mut line| {
        strip(&mut line);
        line
    })
    .collect()
}

#[test]
fn plan_of_many_resources_is_equal_on_every_run() {
    let workspace = Workspace::new(&[("main.tf", &resources())]);
    let first = reproducible_parts(workspace.run(&["stage", "--json"]).expect(0).lines());
    assert!(
        first
            .iter()
            .any(|l| l["type"] == "staged"
                && l["changes"].as_array().is_some_and(|c| c.len() == 200)),
        "{first:#?}"
    );
    for _ in 1..RUNS {
        assert_eq!(
            reproducible_parts(workspace.run(&["stage", "--json"]).expect(0).lines()),
            first
        );
    }
}

#[test]
fn many_errors_have_the_same_order_on_every_run() {
    let mut text = resources();
    for i in 0..10 {
        writeln!(
            text,
            "resource \"terraform_data\" \"bad{i}\" {{\n  input = {i}\n  lifecycle {{\n    precondition {{\n      \
             condition     = length(terraform_data.r{}.input) == {i} + 100\n      error_message = \"number {i} is wrong\"\n    }}\n  }}\n}}",
            i * 5
        )
        .unwrap();
    }
    let workspace = Workspace::new(&[("main.tf", &text)]);
    let first = reproducible_parts(workspace.run(&["stage", "--json"]).expect(1).lines());
    let errors = first.iter().filter(|l| l["type"] == "diagnostic").count();
    assert_eq!(errors, 10, "{first:#?}");
    for _ in 1..RUNS {
        assert_eq!(
            reproducible_parts(workspace.run(&["stage", "--json"]).expect(1).lines()),
            first
        );
    }
}

/// The reason for a destroy depends on whether the module still exists, not on the order of
/// evaluation.
#[test]
fn reason_of_a_destroy_is_equal_on_every_run() {
    let both = "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n";
    let workspace = Workspace::new(&[
        ("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
        ("m/main.tf", both),
    ]);
    workspace.run(&["deploy", "--auto-approve"]).expect(0);
    std::fs::write(
        workspace.path().join("m/main.tf"),
        "resource \"terraform_data\" \"a\" {}\n",
    )
    .unwrap();
    for _ in 0..RUNS {
        let lines = workspace.run(&["stage", "--json"]).expect(0).lines();
        let staged = lines.iter().find(|l| l["type"] == "staged").unwrap();
        let goes = staged["changes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| c["address"] == "module.m.terraform_data.b")
            .unwrap();
        assert_eq!(
            (&goes["action"], &goes["why"]),
            (&"destroy".into(), &"no longer in the configuration".into()),
            "{goes:#}"
        );
    }
}
