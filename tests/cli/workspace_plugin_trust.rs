//! Tests of plugins shipped in a workspace: none is launched without trust in exactly these
//! contents. The decision is stored in the user's own directory.

use crate::support::{Run, Workspace};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

const PACKAGE: &str = "registry.opentofu.org/acme/lab/1.0.0";

/// Clone with its own provider in one of its directories; the provider records its launch.
fn clone(folder: &str) -> (Workspace, PathBuf) {
    let text = "terraform {\n  required_providers {\n    lab = { source = \"acme/lab\" }\n  }\n}\nprovider \"lab\" {\n  file = \"lab.json\"\n}\n\
                resource \"lab_thing\" \"a\" { name = \"a\" }\n";
    let w = Workspace::new(&[("main.tf", text)]);
    let arch = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "amd64"
    };
    let name = format!("{folder}/{PACKAGE}/linux_{arch}/terraform-provider-lab_v1.0.0");
    w.write(
        &name,
        &format!(
            "#!/bin/sh\necho launched >> launches\nexec {} plugin serve lab\n",
            env!("CARGO_BIN_EXE_flightdeck")
        ),
    );
    let path = w.path().join(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (w, path)
}

fn launched(w: &Workspace) -> bool {
    std::fs::remove_file(w.path().join("launches")).is_ok()
}

fn refused(w: &Workspace, run: &Run) {
    assert!(!launched(w), "{run:?}");
    let words = [
        "acme/lab",
        "terraform-provider-lab_v1.0.0",
        "h1:",
        "--trust-workspace",
    ];
    assert!(
        words
            .iter()
            .all(|word| run.stderr.contains(word) || run.stdout.contains(word)),
        "{run:?}"
    );
}

#[test]
fn workspace_plugin_is_launched_only_after_trust_in_its_digest() {
    let (w, plugin) = clone("terraform.d/plugins");
    for words in [
        &["plugins"][..],
        &["stage"],
        &["deploy", "--auto-approve"],
        &["destroy", "--auto-approve"],
    ] {
        refused(&w, &w.run(words).expect(3));
    }
    let run = w.run(&["stage", "--json"]).expect(3);
    assert_eq!(
        run.diagnostics()[0]["summary"],
        "Workspace plugin needs trust"
    );
    assert_eq!(run.diagnostics()[0]["range"]["filename"], "main.tf");
    let event = run
        .lines()
        .into_iter()
        .find(|l| l["type"] == "untrusted_plugins")
        .unwrap();
    assert_eq!(
        event["plugins"][0]["executable"],
        plugin.canonicalize().unwrap().display().to_string()
    );
    refused(&w, &run);

    // One decision covers all later commands; it is stored with the user and not in the clone.
    let run = w.run(&["stage", "--trust-workspace"]).expect(0);
    assert!(
        run.stderr.contains("trusted from now on") && launched(&w),
        "{run:?}"
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(launched(&w));
    let kept = w
        .path()
        .parent()
        .unwrap()
        .join("data/flightdeck/trusted-plugins");
    assert_eq!(std::fs::read_to_string(&kept).unwrap().lines().count(), 1);
    assert_eq!(crate::support::mode(&kept), 0o600);

    // Changed contents need a new decision.
    let text = std::fs::read_to_string(&plugin).unwrap();
    std::fs::write(&plugin, format!("{text}# changed\n")).unwrap();
    let run = w.run(&["stage"]).expect(3);
    refused(&w, &run);
    assert!(
        run.stderr
            .contains("its files have changed since you trusted it"),
        "{run:?}"
    );
    let run = w
        .run(&["--trust-workspace-plugins", "plugins", "--json"])
        .expect(0);
    assert!(run.stderr.contains("trusted from now on"), "{run:?}");
    let seen: Vec<u64> = run
        .lines()
        .iter()
        .filter_map(|l| l["seq"].as_u64())
        .collect();
    assert!(
        seen.is_sorted() && seen.len() > 3 && launched(&w),
        "the events are those of one run: {seen:?}"
    );
    std::fs::write(&plugin, text).unwrap();
    w.run(&["stage"]).expect(0);
    assert!(launched(&w), "both have their yes");
}

#[test]
fn trust_file_inside_the_workspace_is_ignored() {
    let (w, _) = clone("terraform.d/plugins");
    w.run(&["stage", "--trust-workspace"]).expect(0);
    assert!(launched(&w));
    let (data, inside) = (
        w.path().parent().unwrap().join("data"),
        w.path().join("data"),
    );
    std::fs::rename(data, &inside).unwrap();
    for words in [&["stage"][..], &["stage", "--trust-workspace"]] {
        let run = w
            .command(words)
            .env("XDG_DATA_HOME", &inside)
            .output()
            .unwrap();
        assert!(!run.status.success() && !launched(&w), "{run:?}");
    }
}

#[test]
fn plugins_installed_by_init_need_no_trust_and_committed_ones_do() {
    let (w, _) = clone(".terraform/providers");
    w.run(&["stage"]).expect(0);
    assert!(launched(&w));
    let git = |words: &[&str]| {
        assert!(
            Command::new("git")
                .args(words)
                .current_dir(w.path())
                .status()
                .unwrap()
                .success()
        )
    };
    git(&["init", "-q"]);
    git(&["add", "main.tf"]);
    w.run(&["stage"]).expect(0);
    assert!(launched(&w));
    git(&["add", "-f", ".terraform"]);
    refused(&w, &w.run(&["stage"]).expect(3));
    // A committed link from `.terraform` to other files of the clone needs trust too.
    git(&["rm", "-rq", "--cached", ".terraform"]);
    std::fs::create_dir(w.path().join("vendor")).unwrap();
    std::fs::rename(
        w.path().join(".terraform/providers/registry.opentofu.org"),
        w.path().join("vendor/it"),
    )
    .unwrap();
    std::os::unix::fs::symlink(
        "../../vendor/it",
        w.path().join(".terraform/providers/registry.opentofu.org"),
    )
    .unwrap();
    refused(&w, &w.run(&["stage"]).expect(3));
}

#[test]
fn plugin_named_by_the_user_needs_no_trust() {
    let (w, plugin) = clone("terraform.d/plugins");
    let folder = plugin.parent().unwrap();
    std::fs::copy(&plugin, folder.join("terraform-provider-lab")).unwrap();
    let rc = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"acme/lab\" = {:?}\n  }}\n}}\n",
        folder.display().to_string()
    );
    let file = w.path().parent().unwrap().join("user.tfrc");
    std::fs::write(&file, rc).unwrap();
    let run = w
        .command(&["stage"])
        .env("TF_CLI_CONFIG_FILE", &file)
        .output()
        .unwrap();
    assert!(run.status.success() && launched(&w), "{run:?}");
}

#[test]
fn plugin_changed_after_the_trust_decision_is_not_launched() {
    let (w, plugin) = clone("terraform.d/plugins");
    let first = "#!/bin/sh\necho launched >> launches\necho '# another' >> \"$0\"\nexit 7\n";
    std::fs::write(&plugin, first).unwrap();
    let mut command = w.command(&["stage", "--trust-workspace"]);
    let run = command
        .env("FLIGHTDECK_LAUNCH_BACKOFF_MS", "10")
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(3), "{run:?}");
    assert!(
        String::from_utf8_lossy(&run.stderr).contains("has changed since you trusted it"),
        "{run:?}"
    );
    assert_eq!(
        std::fs::read_to_string(w.path().join("launches")).unwrap(),
        "launched\n"
    );
}

#[test]
fn trust_flag_knows_the_variables_of_the_command_and_says_what_it_trusts() {
    let main = "variable \"must\" {\n  type = string\n}\nresource \"terraform_data\" \"a\" {\n  input = var.must\n}\n";
    let w = Workspace::new(&[("main.tf", main), ("v.tfvars", "must = \"1\"\n")]);
    for given in ["-var=must=1", "-var-file=v.tfvars"] {
        for command in ["plan", "stage", "validate"] {
            let run = w.run(&[command, "--trust-workspace", given]).expect(0);
            for text in [
                "plugins",
                "hooks",
                "`secret`",
                "`enforce`",
                "provisioners",
                "`credential_process`",
            ] {
                assert!(run.stderr.contains(text), "{text}: {run:?}");
            }
        }
    }
    // The command itself reports a missing value.
    let run = w.run(&["plan", "--trust-workspace"]).expect(1);
    assert!(run.stderr.contains("must"), "{run:?}");
}

#[test]
fn plan_file_whose_plugin_is_missing_or_untrusted_is_not_stale() {
    let (w, plugin) = clone("terraform.d/plugins");
    w.run(&["plan", "--out", "p", "--trust-workspace"])
        .expect(0);
    launched(&w);
    // Another user, who has not trusted it.
    let mut command = w.command(&["apply", "p"]);
    let run = Run::from_command(command.env("XDG_DATA_HOME", w.path().with_file_name("other")));
    refused(&w, &run.expect(3));
    let aside = w.path().with_file_name("aside");
    std::fs::rename(&plugin, &aside).unwrap();
    let run = w.run(&["apply", "p"]).expect(3);
    assert!(run.stderr.contains("was not found"), "{run:?}");
    assert!(run.stderr.contains("flightdeck init"), "{run:?}");
    std::fs::rename(&aside, &plugin).unwrap();
    w.run(&["apply", "p"]).expect(0);
}
