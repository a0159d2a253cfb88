//! Numbers as text: decimal text is parsed at 512 bits, and formatting gives the shortest text that
//! parses back to the same number.

use dashu_base::BitTest;
use dashu_int::UBig;

use crate::number::{Form, MAX_EXPONENT, MAX_PRECISION, Number, NumberError};
use crate::number_round::rounded;

impl Number {
    /// Parses decimal text, such as `-1.5e3`, at 512 bits.
    pub fn parse(text: &str) -> Result<Number, NumberError> {
        Number::parse_at(text, MAX_PRECISION)
    }

    /// Parses decimal text at another precision.
    pub fn parse_at(text: &str, precision: u32) -> Result<Number, NumberError> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "Inf" || rest == "inf" {
            return Ok(Number {
                form: Form::Infinite { negative },
                precision,
            });
        }
        // A `p` introduces a power of two, as in Go.
        let (digits, exponent, doubled) = match rest.find(['e', 'E', 'p', 'P']) {
            Some(at) if rest[at..].starts_with(['p', 'P']) => {
                (&rest[..at], 0, parse_exponent(&rest[at + 1..])?)
            }
            Some(at) => (&rest[..at], parse_exponent(&rest[at + 1..])?, 0),
            None => (rest, 0, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty()
            || !whole
                .bytes()
                .chain(fraction.bytes())
                .all(|b| b.is_ascii_digit())
        {
            return Err(NumberError::Syntax);
        }
        // Limits the work below, which is more than linear in the number of digits.
        if digits.len() > MAX_EXPONENT as usize {
            return Err(NumberError::OutOfRange);
        }
        let all = format!("{whole}{fraction}");
        // Zeros at both ends only move the exponent; without them the integer is small.
        let significant = all.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        if trimmed.is_empty() {
            return Ok(Number {
                form: Form::Zero { negative },
                precision,
            });
        }
        let mantissa: UBig = trimmed.parse().map_err(|_| NumberError::Syntax)?;
        let power = exponent - fraction.len() as i64 + (significant.len() - trimmed.len()) as i64;
        // 10^330000 is about 2^1096000; numbers far beyond it are out of range, and need no
        // computation.
        if power > MAX_EXPONENT / 3 {
            return Err(NumberError::OutOfRange);
        }
        if power < -MAX_EXPONENT / 3 - digits.len() as i64 {
            return Ok(Number {
                form: Form::Zero { negative },
                precision,
            });
        }
        // A power of ten is a power of five, computed exactly, and a power of two, added to the
        // exponent.
        let form = if power >= 0 {
            let five = power_of_five(power.unsigned_abs());
            rounded(negative, mantissa * five, power + doubled, precision, false)?
        } else {
            let five = power_of_five(power.unsigned_abs());
            // Two bits beyond the precision make the rounding correct; the remainder is the sticky
            // bit.
            let shift =
                (precision as usize + 2 + five.bit_len()).saturating_sub(mantissa.bit_len());
            let (quotient, rest) = dashu_base::DivRem::div_rem(mantissa << shift, &five);
            rounded(
                negative,
                quotient,
                power + doubled - shift as i64,
                precision,
                rest != UBig::ZERO,
            )?
        };
        Ok(Number { form, precision })
    }

    /// Returns the shortest decimal text without an exponent that parses back to this number at its
    /// precision.
    pub fn to_text(&self) -> String {
        match &self.form {
            Form::Zero { negative } => if *negative { "-0" } else { "0" }.into(),
            Form::Infinite { negative } => if *negative { "-Inf" } else { "+Inf" }.into(),
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } => {
                let digits = Decimal::shortest(mantissa, *exponent, self.precision);
                let fraction = (digits.digits.len() as i64 - digits.point).max(0);
                format!(
                    "{}{}",
                    if *negative { "-" } else { "" },
                    digits.fixed(fraction)
                )
            }
        }
    }

    /// Returns ten significant digits, with an exponent for large or small numbers: the sort key of
    /// numbers inside compound set elements.
    pub(crate) fn to_hash_text(&self) -> String {
        const DIGITS: usize = 10;
        let Form::Finite {
            negative,
            mantissa,
            exponent,
        } = &self.form
        else {
            return self.to_text();
        };
        // Two digits more than kept are enough to round correctly.
        let mut d = Decimal::leading(mantissa, *exponent, DIGITS + 2);
        d.round(DIGITS);
        let sign = if *negative { "-" } else { "" };
        let len = d.digits.len() as i64;
        // The rules for the exponent are those of Go's `%g` format.
        let mut limit = DIGITS as i64;
        if limit > len && len >= d.point {
            limit = len;
        }
        let scientific = d.point - 1;
        if scientific < -4 || scientific >= limit {
            return format!("{sign}{}", d.scientific());
        }
        format!("{sign}{}", d.fixed((len - d.point).max(0)))
    }
}

fn parse_exponent(text: &str) -> Result<i64, NumberError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NumberError::Syntax);
    }
    // Clamped, so that later additions cannot overflow; such exponents are out of range anyway.
    let magnitude: i64 = digits.parse().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Ok(if text.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

fn power_of_five(n: u64) -> UBig {
    UBig::from(5u8).pow(n as usize)
}

/// Decimal digits of `0.d1d2d3… * 10^point`, without trailing zeros.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    fn exact(mantissa: &UBig, exponent: i64) -> Decimal {
        let (text, point) = if exponent >= 0 {
            let text = (mantissa << exponent as usize).to_string();
            let point = text.len() as i64;
            (text, point)
        } else {
            let text = (mantissa * power_of_five(exponent.unsigned_abs())).to_string();
            let point = text.len() as i64 + exponent;
            (text, point)
        };
        let mut decimal = Decimal {
            digits: text.into_bytes(),
            point,
        };
        decimal.trim();
        decimal
    }

    /// Returns at least the first `n` digits. A nonzero rest is represented by a single digit 1,
    /// which is enough for rounding and comparing. This avoids computing hundreds of thousands of
    /// digits.
    fn leading(mantissa: &UBig, exponent: i64, n: usize) -> Decimal {
        let bits = mantissa.bit_len() as i64;
        // Estimates by log10(2) and log10(5): digits before the point, off by at most one, and all
        // digits.
        let before = (bits + exponent) * 30_103 / 100_000;
        let all = if exponent >= 0 {
            before
        } else {
            bits * 30_103 / 100_000 - exponent * 69_897 / 100_000
        };
        let n = n as i64 + 2;
        // The exact digits are cheap enough here, and need no estimate.
        if all <= n * 2 {
            return Decimal::exact(mantissa, exponent);
        }
        let drop = before - n;
        // Scales by a power of ten so that the integer part has about `n` digits.
        let (whole, more) = if drop > 0 {
            let unit = power_of_five(drop.unsigned_abs()) << (drop - exponent.min(0)) as usize;
            let (whole, rest) =
                dashu_base::DivRem::div_rem(mantissa << exponent.max(0) as usize, &unit);
            (whole, rest != UBig::ZERO)
        } else {
            let scaled = mantissa * power_of_five(drop.unsigned_abs());
            match exponent - drop {
                up @ 0.. => (scaled << up as usize, false),
                down => {
                    let down = down.unsigned_abs() as usize;
                    let whole = &scaled >> down;
                    let more = &whole << down != scaled;
                    (whole, more)
                }
            }
        };
        let text = whole.to_string();
        let point = text.len() as i64 + drop;
        let mut decimal = Decimal {
            digits: text.into_bytes(),
            point,
        };
        if more {
            decimal.digits.push(b'1');
        }
        decimal.trim();
        decimal
    }

    /// Returns the fewest digits within the interval of numbers that round to this one at
    /// `precision` bits.
    fn shortest(mantissa: &UBig, exponent: i64, precision: u32) -> Decimal {
        let bits = mantissa.bit_len() as i64;
        // Whole numbers within the precision are exact, so every digit counts.
        if exponent >= 0 && exponent + bits <= i64::from(precision) {
            return Decimal::exact(mantissa, exponent);
        }
        // All candidates differ from the bounds of the interval within this many digits.
        let enough = precision.max(bits as u32) as usize * 31 / 100 + 4;
        let mut decimal = Decimal::leading(mantissa, exponent, enough);
        // One bit more than the precision, so that one unit is half a rounding step.
        let shift = (i64::from(precision) + 1 - bits).max(0);
        let wide = mantissa << shift as usize;
        // Ties round to even, so the bounds belong to the interval if the mantissa is even.
        let even = !wide.bit(1);
        let lower = Decimal::leading(&(&wide - UBig::ONE), exponent - shift, enough);
        let upper = Decimal::leading(&(&wide + UBig::ONE), exponent - shift, enough);
        for i in 0..decimal.digits.len() {
            let (l, m, u) = (lower.at(i), decimal.digits[i], upper.at(i));
            // Go's `roundShortest`: stop at the first digit where rounding down or up stays inside.
            let down = l != m || even && i + 1 == lower.digits.len();
            let up = m != u && (even || m + 1 < u || i + 1 < upper.digits.len());
            match (down, up) {
                (true, true) => decimal.round(i + 1),
                (true, false) => decimal.truncate_to(i + 1),
                (false, true) => decimal.round_up_to(i + 1),
                (false, false) => continue,
            }
            break;
        }
        decimal
    }

    fn at(&self, i: usize) -> u8 {
        self.digits.get(i).copied().unwrap_or(b'0')
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
    }

    fn round(&mut self, n: usize) {
        if n >= self.digits.len() {
            return;
        }
        // Half to even, by the digit before.
        let halfway = self.digits[n] == b'5' && n + 1 == self.digits.len();
        let up = if halfway {
            n > 0 && self.digits[n - 1] & 1 == 1
        } else {
            self.digits[n] >= b'5'
        };
        if up {
            self.round_up_to(n)
        } else {
            self.truncate_to(n)
        }
    }

    fn truncate_to(&mut self, n: usize) {
        self.digits.truncate(n);
        self.trim();
    }

    fn round_up_to(&mut self, n: usize) {
        let mut n = n.min(self.digits.len());
        // A carry over nines removes them, because trailing zeros are not stored.
        while n > 0 && self.digits[n - 1] >= b'9' {
            n -= 1;
        }
        if n == 0 {
            self.digits = vec![b'1'];
            self.point += 1;
            return;
        }
        self.digits[n - 1] += 1;
        self.digits.truncate(n);
    }

    fn fixed(&self, fraction: i64) -> String {
        let mut text = String::new();
        if self.point > 0 {
            text.extend((0..self.point).map(|i| self.at(i as usize) as char));
        } else {
            text.push('0');
        }
        if fraction > 0 {
            text.push('.');
            text.extend((0..fraction).map(|i| {
                if self.point + i < 0 {
                    '0'
                } else {
                    self.at((self.point + i) as usize) as char
                }
            }));
        }
        text
    }

    fn scientific(&self) -> String {
        let mut text = String::from(self.at(0) as char);
        if self.digits.len() > 1 {
            text.push('.');
            text.extend(self.digits[1..].iter().map(|d| *d as char));
        }
        let exponent = self.point - 1;
        text.push_str(&format!(
            "e{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        ));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn leading_digits_match_the_exact_conversion(words in prop::collection::vec(any::<u64>(), 1..9), exponent in -3_000i64..3_000, n in 1usize..60) {
            let mantissa = UBig::from_words(&words) | UBig::ONE;
            let (some, all) = (Decimal::leading(&mantissa, exponent, n), Decimal::exact(&mantissa, exponent));
            prop_assert_eq!(some.point, all.point);
            prop_assert_eq!(some.digits.len() > n, all.digits.len() > n);
            for i in 0..n {
                prop_assert_eq!(some.at(i), all.at(i), "digit {}", i);
            }
            let rest = |d: &Decimal| d.digits.iter().skip(n + 1).any(|d| *d != b'0');
            if some.at(n) == all.at(n) {
                prop_assert_eq!(rest(&some), rest(&all));
            }
        }
    }

    #[test]
    fn parse_accepts_a_binary_exponent() {
        for (text, value) in [
            ("1p3", "8"),
            ("-3P-1", "-1.5"),
            ("0.5p+4", "8"),
            ("0p9", "0"),
        ] {
            assert_eq!(Number::parse(text).unwrap().to_text(), value, "{text}");
        }
        for text in ["1p", "p3", "1p3e1", "1e1p3", "1p3.0"] {
            assert!(Number::parse(text).is_err(), "{text}");
        }
    }

    /// Found by fuzzing: a number of twelve bytes in a provider's response took a tenth of a
    /// second, because 300,000 digits were computed three times to keep the first 150. A list of
    /// thousands of such numbers took minutes.
    #[test]
    fn text_of_a_huge_number_keeps_all_digits() {
        for (text, digits, zeros) in [
            ("2.26535897e92897", "226535897", 92_889),
            ("1e30000", "1", 30_000),
            ("-12.5e30000", "-125", 29_999),
        ] {
            let out = Number::parse(text).unwrap().to_text();
            assert_eq!(out.trim_end_matches('0'), digits);
            assert_eq!(out.len() - digits.len(), zeros);
        }
        let small = Number::parse("25e-30001").unwrap().to_text();
        assert_eq!((small.len(), &small[small.len() - 3..]), (30_003, "025"));
    }
}
