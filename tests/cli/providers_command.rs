//! Tests of `flightdeck providers`: requirements of the configuration and of the state.

use crate::install::{run_tofu, tofu};
use crate::support::Workspace;
use serde_json::Value;

fn nested() -> Workspace {
    let needs = |name: &str, version: &str| {
        format!(
            "terraform {{\n  required_providers {{\n    {name} = {{ version = \"{version}\" }}\n  }}\n}}\n"
        )
    };
    Workspace::new(&[
        ("main.tf", &needs("aws", ">= 5.0, < 6.0.0")),
        (
            "calls.tf",
            "module \"m\" {\n  source = \"./m\"\n}\nresource \"terraform_data\" \"x\" {}\nvariable \"unset\" {}\n",
        ),
        (
            "m/main.tf",
            "provider \"null\" {\n  version = \"~> 3.1\"\n}\nmodule \"k\" {\n  source = \"./k\"\n}\n",
        ),
        ("m/k/main.tf", "resource \"random_pet\" \"x\" {}\n"),
    ])
}

#[test]
fn requirements_are_shown_as_a_tree_of_modules() {
    let run = nested().run(&["providers"]).expect(0);
    let tree = [
        "",
        "Providers required by configuration:",
        ".",
        "├── provider[registry.opentofu.org/hashicorp/aws] >= 5.0.0, < 6.0.0",
        "├── provider[terraform.io/builtin/terraform]",
        "└── module.m",
        "    ├── provider[registry.opentofu.org/hashicorp/null] ~> 3.1",
        "    └── module.k",
        "        └── provider[registry.opentofu.org/hashicorp/random]",
        "",
        "",
    ];
    assert_eq!(run.stdout, tree.join("\n"));
}

#[test]
fn requirements_of_the_state_are_shown() {
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"x\" {}\n")]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    w.write("main.tf", "output \"x\" {\n  value = 1\n}\n");
    let run = w.run(&["providers"]).expect(0);
    let state = "Providers required by state:\n\n    provider[terraform.io/builtin/terraform]\n\n";
    assert!(run.stdout.ends_with(state), "{run:?}");
}

#[test]
fn tree_matches_that_of_tofu() {
    let Some(tofu) = tofu("the tree is the one that tofu prints") else {
        return;
    };
    let w = nested();
    run_tofu(&tofu, &w, None, &["get"]).expect(0);
    // tofu prints the children of a module in any order.
    let parts = |text: &str| {
        let part = |line: &str| {
            line.trim_start_matches(['│', '├', '└', '─', ' '])
                .to_owned()
        };
        let mut parts: Vec<String> = text.lines().map(part).collect();
        parts.sort();
        parts
    };
    let theirs = run_tofu(&tofu, &w, None, &["providers", "-no-color"]).expect(0);
    let theirs = theirs
        .stdout
        .split("\n\nWarning")
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(
        parts(w.run(&["providers"]).expect(0).stdout.trim()),
        parts(theirs.trim())
    );
}

#[test]
fn directory_without_configuration_needs_no_provider() {
    let w = Workspace::new(&[]);
    let run = w.run(&["providers", "schema", "-json"]).expect(0);
    assert_eq!(run.stdout, "{\"format_version\":\"1.0\"}\n");
    if let Some(tofu) = tofu("a_directory_without_configuration_needs_no_provider") {
        let theirs = run_tofu(&tofu, &w, None, &["providers", "schema", "-json"]).expect(0);
        assert_eq!(run.stdout, theirs.stdout);
    }
}

#[test]
fn built_in_schema_has_the_members_of_tofus() {
    let Some(tofu) = tofu("the builtin provider's schema has the members that tofu's has") else {
        return;
    };
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"x\" {}\n")]);
    // Descriptions differ between the two programs.
    fn remove_descriptions(value: &mut Value) {
        match value {
            Value::Object(all) => {
                for name in ["description", "description_kind", "summary"] {
                    all.remove(name);
                }
                all.values_mut().for_each(remove_descriptions);
            }
            Value::Array(all) => all.iter_mut().for_each(remove_descriptions),
            _ => {}
        }
    }
    let schema = ["providers", "schema", "-json"];
    let both = [w.run(&schema), run_tofu(&tofu, &w, None, &schema)].map(|run| {
        let mut all: Value = serde_json::from_str(&run.expect(0).stdout).unwrap();
        remove_descriptions(&mut all);
        all
    });
    assert_eq!(both[0], both[1]);
}
