//! Tests of a workspace that a console shares with other flightdeck processes.

use crate::console_workspace::*;
use bundled::lab::control;
use model::lock_owner::this_process;
use model::settings::Access;
use rustix::process::Signal;
use std::process::{Command, Stdio};
use store::Store;

fn flightdeck(w: &Workspace, args: &[&str]) -> Command {
    let mut command = Command::new(FLIGHTDECK);
    command.args(args).current_dir(w.path());
    command.env_remove("TF_CLI_CONFIG_FILE");
    command
}

#[test]
fn deploy_beside_an_idle_console_is_noticed_and_outdates_its_stage() {
    let w = Workspace::bundled();
    let mut c = w.console();
    c.wait("● ready", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("· 1 of 1 selected", LONG).unwrap();
    let run = flightdeck(&w, &["deploy", "--auto-approve"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    c.wait("out of date: the state has changed", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("is out of date, s stages again", SOON).unwrap();
    c.keys("5").unwrap();
    c.wait("1 deploy", SOON).unwrap();
    c.keys("6").unwrap();
    c.wait("lab_bucket.logs", SOON).unwrap();
    // The console has its turn again.
    c.keys("3s").unwrap();
    c.wait("No changes.", LONG).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
    w.assert_unlocked();
}

#[test]
fn lock_owner_is_shown_while_it_has_the_lock() {
    let w = Workspace::bundled();
    let mut c = w.console();
    c.wait("● ready", LONG).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = Store::open(w.path(), Access::ReadWrite).unwrap();
    runtime
        .block_on(store.acquire_lock(this_process("nightly job")))
        .unwrap();
    c.wait("nightly job)", SOON).unwrap();
    c.keys("3s").unwrap();
    c.wait("wait until it has ended", SOON).unwrap();
    runtime.block_on(store.release_lock()).unwrap();
    c.wait("lock: free", SOON).unwrap();
    c.keys("s").unwrap();
    c.wait("· 1 of 1 selected", LONG).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
    w.assert_unlocked();
}

#[test]
fn killed_deploy_of_another_process_is_settled_by_the_console() {
    let w = Workspace::bundled();
    let lab = w.path().join("lab.json");
    let mut c = w.console();
    c.wait("● ready", LONG).unwrap();
    control::set(&lab, control::Fault::new(control::Kind::Hang)).unwrap();
    let mut deploy = flightdeck(&w, &["deploy", "--auto-approve"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = i32::try_from(deploy.id()).unwrap();
    c.wait(&format!("(pid {running}, deploy)"), LONG).unwrap();
    c.keys("5").unwrap();
    c.wait("1 deploy", LONG).unwrap();
    send(running, Signal::KILL);
    deploy.wait().unwrap();
    c.wait("lock: free", SOON).unwrap();
    c.wait("1 unknown", SOON).unwrap();
    control::clear_all(&lab).unwrap();
    // The next command takes the lock over and settles the deploy.
    c.keys("3s").unwrap();
    c.wait("· 1 of 1 selected", LONG).unwrap();
    c.keys("5").unwrap();
    c.wait("interrupted", SOON).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
    w.assert_unlocked();
}

#[test]
fn open_console_runs_the_reconcile_loop_and_leads() {
    let w = Workspace::of("resource \"terraform_data\" \"web\" {\n  count = 2\n}\n");
    let group = "group \"web\" {\n  instance = terraform_data.web\n  reconcile {\n    every = \"1s\"\n  }\n}\n";
    std::fs::write(w.path().join("web.flightdeck.hcl"), group).unwrap();
    let mut c = w.console();
    c.wait("group web: drift found: 2 missing", LONG).unwrap();
    let once = || flightdeck(&w, &["reconcile", "--once"]).output().unwrap();
    let run = once();
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(1), "{text}");
    assert!(
        text.contains(&format!("led by pid {} on", pid(&c))),
        "{text}"
    );
    c.keys("3s").unwrap();
    // The plans of the loop have no place on the screen.
    c.wait("stage #1 · 2 of 2 selected", LONG).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
    // The console has given the leadership up.
    let run = once();
    assert!(run.status.success(), "{run:?}");
    w.assert_unlocked();
}
