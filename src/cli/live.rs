//! The one line below all others that is drawn again and again while a command runs.

use crate::app::text::fit;
use std::cell::Cell;
use std::io::{Write, stderr};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Room for the `^C` that a terminal shows for a key: it must not begin another line, which nobody
/// would clear.
const ECHO: usize = 8;

/// A line on the terminal's standard error.
#[derive(Default)]
pub(super) struct LiveLine {
    frames: Cell<usize>,
    drawn: Cell<bool>,
}

impl LiveLine {
    /// Puts words into the place of those that are there.
    pub(super) fn draw(&self, text: &str) {
        let columns =
            rustix::termios::tcgetwinsize(stderr()).map_or(80, |size| usize::from(size.ws_col));
        let sign = SPINNER[self.frames.get() % SPINNER.len()];
        self.frames.set(self.frames.get().wrapping_add(1));
        self.drawn.set(true);
        write(&format!(
            "\r\x1b[K{sign} {}",
            fit(text, columns.saturating_sub(ECHO))
        ));
    }

    /// Takes it away, until it is drawn again.
    pub(super) fn clear(&self) {
        if self.drawn.replace(false) {
            write("\r\x1b[K");
        }
    }
}

fn write(text: &str) {
    let mut stderr = stderr().lock();
    // Nobody is left to see it where this fails.
    stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush())
        .ok();
}
