//! Tests of the Logs screen: groups of lines, keys of values, streams.

use super::{Console, fixture};
use crate::app::doc::{Role, log_text};
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
