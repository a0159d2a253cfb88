//! Rate limit for the log lines of one plugin, so that one plugin's flood cannot displace the
//! events of others. Within each second, the first and the last lines pass; the number of dropped
//! lines between them is reported. Owned by the logs.

use model::LogLine;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum number of lines per second that pass at once. Event readers may lag by 8000 events.
pub(super) const MAX_LINES_PER_SECOND: usize = 5_000;
/// Number of newest lines held back until the next second or a pause.
pub(super) const MAX_HELD_LINES: usize = 1_000;
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct LogRateLimit {
    since: Option<Instant>,
    passed_lines: usize,
    held: VecDeque<LogLine>,
    dropped_lines: u64,
}

impl LogRateLimit {
    /// Accepts a line and returns the number of dropped lines and the lines to pass on now. A line
    /// that `must` pass always does, after all held lines.
    pub(super) fn admit(&mut self, line: LogLine, must: bool, now: Instant) -> (u64, Vec<LogLine>) {
        let fresh = self
            .since
            .is_none_or(|since| now.duration_since(since) >= WINDOW);
        if fresh {
            (self.since, self.passed_lines) = (Some(now), 0);
        }
        // Held lines go first, to keep the order.
        let (left_out, mut through) = if fresh || must {
            self.release_held()
        } else {
            (0, Vec::new())
        };
        if must || self.passed_lines < MAX_LINES_PER_SECOND {
            self.passed_lines += 1;
            through.push(line);
        } else {
            // The oldest held line is dropped, because the end of a flood is more useful than its
            // middle.
            if self.held.len() == MAX_HELD_LINES {
                self.held.pop_front();
                self.dropped_lines += 1;
            }
            self.held.push_back(line);
        }
        (left_out, through)
    }

    pub(super) fn has_held_lines(&self) -> bool {
        !self.held.is_empty()
    }

    /// Releases the held lines, with the number of lines dropped before them.
    pub(super) fn release_held(&mut self) -> (u64, Vec<LogLine>) {
        (
            std::mem::take(&mut self.dropped_lines),
            std::mem::take(&mut self.held).into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{LogLevel, LogStream, PluginId};

    fn line(n: usize) -> LogLine {
        LogLine {
            plugin: PluginId("x/y".into()),
            at: 0,
            level: LogLevel::Info,
            stream: LogStream::Stderr,
            module: None,
            text: n.to_string(),
            panic: false,
        }
    }

    #[test]
    fn log_flood_keeps_first_and_last_lines_and_counts_the_rest() {
        let (mut gate, now) = (LogRateLimit::default(), Instant::now());
        let most = MAX_LINES_PER_SECOND + MAX_HELD_LINES + 70;
        let through: usize = (1..=most)
            .map(|n| gate.admit(line(n), false, now).1.len())
            .sum();
        assert_eq!(
            (through, gate.has_held_lines()),
            (MAX_LINES_PER_SECOND, true)
        );
        let (left_out, last) = gate.release_held();
        assert_eq!(
            (left_out, last.len(), last[MAX_HELD_LINES - 1].text.clone()),
            (70, MAX_HELD_LINES, most.to_string())
        );
        assert!(!gate.has_held_lines());
        gate.admit(line(1), false, now);
        let (left_out, through) = gate.admit(line(2), true, now);
        assert_eq!(
            (left_out, through.len()),
            (0, 2),
            "a required order does not overtake earlier ones"
        );
        gate.admit(line(3), false, now);
        let (_, through) = gate.admit(line(4), false, now + WINDOW);
        assert_eq!(
            through.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(),
            ["3", "4"],
            "another second, room again"
        );
    }
}
