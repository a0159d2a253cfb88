//! Tests of the console in a real pseudo-terminal: the binary, its plugins and its keys. However
//! the console ends, the terminal is restored, no plugin is left, and the workspace is unlocked.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test helper may panic")]

mod terminal_capabilities;
mod themes;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use engine::Engine;
use engine::Settings;
use flightdeck::app::key::{Input, Key};
use flightdeck::app::msg::Effect;
use flightdeck::app::run::Surface;
use flightdeck::app::state::Fault;
use flightdeck::app::{ConsoleOptions, DemoHook, State};
use flightdeck::ui::term::{Capabilities, Screen};
use portable_pty::CommandBuilder;

use crate::console_workspace::*;
use crate::pty::Pty;

#[path = "../../xtask/src/pty.rs"]
mod pty;

mod unknown_outcomes;
mod workspaces_install_metrics;

mod expression_console;
mod queued_operations;

mod incident_stories;
mod job_control;

mod console_workspace;

mod quit;
mod readiness_story;

mod shared_workspace;

mod stage_of_state_edits;
mod stories;

#[path = "../cli/orphaned_process.rs"]
mod orphaned_process;

mod orphaned_plugins;

mod workspace_plugin_trust;

#[test]
fn demo_is_staged_narrowed_deployed_and_retried_after_a_failure() {
    let (mut c, place) = start_demo(120, 40, &[]);
    c.wait("gave up", LONG).unwrap();
    c.wait("3 of 5", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("25 of 25 selected", LONG).unwrap();
    c.keys("/lab_database\r").unwrap();
    c.wait("retention_days", SOON).unwrap();
    c.keys(" ").unwrap();
    c.wait("[ ]", SOON).unwrap();
    c.wait("with lab_database.orders", SOON).unwrap();
    c.wait("· 12 of 25 selected", SOON).unwrap();
    // The next change is refused.
    c.keys("B").unwrap();
    c.wait("Cause a fault in the demo", SOON).unwrap();
    c.keys("2\r").unwrap();
    c.wait("the next change is denied", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #1?", SOON).unwrap();
    c.wait("13 changes, not applied", SOON).unwrap();
    // Enter cancels: the other answer must be chosen.
    c.keys("y").unwrap();
    c.wait("deploy #1", SOON).unwrap();
    c.wait("failed in", LONG).unwrap();
    // The failure is in its row, and in full next to it.
    c.keys("g").unwrap();
    c.wait("create failed", SOON).unwrap();
    c.wait("AccessDenied: this account may not do that", SOON)
        .unwrap();
    // Stage the remaining changes.
    c.keys("t").unwrap();
    c.wait("stage #2 ·", LONG).unwrap();
    c.wait("staged in", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #2?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("deploy #2", SOON).unwrap();
    c.wait("succeeded in", LONG).unwrap();
    c.keys("5").unwrap();
    c.wait("2 deploys", SOON).unwrap();
    c.wait("✓ succeeded", SOON).unwrap();
    c.wait("✗ failed", SOON).unwrap();
    c.keys("v").unwrap();
    c.wait("1×", SOON).unwrap();
    c.wait("✓ solved in #2", SOON).unwrap();
    c.keys("vG\r").unwrap();
    c.wait("replay of deploy #1", SOON).unwrap();
    c.keys("6").unwrap();
    c.wait("module.network", SOON).unwrap();
    let running = plugins(pid(&c));
    let mut servers = processes_of(place.path());
    // The program of one plugin is in the directory of the demo.
    servers.retain(|p| !running.contains(p));
    assert_eq!(servers.len(), 3);
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
    assert_all_ended(&running);
    // They outlive a console, but not the demo.
    assert_all_ended(&servers);
    let left: Vec<_> = std::fs::read_dir(place.path())
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert!(left.is_empty(), "the demo leaves {left:?}");
}

#[test]
fn stage_with_output_changes_only_is_shown_and_applied() {
    let text = "locals {\n  region = \"north\"\n}\noutput \"region\" {\n  value = local.region\n}\n\
                check \"sane\" {\n  assert {\n    condition     = local.region == \"south\"\n    error_message = \"the world is not sane\"\n  }\n}\n";
    let w = Workspace::of(text);
    let mut c = w.console();
    c.wait("lock: free", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("+ output region", LONG).unwrap();
    // Check results are counted and opened.
    c.wait("1 warning (d)", SOON).unwrap();
    c.keys("d").unwrap();
    c.wait("the world is not sane", SOON).unwrap();
    c.keys("\r").unwrap();
    c.keys("a").unwrap();
    c.wait("1: region", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("stage #2", LONG).unwrap();
    c.wait("No changes.", LONG).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
}

#[test]
fn console_without_a_terminal_exits_with_1() {
    let w = Workspace::bundled();
    for arguments in [vec![w.path().as_os_str()], vec!["demo".as_ref()]] {
        let out = Command::new(FLIGHTDECK)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(1));
        assert!(out.stdout.is_empty());
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(
            said.contains("the console needs a terminal") && said.contains("--help"),
            "{said}"
        );
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
    assert!(!w.path().join(".flightdeck").exists());
}

/// Runs one of the ignored tests below as a program in a terminal.
fn start_test_program(name: &str, variables: &[(&str, &str)]) -> Pty {
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture"]);
    // A backtrace would scroll the expected text off the small screen.
    command.env("RUST_BACKTRACE", "0");
    Pty::start_with(command, 80, 24, variables).unwrap()
}

/// Executable of the bundled lab, because only flightdeck itself has bundled providers.
fn lab_script() -> String {
    format!("#!/bin/sh\nexec {FLIGHTDECK} plugin serve lab\n")
}

fn variables<'a>(w: &'a Workspace, settings: &'a Path) -> [(&'static str, &'a str); 2] {
    [
        ("WORKSPACE", w.path().to_str().unwrap()),
        ("TF_CLI_CONFIG_FILE", settings.to_str().unwrap()),
    ]
}

#[test]
fn panic_in_the_loop_restores_the_terminal_ends_plugins_and_is_reported() {
    let (w, settings) = workspace_of(&lab_script());
    let mut c = start_test_program("child_panics_in_the_loop", &variables(&w, &settings));
    c.wait("● ready", LONG).unwrap();
    c.wait("lock: free", SOON).unwrap();
    let running = plugins(pid(&c));
    // Switch to the theme that panics.
    c.keys("\x14").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_ne!(code, 0);
    assert_terminal_restored(&screen);
    assert!(
        screen.contents().contains("broken on purpose"),
        "{}",
        screen.contents()
    );
    assert_all_ended(&running);
    w.assert_unlocked();
}

#[test]
fn panic_in_a_task_is_reported_and_the_console_continues() {
    let (w, settings) = workspace_of(&lab_script());
    let mut c = start_test_program("child_panics_in_a_task", &variables(&w, &settings));
    c.wait("● ready", LONG).unwrap();
    c.wait("lock: free", SOON).unwrap();
    let running = plugins(pid(&c));
    c.keys("B").unwrap();
    c.wait("Cause a fault in the demo", SOON).unwrap();
    c.keys("1\r").unwrap();
    c.wait("demo: task", SOON).unwrap();
    // The place of the panic is in the log, and not on the screen.
    c.with_screen(|s| {
        assert!(
            s.alternate_screen() && !s.contents().contains("panicked at"),
            "{}",
            s.contents()
        )
    });
    c.keys("6").unwrap();
    c.wait("The state is empty", SOON).unwrap();
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0, "{}", screen.contents());
    assert_terminal_restored(&screen);
    assert_all_ended(&running);
    w.assert_unlocked();
}

fn enter(mouse: bool) -> std::io::Result<Screen> {
    Screen::enter(mouse, Capabilities::default())
}

/// Runs the console on `WORKSPACE` as the binary does, but in this process.
fn console<S: Surface>(options: ConsoleOptions, take: impl FnOnce(bool) -> std::io::Result<S>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let settings = Settings {
            strict: false,
            ..Settings::new(std::env::var_os("WORKSPACE").unwrap())
        };
        let engine = Engine::start(settings).await.unwrap();
        let after = async |engine: Engine| engine.shutdown().await;
        flightdeck::app::run(engine, options, take, std::future::pending(), after)
            .await
            .unwrap();
    });
}

/// Terminal whose drawing panics in light colours.
struct PanickingTerminal(Screen);

impl Surface for PanickingTerminal {
    fn size(&self) -> (u16, u16) {
        self.0.size()
    }

    fn draw(&mut self, state: &State) -> std::io::Result<()> {
        assert_ne!(state.shown_theme().name, "light", "broken on purpose");
        self.0.draw(state)
    }

    async fn input(&mut self) -> Option<std::io::Result<Input>> {
        self.0.input().await
    }

    fn trigger(&mut self, effect: Effect) -> std::io::Result<()> {
        self.0.trigger(effect)
    }
}

#[test]
#[ignore = "run in a terminal by a_panic_in_the_loop_gives_back_the_terminal_the_plugins_and_the_workspace_and_is_reported"]
fn child_panics_in_the_loop() {
    console(ConsoleOptions::default(), |mouse| {
        enter(mouse).map(PanickingTerminal)
    });
}

#[test]
#[ignore = "run in a terminal by a_panic_in_a_task_is_told_and_the_console_goes_on"]
fn child_panics_in_a_task() {
    let faults = vec![Fault {
        key: '1',
        id: "panic".into(),
        doc: "a task panics".into(),
    }];
    let demo = Some(DemoHook {
        faults,
        act: Arc::new(|_| panic!("broken on purpose")),
    });
    console(
        ConsoleOptions {
            demo,
            ..ConsoleOptions::default()
        },
        enter,
    );
}

#[test]
fn panic_in_another_thread_keeps_the_console_on_the_terminal() {
    let mut c = start_test_program("child_panics_in_another_thread", &[]);
    c.wait("still drawing", SOON).unwrap();
    c.with_screen(|s| {
        assert!(s.alternate_screen());
        assert!(
            !s.contents().contains("broken on purpose"),
            "{}",
            s.contents()
        );
    });
    c.keys("q").unwrap();
    let (code, screen) = c.end(SOON).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
}

#[tokio::test]
#[ignore = "run in a terminal by a_panic_of_another_thread_leaves_the_terminal_to_the_console"]
async fn child_panics_in_another_thread() {
    let mut screen = enter(true).unwrap();
    std::thread::spawn(|| panic!("broken on purpose"))
        .join()
        .unwrap_err();
    let mut state = State::new("still drawing", "/");
    state.frame.size = screen.size();
    screen.draw(&state).unwrap();
    assert_eq!(
        screen.input().await.unwrap().unwrap(),
        Input::Key(Key::char('q'))
    );
}
