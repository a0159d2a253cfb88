//! Numbers as text: decimal text in, at 512 bits; the shortest text out that reads back as the same
//! number.

use dashu_base::BitTest;
use dashu_int::UBig;

use crate::number::{Form, MAX_EXPONENT, MAX_PRECISION, Number, NumberError};
use crate::number_round::rounded;

impl Number {
    /// Reads decimal text (`-1.5e3`) at 512 bits.
    pub fn parse(text: &str) -> Result<Number, NumberError> {
        Number::parse_at(text, MAX_PRECISION)
    }

    /// Reads decimal text at another precision.
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
        // After a `p` comes a power of two.
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
        if digits.len() > MAX_EXPONENT as usize {
            return Err(NumberError::OutOfRange);
        }
        let all = format!("{whole}{fraction}");
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
        // 10^330000 is about 2^1096000; far outside of that there is nothing to compute.
        if power > MAX_EXPONENT / 3 {
            return Err(NumberError::OutOfRange);
        }
        if power < -MAX_EXPONENT / 3 - digits.len() as i64 {
            return Ok(Number {
                form: Form::Zero { negative },
                precision,
            });
        }
        let form = if power >= 0 {
            let five = power_of_five(power.unsigned_abs());
            rounded(negative, mantissa * five, power + doubled, precision, false)?
        } else {
            let five = power_of_five(power.unsigned_abs());
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

    /// The shortest decimal text, without an exponent, that reads back as this number at its
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

    /// Ten significant digits, in exponent form where large or small: how numbers sort inside sets
    /// of other things.
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
        let mut d = Decimal::leading(mantissa, *exponent, DIGITS + 2);
        d.round(DIGITS);
        let sign = if *negative { "-" } else { "" };
        let len = d.digits.len() as i64;
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

/// `0.d1d2d3… * 10^point`, without trailing zeros.
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

    /// At least the first `n` digits. Where more than zeros follow, a single 1 stands for all of
    /// it: that is as much as rounding and comparing need, and hundreds of thousands of digits are
    /// not worked out for it.
    fn leading(mantissa: &UBig, exponent: i64, n: usize) -> Decimal {
        let bits = mantissa.bit_len() as i64;
        // Digits before the point, give or take one, and all that there are.
        let before = (bits + exponent) * 30_103 / 100_000;
        let all = if exponent >= 0 {
            before
        } else {
            bits * 30_103 / 100_000 - exponent * 69_897 / 100_000
        };
        let n = n as i64 + 2;
        if all <= n * 2 {
            return Decimal::exact(mantissa, exponent);
        }
        let drop = before - n;
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

    /// The fewest digits inside the interval of numbers that round to this one at `precision` bits.
    fn shortest(mantissa: &UBig, exponent: i64, precision: u32) -> Decimal {
        let bits = mantissa.bit_len() as i64;
        if exponent >= 0 && exponent + bits <= i64::from(precision) {
            return Decimal::exact(mantissa, exponent);
        }
        // Within these the interval has ended.
        let enough = precision.max(bits as u32) as usize * 31 / 100 + 4;
        let mut decimal = Decimal::leading(mantissa, exponent, enough);
        // One bit more than the precision, so that one unit is half a step.
        let shift = (i64::from(precision) + 1 - bits).max(0);
        let wide = mantissa << shift as usize;
        let even = !wide.bit(1);
        let lower = Decimal::leading(&(&wide - UBig::ONE), exponent - shift, enough);
        let upper = Decimal::leading(&(&wide + UBig::ONE), exponent - shift, enough);
        for i in 0..decimal.digits.len() {
            let (l, m, u) = (lower.at(i), decimal.digits[i], upper.at(i));
            let down = l != m || even && i + 1 == lower.digits.len();
            let up = m != u && (even || m + 1 < u || i + 1 < upper.digits.len());
            match (down, up) {
                (true, true) => decimal.round(i + 1),
                (true, false) => decimal.cut(i + 1),
                (false, true) => decimal.raise(i + 1),
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
        let halfway = self.digits[n] == b'5' && n + 1 == self.digits.len();
        let up = if halfway {
            n > 0 && self.digits[n - 1] & 1 == 1
        } else {
            self.digits[n] >= b'5'
        };
        if up { self.raise(n) } else { self.cut(n) }
    }

    fn cut(&mut self, n: usize) {
        self.digits.truncate(n);
        self.trim();
    }

    fn raise(&mut self, n: usize) {
        let mut n = n.min(self.digits.len());
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
        fn leading_digits_are_those_of_the_whole(words in prop::collection::vec(any::<u64>(), 1..9), exponent in -3_000i64..3_000, n in 1usize..60) {
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
    fn a_power_of_two_may_follow() {
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

    /// Found by fuzzing: a number of twelve bytes in a provider's answer took a tenth of a second,
    /// since three hundred thousand digits were worked out three times to keep the first hundred
    /// and fifty; a list of thousands took minutes.
    #[test]
    fn the_text_of_a_huge_number_has_its_digits() {
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
