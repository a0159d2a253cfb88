//! The console in a real (pseudo-)terminal: the binary itself, its plugins, its keys; and that the terminal is given back
//! however it ends.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helpers of tests end the test")]

#[path = "../xtask/src/pty.rs"]
mod pty;

use portable_pty::CommandBuilder;
use pty::Pty;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(120);

fn demo() -> Pty {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_flightdeck"));
    command.arg("demo");
    command.env("FLIGHTDECK_LAUNCH_BACKOFF_MS", "50");
    Pty::start(command, 120, 40).unwrap()
}

#[track_caller]
fn given_back(screen: &vt100::Screen) {
    assert!(!screen.alternate_screen(), "the alternate screen is left on");
    assert!(!screen.hide_cursor(), "the cursor is left hidden");
    assert!(!screen.bracketed_paste(), "bracketed paste is left on");
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse is left captured");
}

#[test]
fn the_demo_is_staged_narrowed_deployed_remembered_and_left() {
    let mut c = demo();
    c.wait("gave up", LONG).unwrap();
    c.wait("3/5", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("lab_database.orders", LONG).unwrap();
    c.keys("/lab_database\r").unwrap();
    c.wait("storage_gb", SOON).unwrap();
    c.keys("x").unwrap();
    c.wait("[ ]", SOON).unwrap();
    c.wait("with lab_database.orders", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("apply stage #1?", SOON).unwrap();
    // The question is answered No by itself: Yes must be chosen.
    c.keys("y").unwrap();
    c.wait("deploy #1", SOON).unwrap();
    c.wait("succeeded in", LONG).unwrap();
    c.keys("5").unwrap();
    c.wait("✓ succeeded", SOON).unwrap();
    c.keys("\r").unwrap();
    c.wait("replay", SOON).unwrap();
    c.keys("6").unwrap();
    c.wait("module.network", SOON).unwrap();
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    given_back(&screen);
}

#[test]
fn a_request_to_end_gives_the_terminal_back() {
    let c = demo();
    c.wait("plugins", SOON).unwrap();
    let pid = c.pid().and_then(|p| rustix::process::Pid::from_raw(i32::try_from(p).unwrap())).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (_, screen) = c.end(LONG).unwrap();
    given_back(&screen);
}

/// Runs one of the tests below, which are programs to be looked at, in a terminal.
fn child(name: &str) -> Pty {
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture"]);
    // A backtrace would push what is looked for out of the small screen.
    command.env("RUST_BACKTRACE", "0");
    Pty::start(command, 80, 24).unwrap()
}

#[test]
fn a_panic_while_drawing_gives_the_terminal_back_and_is_reported() {
    let c = child("child_panics_while_drawing");
    let (code, screen) = c.end(SOON).unwrap();
    assert_ne!(code, 0);
    given_back(&screen);
    assert!(screen.contents().contains("broken on purpose"), "{}", screen.contents());
}

#[test]
fn a_panic_elsewhere_leaves_the_terminal_to_the_console() {
    let mut c = child("child_panics_in_another_thread");
    c.wait("still drawing", SOON).unwrap();
    c.with_screen(|s| {
        assert!(s.alternate_screen());
        assert!(!s.contents().contains("broken on purpose"), "{}", s.contents());
    });
    c.keys("q").unwrap();
    let (code, screen) = c.end(SOON).unwrap();
    assert_eq!(code, 0);
    given_back(&screen);
}

#[test]
#[ignore = "run in a terminal by a_panic_while_drawing_gives_the_terminal_back_and_is_reported"]
fn child_panics_while_drawing() {
    let _screen = flightdeck::ui::term::Screen::enter(true).unwrap();
    panic!("broken on purpose");
}

#[tokio::test]
#[ignore = "run in a terminal by a_panic_elsewhere_leaves_the_terminal_to_the_console"]
async fn child_panics_in_another_thread() {
    use flightdeck::app::run::Surface;
    let mut screen = flightdeck::ui::term::Screen::enter(true).unwrap();
    std::thread::spawn(|| panic!("broken on purpose")).join().unwrap_err();
    let mut state = flightdeck::app::State::new("still drawing", "/");
    state.size = screen.size();
    screen.draw(&state).unwrap();
    assert!(screen.input().await.is_some());
}
