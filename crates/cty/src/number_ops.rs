//! Arithmetic on numbers, rounded (half to even) to the precision that OpenTofu gives the result.

use std::cmp::Ordering;

use dashu_base::{BitTest, DivRem};
use dashu_int::UBig;

use crate::number::{Form, MAX_PRECISION, Number, NumberError};
use crate::number_round::rounded;

impl Number {
    /// Returns the sum, at the larger precision of the two.
    pub fn add(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision.max(other.precision);
        let form = match (&self.form, &other.form) {
            (Form::Infinite { negative: a }, Form::Infinite { negative: b }) if a != b => {
                return Err(NumberError::NotANumber);
            }
            (Form::Infinite { .. }, _) => self.form.clone(),
            (_, Form::Infinite { .. }) => other.form.clone(),
            (Form::Zero { negative: a }, Form::Zero { negative: b }) => {
                Form::Zero { negative: *a && *b }
            }
            // Adding zero still rounds to the common precision.
            (Form::Zero { .. }, _) => return Ok(other.with_precision(precision)),
            (_, Form::Zero { .. }) => return Ok(self.with_precision(precision)),
            (
                Form::Finite {
                    negative: na,
                    mantissa: a,
                    exponent: ea,
                },
                Form::Finite {
                    negative: nb,
                    mantissa: b,
                    exponent: eb,
                },
            ) => add_finite((*na, a, *ea), (*nb, b, *eb), precision)?,
        };
        Ok(Number { form, precision })
    }

    /// Returns the difference, at the larger precision of the two.
    pub fn sub(&self, other: &Number) -> Result<Number, NumberError> {
        self.add(&other.neg())
    }

    /// Returns the number with the opposite sign.
    pub fn neg(&self) -> Number {
        let form = match &self.form {
            Form::Zero { negative } => Form::Zero {
                negative: !negative,
            },
            Form::Infinite { negative } => Form::Infinite {
                negative: !negative,
            },
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } => Form::Finite {
                negative: !negative,
                mantissa: mantissa.clone(),
                exponent: *exponent,
            },
        };
        Number {
            form,
            precision: self.precision,
        }
    }

    /// Returns the number without its sign.
    pub fn abs(&self) -> Number {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }

    /// Returns the product at the larger precision of the two, or at as many bits as it needs, up
    /// to 512.
    pub fn mul(&self, other: &Number) -> Result<Number, NumberError> {
        let negative = self.is_negative() != other.is_negative();
        let precision = self.precision.max(other.precision);
        let form = match (&self.form, &other.form) {
            (Form::Zero { .. }, Form::Infinite { .. })
            | (Form::Infinite { .. }, Form::Zero { .. }) => return Err(NumberError::NotANumber),
            (Form::Infinite { .. }, _) | (_, Form::Infinite { .. }) => Form::Infinite { negative },
            (Form::Zero { .. }, _) | (_, Form::Zero { .. }) => Form::Zero { negative },
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
            ) => rounded(negative, a * b, ea + eb, MAX_PRECISION, false)?,
        };
        let product = Number {
            form,
            precision: MAX_PRECISION,
        };
        // Multiplication must not lose digits of the operands, so the precision grows as needed.
        let precision = precision.max(product.minimal_precision());
        Ok(Number {
            precision,
            ..product
        })
    }

    /// Returns the quotient, at the larger precision of the two. A nonzero number divided by zero
    /// is infinite; zero divided by zero is an error.
    pub fn div(&self, other: &Number) -> Result<Number, NumberError> {
        self.div_at(other, self.precision.max(other.precision))
    }

    pub(crate) fn div_at(&self, other: &Number, precision: u32) -> Result<Number, NumberError> {
        let negative = self.is_negative() != other.is_negative();
        let form = match (&self.form, &other.form) {
            (Form::Zero { .. }, Form::Zero { .. })
            | (Form::Infinite { .. }, Form::Infinite { .. }) => {
                return Err(NumberError::NotANumber);
            }
            (Form::Zero { .. }, _) | (_, Form::Infinite { .. }) => Form::Zero { negative },
            (_, Form::Zero { .. }) | (Form::Infinite { .. }, _) => Form::Infinite { negative },
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
                // The quotient has at least two bits more than it keeps; the remainder only decides
                // the rounding.
                let shift = (precision as usize + 2 + b.bit_len()).saturating_sub(a.bit_len());
                let (quotient, rest) = (a << shift).div_rem(b);
                let sticky = rest != UBig::ZERO;
                rounded(
                    negative,
                    quotient,
                    ea - eb - shift as i64,
                    precision,
                    sticky,
                )?
            }
        };
        Ok(Number { form, precision })
    }

    /// Returns the remainder of a division that truncates towards zero; it has the sign of the
    /// dividend. A number modulo zero is the number itself.
    pub fn modulo(&self, other: &Number) -> Result<Number, NumberError> {
        // go-cty multiplies here; the product has the right infinity, or is not a number.
        if self.is_infinite() || other.is_infinite() {
            return self.mul(other);
        }
        if other.is_zero() {
            return Ok(self.clone());
        }
        let whole = self.div(other)?.truncated().with_precision(self.precision);
        let product = match (&whole.form, &other.form) {
            (
                Form::Finite {
                    mantissa: a,
                    exponent: ea,
                    negative: na,
                },
                Form::Finite {
                    mantissa: b,
                    exponent: eb,
                    negative: nb,
                },
            ) => Number {
                form: rounded(na != nb, a * b, ea + eb, self.precision, false)?,
                precision: self.precision,
            },
            // A truncated quotient of zero is positive, regardless of the signs of the operands.
            _ => Number {
                form: Form::Zero {
                    negative: other.is_negative(),
                },
                precision: self.precision,
            },
        };
        Ok(self.sub(&product)?.with_precision(self.precision))
    }

    /// Returns the number without its fraction.
    pub fn truncated(&self) -> Number {
        match &self.form {
            Form::Finite {
                negative,
                mantissa,
                exponent,
            } if *exponent < 0 => {
                let kept = usize::try_from(-exponent)
                    .map(|drop| mantissa >> drop)
                    .unwrap_or(UBig::ZERO);
                let form = crate::number_round::finite(*negative, kept, 0).unwrap_or(Form::Zero {
                    negative: *negative,
                });
                Number {
                    form,
                    precision: self.precision,
                }
            }
            _ => self.clone(),
        }
    }

    /// Returns the largest whole number that is not above this one.
    pub fn floor(&self) -> Number {
        let whole = self.truncated();
        if self.is_negative() && !self.is_integer() && !self.is_infinite() {
            return whole.step(true);
        }
        whole
    }

    /// Returns the smallest whole number that is not below this one.
    pub fn ceil(&self) -> Number {
        let whole = self.truncated();
        if !self.is_negative() && !self.is_integer() && !self.is_infinite() {
            return whole.step(false);
        }
        whole
    }

    fn step(&self, down: bool) -> Number {
        let one = Number::from(if down { -1 } else { 1 });
        // A truncated number is finite, so the sum is defined.
        self.add(&one).unwrap_or_else(|_| self.clone())
    }

    /// Returns the larger number.
    pub fn max(&self, other: &Number) -> Number {
        if self.compare(other) == Ordering::Less {
            other.clone()
        } else {
            self.clone()
        }
    }

    /// Returns the smaller number.
    pub fn min(&self, other: &Number) -> Number {
        if self.compare(other) == Ordering::Greater {
            other.clone()
        } else {
            self.clone()
        }
    }
}

type Operand<'a> = (bool, &'a UBig, i64);

fn add_finite(a: Operand<'_>, b: Operand<'_>, precision: u32) -> Result<Form, NumberError> {
    let top = |x: &Operand<'_>| x.2 + x.1.bit_len() as i64;
    let (big, small) = if top(&a) >= top(&b) { (a, b) } else { (b, a) };
    // A number far below the last kept bit of the other only decides the rounding, so a single unit
    // replaces it. Aligning both would allocate as many bits as their exponents differ.
    let reach = i64::from(precision) + 3;
    let low = (top(&big) - reach).min(big.2) - 2;
    if top(&small) < low {
        let lifted = (big.1 << (big.2 - low) as usize) << 1;
        let nudged = if big.0 == small.0 {
            lifted + UBig::ONE
        } else {
            lifted - UBig::ONE
        };
        return rounded(big.0, nudged, low - 1, precision, false);
    }
    let base = big.2.min(small.2);
    let x = big.1 << (big.2 - base) as usize;
    let y = small.1 << (small.2 - base) as usize;
    if big.0 == small.0 {
        return rounded(big.0, x + y, base, precision, false);
    }
    match x.cmp(&y) {
        Ordering::Equal => Ok(Form::Zero { negative: false }),
        Ordering::Greater => rounded(big.0, x - y, base, precision, false),
        Ordering::Less => rounded(small.0, y - x, base, precision, false),
    }
}
