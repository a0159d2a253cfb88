//! Output of a provisioner's command, local or remote: passed on in bounded lines, the last of
//! which are part of an error.

use model::mutex::lock;
use plugin::read_line;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncRead, BufReader};

/// Maximum number of lines to pass on per command.
const MAX_LINES: usize = 10_000;
/// Number of last lines for an error.
const LAST_LINES: usize = 20;
/// Maximum size of one line in bytes; the rest is only counted.
const LINE: usize = 64 * 1024;
/// Time to read on after the command has ended: a background process may keep the output open for
/// ever.
pub(super) const LEFT_OPEN_TIMEOUT: Duration = Duration::from_secs(2);

/// Receiver of one command's lines.
pub struct Output<'a> {
    on_line: &'a (dyn Fn(&str) + Sync),
    received: Mutex<OutputReader>,
}

#[derive(Default)]
struct OutputReader {
    lines: usize,
    last: VecDeque<String>,
    left_open: bool,
}

/// One stream of a command's output, with the line being read.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn of(stream: R) -> Self {
        Self {
            reader: BufReader::new(stream),
            line: Vec::new(),
        }
    }

    /// Passes on all lines up to the end of the stream; invalid UTF-8 is replaced.
    pub(super) async fn forward(&mut self, output: &Output<'_>) {
        // Ends with the command, which closes the stream.
        while let Ok(1..) = read_line(&mut self.reader, &mut self.line, LINE).await {
            output.forward_line(&self.line);
        }
    }

    /// Passes on the partial line after reading was cancelled, and returns the stream.
    pub(super) fn into_cancelled(self, output: &Output<'_>) -> BufReader<R> {
        if !self.line.is_empty() {
            output.forward_line(&self.line);
        }
        self.reader
    }
}

impl<'a> Output<'a> {
    pub fn new(say: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self {
            on_line: say,
            received: Mutex::default(),
        }
    }

    fn forward_line(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        let mut heard = lock(&self.received);
        // Counted past the limit too; the last lines are always kept for an error.
        heard.lines += 1;
        if heard.lines <= MAX_LINES {
            (self.on_line)(&line);
        }
        if heard.last.len() == LAST_LINES {
            heard.last.pop_front();
        }
        heard.last.push_back(line.into_owned());
    }

    /// Records that the command has ended but another process keeps its output open.
    pub(super) fn set_left_open(&self) {
        lock(&self.received).left_open = true;
    }

    /// Returns true if another process kept the output open after the end of the command, so that
    /// the rest was not read.
    pub fn is_left_open(&self) -> bool {
        lock(&self.received).left_open
    }

    /// Returns the last lines.
    pub fn last(self) -> Vec<String> {
        let heard = self.received.into_inner();
        let heard = heard.unwrap_or_else(std::sync::PoisonError::into_inner);
        heard.last.into()
    }
}
