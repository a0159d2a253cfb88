//! What a provisioner's command writes, here or elsewhere: told in bounded lines, the last of which
//! an error repeats.

use crate::engine::mutex::lock;
use crate::engine::plugin::read_line;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::io::{AsyncRead, BufReader};

/// Lines of output that are told of one command.
const TOLD_LINES: usize = 10_000;
/// The last of them that an error repeats.
const LAST_LINES: usize = 20;
/// Bytes of one line that are kept; the rest of it is counted.
const LINE: usize = 64 * 1024;

/// Where the lines of one command go.
pub(in crate::engine) struct Output<'a> {
    say: &'a (dyn Fn(&str) + Sync),
    last: Mutex<(usize, VecDeque<String>)>,
}

impl<'a> Output<'a> {
    pub(in crate::engine) fn new(say: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self {
            say,
            last: Mutex::default(),
        }
    }

    /// All lines of a stream, to its end; bytes that are no UTF-8 are replaced.
    pub(in crate::engine) async fn lines<R: AsyncRead + Unpin>(&self, stream: Option<R>) {
        let Some(stream) = stream else { return };
        let (mut reader, mut line) = (BufReader::new(stream), Vec::new());
        // Bounded by the life of the command, which closes the stream.
        while let Ok(1..) = read_line(&mut reader, &mut line, LINE).await {
            self.hear(line.strip_suffix(b"\r").unwrap_or(&line));
        }
    }

    fn hear(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let mut last = lock(&self.last);
        last.0 += 1;
        if last.0 <= TOLD_LINES {
            (self.say)(&line);
        }
        if last.1.len() == LAST_LINES {
            last.1.pop_front();
        }
        last.1.push_back(line.into_owned());
    }

    /// The last lines.
    pub(in crate::engine) fn last(self) -> Vec<String> {
        self.last
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .1
            .into()
    }
}
