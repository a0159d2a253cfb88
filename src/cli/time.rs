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

/// Formats a duration: `300 ms`, `12.0 s`, `3 min 20 s`, `2 h 5 min`.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        // Rounded to the last digit: 59.95 s belongs to `1 min 0 s`, because `59.9 s` is the
        // largest time in seconds, and 3,599.5 s to `1 h 0 min`.
        1_000..=59_949 => {
            let tenths = (ms + 50) / 100;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        59_950..=3_599_499 => {
            let seconds = (ms + 500) / 1_000;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
        _ => {
            let minutes = ms.saturating_add(30_000) / 60_000;
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_formatted_with_units() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (12_345, "12.3 s"),
            (12_350, "12.4 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 0 s"),
            (59_999, "1 min 0 s"),
            (119_499, "1 min 59 s"),
            (119_500, "2 min 0 s"),
            (200_000, "3 min 20 s"),
            (3_599_499, "59 min 59 s"),
            (3_599_500, "1 h 0 min"),
            (7_500_000, "2 h 5 min"),
            (u64::MAX, "5124095576030 h 25 min"),
        ] {
            assert_eq!(duration(ms), text, "{ms} ms");
        }
    }
}
