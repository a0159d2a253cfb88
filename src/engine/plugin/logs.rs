//! Log of one plugin: reads every line of its standard streams while they are open, so that a pipe
//! never fills; truncates long lines and keeps the newest ones in a ring. Owned by the plugin's
//! supervisor, filled by its readers.

use super::PluginObserver;
use super::gate::{AT_ONCE, Gate};
use super::hearing::Hearing;
use super::parse::{LineParser, Parsed, words_of};
use crate::engine::logging::PROVIDER_LOG;
use crate::engine::secrets::Secrets;
use crate::engine::visible::uncoloured;
use crate::engine::words::{LogLevel, LogLine, LogStream, PluginEvent, PluginId, UnixMs, now_ms};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Maximum line length in bytes; longer lines are truncated.
pub(super) const MAX_LINE: usize = 64 * 1024;
/// Number of lines to keep for failure reports.
const RING: usize = 400;
/// Number of lines to keep with a launch attempt.
const ATTEMPT_TAIL: usize = 20;
/// Number of lines to keep of a panic's trace; its beginning is the most useful part.
const TRACE: usize = 100;
/// Number of lines to keep from before a panic.
const BEFORE: usize = 20;
/// Maximum length of a line in an attempt's tail or a trace, in bytes.
const SHORT: usize = 400;
/// Maximum delay between a line's own timestamp and its reading for the timestamp to be used, in
/// milliseconds.
const LATE: UnixMs = 60_000;
/// A flood of lines ends after a pause of this length.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the time of a line. Under load a line is read long after it was written, and would be
/// attributed to a later operation, so its own timestamp is preferred if it is plausible.
fn said_at(own: Option<UnixMs>, read: UnixMs) -> UnixMs {
    own.filter(|own| (read - LATE..=read).contains(own))
        .unwrap_or(read)
}

/// Log of one plugin over all its launches.
pub(super) struct Logs {
    plugin: PluginId,
    observer: Arc<dyn PluginObserver>,
    secrets: Secrets,
    kept: Mutex<Kept>,
    /// Pipes of the process.
    pub(super) hearing: Hearing,
}

#[derive(Default)]
struct Kept {
    ring: VecDeque<LogLine>,
    /// Last lines of the current launch.
    tail: VecDeque<String>,
    /// Last line on stderr of the current launch; it is kept apart because the order between two
    /// streams is unknown.
    complaint: Option<String>,
    /// Lines of the panic; `before` has the last lines before it.
    trace: Vec<LogLine>,
    before: Vec<LogLine>,
    stderr: LineParser,
    others: LineParser,
    gate: Gate,
}

impl Logs {
    pub(super) fn new(plugin: PluginId, observer: Arc<dyn PluginObserver>) -> Arc<Self> {
        let secrets = observer.secrets();
        Arc::new(Self {
            plugin,
            observer,
            secrets,
            kept: Mutex::default(),
            hearing: Hearing::default(),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the log of a new process: resets trace and tail.
    pub(super) fn begin_launch(&self) {
        // Otherwise held lines of the old process would appear after those of the new one.
        self.let_go();
        // The ring continues over launches; the rest belongs to one process.
        let ring = std::mem::take(&mut self.kept().ring);
        *self.kept() = Kept {
            ring,
            ..Kept::default()
        };
    }

    /// Inserts the lines of the replaced process before those of this one.
    pub(super) fn follow_on(&self, old: &Self) {
        // Take the old lines before locking, because two logs must not be locked at once.
        let before = old.last(RING);
        let mut kept = self.kept();
        let own = std::mem::take(&mut kept.ring);
        let all = before.into_iter().chain(own);
        all.for_each(|line| push(&mut kept.ring, line, RING));
    }

    /// Adds a warning of the engine, and shows it to the operator at once.
    pub(super) fn warn(&self, text: &str) {
        let text = self.secrets.hide(text).into_owned();
        let notice = format!("{}: {text}", self.plugin);
        let line = LogLine {
            plugin: self.plugin.clone(),
            at: now_ms(),
            level: LogLevel::Warn,
            stream: LogStream::Engine,
            module: None,
            text,
            panic: false,
        };
        push(&mut self.kept().ring, line.clone(), RING);
        self.observer.event(PluginEvent::Log { line });
        self.observer.notice(notice);
    }

    /// Accepts one line as received, without its line end.
    pub(super) fn take(&self, stream: LogStream, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        // Strip colours before parsing: a level may be coloured.
        let text = uncoloured(text.trim_end_matches('\r'));
        let (left_out, lines) = {
            let mut kept = self.kept();
            let parser = if stream == LogStream::Stderr {
                &mut kept.stderr
            } else {
                &mut kept.others
            };
            let mut parsed = parser.parse(&text);
            // Redact before anything keeps the text: a plugin may print the secrets it was given.
            self.secrets.hide_in(&mut parsed.text);
            // Lines past the limit pass the rate limit like any others.
            let of_trace = parsed.panic && kept.trace.len() < TRACE;
            if !parsed.text.trim().is_empty() {
                push(&mut kept.tail, short(&parsed.text), ATTEMPT_TAIL);
                if stream == LogStream::Stderr {
                    // Panics and fatal errors are on stderr, so prefer its last line over that of
                    // stdout.
                    kept.complaint = Some(short(&parsed.text));
                }
            }
            logged(&self.plugin, &parsed);
            let line = LogLine {
                plugin: self.plugin.clone(),
                at: said_at(parsed.said_at, now_ms()),
                level: parsed.level,
                stream,
                module: parsed.module,
                text: parsed.text,
                panic: parsed.panic,
            };
            if of_trace {
                if kept.trace.is_empty() {
                    // Copied now, because the frames that follow would push them out of the ring.
                    kept.before = kept
                        .ring
                        .iter()
                        .skip(kept.ring.len().saturating_sub(BEFORE))
                        .cloned()
                        .collect();
                }
                kept.trace.push(LogLine {
                    text: short(&line.text),
                    ..line.clone()
                });
            }
            push(&mut kept.ring, line.clone(), RING);
            kept.gate.admit(line, of_trace, Instant::now())
        };
        self.tell(left_out, lines);
    }

    /// Emits events. Call it without the lock, because the observer is foreign code and might log.
    fn tell(&self, left_out: u64, lines: Vec<LogLine>) {
        let gap = (left_out > 0).then(|| LogLine {
            plugin: self.plugin.clone(),
            at: now_ms(),
            level: LogLevel::Warn,
            stream: LogStream::Engine,
            module: None,
            text: format!("{left_out} lines omitted: more than {AT_ONCE} in a second"),
            panic: false,
        });
        if gap.is_some() {
            self.observer.event(PluginEvent::LinesLeftOut {
                plugin: self.plugin.clone(),
                lines: left_out,
            });
        }
        for line in gap.into_iter().chain(lines) {
            self.observer.event(PluginEvent::Log { line });
        }
    }

    /// Emits the held lines of a flood.
    fn let_go(&self) {
        let (left_out, lines) = self.kept().gate.let_go();
        self.tell(left_out, lines);
    }

    /// Waits for `more` of a stream. If that takes longer than a pause, a flood is over.
    pub(super) async fn waiting_for<T>(&self, more: impl Future<Output = T>) -> T {
        let mut more = pin!(more);
        loop {
            // The lock must not be held across the await.
            let holds = self.kept().gate.holds();
            // Data first: it is a pause only if nothing arrives.
            tokio::select! { biased;
                got = &mut more => return got,
                () = tokio::time::sleep(PAUSE), if holds => self.let_go(),
            }
        }
    }

    /// Returns the newest lines, at most `count`, oldest first.
    pub(super) fn last(&self, count: usize) -> Vec<LogLine> {
        let kept = self.kept();
        kept.ring
            .iter()
            .skip(kept.ring.len().saturating_sub(count))
            .cloned()
            .collect()
    }

    /// Returns the newest lines of an ended process. After a panic: its beginning, because
    /// thousands of frames may follow, and the lines before it.
    pub(super) fn ending(&self, count: usize) -> Vec<LogLine> {
        let kept = self.kept();
        if kept.trace.is_empty() {
            drop(kept);
            return self.last(count);
        }
        kept.before
            .iter()
            .chain(&kept.trace)
            .take(count)
            .cloned()
            .collect()
    }

    /// Returns the last lines of the current launch; after a panic, its first ones.
    pub(super) fn tail(&self) -> Vec<String> {
        let kept = self.kept();
        if kept.trace.is_empty() {
            return kept.tail.iter().cloned().collect();
        }
        let lines = kept
            .trace
            .iter()
            .map(|l| &l.text)
            .filter(|l| !l.trim().is_empty());
        lines.take(ATTEMPT_TAIL).cloned().collect()
    }

    /// Returns the panic of the current launch, if there was one, beginning with its first line.
    pub(super) fn trace(&self) -> Vec<String> {
        self.kept().trace.iter().map(|l| l.text.clone()).collect()
    }

    /// Returns the most likely exit reason: the panic's message, else the last line on stderr, else
    /// the last line of all.
    pub(super) fn last_words(&self) -> Option<String> {
        let kept = self.kept();
        words_of(kept.trace.iter().map(|l| l.text.as_str()))
            .or_else(|| kept.complaint.clone())
            .or_else(|| kept.tail.back().cloned())
    }
}

/// Repeats a line in the log of `TF_LOG`, which includes the lines that events omit in a flood.
fn logged(plugin: &PluginId, parsed: &Parsed) {
    macro_rules! at {
        ($level:ident) => {
            tracing::event!(
                target: PROVIDER_LOG,
                tracing::Level::$level,
                plugin = %plugin,
                module = parsed.module.as_deref().unwrap_or_default(),
                "{}",
                parsed.text
            )
        };
    }
    match parsed.level {
        LogLevel::Trace => at!(TRACE),
        LogLevel::Debug => at!(DEBUG),
        LogLevel::Info => at!(INFO),
        LogLevel::Warn => at!(WARN),
        LogLevel::Error => at!(ERROR),
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T, bound: usize) {
    if queue.len() == bound {
        queue.pop_front();
    }
    queue.push_back(item);
}

fn short(text: &str) -> String {
    if text.len() <= SHORT {
        return text.to_owned();
    }
    let mut end = SHORT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// Reads up to the next line end into `line` (emptied first), keeps at most `limit` bytes and drops
/// the rest of the line. Returns the number of bytes read, including the line end; 0 at the end of
/// the stream.
pub(in crate::engine) async fn read_line<R>(
    reader: &mut R,
    line: &mut Vec<u8>,
    limit: usize,
) -> std::io::Result<usize>
where
    R: AsyncBufRead + Unpin,
{
    line.clear();
    let (mut read, mut cut) = (0, 0);
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            break;
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        // Read the rest of a long line too, or the pipe would fill and block the plugin.
        let room = limit.saturating_sub(line.len()).min(piece.len());
        line.extend_from_slice(&piece[..room]);
        cut += piece.len() - room;
        let used = end.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        read += used;
        if end.is_some() {
            break;
        }
    }
    if cut > 0 {
        line.extend_from_slice(format!("… ({cut} bytes more)").as_bytes());
    }
    Ok(read)
}

/// Reads all lines of a stream into `logs`, up to its end.
pub(super) async fn drain<R>(
    mut reader: R,
    stream: LogStream,
    logs: Arc<Logs>,
    first: impl FnOnce(),
) where
    R: AsyncBufRead + Unpin,
{
    let mut line = Vec::new();
    match reader.fill_buf().await {
        Ok(bytes) if !bytes.is_empty() => first(),
        _ => return,
    }
    // Ends with the process, which closes the stream.
    while let Ok(1..) = read_line(&mut reader, &mut line, MAX_LINE).await {
        logs.take(stream, &line);
        // An error recurs at the next read, which ends the loop.
        logs.waiting_for(reader.fill_buf()).await.ok();
    }
    logs.let_go();
}

/// Assembles lines from a byte stream that arrives in pieces.
#[derive(Default)]
pub(super) struct LineAssembler {
    partial: Vec<u8>,
}

impl LineAssembler {
    pub(super) fn feed(&mut self, mut data: &[u8], mut take: impl FnMut(&[u8])) {
        while let Some(end) = data.iter().position(|b| *b == b'\n') {
            self.keep(&data[..end]);
            take(&self.partial);
            self.partial.clear();
            data = &data[end + 1..];
        }
        self.keep(data);
    }

    pub(super) fn finish(&mut self, take: impl FnOnce(&[u8])) {
        if !self.partial.is_empty() {
            take(&self.partial);
            self.partial.clear();
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.partial.len()).min(piece.len());
        self.partial.extend_from_slice(&piece[..room]);
    }
}

#[cfg(test)]
mod tests;
