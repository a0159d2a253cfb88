//! Tests of commands that files of the workspace name: none runs without trust, wherever the file
//! is named.

use crate::support::{Run, Workspace};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const BACKEND: &str = "bucket = \"b\"\n    key = \"k\"\n    region = \"us-east-1\"\n    max_retries = 1\n    skip_metadata_api_check = true\n    endpoints = { s3 = \"http://127.0.0.1:1\" }\n";

/// Workspace whose s3 backend has these further arguments, and the file that its commands create.
fn clone(arguments: &str) -> (Workspace, PathBuf) {
    let w = Workspace::new(&[(
        "main.tf",
        &format!(
            "terraform {{\n  backend \"s3\" {{\n    {BACKEND}    {arguments}\n  }}\n}}\nresource \"terraform_data\" \"a\" {{}}\n"
        ),
    )]);
    let ran = w.path().parent().unwrap().join("ran");
    (w, ran)
}

/// AWS configuration whose profile has a command that creates `ran`.
fn profile(section: &str, ran: &Path) -> String {
    format!(
        "[{section}]\ncredential_process = touch {}; echo '{{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}}'\n",
        ran.display()
    )
}

fn command(w: &Workspace, args: &[&str]) -> Command {
    let mut command = w.command(args);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command
}

fn refused(run: &Run) {
    assert_eq!(run.code, Some(3), "{run:#?}");
    for word in ["aws.cfg", "touch ", "sha256:", "--trust-workspace"] {
        assert!(run.stderr.contains(word), "{word}: {run:#?}");
    }
}

#[test]
fn command_in_the_clones_aws_configuration_needs_trust() {
    let (w, ran) = clone("profile = \"x\"\n    shared_config_files = [\"./aws.cfg\"]");
    w.write("aws.cfg", &profile("profile x", &ran));
    for args in [
        &["state", "list"][..],
        &["stage"],
        &["output"],
        &["workspace", "list"],
        &["deploy", "--auto-approve"],
    ] {
        refused(&Run::from_command(&mut command(&w, args)));
        assert!(!ran.exists(), "{args:?}");
    }
    // The bucket does not exist, but the credential command runs.
    let run = Run::from_command(&mut command(&w, &["--trust-workspace", "state", "list"]));
    assert!(ran.exists() && run.code == Some(1), "{run:#?}");
    std::fs::remove_file(&ran).unwrap();
    let run = Run::from_command(&mut command(&w, &["state", "list"]));
    assert!(ran.exists() && run.code == Some(1), "{run:#?}");
    std::fs::remove_file(&ran).unwrap();
    w.write(
        "aws.cfg",
        &profile("profile x", &ran).replace("touch", "touch --"),
    );
    let run = Run::from_command(&mut command(&w, &["state", "list"]));
    refused(&run);
    assert!(run.stderr.contains("has changed since"), "{run:#?}");
    assert!(!ran.exists());
}

#[test]
fn trust_covers_the_file_from_every_reference() {
    let inside = |more: &str| format!("profile = \"x\"\n    {more}");
    // Every way to name a profile with a command in a file of the clone.
    for (what, arguments, file, section, variables) in [
        (
            "a credentials file",
            inside("shared_credentials_files = [\"aws.cfg\"]"),
            "aws.cfg",
            "x",
            &[][..],
        ),
        (
            "an older argument",
            inside("shared_credentials_file = \"aws.cfg\""),
            "aws.cfg",
            "x",
            &[],
        ),
        (
            "an absolute path",
            inside("shared_config_files = [\"HERE/aws.cfg\"]"),
            "aws.cfg",
            "profile x",
            &[],
        ),
        (
            "a file beside the workspace",
            inside("shared_config_files = [\"../shared.cfg\"]"),
            "../shared.cfg",
            "profile x",
            &[],
        ),
        (
            "the environment",
            inside(""),
            "aws.cfg",
            "x",
            &[("AWS_SHARED_CREDENTIALS_FILE", "aws.cfg")],
        ),
        (
            "the environment's settings",
            inside(""),
            "aws.cfg",
            "profile x",
            &[("AWS_SHARED_CONFIG_FILE", "./aws.cfg")],
        ),
        (
            "a profile of the environment",
            "shared_config_files = [\"aws.cfg\"]".to_owned(),
            "aws.cfg",
            "profile x",
            &[("AWS_PROFILE", "x")],
        ),
        (
            "the default profile",
            "shared_config_files = [\"aws.cfg\"]".to_owned(),
            "aws.cfg",
            "default",
            &[],
        ),
        (
            "no home directory",
            "profile = \"x\"".to_owned(),
            ".aws/config",
            "profile x",
            &[("HOME", "")],
        ),
    ] {
        let (w, ran) = clone("");
        let here = w.path().display().to_string();
        let (w, ran) = if arguments.contains("HERE") {
            w.write(
                "main.tf",
                &w.read("main.tf").replace(
                    "    \n",
                    &format!("    {}\n", arguments.replace("HERE", &here)),
                ),
            );
            (w, ran)
        } else {
            clone(&arguments)
        };
        w.write(file, &profile(section, &ran));
        let mut command = command(&w, &["state", "list"]);
        let run = Run::from_command(command.envs(variables.iter().copied()));
        assert_eq!(run.code, Some(3), "{what}: {run:#?}");
        assert!(!ran.exists(), "{what}");
    }
}

#[test]
fn profile_that_refers_to_one_with_a_command_is_refused() {
    let (w, ran) = clone("profile = \"x\"\n    shared_config_files = [\"aws.cfg\"]");
    let chain = format!(
        "[profile x]\nrole_arn = arn:a\nsource_profile = y\n{}",
        profile("profile y", &ran)
    );
    w.write("aws.cfg", &chain);
    refused(&Run::from_command(&mut command(&w, &["state", "list"])));
    assert!(!ran.exists());
}

#[test]
fn backend_config_file_and_remote_state_need_trust() {
    let (w, ran) = clone("");
    w.write("aws.cfg", &profile("profile x", &ran));
    w.write(
        "more.tfbackend",
        "profile = \"x\"\nshared_config_files = [\"aws.cfg\"]\n",
    );
    Run::from_command(&mut command(
        &w,
        &["init", "-backend-config=more.tfbackend"],
    ));
    assert!(!ran.exists(), "init");
    refused(&Run::from_command(&mut command(&w, &["state", "list"])));
    assert!(!ran.exists(), "state list");

    let remote = format!(
        "data \"terraform_remote_state\" \"up\" {{\n  backend = \"s3\"\n  config = {{\n    {BACKEND}    profile = \"x\"\n    shared_config_files = [\"aws.cfg\"]\n  }}\n}}\noutput \"o\" {{\n  value = data.terraform_remote_state.up.outputs\n}}\n"
    );
    let w = Workspace::new(&[("main.tf", remote.as_str())]);
    let ran = w.path().parent().unwrap().join("ran");
    w.write("aws.cfg", &profile("profile x", &ran));
    let run = Run::from_command(&mut command(&w, &["stage"])).expect(1);
    assert!(run.stderr.contains("--trust-workspace"), "{run:#?}");
    assert!(!ran.exists());
    let run = Run::from_command(&mut command(&w, &["stage", "--trust-workspace"]));
    assert!(ran.exists(), "{run:#?}");
    assert!(
        run.stderr.contains("trusted from now on: the command"),
        "{run:#?}"
    );
}

#[test]
fn command_in_the_users_configuration_needs_no_trust() {
    let (w, ran) = clone("profile = \"x\"");
    let own = w.path().parent().unwrap().join(".aws");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("config"), profile("profile x", &ran)).unwrap();
    let run = Run::from_command(&mut command(&w, &["state", "list"]));
    assert!(ran.exists() && run.code == Some(1), "{run:#?}");
}

#[test]
fn programs_are_not_searched_in_relative_directories() {
    // A shell, an `az` and a `git` in the clone, for a user whose PATH contains the current
    // directory.
    let path = format!(".:{}", std::env::var("PATH").unwrap());
    let azure = "terraform {\n  backend \"azurerm\" {\n    storage_account_name = \"x\"\n    container_name = \"c\"\n    key = \"k\"\n    use_azuread_auth = true\n    tenant_id = \"t\"\n  }\n}\n";
    let module = "module \"m\" {\n  source = \"git::http://127.0.0.1:1/x.git\"\n}\n";
    let (s3, _) = clone("profile = \"x\"");
    let own = s3.path().parent().unwrap().join(".aws");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(
        own.join("config"),
        "[profile x]\ncredential_process = false\n",
    )
    .unwrap();
    for (program, w, args) in [
        ("sh", s3, &["state", "list"][..]),
        (
            "az",
            Workspace::new(&[("main.tf", azure)]),
            &["state", "list"],
        ),
        ("git", Workspace::new(&[("main.tf", module)]), &["init"]),
    ] {
        let ran = w.path().parent().unwrap().join("ran");
        w.write(program, &format!("#!/bin/sh\ntouch {}\n", ran.display()));
        let place = w.path().join(program);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&place, mode).unwrap();
        let run = Run::from_command(command(&w, args).env("PATH", &path));
        assert_ne!(run.code, Some(0), "{program}: {run:#?}");
        assert!(!ran.exists(), "{program}: {run:#?}");
    }
}
