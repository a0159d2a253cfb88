//! A state that is encrypted where it lives, from the command line.

use crate::support::Workspace;

/// A configuration of one resource, with an `encryption` block for the state.
fn encrypted(input: &str) -> String {
    format!(
        "terraform {{\n  encryption {{\n    key_provider \"pbkdf2\" \"k\" {{\n      passphrase = \"sixteen letters!\"\n      iterations = 200000\n    }}\n    method \"aes_gcm\" \"m\" {{\n      keys = key_provider.pbkdf2.k\n    }}\n    state {{\n      method   = method.aes_gcm.m\n      enforced = true\n    }}\n  }}\n}}\nresource \"terraform_data\" \"a\" {{ input = {input:?} }}\n"
    )
}

#[test]
fn an_encrypted_state_is_what_other_programs_expect_and_goes_through_a_change_and_a_destroy() {
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
fn a_state_as_it_was_seen_last_is_refused_all_the_same_where_it_may_not_be_plain_any_more() {
    let plain = "resource \"terraform_data\" \"a\" { input = \"one\" }\n";
    let workspace = Workspace::new(&[("main.tf", plain)]);
    workspace.run(&["deploy", "--auto-approve"]).expect(0);
    std::fs::write(workspace.path().join("main.tf"), encrypted("two")).unwrap();
    let refused = workspace.run(&["stage"]).expect(1).stderr;
    assert!(refused.contains("not encrypted"), "{refused}");
}
