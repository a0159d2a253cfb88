//! Formats times and durations as text.

use jiff::Timestamp;

/// Formats a time in the local time zone: `2026-11-21 10:15:02`.
pub(super) fn moment(ms: i64) -> String {
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
        1_000..=59_949 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        59_950..=3_599_999 => format!(
            "{} min {} s",
            // Rounded up to 50 ms, so that 59.999 s is shown as `1 min 0 s`.
            ms.div_ceil(50) * 50 / 60_000,
            ms.div_ceil(50) * 50 % 60_000 / 1_000
        ),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_read_like_speech() {
        let said: Vec<String> = [0, 999, 1_000, 12_345, 59_949, 59_999, 200_000, 7_500_000]
            .into_iter()
            .map(duration)
            .collect();
        assert_eq!(
            said,
            [
                "0 ms",
                "999 ms",
                "1.0 s",
                "12.3 s",
                "59.9 s",
                "1 min 0 s",
                "3 min 20 s",
                "2 h 5 min"
            ]
        );
    }
}
