//! Formats durations, sizes and times for the screen.

pub use model::duration;

/// Formats a running time like [`duration`], but in complete seconds, so that it changes once a
/// second.
pub fn elapsed(ms: i64) -> String {
    let s = u64::try_from(ms).unwrap_or(0) / 1_000;
    if s < 60 {
        format!("{s} s")
    } else {
        duration(s * 1_000)
    }
}

/// Formats a running time like [`elapsed`]; `now` below a second.
pub fn since(ms: i64) -> String {
    match ms {
        ..1_000 => "now".to_owned(),
        _ => elapsed(ms),
    }
}

/// Formats the time until an event: `in 3 s`, or `now`.
pub fn until(ms: i64) -> String {
    match ms {
        ..1 => "now".to_owned(),
        // Rounded up, so that a pending event is never due in 0 s.
        _ => format!("in {}", elapsed(ms + 999)),
    }
}

/// Formats bytes: `812 K`, `18 M`, `1.2 G`.
pub fn bytes(n: u64) -> String {
    const K: u64 = 1024;
    match n {
        0..K => format!("{n} B"),
        K..1_048_576 => format!("{} K", n / K),
        1_048_576..1_073_741_824 => format!("{} M", n / (K * K)),
        _ => format!("{:.1} G", n as f64 / (K * K * K) as f64),
    }
}

/// Converts days since 1970-01-01 to year, month and day of the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Howard Hinnant's algorithm: years start in March, so that the leap day is their last day.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (
        yoe + era * 400 + i64::from(month <= 2),
        month,
        doy - (153 * mp + 2) / 5 + 1,
    )
}

/// Formats the time of day, `14:02:11`. The offset from UTC is in seconds.
pub fn clock(ms: i64, offset_s: i32) -> String {
    let s = (ms.div_euclid(1000) + i64::from(offset_s)).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

/// Formats the time of day with milliseconds.
pub fn clock_ms(ms: i64, offset_s: i32) -> String {
    format!("{}.{:03}", clock(ms, offset_s), ms.rem_euclid(1000))
}

/// Formats date and time, `2026-11-21 14:02`.
pub fn date(ms: i64, offset_s: i32) -> String {
    let s = ms.div_euclid(1000) + i64::from(offset_s);
    let (y, m, d) = civil(s.div_euclid(86_400));
    let t = s.rem_euclid(86_400);
    format!("{y:04}-{m:02}-{d:02} {:02}:{:02}", t / 3600, t / 60 % 60)
}

/// Formats a date and a time like [`date`], with seconds.
pub fn date_s(ms: i64, offset_s: i32) -> String {
    let day = &date(ms, offset_s)[..10];
    format!("{day} {}", clock(ms, offset_s))
}

/// Formats a count with its noun: `1 change`, `2 changes`.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

/// Adds a blank to a duration whose unit has one letter, so that the units of a right-aligned
/// column are aligned: `1.9 s ` above ` 15 ms`.
pub fn aligned(mut duration: String) -> String {
    if !duration.ends_with("ms") {
        duration.push(' ');
    }
    duration
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_times_are_formatted_in_complete_seconds() {
        assert_eq!(elapsed(2_900), "2 s");
        assert_eq!(elapsed(61_900), "1m01s");
        assert_eq!(elapsed(-5), "0 s");
    }

    #[test]
    fn dates_and_times_are_formatted_with_the_utc_offset() {
        assert_eq!(date(1_795_269_731_000, 0), "2026-11-21 14:02");
        assert_eq!(date(1_795_269_731_000, 3600), "2026-11-21 15:02");
        assert_eq!(date_s(1_795_269_731_000, 3600), "2026-11-21 15:02:11");
        assert_eq!(date(951_782_400_000, 0), "2000-02-29 00:00");
        assert_eq!(clock(1_795_269_731_000, -7200), "12:02:11");
    }
}
