//! Tests of an encrypted state in its backend, from the command line.

use crate::support::{Run, Workspace};
use std::path::Path;

/// Configuration of one resource, with an `encryption` block for the state.
fn encrypted(input: &str) -> String {
    format!(
        "terraform {{\n  encryption {{\n    key_provider \"pbkdf2\" \"k\" {{\n      passphrase = \"sixteen letters!\"\n      iterations = 200000\n    }}\n    method \"aes_gcm\" \"m\" {{\n      keys = key_provider.pbkdf2.k\n    }}\n    state {{\n      method   = method.aes_gcm.m\n      enforced = true\n    }}\n  }}\n}}\nresource \"terraform_data\" \"a\" {{ input = {input:?} }}\n"
    )
}

#[test]
fn encrypted_state_has_the_standard_format_through_update_and_destroy() {
    let workspace = Workspace::new(&[("main.tf", encrypted("one").as_str())]);
    for input in ["one", "two"] {
        std::fs::write(workspace.path().join("main.tf"), encrypted(input)).unwrap();
        workspace.run(&["deploy", "--auto-approve"]).expect(0);
        let text = std::fs::read_to_string(workspace.path().join("terraform.tfstate")).unwrap();
        let envelope: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(envelope["encryption_version"], "v0");
        assert!(envelope["meta"]["key_provider.pbkdf2.k"].is_string());
        assert!(!text.contains("terraform_data"), "{text}");
        let exported = workspace.run(&["state", "export"]).expect(0).stdout;
        assert!(
            exported.contains(&format!("\"value\": \"{input}\"")),
            "{exported}"
        );
    }
    workspace.run(&["destroy", "--auto-approve"]).expect(0);
    let exported = workspace.run(&["state", "export"]).expect(0).stdout;
    assert!(exported.contains("\"resources\": []"), "{exported}");
}

#[test]
fn plain_state_is_refused_once_encryption_is_enforced() {
    let plain = "resource \"terraform_data\" \"a\" { input = \"one\" }\n";
    let workspace = Workspace::new(&[("main.tf", plain)]);
    workspace.run(&["deploy", "--auto-approve"]).expect(0);
    std::fs::write(workspace.path().join("main.tf"), encrypted("two")).unwrap();
    let refused = workspace.run(&["stage"]).expect(1).stderr;
    assert!(refused.contains("not encrypted"), "{refused}");
    // Commands that only read use the state that was seen before, unless somebody has changed the
    // file.
    workspace.run(&["state", "export"]).expect(0);
    let file = workspace.read("terraform.tfstate");
    workspace.write("terraform.tfstate", &file.replace("\"one\"", "\"two\""));
    workspace.run(&["state", "export"]).expect(1);
}

/// `TF_ENCRYPTION` for a passphrase: state, plan files and remote states.
fn tf_encryption(passphrase: &str) -> String {
    format!(
        "key_provider \"pbkdf2\" \"k\" {{\n  passphrase = {passphrase:?}\n  iterations = 200000\n}}\nmethod \"aes_gcm\" \"m\" {{\n  keys = key_provider.pbkdf2.k\n}}\nstate {{\n  method = method.aes_gcm.m\n}}\nplan {{\n  method = method.aes_gcm.m\n}}\nremote_state_data_sources {{\n  default {{\n    method = method.aes_gcm.m\n  }}\n}}\n"
    )
}

/// Runs flightdeck with this `TF_ENCRYPTION`.
fn run_with_tf_encryption(workspace: &Workspace, args: &[&str], said: &str) -> Run {
    Run::from_command(workspace.command(args).env("TF_ENCRYPTION", said))
}

fn is_encrypted(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap();
    text.contains("\"encrypted_data\"") && !text.contains("terraform_data")
}

#[test]
fn environment_encrypts_without_a_block() {
    let plain = "resource \"terraform_data\" \"a\" { input = \"one\" }\n";
    let workspace = Workspace::new(&[("main.tf", plain)]);
    let said = tf_encryption("sixteen letters!");
    run_with_tf_encryption(&workspace, &["deploy", "--auto-approve"], &said).expect(0);
    assert!(is_encrypted(&workspace.path().join("terraform.tfstate")));
    let refused =
        run_with_tf_encryption(&workspace, &["stage"], &tf_encryption("another sixteen."));
    assert!(
        refused.expect(1).stderr.contains("passphrase"),
        "with another passphrase"
    );
    let refused = workspace.run(&["stage"]).expect(1).stderr;
    assert!(refused.contains("encrypted"), "{refused}");
    // JSON in `TF_ENCRYPTION` overrides the block in the configuration.
    let json = r#"{"key_provider": {"pbkdf2": {"k": {"passphrase": "sixteen letters!"}}}}"#;
    let other = encrypted("two").replace("sixteen letters!", "another sixteen.");
    std::fs::write(workspace.path().join("main.tf"), other).unwrap();
    run_with_tf_encryption(&workspace, &["deploy", "--auto-approve"], json).expect(0);
    let exported = run_with_tf_encryption(&workspace, &["state", "export"], json).expect(0);
    assert!(exported.stdout.contains("\"value\": \"two\""));
}

#[test]
fn plan_file_is_encrypted_if_configured() {
    let plain = "resource \"terraform_data\" \"a\" { input = \"one\" }\n";
    let workspace = Workspace::new(&[("main.tf", plain)]);
    let said = tf_encryption("sixteen letters!");
    run_with_tf_encryption(&workspace, &["plan", "-out=plan"], &said).expect(0);
    assert!(is_encrypted(&workspace.path().join("plan")));
    let shown = run_with_tf_encryption(&workspace, &["show", "plan"], &said).expect(0);
    assert!(shown.stdout.contains("terraform_data.a"), "{shown:#?}");
    for args in [&["show", "plan"][..], &["apply", "plan"]] {
        let refused = run_with_tf_encryption(&workspace, args, &tf_encryption("another sixteen."));
        let refused = refused.expect(1).stderr;
        assert!(refused.contains("passphrase"), "{args:?}: {refused}");
        let refused = workspace.run(args).expect(1).stderr;
        assert!(refused.contains("encrypted"), "{args:?}: {refused}");
    }
    run_with_tf_encryption(&workspace, &["apply", "plan"], &said).expect(0);
    assert!(is_encrypted(&workspace.path().join("terraform.tfstate")));
}

#[test]
fn remote_states_are_decrypted_as_configured() {
    const OUTPUT: &str = "\noutput \"o\" { value = \"known\" }\n";
    let one = Workspace::new(&[("main.tf", &(encrypted("one") + OUTPUT))]);
    one.run(&["deploy", "--auto-approve"]).expect(0);
    let other = (encrypted("one") + OUTPUT).replace("sixteen letters!", "another sixteen.");
    let two = Workspace::new(&[("main.tf", &other)]);
    two.run(&["deploy", "--auto-approve"]).expect(0);
    let reads = |name: &str, of: &Workspace| {
        format!(
            "data \"terraform_remote_state\" \"{name}\" {{\n  backend = \"local\"\n  config = {{ path = {:?} }}\n}}\n",
            of.path().join("terraform.tfstate")
        )
    };
    let root = |named: &str| {
        format!(
            r#"terraform {{
  encryption {{
    key_provider "pbkdf2" "k" {{
      passphrase = "sixteen letters!"
    }}
    key_provider "pbkdf2" "other" {{
      passphrase               = "another sixteen."
      encrypted_metadata_alias = "key_provider.pbkdf2.k"
    }}
    method "aes_gcm" "m" {{
      keys = key_provider.pbkdf2.k
    }}
    method "aes_gcm" "other" {{
      keys = key_provider.pbkdf2.other
    }}
    remote_state_data_sources {{
      default {{
        method = method.aes_gcm.m
      }}
      remote_state_data_source {named:?} {{
        method = method.aes_gcm.other
      }}
    }}
  }}
}}
module "m" {{
  source = "./m"
}}
{}
output "o" {{ value = [data.terraform_remote_state.one.outputs.o, module.m.o] }}
"#,
            reads("one", &one)
        )
    };
    let within = reads("two", &two)
        + "output \"o\" {\n  value = data.terraform_remote_state.two.outputs.o\n}\n";
    let files = [("main.tf", root("m.two")), ("m/main.tf", within)];
    let workspace = Workspace::new(&files.each_ref().map(|(n, t)| (*n, t.as_str())));
    workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let outputs = workspace.run(&["output", "-json"]).expect(0).stdout;
    assert_eq!(outputs.matches("known").count(), 2, "{outputs}");
    std::fs::write(workspace.path().join("main.tf"), root("two")).unwrap();
    let refused = workspace.run(&["stage"]).expect(1).stderr;
    assert!(refused.contains("passphrase"), "{refused}");
}

#[test]
fn migrated_state_stays_encrypted() {
    let backend = |path: &str| {
        format!("terraform {{\n  backend \"local\" {{\n    path = {path:?}\n  }}\n}}\n")
    };
    let workspace = Workspace::new(&[
        ("main.tf", encrypted("one").as_str()),
        ("backend.tf", backend("one.tfstate").as_str()),
    ]);
    workspace.run(&["init"]).expect(0);
    workspace.run(&["deploy", "--auto-approve"]).expect(0);
    std::fs::write(workspace.path().join("backend.tf"), backend("two.tfstate")).unwrap();
    workspace
        .run(&["init", "-migrate-state", "-force-copy"])
        .expect(0);
    assert!(is_encrypted(&workspace.path().join("two.tfstate")));
    let staged = workspace.run(&["plan", "-detailed-exitcode"]);
    assert_eq!(staged.code, Some(0), "nothing is to be done: {staged:#?}");
}
