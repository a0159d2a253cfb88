//! Log lines in memory: bounded and numbered, in order of arrival. Owned by
//! [`State`](crate::app::State).

use super::text::{clean, width};
use model::{LogLevel, LogLine};
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of lines in memory; the store has the older ones.
pub const MAX_LINES: usize = 20_000;

/// A line with its number, which identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub n: u64,
    pub line: LogLine,
}

impl LogEntry {
    /// Returns true if the line belongs to the same panic as the line before it.
    pub fn continues(&self, before: &Self) -> bool {
        self.line.panic
            && before.line.panic
            && self.line.plugin == before.line.plugin
            && !plugin::opens_panic(&self.line.text)
    }

    /// Short name of the source: the last part of an id is its most specific one.
    pub fn source(&self) -> Cow<'_, str> {
        clean(self.line.plugin.0.rsplit('/').next().unwrap_or_default())
    }
}

/// Log lines, and the options of their display.
#[derive(Debug, Clone)]
pub struct Log {
    entries: VecDeque<LogEntry>,
    next: u64,
    /// Number of lines removed because of [`MAX_LINES`].
    pub dropped: u64,
    /// Width of the longest source so far. Only grows, so that the column does not move.
    pub source_cells: usize,
    pub follow: bool,
    /// Minimum level to show.
    pub level: LogLevel,
    /// Source to show; `None` shows all.
    pub source: Option<String>,
    pub wrap: bool,
    pub times: bool,
    pub marks: BTreeSet<u64>,
    /// Shows the engine's own log instead.
    pub tracing: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            // Leaves numbers for older lines, which are loaded from the store later.
            next: 1 << 32,
            dropped: 0,
            source_cells: 0,
            follow: true,
            level: LogLevel::Trace,
            source: None,
            wrap: false,
            times: true,
            marks: BTreeSet::new(),
            tracing: false,
        }
    }
}

impl Log {
    /// Adds a line that just arrived, and removes the oldest one if the log is full.
    pub fn push(&mut self, line: LogLine) {
        if self.entries.len() == MAX_LINES
            && let Some(old) = self.entries.pop_front()
        {
            self.dropped += 1;
            // A mark without its line could not be removed any more.
            self.marks.remove(&old.n);
        }
        let entry = LogEntry { n: self.next, line };
        self.source_cells = self.source_cells.max(width(&entry.source()));
        self.entries.push_back(entry);
        self.next += 1;
    }

    /// Adds stored lines (oldest first) before the live ones. Lines that have also arrived live are
    /// skipped.
    pub fn prepend(&mut self, older: Vec<LogLine>) {
        // Stored lines from this time on have also arrived live.
        let first_live = self.entries.front().map_or(i64::MAX, |e| e.line.at);
        let mut n = self.entries.front().map_or(self.next, |e| e.n);
        for line in older.into_iter().rev().filter(|l| l.at < first_live) {
            // Live lines have precedence over older ones.
            if self.entries.len() == MAX_LINES || n == 0 {
                break;
            }
            n -= 1;
            let entry = LogEntry { n, line };
            self.source_cells = self.source_cells.max(width(&entry.source()));
            self.entries.push_front(entry);
        }
    }

    /// Returns all lines, oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &LogEntry> {
        self.entries.iter()
    }

    /// Returns the line at an index.
    pub fn get(&self, index: usize) -> Option<&LogEntry> {
        self.entries.get(index)
    }

    /// Returns true if level and source of a line are shown. Blank lines of a panic never are.
    pub fn is_shown(&self, e: &LogEntry) -> bool {
        e.line.level >= self.level
            && self.source.as_ref().is_none_or(|s| *e.line.plugin.0 == **s)
            && !(e.line.panic && e.line.text.trim().is_empty())
    }

    /// Returns the indexes of the shown lines of a panic after its first one.
    pub fn rest_of_panic(&self, first: usize) -> Vec<usize> {
        let mut rest = Vec::new();
        let Some(mut before) = self.get(first).filter(|e| e.line.panic) else {
            return rest;
        };
        for (i, e) in self.entries.range(first + 1..).enumerate() {
            if !self.is_shown(e) {
                continue;
            }
            if !e.continues(before) {
                break;
            }
            rest.push(first + 1 + i);
            before = e;
        }
        rest
    }

    /// Returns the sources of all lines, sorted.
    pub fn sources(&self) -> BTreeSet<&str> {
        self.entries.iter().map(|e| &*e.line.plugin.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{LogStream, PluginId};

    fn said(at: i64, text: &str) -> LogLine {
        LogLine {
            plugin: PluginId("p".into()),
            at,
            level: LogLevel::Info,
            stream: LogStream::Stderr,
            module: None,
            text: text.into(),
            panic: false,
        }
    }

    #[test]
    fn dropped_log_lines_are_counted() {
        let mut log = Log::default();
        for i in 0..MAX_LINES + 5 {
            log.push(said(i64::try_from(i).unwrap(), "x"));
        }
        assert_eq!(log.dropped, 5);
        assert_eq!(log.lines().count(), MAX_LINES);
    }

    #[test]
    fn stored_log_lines_precede_live_ones_without_duplicates() {
        let mut log = Log::default();
        log.push(said(10, "live"));
        log.prepend(vec![said(1, "a"), said(2, "b"), said(10, "live")]);
        let texts: Vec<_> = log.lines().map(|e| e.line.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "live"]);
        assert!(log.lines().map(|e| e.n).is_sorted());
    }
}
