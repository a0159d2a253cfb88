//! `--config-of`: stages and deploys the configuration of an earlier deploy.

use crate::support::Workspace;
use serde_json::json;

/// Workspace with a deploy of a configuration with an installed module, and one of another.
fn two_deploys() -> Workspace {
    let w = Workspace::new(&[]);
    let row = json!({ "Key": "m", "Source": "registry.opentofu.org/example/m/lab",
        "Version": "1.0.0", "Dir": ".terraform/modules/m" });
    w.write(
        ".terraform/modules/modules.json",
        &json!({ "Modules": [row] }).to_string(),
    );
    w.write(
        ".terraform/modules/m/main.tf",
        "resource \"terraform_data\" \"m\" {\n  input = templatefile(\"${path.module}/t.tpl\", {})\n}\n",
    );
    w.write(".terraform/modules/m/t.tpl", "first");
    w.write(
        "main.tf",
        "module \"m\" {\n  source  = \"example/m/lab\"\n  version = \"1.0.0\"\n}\n",
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.write("main.tf", "resource \"terraform_data\" \"new\" {}\n");
    std::fs::remove_dir_all(w.path().join(".terraform")).unwrap();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w
}

#[test]
fn earlier_configuration_is_staged_and_deployed_without_its_files() {
    let w = two_deploys();
    let run = w.run(&["stage", "--config-of", "1"]).expect(0);
    for expected in [
        "module.m.terraform_data.m",
        "Stage #3, configuration of deploy #1: 1 to create, 1 to destroy",
    ] {
        assert!(run.stdout.contains(expected), "{run:?}");
    }
    let staged = w.run(&["stage", "--config-of", "1", "--json"]).expect(0);
    assert_eq!(staged.result()["configuration_of"], 1);
    assert_eq!(staged.result()["changes"]["destroy"], 1);
    assert!(!w.path().join(".terraform/modules").exists());
    // The files on disk do not belong to it.
    w.write("main.tf", "resource \"terraform_data\" \"newer\" {}\n");
    w.run(&["deploy", "4", "--auto-approve"]).expect(0);
    let state = w.run(&["state", "list"]).expect(0);
    assert_eq!(state.stdout.matches("terraform_data").count(), 1);
    let shown = w.run(&["state", "show", "module.m.terraform_data.m"]);
    assert!(shown.expect(0).stdout.contains("first"));
    let text = w.read("main.tf");
    assert!(text.contains("newer"), "{text}");
}

#[test]
fn earlier_configuration_is_refused_with_a_reason() {
    let w = two_deploys();
    for (arguments, expected) in [
        (&["stage", "--config-of", "9"][..], "there is no deploy 9"),
        (&["stage", "--config-of", "1", "--destroy"], "--destroy"),
        (&["stage", "--config-of", "1", "--rest-of=1"], "--rest-of"),
        (&["deploy", "1", "--config-of", "1"], "--config-of"),
    ] {
        let run = w.run(arguments).expect(1);
        assert!(run.stderr.contains(expected), "{run:?}");
    }
}
