//! Tests of the Logs screen: groups of lines, keys of values, streams.

use super::{Console, fixture};
use crate::app::doc::{Role, log_text};
use crate::app::msg::Answer;
use model::*;

fn said(c: &mut Console, at: UnixMs, stream: LogStream, text: &str) {
    let line = LogLine {
        plugin: fixture::id("acme/legacy"),
        at,
        level: LogLevel::Error,
        stream,
        module: None,
        text: text.into(),
        panic: stream == LogStream::Stderr,
    };
    c.event(EventKind::Plugin(PluginEvent::Log { line }));
}

#[test]
fn errors_of_a_plugin_that_nothing_uses_are_settled_and_dim() {
    let mut c = Console::staged(120, 40);
    said(&mut c, fixture::NOW, LogStream::Stdio, "cannot start");
    c.press("7 [");
    c.shows("· 1 error · 1 warning ·");
    // The staged changes need no resource of the plugin, and neither does the state.
    c.answer(Answer::State(vec![]));
    c.shows("· 1 warning · 1 settled or unused ·");
    let role = |c: &mut Console| {
        let buffer = c.buffer();
        let lines = super::lines(&buffer);
        let y = lines
            .iter()
            .position(|l| l.contains("cannot start"))
            .unwrap();
        let x = lines[y].find("error").unwrap();
        buffer.cell((x as u16, y as u16)).unwrap().fg
    };
    c.press("g");
    let settled = role(&mut c);
    c.event(EventKind::Plugin(PluginEvent::State {
        plugin: fixture::id("acme/legacy"),
        state: PluginState::Ready {
            since: fixture::NOW - 1,
        },
    }));
    // It has been ready since before the error.
    c.shows("· 1 error · 1 warning ·");
    assert_ne!(role(&mut c), settled);
}

#[test]
fn lines_of_a_panic_are_one_group_without_blank_lines() {
    let mut c = Console::new(120, 40);
    for (ms, text) in [
        (0, "panic: assignment to entry in nil map"),
        (0, ""),
        (2, "goroutine 1 [running]:"),
        (2, "    main.go:17 +0x6c"),
        (900, "panic: once more"),
    ] {
        said(&mut c, fixture::NOW + ms, LogStream::Stderr, text);
    }
    c.press("7");
    let frame = c.frame();
    let rows: Vec<&str> = frame.lines().skip(4).take(5).collect();
    assert_eq!(
        rows,
        [
            " 14:02:11.000 error legacy panic: assignment to entry in nil map",
            "                           │ goroutine 1 [running]:",
            "                           │     main.go:17 +0x6c",
            " 14:02:11.900 error legacy panic: once more",
            "",
        ]
    );
    // A line whose begin is above the screen has time and source of its own.
    c.press("space g j enter");
    c.shows("14:02:11.002");
    c.shows("stderr");
}

const STACK: [&str; 3] = [
    "panic: assignment to entry in nil map",
    "goroutine 1 [running]:",
    "    main.go:17 +0x6c",
];

/// Adds a panic, and returns the time after it.
fn panics(c: &mut Console, at: UnixMs, lines: &[&str]) {
    for (ms, text) in (0..).zip(lines) {
        said(c, at + ms, LogStream::Stderr, text);
    }
}

#[test]
fn stack_of_a_repeated_panic_is_shown_once_and_saved_twice() {
    let mut c = Console::new(120, 40);
    panics(&mut c, fixture::NOW, &STACK);
    panics(&mut c, fixture::NOW + 900, &STACK);
    panics(
        &mut c,
        fixture::NOW + 1_800,
        &[STACK[0], STACK[1], "    main.go:18"],
    );
    c.press("7");
    let frame = c.frame();
    assert_eq!(frame.matches("main.go:17").count(), 1, "{frame}");
    c.shows("panic: assignment to entry in nil map  same stack as before (2 lines)");
    c.shows("main.go:18");
    c.shows("logs · 9 lines");
    // A filter looks at every line.
    c.press("&");
    c.type_text("main.go:17");
    c.press("enter");
    assert_eq!(c.frame().matches("main.go:17 +0x6c").count(), 2);
    c.press("esc");
    c.take_effects();
    c.press("o");
    let [crate::app::msg::Effect::Save { text, .. }] = &c.take_effects()[..] else {
        panic!("nothing is saved");
    };
    assert_eq!(text.matches("main.go:17").count(), 2, "{text}");
    // The detail has the stack.
    c.press("g j j j enter");
    c.shows("assignment to entry");
    c.shows("main.go:17");
}

#[test]
fn rules_mark_the_begin_and_the_end_of_a_deploy() {
    let mut c = Console::new(120, 40);
    let mut deploy = fixture::history().remove(0);
    (deploy.began, deploy.ended) = (fixture::NOW + 500, Some(fixture::NOW + 1_500));
    let mut older = deploy.clone();
    (older.deploy, older.began, older.ended) = (30, 0, Some(1_000));
    for ms in [0, 1_000] {
        said(&mut c, fixture::NOW + ms, LogStream::Stdout, "line");
    }
    c.answer(crate::app::msg::Answer::History(vec![deploy, older]));
    c.press("7");
    let frame = c.frame();
    let rows: Vec<&str> = frame.lines().skip(4).take(5).collect();
    assert!(
        rows[1].starts_with(" 14:02:11.500 ── deploy #31 started ──"),
        "{frame}"
    );
    assert!(
        rows[3].starts_with(" 14:02:12.500 ── deploy #31 failed ──"),
        "{frame}"
    );
    assert_eq!(rows[4], "", "{frame}");
    c.shows("logs · 2 lines");
}

#[test]
fn long_log_has_a_scroll_mark_and_its_cursor_is_on_the_newest_line() {
    let mut c = Console::new(80, 24);
    for ms in 0..60 {
        said(
            &mut c,
            fixture::NOW + ms,
            LogStream::Stdout,
            &format!("line {ms}"),
        );
    }
    c.press("7");
    let frame = c.frame();
    let marked = frame.lines().rfind(|l| l.ends_with('┃')).unwrap();
    assert!(marked.contains("line 59"), "{frame}");
    let newest = frame.lines().position(|l| l.contains("line 59")).unwrap();
    let buffer = c.buffer();
    let ground = |y: usize| buffer.cell((1, u16::try_from(y).unwrap())).unwrap().bg;
    assert_ne!(ground(newest), ground(newest - 1));
}

#[test]
fn only_output_that_is_not_on_stderr_is_marked() {
    let mut c = Console::new(120, 40);
    said(&mut c, fixture::NOW, LogStream::Stdout, "name=\"a b\" done");
    c.press("7");
    assert!(
        c.line("legacy")
            .contains("legacy stdout: name=\"a b\" done")
    );
    let dim = |role| log_text(role, "a=1").first().map(|s| s.role);
    assert_eq!(dim(Role::Bad), Some(Role::Dim));
}
