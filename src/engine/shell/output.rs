//! What a provisioner's command writes, here or elsewhere: told in bounded lines, the last of which
//! an error repeats.

use crate::engine::mutex::lock;
use crate::engine::plugin::read_line;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncRead, BufReader};

/// Lines of output that are told of one command.
const TOLD_LINES: usize = 10_000;
/// The last of them that an error repeats.
const LAST_LINES: usize = 20;
/// Bytes of one line that are kept; the rest of it is counted.
const LINE: usize = 64 * 1024;
/// How long output is read on once its command has ended: a process that the command left in the
/// background may keep it open for ever.
pub(super) const LEFT_OPEN: Duration = Duration::from_secs(2);

/// Where the lines of one command go.
pub(in crate::engine) struct Output<'a> {
    say: &'a (dyn Fn(&str) + Sync),
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    lines: usize,
    last: VecDeque<String>,
    left_open: bool,
}

/// One stream of a command's output, with the line that is being read.
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

    /// Passes all lines on, to the end of the stream; bytes that are no UTF-8 are replaced.
    pub(super) async fn pass_on(&mut self, output: &Output<'_>) {
        // Bounded by the life of the command, which closes the stream.
        while let Ok(1..) = read_line(&mut self.reader, &mut self.line, LINE).await {
            output.hear(&self.line);
        }
    }

    /// Passes on the line that was being read when the reading was given up, and returns the
    /// stream.
    pub(super) fn given_up(self, output: &Output<'_>) -> BufReader<R> {
        if !self.line.is_empty() {
            output.hear(&self.line);
        }
        self.reader
    }
}

impl<'a> Output<'a> {
    pub(in crate::engine) fn new(say: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self {
            say,
            heard: Mutex::default(),
        }
    }

    fn hear(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        let mut heard = lock(&self.heard);
        heard.lines += 1;
        if heard.lines <= TOLD_LINES {
            (self.say)(&line);
        }
        if heard.last.len() == LAST_LINES {
            heard.last.pop_front();
        }
        heard.last.push_back(line.into_owned());
    }

    /// Notes that the command has ended and something else keeps its output open.
    pub(super) fn leave_open(&self) {
        lock(&self.heard).left_open = true;
    }

    /// Whether something kept the output open after the end of the command, so that the rest of it
    /// was not read.
    pub(in crate::engine) fn is_left_open(&self) -> bool {
        lock(&self.heard).left_open
    }

    /// The last lines.
    pub(in crate::engine) fn last(self) -> Vec<String> {
        let heard = self.heard.into_inner();
        let heard = heard.unwrap_or_else(std::sync::PoisonError::into_inner);
        heard.last.into()
    }
}
