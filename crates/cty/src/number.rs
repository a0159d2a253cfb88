//! Arbitrary-precision binary floating point numbers that carry their own precision, as Go's
//! `big.Float`. Parsed text has 512 bits, machine integers 64, floats 53. Text forms are in
//! `number_text`.

use std::cmp::Ordering;
use std::fmt;

use dashu_base::BitTest;
use dashu_int::UBig;

use super::number_round::{finite, nearest_float, rounded};

/// Precision of literals and parsed text, in bits.
pub const MAX_PRECISION: u32 = 512;

/// Largest magnitude of a binary exponent: about 330,000 decimal digits. Numbers beyond it are
/// refused, so that a short text cannot make the engine print gigabytes.
pub(crate) const MAX_EXPONENT: i64 = 1_100_000;

/// Number with its precision in bits.
#[derive(Clone)]
pub struct Number {
    pub(crate) form: Form,
    pub(crate) precision: u32,
}

/// Canonical form. `Finite` is `mantissa * 2^exponent` with an odd mantissa, so equal values have
/// equal forms.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Form {
    Zero {
        negative: bool,
    },
    Finite {
        negative: bool,
        mantissa: UBig,
        exponent: i64,
    },
    Infinite {
        negative: bool,
    },
}

/// Reason for an undefined or unsupported number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a number.
    #[error("a number is required")]
    Syntax,
    /// The result is undefined, such as 0/0 or infinity minus infinity.
    #[error("the result is not a number")]
    NotANumber,
    /// The number has more than about 330,000 digits.
    #[error("number out of range: magnitude above 10^330000")]
    OutOfRange,
}

impl Number {
    /// 0, with 64 bits.
    pub fn zero() -> Number {
        Number {
            form: Form::Zero { negative: false },
            precision: 64,
        }
    }

    /// Positive infinity.
    pub fn infinity() -> Number {
        Number {
            form: Form::Infinite { negative: false },
            precision: 64,
        }
    }

    /// Negative infinity.
    pub fn negative_infinity() -> Number {
        Number {
            form: Form::Infinite { negative: true },
            precision: 64,
        }
    }

    /// Converts a float, with 53 bits. Fails for NaN.
    pub fn from_f64(value: f64) -> Result<Number, NumberError> {
        if value.is_nan() {
            return Err(NumberError::NotANumber);
        }
        let negative = value.is_sign_negative();
        if value.is_infinite() {
            return Ok(Number {
                form: Form::Infinite { negative },
                precision: 53,
            });
        }
        let bits = value.to_bits();
        let (raw_exponent, fraction) = (((bits >> 52) & 0x7ff) as i64, bits & ((1 << 52) - 1));
        // Subnormal floats have no implicit leading bit.
        let (mantissa, exponent) = if raw_exponent == 0 {
            (fraction, -1074)
        } else {
            (fraction | (1 << 52), raw_exponent - 1075)
        };
        Ok(Number {
            form: finite(negative, UBig::from(mantissa), exponent)?,
            precision: 53,
        })
    }

    /// Converts an integer of any size, with 64 bits of precision or as many as it needs.
    pub fn from_big(negative: bool, magnitude: UBig) -> Result<Number, NumberError> {
        let precision = u32::try_from(magnitude.bit_len())
            .map_err(|_| NumberError::OutOfRange)?
            .max(64);
        Ok(Number {
            form: finite(negative, magnitude, 0)?,
            precision,
        })
    }

    /// Returns the precision in bits.
    pub fn precision(&self) -> u32 {
        self.precision
    }

    /// Rounds the number (half to even) to this precision.
    pub fn with_precision(&self, precision: u32) -> Number {
        match &self.form {
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } => {
                let form = rounded(*negative, mantissa.clone(), *exponent, precision, false);
                // Rounding up can exceed the largest exponent.
                Number {
                    form: form.unwrap_or(Form::Infinite {
                        negative: *negative,
                    }),
                    precision,
                }
            }
            other => Number {
                form: other.clone(),
                precision,
            },
        }
    }

    /// Returns true if the number is 0 of either sign.
    pub fn is_zero(&self) -> bool {
        matches!(self.form, Form::Zero { .. })
    }

    /// Returns true if the sign is minus, also for negative zero.
    pub fn is_negative(&self) -> bool {
        match &self.form {
            Form::Zero { negative }
            | Form::Finite { negative, .. }
            | Form::Infinite { negative } => *negative,
        }
    }

    /// Returns true if the number is infinite.
    pub fn is_infinite(&self) -> bool {
        matches!(self.form, Form::Infinite { .. })
    }

    /// Returns true if the number is whole.
    pub fn is_integer(&self) -> bool {
        match &self.form {
            Form::Zero { .. } => true,
            Form::Finite { exponent, .. } => *exponent >= 0,
            Form::Infinite { .. } => false,
        }
    }

    /// Returns -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match (&self.form, self.is_negative()) {
            (Form::Zero { .. }, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    /// Returns sign and magnitude of a whole number; `None` for other numbers.
    pub fn to_big(&self) -> Option<(bool, UBig)> {
        match &self.form {
            Form::Zero { .. } => Some((false, UBig::ZERO)),
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } if *exponent >= 0 => Some((*negative, mantissa << usize::try_from(*exponent).ok()?)),
            _ => None,
        }
    }

    /// Returns sign, mantissa and binary exponent: exactly `±mantissa · 2^exponent`. `None` for
    /// infinity.
    pub fn to_parts(&self) -> Option<(bool, UBig, i64)> {
        match &self.form {
            Form::Zero { negative } => Some((*negative, UBig::ZERO, 0)),
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } => Some((*negative, mantissa.clone(), *exponent)),
            Form::Infinite { .. } => None,
        }
    }

    /// Returns the number as `i64` if the conversion is exact.
    pub fn to_i64(&self) -> Option<i64> {
        self.to_i128().and_then(|v| i64::try_from(v).ok())
    }

    /// Returns the number as `u64` if the conversion is exact.
    pub fn to_u64(&self) -> Option<u64> {
        self.to_i128().and_then(|v| u64::try_from(v).ok())
    }

    /// Returns the number as an index if the conversion is exact.
    pub fn to_usize(&self) -> Option<usize> {
        self.to_i128().and_then(|v| usize::try_from(v).ok())
    }

    fn to_i128(&self) -> Option<i128> {
        match &self.form {
            Form::Zero { .. } => Some(0),
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } => {
                // The check comes before the shift, which could allocate a huge integer.
                if *exponent < 0 || *exponent + mantissa.bit_len() as i64 > 126 {
                    return None;
                }
                let magnitude = i128::try_from(&(mantissa << *exponent as usize)).ok()?;
                Some(if *negative { -magnitude } else { magnitude })
            }
            Form::Infinite { .. } => None,
        }
    }

    /// Returns the nearest float, and true if it equals this number exactly.
    pub fn to_f64(&self) -> (f64, bool) {
        let sign = |negative: bool, v: f64| if negative { -v } else { v };
        match &self.form {
            Form::Zero { negative } => (sign(*negative, 0.0), true),
            Form::Infinite { negative } => (sign(*negative, f64::INFINITY), true),
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } => {
                let magnitude = nearest_float(mantissa, *exponent);
                let exact = Number::from_f64(magnitude).is_ok_and(|back| match &back.form {
                    Form::Finite {
                        mantissa: m,
                        exponent: e,
                        ..
                    } => m == mantissa && e == exponent,
                    _ => false,
                });
                (sign(*negative, magnitude), exact)
            }
        }
    }

    /// Returns the number of significant bits of the mantissa.
    pub fn minimal_precision(&self) -> u32 {
        match &self.form {
            Form::Finite { mantissa, .. } => u32::try_from(mantissa.bit_len()).unwrap_or(u32::MAX),
            _ => 0,
        }
    }

    /// Returns the exact order of two numbers of any precision.
    pub fn compare(&self, other: &Number) -> Ordering {
        // Signs and infinities decide most comparisons without a look at the mantissa.
        let rank = |n: &Number| match (&n.form, n.signum()) {
            (Form::Infinite { .. }, s) => 2 * s,
            (_, s) => s,
        };
        match rank(self).cmp(&rank(other)) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
        let (
            Form::Finite {
                mantissa: a,
                exponent: ea,
                negative,
            },
            Form::Finite {
                mantissa: b,
                exponent: eb,
                ..
            },
        ) = (&self.form, &other.form)
        else {
            return Ordering::Equal;
        };
        // The position of the top bit decides unless it is equal; only then are the mantissas
        // aligned.
        let magnitude = (ea + a.bit_len() as i64)
            .cmp(&(eb + b.bit_len() as i64))
            .then_with(|| {
                let low = (*ea).min(*eb);
                (a << (ea - low) as usize).cmp(&(b << (eb - low) as usize))
            });
        if *negative {
            magnitude.reverse()
        } else {
            magnitude
        }
    }

    /// Compares as the language does: whole numbers exactly, fractions by their text, so that 0.1
    /// of 53 bits equals 0.1 of 512 bits.
    pub fn equals(&self, other: &Number) -> bool {
        if self.signum() != other.signum() {
            return false;
        }
        match (&self.form, &other.form) {
            (Form::Zero { .. }, Form::Zero { .. }) => true,
            (
                Form::Finite {
                    mantissa: a,
                    exponent: ea,
                    ..
                },
                Form::Finite {
                    mantissa: b,
                    exponent: eb,
                    ..
                },
            ) => {
                if a == b && ea == eb && (self.precision == other.precision || self.is_integer()) {
                    return true;
                }
                // Texts can be equal only for numbers of about the same magnitude; this avoids
                // printing others.
                let near = ((ea + a.bit_len() as i64) - (eb + b.bit_len() as i64)).abs() <= 1;
                near && !self.is_integer()
                    && !other.is_integer()
                    && self.to_text() == other.to_text()
            }
            (a, b) => a == b,
        }
    }
}

macro_rules! from_integer {
    ($($t:ty),*) => {$(
        impl From<$t> for Number {
            fn from(value: $t) -> Number {
                #[allow(unused_comparisons)]
                let (negative, magnitude) = (value < 0, UBig::from((value as i128).unsigned_abs()));
                Number::from_big(negative, magnitude).unwrap_or_else(|_| Number::zero())
            }
        }
    )*};
}

from_integer!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.equals(other)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
