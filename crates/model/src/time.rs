//! Time: milliseconds of the wall clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub type UnixMs = i64;

/// Returns the wall clock.
pub fn now_ms() -> UnixMs {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

/// Clock that starts at the wall clock and does not jump with it, for waits.
#[derive(Debug, Clone, Copy)]
pub struct SteadyClock {
    started: UnixMs,
    since: Instant,
}

impl SteadyClock {
    /// Starts the clock.
    #[must_use]
    pub fn start() -> Self {
        Self {
            started: now_ms(),
            since: Instant::now(),
        }
    }

    /// Returns its time.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        let elapsed = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.started.saturating_add(elapsed)
    }
}

/// Formats a time: `2026-11-21 10:15:02 UTC`.
pub fn moment(ms: UnixMs) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| ms.to_string(),
        |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

/// Formats a duration in milliseconds: `812 ms`, `4.2 s`, `42 s`, `1m02s`, `2h05m`, `3d04h`. It is
/// rounded to the last digit: 19.9 s are `20 s`.
pub fn duration(ms: u64) -> String {
    // The largest durations of each unit belong to the next one: 59.6 s are `1m00s`.
    let rounded = |unit: u64| ms.saturating_add(unit / 2) / unit;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..9_950 => format!("{}.{} s", rounded(100) / 10, rounded(100) % 10),
        9_950..59_500 => format!("{} s", rounded(1_000)),
        59_500..3_599_500 => format!("{}m{:02}s", rounded(1_000) / 60, rounded(1_000) % 60),
        3_599_500..86_370_000 => format!("{}h{:02}m", rounded(60_000) / 60, rounded(60_000) % 60),
        _ => format!(
            "{}d{:02}h",
            rounded(3_600_000) / 24,
            rounded(3_600_000) % 24
        ),
    }
}

/// Formats the duration of a setting exactly: `60 s`, `1.5 s`, `250 ms`.
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

    #[test]
    fn durations_are_rounded_at_every_scale() {
        for (ms, text) in [
            (7, "7 ms"),
            (999, "999 ms"),
            (4_200, "4.2 s"),
            (1_049, "1.0 s"),
            (1_050, "1.1 s"),
            (9_949, "9.9 s"),
            (9_950, "10 s"),
            (19_900, "20 s"),
            (59_499, "59 s"),
            (59_500, "1m00s"),
            (119_500, "2m00s"),
            (200_000, "3m20s"),
            (3_599_499, "59m59s"),
            (3_599_500, "1h00m"),
            (86_369_999, "23h59m"),
            (86_370_000, "1d00h"),
            (280_000_000, "3d06h"),
            (u64::MAX, "213503982334d14h"),
        ] {
            assert_eq!(duration(ms), text, "{ms} ms");
        }
    }
}
