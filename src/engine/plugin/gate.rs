//! Rate limit for the log lines of one plugin, so that one plugin's flood cannot displace the
//! events of others. Within each second, the first and the last lines pass; the number of dropped
//! lines between them is reported. Owned by the logs.

use crate::engine::words::LogLine;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum number of lines per second that pass at once. Event readers may lag by 8000 events.
pub(super) const AT_ONCE: usize = 5_000;
/// Number of newest lines held back until the next second or a pause.
pub(super) const HELD: usize = 1_000;
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Gate {
    since: Option<Instant>,
    passed: usize,
    held: VecDeque<LogLine>,
    left_out: u64,
}

impl Gate {
    /// Accepts a line and returns the number of dropped lines and the lines to pass on now. A line
    /// that `must` pass always does, after all held lines.
    pub(super) fn admit(&mut self, line: LogLine, must: bool, now: Instant) -> (u64, Vec<LogLine>) {
        let fresh = self
            .since
            .is_none_or(|since| now.duration_since(since) >= WINDOW);
        if fresh {
            (self.since, self.passed) = (Some(now), 0);
        }
        // Held lines go first, to keep the order.
        let (left_out, mut through) = if fresh || must {
            self.let_go()
        } else {
            (0, Vec::new())
        };
        if must || self.passed < AT_ONCE {
            self.passed += 1;
            through.push(line);
        } else {
            // The oldest held line is dropped, because the end of a flood is more useful than its
            // middle.
            if self.held.len() == HELD {
                self.held.pop_front();
                self.left_out += 1;
            }
            self.held.push_back(line);
        }
        (left_out, through)
    }

    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Releases the held lines, with the number of lines dropped before them.
    pub(super) fn let_go(&mut self) -> (u64, Vec<LogLine>) {
        (
            std::mem::take(&mut self.left_out),
            std::mem::take(&mut self.held).into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::words::{LogLevel, LogStream, PluginId};

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
    fn the_first_and_the_last_lines_of_a_flood_go_through_and_the_rest_is_counted() {
        let (mut gate, now) = (Gate::default(), Instant::now());
        let most = AT_ONCE + HELD + 70;
        let through: usize = (1..=most)
            .map(|n| gate.admit(line(n), false, now).1.len())
            .sum();
        assert_eq!((through, gate.holds()), (AT_ONCE, true));
        let (left_out, last) = gate.let_go();
        assert_eq!(
            (left_out, last.len(), last[HELD - 1].text.clone()),
            (70, HELD, most.to_string())
        );
        assert!(!gate.holds());
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
