//! Formats times and durations as text.

use jiff::Timestamp;

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
