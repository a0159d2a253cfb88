//! Durations in the language's notation (`1h30m`).

/// Reasons why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Invalid text, or out of range.
    #[error("time: invalid duration {0:?}")]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {0:?}")]
    NoUnit(String),
    /// Unknown unit.
    #[error("time: unknown unit {unit:?} in duration {text:?}")]
    Unit {
        /// Text found instead of a unit.
        unit: String,
        /// Duration as given.
        text: String,
    },
}

/// Parses a duration such as "1h30m", "-1.5s", "0" to nanoseconds.
///
/// # Errors
/// The text is not a duration.
pub fn duration(text: &str) -> Result<i128, DurationError> {
    let bad = || DurationError::Invalid(text.to_owned());
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    // Zero is the only duration without a unit.
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(bad());
    }
    let mut total = 0i128;
    while !rest.is_empty() {
        let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mut value: i128 = if whole == 0 {
            0
        } else {
            rest[..whole].parse().map_err(|_| bad())?
        };
        let mut scale = 1i128;
        let mut digits = whole;
        rest = &rest[whole..];
        if let Some(fraction) = rest.strip_prefix('.') {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            // For every unit, 18 digits are more precise than a nanosecond.
            for digit in fraction.bytes().take(count.min(18)) {
                value = value
                    .checked_mul(10)
                    .and_then(|v| v.checked_add(i128::from(digit - b'0')))
                    .ok_or_else(bad)?;
                scale *= 10;
            }
            digits += count;
            rest = &fraction[count..];
        }
        if digits == 0 {
            return Err(bad());
        }
        let unit_len = rest
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit: i128 = match &rest[..unit_len] {
            "ns" => 1,
            // Unicode has two characters for micro, and Go accepts both.
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" => return Err(DurationError::NoUnit(text.to_owned())),
            other => {
                return Err(DurationError::Unit {
                    unit: other.to_owned(),
                    text: text.to_owned(),
                });
            }
        };
        rest = &rest[unit_len..];
        total = value
            .checked_mul(unit)
            .map(|v| v / scale)
            .and_then(|v| total.checked_add(v))
            .ok_or_else(bad)?;
        // The reference counts nanoseconds in 64 bits.
        if total > i128::from(i64::MAX) {
            return Err(bad());
        }
    }
    Ok(if negative { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_with_units() {
        assert_eq!(duration("1h30m").unwrap(), 5_400_000_000_000);
        assert_eq!(duration("-1.5s").unwrap(), -1_500_000_000);
        assert_eq!(duration("0").unwrap(), 0);
        for text in ["", "1", "h", "1x", "-"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
