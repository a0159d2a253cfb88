//! Tests of the console on different terminals: without colours, without a cursor, and at any size.

use crate::console_workspace::*;

#[test]
fn terminal_without_cursor_positioning_gets_an_error() {
    let (c, place) = start_demo(80, 24, &[("TERM", "dumb")]);
    c.wait("TERM=dumb", SOON).unwrap();
    assert!(!c.bytes().contains(&0x1b), "{:?}", c.text());
    let (code, screen) = c.end(SOON).unwrap();
    assert_eq!(code, 1);
    assert_terminal_restored(&screen);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

/// Colour parameters of the SGR sequences in the output.
fn colours(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\u{1b}[").skip(1).filter_map(|p| {
        let (parameters, rest) = p.split_at(p.find(|c: char| c.is_ascii_alphabetic())?);
        rest.starts_with('m').then(|| parameters.to_owned())
    });
    let is_colour = |n: u32| matches!(n, 30..=38 | 40..=48 | 90..=97 | 100..=107);
    sequences
        .filter(|s| s.split(';').any(|n| n.parse().is_ok_and(is_colour)))
        .collect()
}

#[test]
fn without_colours_state_is_shown_by_signs() {
    let (mut c, _place) = start_demo(120, 40, &[("NO_COLOR", "1")]);
    c.wait("✗ gave up", LONG).unwrap();
    c.wait("● ready", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("[x] +", LONG).unwrap();
    // The tab of the screen and the row under the cursor stay distinguishable.
    c.with_screen(|s| {
        let inverse = |row: u16, text: &str| {
            let line: String = (0..120)
                .filter_map(|x| s.cell(row, x))
                .filter(|c| c.inverse())
                .map(|c| c.contents().to_owned())
                .collect();
            assert!(line.contains(text), "line {row}: {line:?}");
        };
        inverse(1, "3 Stage");
        inverse(5, "lab_bucket.store");
    });
    c.keys("q").unwrap();
    c.wait_until(|s| !s.contains("Stage"), SOON).unwrap();
    assert_eq!(colours(&c.bytes()), Vec::<String>::new());
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
    assert_eq!(colours(b"\x1b[38;5;110mx\x1b[0;7m\x1b[1m"), ["38;5;110"]);
}

#[test]
fn console_adapts_to_every_terminal_size() {
    let (mut c, _place) = start_demo(20, 5, &[]);
    c.wait("flightdeck needs", LONG).unwrap();
    // Keys of hidden screens have no effect.
    c.keys("3s").unwrap();
    c.resize(40, 12).unwrap();
    c.wait("1 Plugins", SOON).unwrap();
    c.wait("gave up", LONG).unwrap();
    c.resize(80, 24).unwrap();
    c.wait("7 Logs", SOON).unwrap();
    c.wait("shows its log", SOON).unwrap();
    c.keys("3").unwrap();
    c.wait("No stage yet", SOON).unwrap();
    c.resize(120, 40).unwrap();
    // Press a key together with the resize.
    c.keys("s").unwrap();
    // Do not wait for an address: the title names one while the list is still empty.
    c.wait("25 of 25 selected", LONG).unwrap();
    // Resize while the end of a long list is shown.
    c.keys("G").unwrap();
    c.resize(40, 12).unwrap();
    c.wait_until(
        |s| s.lines().count() <= 12 && s.contains("records of data sources"),
        SOON,
    )
    .unwrap();
    c.resize(200, 60).unwrap();
    c.wait("lock: free", SOON).unwrap();
    c.wait("create", SOON).unwrap();
    c.resize(20, 5).unwrap();
    c.wait("flightdeck needs", SOON).unwrap();
    c.resize(1, 1).unwrap();
    c.resize(80, 24).unwrap();
    c.wait("records of data sources", SOON).unwrap();
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
}
