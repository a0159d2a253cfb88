//! Resolves YAML scalars to values: by tag, or by pattern for plain ones.

use cty::{Number, Type, Value};

const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// Value of a scalar. `tag` is resolved ("" if absent), `quoted` is true for `'…'` and `"…"`.
pub(super) fn scalar(tag: &str, text: &str, quoted: bool) -> Result<Value, String> {
    let short = match tag.strip_prefix(TAG_PREFIX) {
        Some(name) => name,
        None if tag.is_empty() => "",
        None => return Err(format!("unsupported tag {tag:?}")),
    };
    let mut kind = short;
    if !matches!(
        short,
        "" | "str" | "bool" | "int" | "float" | "null" | "timestamp" | "binary"
    ) {
        return Err(format!("unsupported tag {tag:?}"));
    }
    if !matches!(short, "str" | "binary") && hinted(text) {
        if quoted {
            return Ok(text.into());
        }
        if let Some(value) = resolve_word(text) {
            return Ok(value);
        }
        if short.is_empty() && matches!(text, ".nan" | ".NaN" | ".NAN") {
            return Err("floating point NaN is not supported".to_owned());
        }
        match text.as_bytes().first() {
            Some(b'.') => {
                if let Some(number) = decimal(text) {
                    return Ok(number);
                }
            }
            Some(b'0'..=b'9' | b'+' | b'-') => {
                // A date begins with digits too, so it is tried before the numbers.
                if matches!(short, "" | "timestamp")
                    && let Some(moment) = timestamp(text)
                {
                    return Ok(moment.into());
                }
                if integer(text) {
                    kind = "int";
                } else if float(text) {
                    kind = "float";
                }
            }
            _ => {}
        }
    }
    by_kind(kind, tag, text)
}

fn by_kind(kind: &str, tag: &str, text: &str) -> Result<Value, String> {
    let bad = || format!("cannot parse {text:?} as {tag}");
    match kind {
        "int" | "float" => {
            // YAML 1.1 allows underscores in numbers.
            let plain = text.replace('_', "");
            decimal(&plain).or_else(|| prefixed(&plain)).ok_or_else(bad)
        }
        "bool" => resolve_word(text)
            .filter(|v| *v.ty() == Type::Bool)
            .ok_or_else(bad),
        "null" => Ok(Value::null(Type::Dynamic)),
        "timestamp" => timestamp(text).map(Value::from).ok_or_else(bad),
        _ => Ok(text.into()),
    }
}

/// Returns true if the first letter allows a type other than string.
fn hinted(text: &str) -> bool {
    match text.bytes().next() {
        None => true,
        Some(first) => {
            matches!(first, b'+' | b'-' | b'.' | b'0'..=b'9') || b"yYnNtTfFoO~".contains(&first)
        }
    }
}

fn resolve_word(text: &str) -> Option<Value> {
    // The words of YAML 1.1, which has more of them for booleans than YAML 1.2.
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            true.into()
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            false.into()
        }
        "" | "~" | "null" | "Null" | "NULL" => Value::null(Type::Dynamic),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Number::infinity().into(),
        "-.inf" | "-.Inf" | "-.INF" => Number::negative_infinity().into(),
        _ => return None,
    })
}

fn decimal(text: &str) -> Option<Value> {
    Number::parse(text).ok().map(Value::from)
}

/// `[-+]?[0-9]+`, `0o7`, `0xf`.
fn integer(text: &str) -> bool {
    let all =
        |digits: &str, radix: u32| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    if let Some(octal) = text.strip_prefix("0o") {
        return all(octal, 8);
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return all(hex, 16);
    }
    all(text.strip_prefix(['-', '+']).unwrap_or(text), 10)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn float(text: &str) -> bool {
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits(rest);
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if whole == 0 && count == 0 {
            return false;
        }
        rest = &fraction[count..];
    } else if whole == 0 {
        return false;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// Integers in other bases.
fn prefixed(text: &str) -> Option<Value> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = [
        ("0x", 16),
        ("0X", 16),
        ("0o", 8),
        ("0O", 8),
        ("0b", 2),
        ("0B", 2),
    ]
    .iter()
    .find_map(|(prefix, radix)| digits.strip_prefix(prefix).map(|d| (d, *radix)))?;
    let value = u64::from_str_radix(digits, radix).ok()?;
    Number::from_big(negative, value.into())
        .ok()
        .map(Value::from)
}

/// Dates, with or without a time, as RFC 3339 text.
fn timestamp(text: &str) -> Option<String> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some((&text[at..at + 1], &text[at + 1..]))),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 || !digits(year) || !short(month) || !short(day) {
        return None;
    }
    let date = format!("{year}-{month:0>2}-{day:0>2}");
    let full = match time {
        None => format!("{date}T00:00:00Z"),
        // YAML also allows a space before the time, which is then in UTC.
        Some((" ", clock)) => format!("{date}T{}Z", padded(clock)?),
        Some((_, clock)) => {
            let at = clock.find(['Z', '+', '-'])?;
            format!("{date}T{}{}", padded(&clock[..at])?, &clock[at..])
        }
    };
    crate::functions::clock::normal(&full)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn short(text: &str) -> bool {
    digits(text) && text.len() <= 2
}

/// `1:2:3.5` with two digits each.
fn padded(clock: &str) -> Option<String> {
    let (whole, fraction) = clock
        .split_once('.')
        .map_or((clock, None), |(w, f)| (w, Some(f)));
    let parts: Vec<&str> = whole.split(':').collect();
    if parts.len() != 3 || !parts.iter().all(|p| short(p)) || !fraction.is_none_or(digits) {
        return None;
    }
    let fraction = fraction.map(|f| format!(".{f}")).unwrap_or_default();
    Some(format!(
        "{:0>2}:{:0>2}:{:0>2}{fraction}",
        parts[0], parts[1], parts[2]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_plain_scalars_resolve_to_their_types() {
        for (text, want) in [
            ("true", Value::bool(true)),
            ("No", Value::bool(false)),
            ("0x1F", Value::int(31)),
            ("012", Value::int(12)),
            ("1.5e1", Value::int(15)),
            ("0ba", "0ba".into()),
            ("2020-1-2", "2020-01-02T00:00:00Z".into()),
            ("1.2.3", "1.2.3".into()),
            ("-", "-".into()),
        ] {
            let got = scalar("", text, false).unwrap();
            assert_eq!(got.equals(&want).as_bool(), Some(true), "{text}: {got:?}");
        }
        assert!(scalar("", "~", false).unwrap().is_null());
        assert_eq!(scalar("", "true", true).unwrap().as_str(), Some("true"));
        assert!(scalar("!custom", "x", false).is_err());
    }
}
