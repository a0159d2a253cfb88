//! What names a process beyond its pid: the start time in clock ticks and the boot it belongs to.
//! With them a recycled pid is never taken for the process that had it before. Owns nothing; reads
//! `/proc`.

use serde::{Deserialize, Serialize};
use std::fs;

/// A process, past mistaking.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: clock ticks from boot to the start of the process.
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id`: another after each boot.
    pub boot_id: String,
}

impl ProcessIdentity {
    /// The identity of the process that has `pid` now; `None` where there is none (or no `/proc`).
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let (_, start_time) = stat(pid)?;
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
            .trim()
            .to_owned();
        Some(Self {
            pid,
            start_time,
            boot_id,
        })
    }

    /// This process.
    #[must_use]
    pub fn own() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// Whether the very same process still runs. One that has ended and was not waited for does
    /// not.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(stat(self.pid), Some((state, _)) if !matches!(state, 'Z' | 'X'))
            && Self::of(self.pid).as_ref() == Some(self)
    }
}

/// The parent of a process.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&text)?.nth(1)?.parse().ok()
}

/// When this machine was started, in milliseconds since 1970.
#[must_use]
pub fn booted_at() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    seconds.trim().parse::<i64>().ok()?.checked_mul(1_000)
}

/// State letter and start time of a process.
fn stat(pid: u32) -> Option<(char, u64)> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The second field is the command in parentheses and may hold spaces and parentheses itself, so
/// fields are counted from the last `)`: the first here is the third.
fn fields(text: &str) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    Some(text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace())
}

fn parse_stat(text: &str) -> Option<(char, u64)> {
    let mut fields = fields(text)?;
    let state = fields.next()?.chars().next()?;
    // Field 3 was the state; 22 is the nineteenth after it.
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_may_hold_anything() {
        let fields: Vec<String> = (4..=30).map(|n| n.to_string()).collect();
        let text = format!("42 (a) R (b c) S {}", fields.join(" "));
        assert_eq!(parse_stat(&text), Some(('S', 22)));
        assert_eq!(parse_stat("42 (a"), None);
    }

    #[test]
    fn a_recycled_pid_is_another_process() {
        let own = ProcessIdentity::own().expect("proc");
        assert!(own.is_running());
        let other_time = ProcessIdentity {
            start_time: own.start_time + 1,
            ..own.clone()
        };
        assert!(!other_time.is_running());
        let other_boot = ProcessIdentity {
            boot_id: "another".into(),
            ..own
        };
        assert!(!other_boot.is_running());
    }
}
