//! Tests of requirements for unused providers, and for the built-in provider.

use crate::support::Workspace;

const MISSING: &str = "terraform {\n  required_providers {\n    made = { source = \"providers.invalid/made/up\" }\n  }\n}\n";

#[test]
fn required_unused_provider_must_be_installed() {
    let w = Workspace::new(&[
        ("main.tf", MISSING),
        ("x.tf", "resource \"terraform_data\" \"a\" {}\n"),
    ]);
    for command in ["stage", "validate", "plan"] {
        let run = w.run(&[command, "--json"]).expect(3);
        assert!(
            run.stdout.contains("providers.invalid/made/up"),
            "{command}: {run:?}"
        );
        assert!(run.stdout.contains("flightdeck init"), "{command}: {run:?}");
    }
    w.write("main.tf", "");
    w.run(&["stage"]).expect(0);
}

#[test]
fn requirement_of_a_called_module_counts() {
    let w = Workspace::new(&[
        ("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
        ("m/main.tf", MISSING),
    ]);
    let run = w.run(&["stage", "--json"]).expect(3);
    assert!(run.stdout.contains("providers.invalid/made/up"), "{run:?}");
}

#[test]
fn unused_bundled_provider_is_not_launched() {
    let w = Workspace::new(&[(
        "main.tf",
        "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nresource \"terraform_data\" \"a\" {}\n",
    )]);
    let run = w.run(&["stage", "--json"]).expect(0);
    assert!(!run.stdout.contains("\"launching\""), "{run:?}");
}

#[test]
fn version_in_a_provider_block_is_a_requirement() {
    let w = Workspace::new(&[(
        "main.tf",
        "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  version = \"99.0.0\"\n}\n",
    )]);
    let block = w.run(&["stage"]);
    w.write(
        "main.tf",
        "terraform {\n  required_providers {\n    lab = {\n      source  = \"flightdeck.internal/bundled/lab\"\n      version = \"99.0.0\"\n    }\n  }\n}\nprovider \"lab\" {}\n",
    );
    let required = w.run(&["stage"]);
    assert_eq!(block.code, required.code, "{block:?}\n{required:?}");
}

#[test]
fn built_in_provider_accepts_no_version() {
    let resource = "resource \"terraform_data\" \"a\" {}\n";
    let w = Workspace::new(&[("x.tf", resource)]);
    for (name, text, line) in [
        (
            "block",
            "provider \"terraform\" {\n  version = \"1.0\"\n}\n",
            2,
        ),
        (
            "alias",
            "provider \"terraform\" {\n  alias   = \"x\"\n  version = \"1.0\"\n}\n",
            3,
        ),
        (
            "requirement",
            "terraform {\n  required_providers {\n    terraform = {\n      source  = \"terraform.io/builtin/terraform\"\n      version = \"1.0\"\n    }\n  }\n}\n",
            3,
        ),
    ] {
        w.write("main.tf", text);
        for command in ["stage", "init"] {
            let run = w.run(&[command]).expect(1);
            assert!(
                run.stderr
                    .contains("Invalid dependency on built-in provider"),
                "{name}, {command}: {run:?}"
            );
            assert!(
                run.stderr.contains(&format!("main.tf:{line}")),
                "{name}, {command}: {run:?}"
            );
        }
    }
}
