//! Tests of the place of the store: `FLIGHTDECK_DATA_DIR`, and checkouts and temporary directories
//! that cannot be written.

use crate::support::{Run, Workspace};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

const MAIN: &str = "variable \"e\" {\n  default = \"none\"\n}\nresource \"terraform_data\" \"a\" {\n  input = var.e\n}\noutput \"e\" {\n  value = terraform_data.a.output\n}\n";

fn run(w: &Workspace, data: &Path, words: &[&str]) -> Run {
    Run::from_command(w.command(words).env("FLIGHTDECK_DATA_DIR", data))
}

#[test]
fn root_modules_that_share_a_data_directory_have_their_own_stores() {
    let shared = tempfile::tempdir().unwrap();
    // Created by the first command.
    let data = shared.path().join("data");
    let modules = ["one", "two"].map(|value| (value, Workspace::new(&[("main.tf", MAIN)])));
    for (value, w) in &modules {
        let value = format!("-var=e={value}");
        run(w, &data, &["apply", "-auto-approve", &value]).expect(0);
    }
    for (value, w) in &modules {
        assert!(!w.path().join(".flightdeck").exists());
        assert_eq!(
            run(w, &data, &["output", "-raw", "e"]).expect(0).stdout,
            *value
        );
        let history = run(w, &data, &["history", "--json"]).expect(0).result();
        assert_eq!(history["history"].as_array().unwrap().len(), 1);
        let value = format!("-var=e={value}");
        run(w, &data, &["plan", "-detailed-exitcode", &value]).expect(0);
        let moved = ["workspace", "new", "dev"];
        run(w, &data, &moved).expect(0);
        assert_eq!(run(w, &data, &["state", "list"]).expect(0).stdout, "");
    }
    assert!(data.join(".flightdeck/flightdeck.db").is_file());
    // A relative name starts at the checkout.
    let (_, w) = &modules[0];
    run(w, Path::new("kept"), &["plan"]).expect(0);
    assert!(w.path().join("kept/.flightdeck").is_dir());
}

/// Command as a user that cannot write to the files of the tests' user.
fn as_reader(w: &Workspace, own: &Path, words: &[&str]) -> Command {
    let command = w.command(words);
    let root = w.path().parent().unwrap().to_owned();
    std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(own, PermissionsExt::from_mode(0o777)).unwrap();
    let mut other = match rustix::process::geteuid().is_root() {
        true => {
            let mut other = Command::new("setpriv");
            other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            other.arg(command.get_program()).args(words);
            other
        }
        false => {
            std::fs::set_permissions(w.path(), PermissionsExt::from_mode(0o555)).unwrap();
            let mut other = Command::new(command.get_program());
            other.args(words);
            other
        }
    };
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    other
        .current_dir(w.path())
        .stdin(Stdio::null())
        .env("HOME", "/nonexistent")
        .env("XDG_STATE_HOME", "/nonexistent/state")
        .env("TF_INPUT", "0");
    other
}

#[test]
fn read_only_checkout_is_planned_with_a_data_directory_elsewhere() {
    for (variable, state) in [
        ("TF_DATA_DIR", false),
        ("FLIGHTDECK_DATA_DIR", false),
        ("TF_DATA_DIR", true),
    ] {
        let w = Workspace::new(&[("main.tf", MAIN)]);
        if state {
            w.run(&["apply", "-auto-approve"]).expect(0);
            std::fs::remove_dir_all(w.path().join(".flightdeck")).unwrap();
            let file = w.path().join("terraform.tfstate");
            std::fs::set_permissions(file, PermissionsExt::from_mode(0o444)).unwrap();
        }
        let own = tempfile::tempdir().unwrap();
        let plan = ["plan", "-lock=false", "-detailed-exitcode"];
        let planned = as_reader(&w, own.path(), &plan)
            .env(variable, own.path())
            .output();
        let planned = Run::from(planned.unwrap()).expect(if state { 0 } else { 2 });
        assert!(
            own.path().join(".flightdeck/flightdeck.db").is_file(),
            "{planned:?}"
        );
        let locked = as_reader(&w, own.path(), &["plan"])
            .env(variable, own.path())
            .output();
        let locked = Run::from(locked.unwrap()).expect(1);
        assert!(locked.stderr.contains("-lock=false"), "{locked:?}");
        let refused = as_reader(&w, own.path(), &plan).output();
        let refused = Run::from(refused.unwrap()).expect(1);
        assert!(
            refused.stderr.contains("FLIGHTDECK_DATA_DIR"),
            "{refused:?}"
        );
        std::fs::set_permissions(w.path(), PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[test]
fn plugins_are_launched_once_without_a_writable_temporary_directory() {
    let main = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  file = \"lab.json\"\n}\nresource \"lab_bucket\" \"a\" {\n  name = \"a\"\n}\n";
    let w = Workspace::new(&[("main.tf", main)]);
    let mut plan = w.command(&["plan", "-detailed-exitcode"]);
    plan.env("TMPDIR", w.path().join("absent"));
    Run::from_command(&mut plan).expect(2);
}
