//! Decimal text of exact binary numbers in `%e`, `%f` and `%g` form, as Go's `fmt` prints it.

use dashu_int::UBig;

/// The magnitude of an exact binary number: `mantissa · 2^exponent`.
#[derive(Debug, Clone)]
pub(crate) struct Exact {
    pub(crate) mantissa: UBig,
    pub(crate) exponent: isize,
}

/// Significant decimal digits without leading zeros, and the position of the point: value =
/// 0.d1d2d3… · 10^point.
#[derive(Debug, Clone)]
pub(crate) struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Parses plain decimal text ("-0.0012", "1200", "1.5e-7") without its sign.
    pub(crate) fn from_plain(text: &str) -> Decimal {
        let text = text.trim_start_matches(['-', '+']);
        let (body, exp) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i64>().unwrap_or(0)),
            None => (text, 0),
        };
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let mut digits: Vec<u8> = whole
            .bytes()
            .chain(fraction.bytes())
            .filter(u8::is_ascii_digit)
            .collect();
        let mut point = whole.len() as i64 + exp;
        // Leading zeros are not significant; the point moves instead.
        let zeros = digits.iter().take_while(|&&d| d == b'0').count();
        digits.drain(..zeros);
        point -= zeros as i64;
        let mut decimal = Decimal { digits, point };
        decimal.trim();
        decimal
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.point = 0;
        }
    }

    /// Rounds to `count` digits, half to even. Exact, because all digits are present.
    fn round(&mut self, count: i64) {
        if count < 0 {
            self.digits.clear();
            self.point = 0;
            return;
        }
        let count = count as usize;
        if count >= self.digits.len() {
            return;
        }
        let rest = &self.digits[count..];
        let up = match rest[0].cmp(&b'5') {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            // Trailing zeros are trimmed, so further digits mean more than a half.
            std::cmp::Ordering::Equal if rest.len() > 1 => true,
            std::cmp::Ordering::Equal => count > 0 && (self.digits[count - 1] - b'0') % 2 == 1,
        };
        self.digits.truncate(count);
        if up {
            let mut at = count;
            loop {
                if at == 0 {
                    // All digits were nines.
                    self.digits.insert(0, b'1');
                    self.point += 1;
                    break;
                }
                at -= 1;
                if self.digits[at] < b'9' {
                    self.digits[at] += 1;
                    break;
                }
                self.digits[at] = b'0';
            }
        }
        self.trim();
    }

    fn digit(&self, at: i64) -> char {
        if at < 0 {
            '0'
        } else {
            self.digits.get(at as usize).map_or('0', |&d| d as char)
        }
    }

    fn fixed(&self, places: usize) -> String {
        let mut out = String::new();
        if self.point > 0 {
            for at in 0..self.point {
                out.push(self.digit(at));
            }
        } else {
            out.push('0');
        }
        if places > 0 {
            out.push('.');
            for at in 0..places as i64 {
                out.push(self.digit(self.point + at));
            }
        }
        out
    }

    fn scientific(&self, places: usize, letter: char) -> String {
        let mut out = String::new();
        out.push(self.digit(0));
        if places > 0 {
            out.push('.');
            for at in 1..=places as i64 {
                out.push(self.digit(at));
            }
        }
        let exp = if self.digits.is_empty() {
            0
        } else {
            self.point - 1
        };
        out.push(letter);
        out.push(if exp < 0 { '-' } else { '+' });
        let exp = exp.unsigned_abs();
        // Go writes at least two digits of an exponent.
        if exp < 10 {
            out.push('0');
        }
        out.push_str(&exp.to_string());
        out
    }
}

impl Exact {
    /// All decimal digits of the value.
    fn decimal(&self) -> Decimal {
        let (digits, shift) = if self.exponent >= 0 {
            (self.mantissa.clone() << self.exponent as usize, 0)
        } else {
            // x / 2^n is x * 5^n / 10^n, so the digits are exact.
            let places = self.exponent.unsigned_abs();
            (
                self.mantissa.clone() * UBig::from(5u8).pow(places),
                places as i64,
            )
        };
        let text = digits.to_string();
        let mut decimal = Decimal {
            point: text.len() as i64 - shift,
            digits: text.into_bytes(),
        };
        if decimal.digits == b"0" {
            decimal.digits.clear();
        }
        decimal.trim();
        decimal
    }
}

/// Formats the magnitude of `value` as `verb` (`e`, `E`, `f`, `F`, `g`, `G`). `shortest` is the
/// shortest text that parses to the value (for `%g` without precision). Callers add the sign.
pub(crate) fn magnitude(
    value: &Exact,
    verb: char,
    precision: Option<usize>,
    shortest: &str,
) -> String {
    match verb {
        'e' | 'E' => {
            let places = precision.unwrap_or(6);
            let mut decimal = value.decimal();
            decimal.round(places as i64 + 1);
            decimal.scientific(places, verb)
        }
        'f' | 'F' => {
            let places = precision.unwrap_or(6);
            let mut decimal = value.decimal();
            let count = decimal.point + places as i64;
            decimal.round(count);
            decimal.fixed(places)
        }
        _ => general(value, verb, precision, shortest),
    }
}

fn general(value: &Exact, verb: char, precision: Option<usize>, shortest: &str) -> String {
    let (decimal, mut limit) = match precision {
        // As in Go, precision 6 decides between both notations of the shortest text.
        None => (Decimal::from_plain(shortest), 6),
        Some(count) => {
            let count = count.max(1);
            let mut decimal = value.decimal();
            decimal.round(count as i64);
            (decimal, count as i64)
        }
    };
    let have = decimal.digits.len() as i64;
    if precision.is_some() && limit > have && have >= decimal.point {
        limit = have;
    }
    let exp = decimal.point - 1;
    if !decimal.digits.is_empty() && (exp < -4 || exp >= limit) {
        let letter = if verb == 'G' { 'E' } else { 'e' };
        return decimal.scientific((have - 1).max(0) as usize, letter);
    }
    decimal.fixed((have - decimal.point).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(mantissa: u64, exponent: isize) -> Exact {
        Exact {
            mantissa: UBig::from(mantissa),
            exponent,
        }
    }

    #[test]
    fn fixed_format_rounds_exact_halves_to_even() {
        assert_eq!(magnitude(&exact(1, -1), 'f', Some(0), "0.5"), "0");
        assert_eq!(magnitude(&exact(3, -1), 'f', Some(0), "1.5"), "2");
        assert_eq!(magnitude(&exact(5, -1), 'f', Some(0), "2.5"), "2");
        assert_eq!(magnitude(&exact(9, -2), 'f', Some(1), "2.25"), "2.2");
    }

    #[test]
    fn scientific_format_has_at_least_two_exponent_digits() {
        assert_eq!(
            magnitude(&exact(123_456, 0), 'e', Some(2), "123456"),
            "1.23e+05"
        );
        assert_eq!(magnitude(&exact(0, 0), 'e', Some(1), "0"), "0.0e+00");
    }
}
