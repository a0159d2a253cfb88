//! Live line: the last line on the terminal, redrawn while a command runs.

use crate::app::text::truncate_end;
use std::cell::Cell;
use std::io::{Write, stderr};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Columns left free for the `^C` that a terminal echoes. Otherwise it would wrap onto a line that
/// is never cleared.
const ECHO: usize = 8;

/// Live line on stderr.
#[derive(Default)]
pub(super) struct LiveLine {
    frames: Cell<usize>,
    drawn: Cell<bool>,
}

impl LiveLine {
    /// Replaces the text of the line.
    pub(super) fn draw(&self, text: &str) {
        let columns =
            rustix::termios::tcgetwinsize(stderr()).map_or(80, |size| usize::from(size.ws_col));
        let sign = SPINNER[self.frames.get() % SPINNER.len()];
        // The spinner shows that the process is alive even if the text stays the same.
        self.frames.set(self.frames.get().wrapping_add(1));
        self.drawn.set(true);
        write(&format!(
            "\r\x1b[K{sign} {}",
            truncate_end(text, columns.saturating_sub(ECHO))
        ));
    }

    /// Clears the line until the next [`Self::draw`].
    pub(super) fn clear(&self) {
        if self.drawn.replace(false) {
            write("\r\x1b[K");
        }
    }
}

fn write(text: &str) {
    let mut stderr = stderr().lock();
    // If stderr is closed, the line has no reader.
    stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush())
        .ok();
}
