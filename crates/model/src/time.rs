//! Time: milliseconds of the wall clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub type UnixMs = i64;

/// Returns the wall clock.
pub fn now_ms() -> UnixMs {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

/// Formats a time: `2026-11-21 10:15:02 UTC`.
pub fn moment(ms: UnixMs) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| ms.to_string(),
        |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

/// Formats a duration: `60 s`, `1.5 s`, `250 ms`.
pub fn seconds(d: Duration) -> String {
    match d.as_millis() {
        ms if ms < 1_000 => format!("{ms} ms"),
        ms if ms % 1_000 == 0 => format!("{} s", ms / 1_000),
        ms => format!("{:.1} s", ms as f64 / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_formatted_in_milliseconds_or_seconds() {
        let written =
            [0, 250, 999, 1_000, 1_500, 60_000].map(|ms| seconds(Duration::from_millis(ms)));
        assert_eq!(
            written,
            ["0 ms", "250 ms", "999 ms", "1 s", "1.5 s", "60 s"]
        );
    }
}
