//! Formats times and durations as text.

use jiff::Timestamp;
use std::time::Duration;

/// Formats a time in the local time zone: `2026-11-21 10:15:02`.
pub(super) fn format_local(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        Err(_) => ms.to_string(),
    }
}

/// Formats the time of day in the local time zone, in milliseconds: `10:15:02.071`.
pub(super) fn time_of_day(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%H:%M:%S%.3f")
            .to_string(),
        Err(_) => ms.to_string(),
    }
}

/// Interval of lines about an operation that still runs, as in OpenTofu.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(10);

/// Formats whole seconds as OpenTofu does: `10s`, `1m10s`, `1h0m10s`.
pub(super) fn elapsed(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}
