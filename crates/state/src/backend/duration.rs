//! Durations in Go's notation.

use std::time::Duration;

/// Parses `300ms`, `1.5h` or `1h30m`; `None` for any other text.
pub fn duration(text: &str) -> Option<Duration> {
    // Go accepts zero without a unit.
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (value, after) = rest.split_at(number);
        let value: f64 = value.parse().ok()?;
        let unit = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        seconds += value
            * match unit {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_parsed() {
        let ms = |text| duration(text).map(|d| d.as_millis());
        assert_eq!(ms("1h30m"), Some(5_400_000));
        assert_eq!(ms("1.5s"), Some(1_500));
        assert_eq!(ms("300ms"), Some(300));
        assert_eq!(ms("0"), Some(0));
        for bad in ["", "5", "1x", "-1s", "s", "1h30"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
