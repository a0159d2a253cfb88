//! Tests of themes and stored choices: the background of the terminal, its number of colours, and
//! the files of the user.

use crate::console_workspace::*;
use crate::pty::Pty;
use portable_pty::CommandBuilder;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

const TRUE_COLOR: (&str, &str) = ("COLORTERM", "truecolor");
const QUESTION: &[u8] = b"\x1b]11;?";
const DARK: vt100::Color = vt100::Color::Rgb(0x14, 0x17, 0x1c);
const LIGHT: vt100::Color = vt100::Color::Rgb(0xfb, 0xfb, 0xfa);

/// Starts the console with the user's directories for settings and state.
fn console(w: &Workspace, home: &Path, variables: &[(&str, &str)]) -> Pty {
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg(w.path());
    command.env_remove("TF_CLI_CONFIG_FILE");
    let (config, state) = (home.join("config"), home.join("state"));
    let own = [
        ("XDG_CONFIG_HOME", config.to_str().unwrap()),
        ("XDG_STATE_HOME", state.to_str().unwrap()),
    ];
    Pty::start_with(command, 120, 40, &[&own, variables].concat()).unwrap()
}

fn empty() -> (Workspace, TempDir) {
    let w = Workspace::of("output \"x\" {\n  value = 1\n}\n");
    (w, tempfile::tempdir().unwrap())
}

fn asks(c: &Pty) -> bool {
    c.bytes().windows(QUESTION.len()).any(|w| w == QUESTION)
}

/// Waits until the console has asked for the background.
fn wait_for_question(c: &Pty) {
    let end = Instant::now() + SOON;
    while !asks(c) {
        assert!(Instant::now() < end, "no question: {}", c.text());
        std::thread::sleep(LOOK);
    }
}

/// Background of an empty cell.
fn background(c: &Pty) -> vt100::Color {
    c.with_screen(|s| s.cell(30, 60).unwrap().bgcolor())
}

fn wait_for_background(c: &Pty, color: vt100::Color) {
    let end = Instant::now() + SOON;
    while background(c) != color {
        assert!(Instant::now() < end, "{:?}: {}", background(c), c.text());
        std::thread::sleep(LOOK);
    }
}

fn quit(mut c: Pty) {
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0, "{}", screen.contents());
    assert_terminal_restored(&screen);
}

#[test]
fn theme_follows_a_light_terminal_and_keys_typed_before_its_answer_are_kept() {
    let (w, home) = empty();
    let mut c = console(&w, home.path(), &[TRUE_COLOR]);
    wait_for_question(&c);
    // The digits of the answer would show the Plugins screen if they acted as keys.
    c.keys("3\x1b]11;rgb:fafa/f1f1/1111\x1b\\:").unwrap();
    c.wait("Command", LONG).unwrap();
    wait_for_background(&c, LIGHT);
    c.keys("\x1b").unwrap();
    // Escape and a key that follows at once are one key with alt.
    c.wait_until(|text| !text.contains("Command"), LONG)
        .unwrap();
    c.wait("No stage yet", LONG).unwrap();
    quit(c);
}

#[test]
fn theme_is_dark_without_an_answer_and_a_late_answer_does_not_act_as_keys() {
    let (w, home) = empty();
    let mut c = console(&w, home.path(), &[TRUE_COLOR]);
    c.keys("3").unwrap();
    c.wait("No stage yet", LONG).unwrap();
    wait_for_background(&c, DARK);
    // The late answer changes the theme and nothing else.
    c.keys("\x1b]11;rgb:1111/1111/1111\x07").unwrap();
    c.keys("?").unwrap();
    c.wait("esc close", LONG).unwrap();
    c.keys("\x1b").unwrap();
    c.wait_until(|text| !text.contains("esc close"), LONG)
        .unwrap();
    wait_for_background(&c, DARK);
    c.wait("No stage yet", LONG).unwrap();
    quit(c);
}

#[test]
fn terminal_is_not_asked_if_it_cannot_answer_or_the_environment_decides() {
    let cases: [(&[(&str, &str)], vt100::Color); 4] = [
        (&[("TERM", "linux")], vt100::Color::Idx(0)),
        (
            &[("TERM", "screen-256color"), ("COLORFGBG", "0;15")],
            vt100::Color::Idx(231),
        ),
        (&[("FLIGHTDECK_THEME", "light"), TRUE_COLOR], LIGHT),
        (&[("NO_COLOR", "1")], vt100::Color::Default),
    ];
    for (variables, color) in cases {
        let (w, home) = empty();
        let c = console(&w, home.path(), variables);
        c.wait("lock: free", LONG).unwrap();
        wait_for_background(&c, color);
        assert!(!asks(&c), "{variables:?}");
        quit(c);
    }
}

#[test]
fn terminal_with_16_colors_gets_no_other_colors() {
    for term in ["xterm-16color", "linux", "screen"] {
        let (w, home) = empty();
        let c = console(&w, home.path(), &[("TERM", term), TRUE_COLOR]);
        c.wait("lock: free", LONG).unwrap();
        let bytes = c.bytes();
        let text = String::from_utf8_lossy(&bytes);
        for form in ["38;5;", "48;5;", "38;2;", "48;2;"] {
            assert!(!text.contains(form), "{term}: {form}");
        }
        assert!(text.contains(";40m") || text.contains("[40m"), "{term}");
        quit(c);
    }
}

#[test]
fn choices_are_restored_at_the_next_start() {
    let (w, home) = empty();
    let mut c = console(&w, home.path(), &[TRUE_COLOR]);
    c.wait("lock: free", LONG).unwrap();
    c.keys("\x14").unwrap();
    c.wait("theme: light", SOON).unwrap();
    c.keys("7w").unwrap();
    c.keys("1,").unwrap();
    c.wait("sorted by", SOON).unwrap();
    // At once after the last choice, which is stored nevertheless.
    quit(c);
    let file = home.path().join("state/flightdeck/console.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("theme = \"light\"") && text.contains("wrap_logs = true"),
        "{text}"
    );
    assert!(text.contains("[sort.plugins]"), "{text}");
    let mut c = console(&w, home.path(), &[TRUE_COLOR]);
    wait_for_background(&c, LIGHT);
    c.keys("7w").unwrap();
    c.keys("q").unwrap();
    c.end(LONG).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("wrap_logs"), "{text}");
    assert!(text.contains("theme = \"light\""), "{text}");
}

#[test]
fn damaged_choices_are_reported_once_and_replaced() {
    let (w, home) = empty();
    let folder = home.path().join("state/flightdeck");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("console.toml"), "split = \"wide").unwrap();
    let c = console(&w, home.path(), &[]);
    c.wait("cannot read", LONG).unwrap();
    c.wait("lock: free", LONG).unwrap();
    quit(c);
    assert_eq!(
        std::fs::read_to_string(folder.join("console.toml")).unwrap(),
        ""
    );
    let c = console(&w, home.path(), &[]);
    c.wait("lock: free", LONG).unwrap();
    assert!(!c.text().contains("cannot read"), "{}", c.text());
    quit(c);
}

#[test]
fn demo_neither_reads_nor_writes_choices() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("flightdeck");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("console.toml");
    std::fs::write(&file, "theme = \"light\"\n").unwrap();
    let variables = [
        ("XDG_STATE_HOME", home.path().to_str().unwrap()),
        TRUE_COLOR,
    ];
    let (mut c, _place) = start_demo(120, 40, &variables);
    c.wait("gave up", LONG).unwrap();
    assert_eq!(
        c.with_screen(|s| s.cell(0, 0).unwrap().bgcolor()),
        vt100::Color::Rgb(0x1f, 0x24, 0x2c)
    );
    c.keys("M").unwrap();
    c.wait("mouse off", SOON).unwrap();
    quit(c);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "theme = \"light\"\n"
    );
}

#[test]
fn themes_of_the_user_are_chosen_by_name_and_invalid_ones_are_reported() {
    let (w, home) = empty();
    let folder = home.path().join("config/flightdeck");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "[sea]\nbackground = \"#002b36\"\n[sky]\nbackground = \"blue\"\n";
    std::fs::write(folder.join("themes.toml"), text).unwrap();
    let mut c = console(&w, home.path(), &[TRUE_COLOR, ("FLIGHTDECK_THEME", "sea")]);
    c.wait("sky.background: \"blue\" is no colour", LONG)
        .unwrap();
    wait_for_background(&c, vt100::Color::Rgb(0, 0x2b, 0x36));
    // The list previews the theme under its cursor, and esc restores the current one.
    c.keys(":themes\r").unwrap();
    c.wait("follow the terminal", SOON).unwrap();
    c.keys("\x1b[A\x1b[A\x1b[A\x1b[A").unwrap();
    wait_for_background(&c, LIGHT);
    c.keys("\x1b").unwrap();
    wait_for_background(&c, vt100::Color::Rgb(0, 0x2b, 0x36));
    quit(c);
    // A theme from the environment is not a choice.
    assert!(!home.path().join("state/flightdeck/console.toml").exists());
}
