//! Memory limit of the process. A thread measures the use, evaluation checks the limit, and the
//! process exits with a message before the system kills it. One limit for the whole process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Environment variable of the limit.
pub const VARIABLE: &str = "FLIGHTDECK_MEMORY_LIMIT";
/// Interval between measurements.
const MEASURE_INTERVAL: Duration = Duration::from_millis(25);
/// Minimum limit, in bytes.
const MIN_LIMIT: u64 = 64 << 20;

static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static OVER: AtomicBool = AtomicBool::new(false);
static WATCH: OnceLock<()> = OnceLock::new();
static LAST: OnceLock<fn()> = OnceLock::new();

/// Reasons why a text is not a memory limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error("{VARIABLE} must be at least 64M, not {0:?}")]
    TooSmall(String),
    #[error("{VARIABLE} must be a number of bytes, optionally followed by k, M or G, not {0:?}")]
    NoNumber(String),
}

/// Parses a number of bytes with an optional k, M or G; `None` if invalid.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(unit)
}

/// Parses a memory limit.
///
/// # Errors
/// The text is not a number or too small.
pub fn parse(text: &str) -> Result<u64, LimitError> {
    let text = text.trim();
    match bytes(text) {
        Some(bytes) if bytes >= MIN_LIMIT => Ok(bytes),
        Some(_) => Err(LimitError::TooSmall(text.to_owned())),
        None => Err(LimitError::NoNumber(text.to_owned())),
    }
}

/// Half of the memory of the machine or its control group, in bytes.
fn half() -> u64 {
    let machine = {
        let all = rustix::system::sysinfo();
        (all.totalram as u64).saturating_mul(u64::from(all.mem_unit.max(1)))
    };
    // `max` means no limit, and is not a number.
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    (group.map_or(machine, |group| group.min(machine)) / 2).max(MIN_LIMIT)
}

/// Sets the limit and starts to measure; the default is half of the memory.
pub fn start_measuring(limit: Option<u64>) {
    LIMIT.store(limit.unwrap_or_else(half), Ordering::Relaxed);
    // One thread for all engines of the process.
    WATCH.get_or_init(|| {
        let thread = std::thread::Builder::new().name("memory".into()).spawn(|| {
            loop {
                measure();
                std::thread::sleep(MEASURE_INTERVAL);
            }
        });
        if let Err(error) = thread {
            tracing::warn!(%error, "the memory limit is not enforced");
        }
    });
}

/// Sets a function to run before a forced exit, such as restoring the terminal.
pub fn set_exit_hook(give_back: fn()) {
    LAST.get_or_init(|| give_back);
}

/// Is the limit exceeded?
pub fn is_exceeded() -> bool {
    OVER.load(Ordering::Relaxed)
}

/// Bytes left below the limit.
pub fn remaining() -> u64 {
    LIMIT
        .load(Ordering::Relaxed)
        // Without `/proc` the use is unknown and counts as zero.
        .saturating_sub(used_memory().unwrap_or(0))
}

/// The limit for display.
pub fn limit_text() -> String {
    format!("{} MiB", LIMIT.load(Ordering::Relaxed) >> 20)
}

fn used_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[allow(
    clippy::disallowed_methods,
    reason = "the code that uses the memory would not return to main; plugins end with the thread that started them"
)]
fn measure() {
    let (limit, Some(taken)) = (LIMIT.load(Ordering::Relaxed), used_memory()) else {
        return;
    };
    OVER.store(taken > limit, Ordering::Relaxed);
    // Evaluation checks the limit and stops. Other code would exceed it until the system kills the
    // process without a message.
    if taken > limit.saturating_add(limit / 2) {
        // Restores the terminal first, so that the message is readable.
        if let Some(give_back) = LAST.get() {
            give_back();
        }
        eprintln!(
            "error: flightdeck uses {} MiB of memory, more than 1.5 times its limit of {}, and exits. Set {VARIABLE} to another limit",
            taken >> 20,
            limit_text()
        );
        std::process::exit(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_limit_is_parsed_with_or_without_a_unit() {
        assert_eq!(parse("134217728"), Ok(128 << 20));
        assert_eq!(
            (parse("200M"), parse(" 2 G "), parse("90000k")),
            (Ok(200 << 20), Ok(2 << 30), Ok(90_000 << 10))
        );
        for wrong in ["", "M", "half", "1.5G", "-1", "1M", "99999999999999999999G"] {
            assert!(
                parse(wrong).is_err_and(|e| e.to_string().contains(VARIABLE)),
                "{wrong}"
            );
        }
    }
}
