//! Test that secrets stay secret: a workspace full of sensitive values runs through every command,
//! including failures, and all output and files are searched. Only the tables of state, stage and
//! configuration and the files of `--plan-json` and `state export` may contain secrets, with access
//! for their owner alone.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod references;
mod secret_search;
mod secret_workspace;

use bundled::lab::control;
use bundled::lab::control::{Fault, Kind, On};

use self::secret_search::{columns, console, files, find_secrets, needles, stages};
use self::secret_workspace::{ERRORS, SecretWorkspace, secret};
use crate::support::mode;

#[path = "../../xtask/src/pty.rs"]
#[allow(dead_code)]
mod pty;

#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;

/// Errors of the kernel for a process that has ended.
fn process_has_ended(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

#[test]
fn secrets_are_found_only_where_they_must_be() {
    let mut world = SecretWorkspace::new();
    // Stages and deploys that fail with the plugin's errors, one of them with a crash; then one
    // that succeeds.
    world.run(&["stage"]).expect(0);
    world
        .run(&[
            "stage",
            "--json",
            "--plan-json",
            "plan.json",
            "--out",
            "kept",
        ])
        .expect(0);
    // Secret as a log might contain it: quoted twice, URL-encoded, in hexadecimal.
    let address: String = world
        .password
        .bytes()
        .map(|b| format!("%{b:02x}"))
        .collect();
    let digits = address.replace('%', "");
    let spelled = format!("{:?} {address} {digits}", format!("{:?}", world.password));
    let words = format!(
        "visible-error: it was {} and {} at {} with {} and {}; {spelled}",
        world.password,
        secret("of an object"),
        secret("provider configuration"),
        secret("number"),
        secret("write-only")
    );
    let fault = |kind: Kind| Fault {
        on: On::Create,
        name: Some("trouble".into()),
        times: Some(1),
        text: Some(words.clone()),
        ..Fault::new(kind)
    };
    control::set(&lab(&world), fault(Kind::Permanent)).unwrap();
    let said = world.run(&["deploy", "--auto-approve", "--json"]).expect(5);
    let masked = "visible-error: it was (sensitive) and (sensitive) at (sensitive) with (sensitive) and (sensitive); ";
    let again = "(sensitive)\\\\\\\"\\\" (sensitive) (sensitive)";
    assert!(
        said.stdout.contains(masked),
        "the provider's words are shown but for the secrets: {said:#?}"
    );
    assert!(
        said.stdout.contains(again),
        "in other spellings too: {said:#?}"
    );
    control::set(&lab(&world), fault(Kind::Crash)).unwrap();
    world.run(&["deploy", "--auto-approve"]).expect(5);
    // The plugin crashed before it created anything; discard the unknown outcome to allow the
    // creation.
    world
        .run(&["state", "forget", "lab_thing.trouble"])
        .expect(0);
    control::set(&lab(&world), fault(Kind::Partial)).unwrap();
    world.run(&["deploy", "--auto-approve"]).expect(5);
    world.run(&["deploy", "--auto-approve", "--json"]).expect(0);
    world.password = secret("second password");
    world.run(&["stage"]).expect(0);
    world
        .run(&["deploy", "--auto-approve", "--log-level", "trace"])
        .expect(0);

    // Errors of the configuration and of values.
    for (n, text) in ERRORS.iter().enumerate() {
        world.w.write("error.tf", text);
        for args in [&["stage"][..], &["stage", "--json"]] {
            let run = world.run(args);
            assert_eq!(run.code, Some(1), "{n}: {text}: {run:#?}");
        }
    }
    std::fs::remove_file(world.w.path().join("error.tf")).unwrap();
    let broken = format!(
        "object={{ key = \"{}\" other",
        secret("in a value that is none")
    );
    let wrong = format!(
        "object={{ key = \"{}\" }}",
        secret("in a value that is none")
    );
    let undeclared = format!("undeclared={}", secret("in a value that is none"));
    for value in [&broken, &wrong, &undeclared] {
        world.run(&["stage", "--var", value]).expect(1);
        world.run(&["stage", "--json", "--var", value]).expect(1);
    }
    world.w.write(
        "broken.tfvars",
        &format!("password = \"{}\n", secret("in a value that is none")),
    );
    world
        .run(&["stage", "--var-file", "broken.tfvars"])
        .expect(1);
    world.w.write(
        "run.tf",
        "resource \"terraform_data\" \"fails\" {\n  provisioner \"local-exec\" {\n    command = \"echo ${var.password}; exit 3\"\n  }\n}\n",
    );
    world.run(&["deploy", "--auto-approve"]).expect(5);
    std::fs::remove_file(world.w.path().join("run.tf")).unwrap();

    // Every command that only reads.
    world.run_read_only(&["history"]);
    for deploy in 1..=6 {
        world.run_read_only(&["history", &deploy.to_string()]);
    }
    for args in [
        &["failures"][..],
        &["logs"],
        &["state", "list"],
        &["state", "show", "lab_database.a"],
        &["state", "show", "lab_thing.a"],
        &["plugins"],
    ] {
        world.run_read_only(args);
    }
    world.run(&["state", "export", "out.tfstate"]).expect(0);
    // Restore the first password, so that the console has a change to stage.
    world.password = secret("password");
    let frames = console(&world);
    let destroyed = world.run(&["destroy", "--auto-approve", "--json"]);
    assert_eq!(destroyed.code, Some(0), "{destroyed:#?}");

    let needles = needles();
    let mut leaks: Vec<String> = Vec::new();
    let mut search = |place: &str, bytes: &[u8]| {
        leaks.extend(
            find_secrets(bytes, &needles)
                .into_iter()
                .map(|l| format!("{place}: {l}")),
        )
    };
    for (name, bytes) in &world.out {
        search(&format!("output of {name}"), bytes);
    }
    for (name, text) in &frames {
        // The screen may cut a secret at the end of a line, but not on all screens.
        search(&format!("screen {name}"), text.as_bytes());
    }
    let db = world.w.store();
    for (place, bytes) in columns(&db) {
        search(&place, &bytes);
    }
    // Files of the operator, the lab's objects, and files that must contain secrets.
    let theirs = [
        "main.tf",
        "terraform.tfvars",
        "broken.tfvars",
        "lab.json",
        "lab.control.json",
        "plan.json",
        "out.tfstate",
        "terraform.tfstate",
        "terraform.tfstate.backup",
    ];
    let root = world.w.path().parent().unwrap().to_owned();
    let mut databases = 0;
    for path in files(&root) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("flightdeck.db") {
            databases += 1;
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        } else if name.starts_with("terraform.tfstate") {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        } else if !theirs.contains(&name.as_str()) {
            search(&path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
    assert!(databases >= 1);
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );

    // Check the search itself: files that may contain secrets do contain them, with access for
    // their owner alone.
    for (name, holds) in [
        ("plan.json", "password"),
        ("out.tfstate", "second password"),
    ] {
        let path = world.w.path().join(name);
        let found = find_secrets(&std::fs::read(&path).unwrap(), &needles);
        assert!(
            found.iter().any(|f| f.starts_with(&format!("{holds}:"))),
            "{name}: {found:?}"
        );
        assert_eq!(mode(&path), 0o600, "{name}");
    }
    assert_eq!(mode(&world.w.path().join(".flightdeck")), 0o700);
    // Ephemeral values are not even in those.
    let whole = std::fs::read(&db).unwrap();
    let note: Vec<_> = needles
        .iter()
        .filter(|(name, _)| *name == "write-only")
        .cloned()
        .collect();
    assert!(
        find_secrets(&whole, &note).is_empty(),
        "an ephemeral value is in the database"
    );
    let stages = stages(&db);
    assert!(!stages.is_empty());
    for text in &stages {
        assert!(
            find_secrets(text, &note).is_empty(),
            "an ephemeral value is in a stage"
        );
    }
}

fn lab(world: &SecretWorkspace) -> std::path::PathBuf {
    world.w.path().parent().unwrap().join("lab.json")
}

/// During a deploy the store's log and index are also accessible for their owner alone.
#[test]
fn store_files_are_private_and_plugins_get_no_variables_during_a_deploy() {
    let mut world = SecretWorkspace::new();
    world.run(&["stage"]).expect(0);
    control::set(
        &lab(&world),
        Fault {
            times: Some(1),
            ..Fault::new(Kind::Hang)
        },
    )
    .unwrap();
    let mut child = world
        .command(&["deploy", "--auto-approve", "--json"])
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let applying = |l: &std::io::Result<String>| {
        l.as_ref()
            .is_ok_and(|l| l.contains("\"call_started\"") && l.contains("ApplyResourceChange"))
    };
    assert!(lines.into_iter().any(|l| applying(&l)));
    for name in ["flightdeck.db", "flightdeck.db-wal", "flightdeck.db-shm"] {
        assert_eq!(
            mode(&world.w.path().join(".flightdeck").join(name)),
            0o600,
            "{name}"
        );
    }
    // Plugins have no variables of the configuration in their environment, and their core dumps are
    // disabled.
    let mut plugins = 0;
    for task in std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap() {
        let children = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap();
        for pid in children.split_whitespace() {
            let environment = match std::fs::read(format!("/proc/{pid}/environ")) {
                Ok(environment) => environment,
                // The command has ended since the list was read.
                Err(e) if process_has_ended(&e) => continue,
                Err(e) => panic!("the environment of {pid}: {e}"),
            };
            let has = |name: &[u8]| environment.windows(name.len()).any(|w| w == name);
            if !has(b"TF_PLUGIN_MAGIC_COOKIE=") {
                // A provisioner's command has the environment of the deploy.
                continue;
            }
            assert!(has(b"PATH=") && !has(b"TF_VAR_"));
            let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
            let core = limits
                .lines()
                .find(|l| l.starts_with("Max core file size"))
                .unwrap();
            assert_eq!(
                core.split_whitespace().filter(|w| *w == "0").count(),
                2,
                "{core}"
            );
            plugins += 1;
        }
    }
    assert!(plugins > 0, "no plugin runs");
    child.kill().unwrap();
    child.wait().unwrap();
}
