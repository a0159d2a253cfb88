//! Records a session of the demo: staging, a narrowed selection, and a deploy. Written as an
//! asciinema cast (version 2 of its format) and as an animated SVG.

use crate::picture::bundled_font;
use crate::pty::{parser, whole_frames};
use crate::shots::{LONG, SOON, demo};
use crate::svg::{Frame, animation};
use color_eyre::Result;
use color_eyre::eyre::{WrapErr, ensure};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

const COLUMNS: u16 = 120;
const ROWS: u16 = 32;
/// Pause before each key, so that a viewer can read the screen.
const PAUSE: Duration = Duration::from_millis(900);
/// Longest time without a change.
const MAX_IDLE: Duration = Duration::from_millis(1_500);
/// Shortest time between two frames of the animation.
const FRAME: Duration = Duration::from_millis(250);
/// Time for the last frame of the animation.
const REST: Duration = Duration::from_secs(4);

/// Records the session; writes `demo.cast` and `demo.svg` to the directory.
pub fn run(bin: &Path, out: &Path) -> Result<()> {
    let chunks = shorten(session(bin)?);
    for (name, content) in [
        ("demo.cast", cast(&chunks)?),
        (
            "demo.svg",
            animation(&frames(&chunks)?, REST, &bundled_font()?)?,
        ),
    ] {
        let path = out.join(name);
        fs::write(&path, content).wrap_err_with(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Output of a program with its time since the start.
type Chunk = (Duration, Vec<u8>);

fn session(bin: &Path) -> Result<Vec<Chunk>> {
    let mut pty = demo(bin, COLUMNS, ROWS, &[])?;
    pty.wait("gave up", LONG)?;
    let mut press = |keys: &str, wanted: &str| -> Result<()> {
        std::thread::sleep(PAUSE);
        pty.keys(keys)?;
        pty.wait(wanted, LONG)
    };
    press("3", "stage")?;
    press("s", "selected")?;
    press("j", "selected")?;
    press("j", "selected")?;
    press(" ", "along with")?;
    press(" ", "selected")?;
    press("a", "Apply stage #")?;
    press("y", "running")?;
    press("", "succeeded in")?;
    press("", "succeeded in")?;
    let chunks = pty.chunks();
    pty.keys("q")?;
    let (code, _) = pty.end(SOON)?;
    ensure!(code == 0, "the console exited with {code}");
    Ok(chunks)
}

/// Shortens the times without output.
fn shorten(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let (mut before, mut now) = (Duration::ZERO, Duration::ZERO);
    let shorten = |(at, bytes): Chunk| {
        now += (at - before).min(MAX_IDLE);
        before = at;
        (now, bytes)
    };
    chunks.into_iter().map(shorten).collect()
}

/// Writes an asciinema cast: a header, then one line for each piece of output.
fn cast(chunks: &[Chunk]) -> Result<String> {
    let header = json!({
        "version": 2,
        "width": COLUMNS,
        "height": ROWS,
        "title": "flightdeck: stage and deploy",
        "env": { "TERM": "xterm-256color" },
    });
    let mut out = format!("{header}\n");
    let mut pending = Vec::new();
    for (at, bytes) in chunks {
        pending.extend_from_slice(bytes);
        // A character can be divided between two pieces; its first bytes wait for the rest.
        let whole = match std::str::from_utf8(&pending) {
            Ok(_) => pending.len(),
            Err(e) => e.valid_up_to(),
        };
        let text: Vec<u8> = pending.drain(..whole).collect();
        let text = String::from_utf8(text)?;
        if !text.is_empty() {
            writeln!(out, "{}", json!([at.as_secs_f64(), "o", text]))?;
        }
    }
    Ok(out)
}

/// Returns the distinct screens of the session with their times.
fn frames(chunks: &[Chunk]) -> Result<Vec<Frame>> {
    let mut terminal = parser(COLUMNS, ROWS)?;
    let mut frames: Vec<Frame> = Vec::new();
    let mut pending = Vec::new();
    let mut shown_at: Option<Duration> = None;
    for (i, (at, bytes)) in chunks.iter().enumerate() {
        pending.extend_from_slice(bytes);
        let whole: Vec<u8> = pending.drain(..whole_frames(&pending)).collect();
        terminal.process(&whole);
        let screen = terminal.screen();
        let is_due = shown_at.is_none_or(|shown| *at >= shown + FRAME);
        // The last screen is always shown.
        let is_last = i + 1 == chunks.len();
        let is_new = frames
            .last()
            .is_none_or(|f| f.screen.contents_diff(screen) != screen.contents_diff(screen));
        if (is_due || is_last) && is_new && !screen.contents().trim().is_empty() {
            frames.push(Frame {
                // The animation starts with the first screen that shows something.
                at: shown_at.map_or(Duration::ZERO, |_| *at),
                screen: screen.clone(),
            });
            shown_at = Some(*at);
        }
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(ms: u64, bytes: &[u8]) -> Chunk {
        (Duration::from_millis(ms), bytes.to_vec())
    }

    #[test]
    fn long_pauses_are_shortened() {
        let short = shorten(vec![
            chunk(100, b"a"),
            chunk(9_000, b"b"),
            chunk(9_500, b"c"),
        ]);
        let times: Vec<u128> = short.iter().map(|(at, _)| at.as_millis()).collect();
        assert_eq!(times, [100, 1_600, 2_100]);
    }

    #[test]
    fn cast_has_a_header_and_whole_characters() {
        let cast = cast(&[chunk(500, b"a\xe2\x97"), chunk(750, b"\x90\x1b[0m")]).expect("a cast");
        let lines: Vec<&str> = cast.lines().collect();
        assert!(lines[0].contains(r#""version":2"#));
        assert_eq!(lines[1], r#"[0.5,"o","a"]"#);
        assert_eq!(lines[2], r#"[0.75,"o","◐\u001b[0m"]"#);
    }

    #[test]
    fn animation_has_distinct_screens_at_limited_intervals() {
        let all = frames(&[
            chunk(0, b"\x1b[?25l"),
            chunk(1_000, b"one"),
            chunk(1_100, b"\rtwo"),
            chunk(1_400, b"\rtwo"),
            chunk(1_500, b"\rend"),
        ])
        .expect("frames");
        let shown: Vec<(u128, String)> = all
            .iter()
            .map(|f| (f.at.as_millis(), f.screen.contents().trim().to_owned()))
            .collect();
        let expected = [(0, "one"), (1_400, "two"), (1_500, "end")];
        assert_eq!(shown, expected.map(|(at, text)| (at, text.to_owned())));
    }
}
