//! Tests of every way to quit the console: the terminal is restored, running work is named during
//! the wait, and no process is left.

use crate::console_workspace::*;
use crate::pty::Pty;
use bundled::lab::control;
use portable_pty::CommandBuilder;
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn quit_restores_the_terminal_and_ends_plugins_and_locks() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let w = Workspace::bundled();
        let c = w.console();
        c.wait("● ready", LONG).unwrap();
        c.wait("lock: free", SOON).unwrap();
        let (pid, running) = (pid(&c), plugins(pid(&c)));
        send(pid, signal);
        let (code, screen) = c.end(LONG).unwrap();
        assert_eq!(code, 0, "{signal:?}");
        assert_terminal_restored(&screen);
        assert_all_ended(&running);
        w.assert_unlocked();
    }
}

#[test]
fn keys_are_handled_during_expensive_evaluations() {
    // Evaluations that take hours, more of them than cores.
    let one = |i: usize| {
        let inner = "length([for b in local.n : length([for c in local.n : length([for d in local.n : 1]) if false])])";
        format!("output \"x{i}\" {{\n  value = length([for a in local.n : {inner} + {i}])\n}}\n")
    };
    let cores = std::thread::available_parallelism().unwrap().get();
    let outputs: String = (0..cores * 2 + 2).map(one).collect();
    let w = Workspace::of(&format!("locals {{\n  n = range(1000)\n}}\n{outputs}"));
    let mut c = w.console();
    c.wait("lock: free", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("staging #1", SOON).unwrap();
    let clock = c.text();
    c.wait_until(|s| s != clock, SOON).unwrap();
    c.keys("5").unwrap();
    c.wait("No deploy was made", SOON).unwrap();
    c.keys("q").unwrap();
    c.wait("cancel it and quit?", SOON).unwrap();
    c.keys("y").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0, "{}", screen.contents());
    assert_terminal_restored(&screen);
    w.assert_unlocked();
}

#[test]
fn quit_during_a_hanging_change_stops_the_plugin_and_records_the_outcome() {
    let w = Workspace::bundled();
    let mut c = w.console();
    c.wait("● ready", LONG).unwrap();
    let fault = control::Fault {
        times: Some(1),
        ..control::Fault::new(control::Kind::Hang)
    };
    control::set(&w.path().join("lab.json"), fault).unwrap();
    c.keys("3s").unwrap();
    c.wait("· 1 of 1 selected", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #1?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("1 running", LONG).unwrap();
    let (pid, running) = (pid(&c), plugins(pid(&c)));
    send(pid, Signal::TERM);
    // A wrapper repeats the signal; the plugins are not asked to stop yet.
    std::thread::sleep(Duration::from_millis(50));
    send(pid, Signal::TERM);
    // On the restored screen the console prints the running work, its duration, and the next step.
    c.wait("deploy #1: waiting for 1 running operation", SOON)
        .unwrap();
    c.wait_until(
        |s| {
            s.contains("0 of 1 done; lab_bucket.logs creating for")
                && s.contains("the plugins are asked to stop in")
        },
        SOON,
    )
    .unwrap();
    c.with_screen(|s| assert!(!s.alternate_screen(), "the console is still there"));
    let clock = c.text();
    c.wait_until(|s| s != clock, SOON).unwrap();
    // An operator who does not want to wait continues with the next signal.
    c.keys("\x03").unwrap();
    c.wait("plugins are asked to stop running operations", SOON)
        .unwrap();
    c.wait("Deploy #1 ", LONG).unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
    let said = screen.contents();
    assert!(
        !said.contains("creating for"),
        "the live line is left behind: {said}"
    );
    assert_all_ended(&running);
    w.assert_unlocked();
    let out = Command::new(FLIGHTDECK)
        .args(["history", "--json"])
        .current_dir(w.path())
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("\"outcome\":\"cancelled\"") || text.contains("\"outcome\":\"failed\""),
        "{text}"
    );
}

/// A quit does not wait for launches, because plugins may take minutes to become ready.
#[test]
fn quit_does_not_wait_for_starting_plugins() {
    let (w, settings) = workspace_of("#!/bin/sh\nexec sleep 600\n");
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg(w.path());
    command.env("TF_CLI_CONFIG_FILE", &settings);
    let mut c = Pty::start(command, 120, 40).unwrap();
    c.wait("1 starting", LONG).unwrap();
    let running = plugins(pid(&c));
    c.keys("q").unwrap();
    let (code, screen) = c.end(Duration::from_secs(50)).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
    assert_all_ended(&running);
    w.assert_unlocked();
}

/// A plugin that does not end when asked gets a grace period, and the screen names it meanwhile.
#[test]
fn quit_names_the_plugins_that_it_waits_for() {
    let (w, settings) = workspace_of(&format!(
        "#!/bin/sh\ntrap '' TERM\n{FLIGHTDECK} plugin serve lab\nexec sleep 600\n"
    ));
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg(w.path());
    command.env("TF_CLI_CONFIG_FILE", &settings);
    command.env("FLIGHTDECK_STOP_GRACE_MS", "3000");
    let mut c = Pty::start(command, 120, 40).unwrap();
    c.wait("● ready", LONG).unwrap();
    c.keys("q").unwrap();
    c.wait("stopping example.com/demo/lab for", SOON).unwrap();
    let (code, screen) = c.end(SOON).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
    assert!(
        !screen.contents().contains("stopping"),
        "{}",
        screen.contents()
    );
    w.assert_unlocked();
}

#[test]
fn lost_terminal_leaves_no_plugin_and_no_lock() {
    let w = Workspace::bundled();
    // Another process holds the terminal, and is killed.
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "quit::child_holds_a_terminal",
            "--ignored",
            "--nocapture",
        ])
        .env("WORKSPACE", w.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .find_map(|l| l.split_once("console ")?.1.trim().parse::<i32>().ok());
    let console = said.expect("the holder says which console it has");
    let (running, began) = (plugins(console), stat(console).unwrap().2);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_all_ended(&[(console, began)]);
    assert_all_ended(&running);
    w.assert_unlocked();
}

#[test]
#[ignore = "run by a_terminal_that_goes_away_takes_no_plugin_and_no_lock_with_it"]
fn child_holds_a_terminal() {
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg(std::env::var_os("WORKSPACE").unwrap());
    let c = Pty::start(command, 120, 40).unwrap();
    c.wait("● ready", LONG).unwrap();
    c.wait("lock: free", SOON).unwrap();
    println!("\nconsole {}", pid(&c));
    std::thread::sleep(LONG);
}
