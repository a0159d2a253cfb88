//! Tests of states whose providers have another default host than the installed ones: states that
//! Terraform wrote, in directories initialized by OpenTofu, and the reverse.

use crate::support::Workspace;
use std::os::unix::fs::PermissionsExt;

const WITH_LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"acme/lab\" }\n  }\n}\nprovider \"lab\" {\n  file = \"lab.json\"\n}\n";
const THING: &str = "resource \"lab_thing\" \"a\" { name = \"a\" }\n";

/// Workspace with the provider in the user's mirror, as a package of registry.opentofu.org.
fn workspace() -> Workspace {
    let w = Workspace::new(&[("main.tf", &format!("{WITH_LAB}{THING}"))]);
    let arch = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "amd64"
    };
    let name = format!(
        "../.terraform.d/plugins/registry.opentofu.org/acme/lab/1.0.0/linux_{arch}/terraform-provider-lab_v1.0.0"
    );
    let program = env!("CARGO_BIN_EXE_flightdeck");
    w.write(
        &name,
        &format!("#!/bin/sh\nexec {program} plugin serve lab\n"),
    );
    let path = w.path().join(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    w
}

/// Rewrites the state as Terraform would, and removes flightdeck's store.
fn as_terraform_wrote_it(w: &Workspace) {
    let state = w.read("terraform.tfstate");
    assert!(state.contains("registry.opentofu.org/acme/lab"), "{state}");
    let state = state.replace("registry.opentofu.org", "registry.terraform.io");
    w.write("terraform.tfstate", &state);
    std::fs::remove_dir_all(w.path().join(".flightdeck")).unwrap();
}

fn serial(w: &Workspace) -> i64 {
    let state: serde_json::Value = serde_json::from_str(&w.read("terraform.tfstate")).unwrap();
    state["serial"].as_i64().unwrap()
}

#[test]
fn state_of_the_other_default_host_is_used_and_rewritten_with_the_found_host() {
    let w = workspace();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    as_terraform_wrote_it(&w);
    let before = serial(&w);
    w.run(&["stage", "--detailed-exitcode"]).expect(0);
    assert!(
        w.read("terraform.tfstate")
            .contains("registry.terraform.io/acme/lab")
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let state = w.read("terraform.tfstate");
    assert!(state.contains("registry.opentofu.org/acme/lab"), "{state}");
    assert!(!state.contains("registry.terraform.io"), "{state}");
    assert_eq!(serial(&w), before + 1);
}

#[test]
fn orphaned_object_of_the_other_default_host_is_destroyed() {
    let w = workspace();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    as_terraform_wrote_it(&w);
    w.write("main.tf", WITH_LAB);
    let run = w.run(&["deploy", "--auto-approve", "--json"]).expect(0);
    assert_eq!(run.result()["operations"]["done"], 1);
    assert!(w.read("terraform.tfstate").contains("\"resources\": []"));
}

#[test]
fn locked_provider_of_the_other_default_host_is_replaced_by_init_only() {
    let w = workspace();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    as_terraform_wrote_it(&w);
    let text = "provider \"registry.terraform.io/acme/lab\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"h1:Gr4JsR1TRRZSsdWPAR3mdYrTTZb8x1pmJyv3yJDcb5Q=\",\n  ]\n}\n";
    w.write(".terraform.lock.hcl", text);
    for words in [
        &["stage"][..],
        &["plan"],
        &["deploy", "--auto-approve"],
        &["plugins"],
    ] {
        let run = w.run(words);
        assert!(matches!(run.code, Some(1 | 3)), "{run:?}");
        let says = "requires registry.terraform.io/acme/lab 1.0.0; packages of registry.opentofu.org/acme/lab cannot replace it";
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(says), "{run:?}");
    }
    assert_eq!(w.read(".terraform.lock.hcl"), text);
    w.run(&["init"]).expect(0);
    let lock = w.read(".terraform.lock.hcl");
    assert!(
        lock.contains("\"registry.opentofu.org/acme/lab\""),
        "{lock}"
    );
    w.run(&["stage"]).expect(0);
}
