//! Log of one plugin: reads every line of its standard streams while they are open, so that a pipe
//! never fills; truncates long lines and keeps the newest ones in a ring. Owned by the plugin's
//! supervisor, filled by its readers.

use super::PluginObserver;
use super::log_rate_limit::{LogRateLimit, MAX_LINES_PER_SECOND};
use super::parse::{LineParser, Parsed, panic_message};
use super::pipe_drain::PipeDrains;
use model::logging::PROVIDER_LOG;
use model::secrets::Secrets;
use model::visible::uncoloured;
use model::{LogLevel, LogLine, LogStream, PluginEvent, PluginId, UnixMs, now_ms};
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
const LINES_BEFORE_PANIC: usize = 20;
/// Maximum length of a line in an attempt's tail or a trace, in bytes.
const MAX_TAIL_LINE: usize = 400;
/// Maximum delay between a line's own timestamp and its reading for the timestamp to be used, in
/// milliseconds.
const MAX_TIMESTAMP_AGE: UnixMs = 60_000;
/// A flood of lines ends after a pause of this length.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the time of a line. Under load a line is read long after it was written, and would be
/// attributed to a later operation, so its own timestamp is preferred if it is plausible.
fn line_time(own: Option<UnixMs>, read: UnixMs) -> UnixMs {
    own.filter(|own| (read - MAX_TIMESTAMP_AGE..=read).contains(own))
        .unwrap_or(read)
}

/// Log of one plugin over all its launches.
pub(super) struct Logs {
    plugin: PluginId,
    observer: Arc<dyn PluginObserver>,
    secrets: Secrets,
    recent: Mutex<RecentLines>,
    /// Pipes of the process.
    pub(super) pipes: PipeDrains,
}

#[derive(Default)]
struct RecentLines {
    ring: VecDeque<LogLine>,
    /// Last lines of the current launch.
    tail: VecDeque<String>,
    /// Last line on stderr of the current launch; it is kept apart because the order between two
    /// streams is unknown.
    complaint: Option<String>,
    /// Lines of the panic; `before` has the last lines before it.
    trace: Vec<LogLine>,
    replaced_lines: Vec<LogLine>,
    stderr: LineParser,
    others: LineParser,
    rate_limit: LogRateLimit,
}

impl Logs {
    pub(super) fn new(plugin: PluginId, observer: Arc<dyn PluginObserver>) -> Arc<Self> {
        let secrets = observer.secrets();
        Arc::new(Self {
            plugin,
            observer,
            secrets,
            recent: Mutex::default(),
            pipes: PipeDrains::default(),
        })
    }

    fn lock_recent(&self) -> MutexGuard<'_, RecentLines> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the log of a new process: resets trace and tail.
    pub(super) fn begin_launch(&self) {
        // Otherwise held lines of the old process would appear after those of the new one.
        self.release_held();
        // The ring continues over launches; the rest belongs to one process.
        let ring = std::mem::take(&mut self.lock_recent().ring);
        *self.lock_recent() = RecentLines {
            ring,
            ..RecentLines::default()
        };
    }

    /// Inserts the lines of the replaced process before those of this one.
    pub(super) fn prepend_replaced(&self, old: &Self) {
        // Take the old lines before locking, because two logs must not be locked at once.
        let before = old.last(RING);
        let mut kept = self.lock_recent();
        let own = std::mem::take(&mut kept.ring);
        let all = before.into_iter().chain(own);
        all.for_each(|line| push(&mut kept.ring, line, RING));
    }

    /// Adds a warning of the engine, and shows it to the operator at once.
    pub(super) fn warn(&self, text: &str) {
        let text = self.secrets.redact(text).into_owned();
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
        push(&mut self.lock_recent().ring, line.clone(), RING);
        self.observer.event(PluginEvent::Log { line });
        self.observer.on_notice(notice);
    }

    /// Accepts one line as received, without its line end.
    pub(super) fn add_line(&self, stream: LogStream, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        // Strip colours before parsing: a level may be coloured.
        let text = uncoloured(text.trim_end_matches('\r'));
        let (left_out, lines) = {
            let mut kept = self.lock_recent();
            let parser = if stream == LogStream::Stderr {
                &mut kept.stderr
            } else {
                &mut kept.others
            };
            let mut parsed = parser.parse(&text);
            // Redact before anything keeps the text: a plugin may print the secrets it was given.
            self.secrets.redact_in_place(&mut parsed.text);
            // Lines past the limit pass the rate limit like any others.
            let of_trace = parsed.panic && kept.trace.len() < TRACE;
            if !parsed.text.trim().is_empty() {
                push(&mut kept.tail, shorten(&parsed.text), ATTEMPT_TAIL);
                if stream == LogStream::Stderr {
                    // Panics and fatal errors are on stderr, so prefer its last line over that of
                    // stdout.
                    kept.complaint = Some(shorten(&parsed.text));
                }
            }
            logged(&self.plugin, &parsed);
            let line = LogLine {
                plugin: self.plugin.clone(),
                at: line_time(parsed.timestamp, now_ms()),
                level: parsed.level,
                stream,
                module: parsed.module,
                text: parsed.text,
                panic: parsed.panic,
            };
            if of_trace {
                if kept.trace.is_empty() {
                    // Copied now, because the frames that follow would push them out of the ring.
                    kept.replaced_lines = kept
                        .ring
                        .iter()
                        .skip(kept.ring.len().saturating_sub(LINES_BEFORE_PANIC))
                        .cloned()
                        .collect();
                }
                kept.trace.push(LogLine {
                    text: shorten(&line.text),
                    ..line.clone()
                });
            }
            push(&mut kept.ring, line.clone(), RING);
            kept.rate_limit.admit(line, of_trace, Instant::now())
        };
        self.emit_lines(left_out, lines);
    }

    /// Emits events. Call it without the lock, because the observer is foreign code and might log.
    fn emit_lines(&self, left_out: u64, lines: Vec<LogLine>) {
        let gap = (left_out > 0).then(|| LogLine {
            plugin: self.plugin.clone(),
            at: now_ms(),
            level: LogLevel::Warn,
            stream: LogStream::Engine,
            module: None,
            text: format!("{left_out} lines omitted: more than {MAX_LINES_PER_SECOND} in a second"),
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
    fn release_held(&self) {
        let (left_out, lines) = self.lock_recent().rate_limit.release_held();
        self.emit_lines(left_out, lines);
    }

    /// Waits for `more` of a stream. If that takes longer than a pause, a flood is over.
    pub(super) async fn await_input<T>(&self, more: impl Future<Output = T>) -> T {
        let mut more = pin!(more);
        loop {
            // The lock must not be held across the await.
            let holds = self.lock_recent().rate_limit.has_held_lines();
            // Data first: it is a pause only if nothing arrives.
            tokio::select! { biased;
                got = &mut more => return got,
                () = tokio::time::sleep(PAUSE), if holds => self.release_held(),
            }
        }
    }

    /// Returns the newest lines, at most `count`, oldest first.
    pub(super) fn last(&self, count: usize) -> Vec<LogLine> {
        let kept = self.lock_recent();
        kept.ring
            .iter()
            .skip(kept.ring.len().saturating_sub(count))
            .cloned()
            .collect()
    }

    /// Returns the newest lines of an ended process. After a panic: its beginning, because
    /// thousands of frames may follow, and the lines before it.
    pub(super) fn exit_lines(&self, count: usize) -> Vec<LogLine> {
        let kept = self.lock_recent();
        if kept.trace.is_empty() {
            drop(kept);
            return self.last(count);
        }
        kept.replaced_lines
            .iter()
            .chain(&kept.trace)
            .take(count)
            .cloned()
            .collect()
    }

    /// Returns the last lines of the current launch; after a panic, its first ones.
    pub(super) fn tail(&self) -> Vec<String> {
        let kept = self.lock_recent();
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
        self.lock_recent()
            .trace
            .iter()
            .map(|l| l.text.clone())
            .collect()
    }

    /// Returns the most likely exit reason: the panic's message, else the last line on stderr, else
    /// the last line of all.
    pub(super) fn last_output(&self) -> Option<String> {
        let kept = self.lock_recent();
        panic_message(kept.trace.iter().map(|l| l.text.as_str()))
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

fn shorten(text: &str) -> String {
    if text.len() <= MAX_TAIL_LINE {
        return text.to_owned();
    }
    let mut end = MAX_TAIL_LINE;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// Reads up to the next line end into `line` (emptied first), keeps at most `limit` bytes and drops
/// the rest of the line. Returns the number of bytes read, including the line end; 0 at the end of
/// the stream.
pub async fn read_line<R>(
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
        logs.add_line(stream, &line);
        // An error recurs at the next read, which ends the loop.
        logs.await_input(reader.fill_buf()).await.ok();
    }
    logs.release_held();
}

/// Assembles lines from a byte stream that arrives in pieces.
#[derive(Default)]
pub(super) struct LineAssembler {
    partial: Vec<u8>,
}

impl LineAssembler {
    pub(super) fn feed(&mut self, mut data: &[u8], mut take: impl FnMut(&[u8])) {
        while let Some(end) = data.iter().position(|b| *b == b'\n') {
            self.buffer(&data[..end]);
            take(&self.partial);
            self.partial.clear();
            data = &data[end + 1..];
        }
        self.buffer(data);
    }

    pub(super) fn finish(&mut self, take: impl FnOnce(&[u8])) {
        if !self.partial.is_empty() {
            take(&self.partial);
            self.partial.clear();
        }
    }

    fn buffer(&mut self, piece: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.partial.len()).min(piece.len());
        self.partial.extend_from_slice(&piece[..room]);
    }
}

#[cfg(test)]
mod tests;
