//! Test of a plugin process without its flightdeck: the console reports it, and ends it after a
//! confirmation.

use crate::console_workspace::*;
use crate::orphaned_process::{KillGroupOnDrop, record_as_newest_launch, start_orphan};
use std::process::{Command, Stdio};

fn is_there(pid: u32) -> bool {
    stat(i32::try_from(pid).unwrap()).is_some_and(|s| s.1 != 'Z')
}

/// Workspace with a recorded launch.
fn with_a_launch() -> Workspace {
    let w = Workspace::bundled();
    let launched = Command::new(FLIGHTDECK)
        .args(["plugins"])
        .current_dir(w.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(launched.status.success(), "{launched:?}");
    w
}

#[test]
fn orphaned_plugin_process_is_shown_and_ended_after_a_confirmation() {
    let w = with_a_launch();
    let (pid, start_time) = start_orphan();
    let _at_the_end = KillGroupOnDrop(pid);
    let store = w.path().join(".flightdeck/flightdeck.db");
    record_as_newest_launch(&store, pid, start_time);
    let mut c = w.console();
    c.wait("O ✗ 1 orphan", LONG).unwrap();
    c.keys("1").unwrap();
    c.wait("orphaned processes (1); O ends them", SOON).unwrap();
    c.wait(&format!("bundled/lab: process {pid}, launched at"), SOON)
        .unwrap();
    c.keys("O").unwrap();
    c.wait("End 1 orphan?", SOON).unwrap();
    c.wait(&format!("started {start_time} ticks after boot"), SOON)
        .unwrap();
    // Enter alone answers No.
    c.keys("\r").unwrap();
    c.wait_until(|screen| !screen.contains("End 1 orphan?"), SOON)
        .unwrap();
    assert!(is_there(pid));
    c.keys("O").unwrap();
    c.wait("End 1 orphan?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait(&format!("process {pid} ended after SIGTERM"), SOON)
        .unwrap();
    c.wait_until(|screen| !screen.contains("✗ 1 orphan"), SOON)
        .unwrap();
    c.wait_until(|screen| !screen.contains("orphaned processes"), SOON)
        .unwrap();
    assert!(!is_there(pid));
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
}

#[test]
fn orphan_that_ends_by_itself_is_removed_from_the_screen() {
    let w = with_a_launch();
    let (pid, start_time) = start_orphan();
    let it = KillGroupOnDrop(pid);
    record_as_newest_launch(&w.path().join(".flightdeck/flightdeck.db"), pid, start_time);
    let mut c = w.console();
    c.wait("O ✗ 1 orphan", LONG).unwrap();
    drop(it);
    c.wait_until(|screen| !screen.contains("✗ 1 orphan"), SOON)
        .unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
}
