//! Tests of commands that record nothing: they work on a read-only disk, and create no store.

use crate::lab_deploys::Lab;
use crate::support::{Run, Workspace};
use std::path::Path;
use std::process::Command;

const MAIN: &str = r#"
resource "terraform_data" "a" {
  input = "one"
}

resource "lab_bucket" "b" {
  name = "b"
}

output "o" {
  value = terraform_data.a.output
}
"#;

/// Commands that need neither a store nor a state.
const STATELESS: [&[&str]; 7] = [
    &["validate"],
    &["validate", "--json"],
    &["fmt", "-check"],
    &["version"],
    &["show", "plan.out"],
    &["show", "-json", "plan.out"],
    &["show", "terraform.tfstate"],
];
/// Commands that read the state.
const STATEFUL: [&[&str]; 8] = [
    &["output"],
    &["output", "-json"],
    &["output", "-raw", "o"],
    &["show"],
    &["show", "-json"],
    &["providers"],
    &["providers", "schema", "-json"],
    &["graph"],
];

/// Workspace with a state and a plan file, with or without the store.
fn deployed(store: bool) -> Workspace {
    let w = Lab::new(MAIN).workspace;
    w.run(&["fmt"]).expect(0);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.run(&["plan", "-out", "plan.out"]).expect(0);
    if !store {
        std::fs::remove_dir_all(w.path().join(".flightdeck")).unwrap();
    }
    w
}

/// Wraps a command in a mount namespace where the workspace is read-only.
fn mounted(inner: &Command, w: &Workspace) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c"])
        .arg("mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && cd \"$1\" && shift && exec \"$@\"")
        .arg("sh")
        .arg(w.path())
        .arg(inner.get_program())
        .args(inner.get_args())
        .stdin(std::process::Stdio::null());
    with_environment(&mut command, inner);
    command
}

fn can_mount(w: &Workspace) -> bool {
    let touch = {
        let mut command = Command::new("sh");
        command.args(["-c", "! touch probe 2>/dev/null"]);
        command
    };
    let ran = mounted(&touch, w).output();
    let can = ran.is_ok_and(|ran| ran.status.success()) && !w.path().join("probe").exists();
    if !can {
        cty::testing::skipped("no read-only mount can be made here");
    }
    can
}

/// `flightdeck console` with one expression on its standard input.
fn in_console(w: &Workspace) -> Command {
    std::fs::write(w.path().parent().unwrap().join("question"), "1 + 2\n").unwrap();
    let inner = w.command(&["console"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec \"$0\" \"$@\" < ../question"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(w.path());
    with_environment(&mut command, &inner);
    command
}

fn with_environment(command: &mut Command, of: &Command) {
    for (name, value) in of.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

#[test]
fn commands_without_records_work_on_a_read_only_mount() {
    for store in [false, true] {
        let w = deployed(store);
        if !can_mount(&w) {
            return;
        }
        for args in STATELESS.iter().chain(&STATEFUL) {
            let run = Run::from_command(&mut mounted(&w.command(args), &w));
            assert_eq!(run.code, Some(0), "store: {store}, {args:?}: {run:#?}");
            assert!(!run.stderr.contains("warning"), "{args:?}: {run:#?}");
        }
        let run = Run::from_command(&mut mounted(&in_console(&w), &w)).expect(0);
        assert_eq!(run.stdout, "3\n");
        assert_eq!(w.path().join(".flightdeck").exists(), store);
    }
}

/// A crash leaves the write-ahead log next to the database, and SQLite cannot recover it on a
/// read-only mount.
#[test]
fn state_is_read_on_a_read_only_mount_with_an_unclosed_store() {
    let w = deployed(true);
    if !can_mount(&w) {
        return;
    }
    let conn = rusqlite::Connection::open(w.store()).unwrap();
    conn.execute_batch("PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a); DROP TABLE t")
        .unwrap();
    let wal = w.path().join(".flightdeck/flightdeck.db-wal");
    let bytes = std::fs::read(&wal).unwrap();
    drop(conn);
    std::fs::write(&wal, bytes).unwrap();
    let run = Run::from_command(&mut mounted(&w.command(&["output", "-raw", "o"]), &w)).expect(0);
    assert_eq!(run.stdout, "one");
}

#[test]
fn commands_without_records_create_no_store() {
    let w = deployed(false);
    for args in STATELESS.iter().chain(&STATEFUL) {
        w.run(args).expect(0);
        assert!(!w.path().join(".flightdeck").exists(), "{args:?}");
    }
    Run::from_command(&mut in_console(&w)).expect(0);
    assert!(!w.path().join(".flightdeck").exists());
}

/// A file in place of the store's directory stands for a store that this user may not open. It also
/// works for root.
#[test]
fn unusable_store_only_stops_commands_that_need_it() {
    let w = deployed(false);
    std::fs::write(w.path().join(".flightdeck"), "").unwrap();
    for args in STATELESS {
        let run = w.run(args).expect(0);
        assert!(!run.stderr.contains(".flightdeck"), "{args:?}: {run:#?}");
    }
    for args in STATEFUL {
        let run = w.run(args).expect(0);
        assert!(
            run.stderr
                .contains("warning: State read without flightdeck's store"),
            "{args:?}: {run:#?}"
        );
        assert!(
            run.stderr.contains(".flightdeck: it is ") && run.stderr.contains("terraform.tfstate"),
            "{args:?}: {run:#?}"
        );
    }
    assert_eq!(w.run(&["output", "-raw", "o"]).stdout, "one");
    for args in [&["history"][..], &["stage"], &["deploy", "--auto-approve"]] {
        let run = w.run(args).expect(1);
        assert!(
            run.stderr.contains("flightdeck does not use"),
            "{args:?}: {run:#?}"
        );
    }
}

/// The state is readable for everybody here, and the store only for root.
#[test]
fn user_without_access_to_the_store_can_read_the_state() {
    let w = deployed(true);
    let other = |args: &[&str]| {
        let inner = w.command(args);
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .current_dir(w.path());
        with_environment(&mut command, &inner);
        command
    };
    open_to_all(w.path().parent().unwrap());
    open_to_all(&w.path());
    let ran = other(&["version"]).output();
    if !rustix::process::geteuid().is_root() || !ran.is_ok_and(|ran| ran.status.success()) {
        cty::testing::skipped("no other user can run the binary here");
        return;
    }
    for name in ["main.tf", "provider.tf", "terraform.tfstate"] {
        open_to_all(&w.path().join(name));
    }
    Run::from_command(&mut other(&["validate"])).expect(0);
    let run = Run::from_command(&mut other(&["output", "-raw", "o"])).expect(0);
    assert_eq!(run.stdout, "one");
    assert!(run.stderr.contains("warning:"), "{run:#?}");
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
