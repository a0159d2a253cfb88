//! Built-in overlays against the schema of the real provider.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Each overlay of aws fits the schema, so none is left out.
#[test]
fn built_in_overlays_of_aws_fit_its_schema() {
    let mirror = std::env::var_os("FLIGHTDECK_TEST_MIRROR").map(PathBuf::from);
    let of_aws = "registry.terraform.io/hashicorp/aws";
    let Some(mirror) = mirror.filter(|mirror| mirror.join(of_aws).is_dir()) else {
        eprintln!(
            "skipped: type_overlays::built_in_overlays_of_aws_fit_its_schema: FLIGHTDECK_TEST_MIRROR names no mirror with hashicorp/aws"
        );
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let source = "terraform {\n  required_providers {\n    aws = { source = \"registry.terraform.io/hashicorp/aws\" }\n  }\n}\n";
    let used = "resource \"aws_vpc\" \"a\" {\n  cidr_block = \"10.0.0.0/16\"\n}\n";
    write("w/main.tf", &format!("{source}{used}"));
    let mirror = mirror.display();
    let installation = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = \"{mirror}\"\n  }}\n}}\n"
    );
    write("cli.tfrc", &installation);
    // Built-in overlays are not checked, but those of the user are.
    let overlays = include_str!("../../crates/types/src/built_in/aws.hcl");
    write("config/flightdeck/types/aws.hcl", overlays);
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flightdeck"));
        command.args(args).current_dir(dir.path().join("w"));
        command
            .env("HOME", dir.path())
            .env("XDG_CONFIG_HOME", dir.path().join("config"))
            .env("TF_CLI_CONFIG_FILE", dir.path().join("cli.tfrc"));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {text}{said}");
        text
    };
    run(&["init"]);
    let text = run(&["types", "--json"]);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let problems: Vec<&Value> = lines.iter().filter(|l| l["type"] == "diagnostic").collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let types = lines.last().unwrap()["types"].as_array().unwrap();
    let of_user = |t: &&Value| {
        let settings = t["settings"].as_array().unwrap();
        settings.iter().any(|s| s["layer"] == "user")
    };
    let declared = overlays.matches("\ntype \"").count();
    assert_eq!(types.iter().filter(of_user).count(), declared);
}
