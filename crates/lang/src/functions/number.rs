//! Number functions. Results of float arithmetic have 53 bits of precision, others keep that of
//! their arguments.

use cty::{Number, Type, Value};

use super::call::{CallError, Function, Param, int_argument, number, text};
use crate::diag::Message;

fn num(name: &str) -> Param {
    Param::new(name, Type::Number).dynamic()
}

pub(super) fn abs() -> Function {
    Function::new(vec![num("num").marked()], Type::Number, |a, _, _| {
        Ok(a[0].abs())
    })
    .not_null()
}

/// Integers have no negative zero.
fn rounded(number: Number) -> Value {
    if number.is_zero() {
        Number::zero().with_precision(number.precision()).into()
    } else {
        number.into()
    }
}

pub(super) fn ceil() -> Function {
    Function::new(
        vec![Param::new("num", Type::Number)],
        Type::Number,
        |a, _, _| Ok(rounded(number(a, 0)?.ceil())),
    )
    .not_null()
}

pub(super) fn floor() -> Function {
    Function::new(
        vec![Param::new("num", Type::Number)],
        Type::Number,
        |a, _, _| Ok(rounded(number(a, 0)?.floor())),
    )
    .not_null()
}

pub(super) fn signum() -> Function {
    Function::new(
        vec![Param::new("num", Type::Number)],
        Type::Number,
        |a, _, _| Ok(Value::int(int_argument(a, 0)?.signum())),
    )
    .not_null()
}

pub(super) fn max() -> Function {
    extreme(|new, best| new.compare(best).is_gt())
}

pub(super) fn min() -> Function {
    extreme(|new, best| new.compare(best).is_lt())
}

fn extreme(better: fn(&Number, &Number) -> bool) -> Function {
    Function::new(vec![], Type::Number, move |args, _, _| {
        let mut best =
            number(args, 0).map_err(|_| CallError::call("must pass at least one number"))?;
        for index in 1..args.len() {
            let next = number(args, index)?;
            if better(next, best) {
                best = next;
            }
        }
        Ok(best.clone().into())
    })
    .more(num("numbers"))
    .not_null()
}

/// Argument as `f64`; finite numbers out of range are errors.
fn float(args: &[Value], index: usize) -> Result<f64, CallError> {
    let n = number(args, index)?;
    let (value, _) = n.to_f64();
    // Infinity itself is valid, but a finite number must not turn into it.
    if value.is_infinite() && !n.is_infinite() {
        return Err(CallError::call(Message::plain(format!(
            "value must be between {:e} and {:e} inclusive",
            f64::MIN,
            f64::MAX
        ))));
    }
    Ok(value)
}

fn from_float(value: f64) -> Result<Value, CallError> {
    Number::from_f64(value)
        .map(Value::from)
        .map_err(|e| CallError::call(e.to_string()))
}

pub(super) fn log() -> Function {
    let params = vec![
        Param::new("num", Type::Number),
        Param::new("base", Type::Number),
    ];
    Function::new(params, Type::Number, |a, _, _| {
        // As in the reference, the quotient of two logarithms.
        from_float(float(a, 0)?.ln() / float(a, 1)?.ln())
    })
    .not_null()
}

pub(super) fn pow() -> Function {
    let params = vec![
        Param::new("num", Type::Number),
        Param::new("power", Type::Number),
    ];
    Function::new(params, Type::Number, |a, _, _| {
        from_float(power(float(a, 0)?, float(a, 1)?))
    })
    .not_null()
}

/// `x` to the power of `y`, by repeated squaring of the fraction. Gives the same last digits as
/// Go's `math.Pow`, where the platform's function may differ.
fn power(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if y == 0.5 {
        return x.sqrt();
    }
    if y == -0.5 {
        return 1.0 / x.sqrt();
    }
    let (whole, mut rest) = (y.abs().trunc(), y.abs().fract());
    // Zero, infinities, roots of negative numbers and overflow: platform results agree with the
    // reference.
    if y == 1.0
        || x == 0.0
        || !x.is_finite()
        || !y.is_finite()
        || (rest != 0.0 && x < 0.0)
        || whole >= 9.2e18
    {
        return x.powf(y);
    }
    let mut times = whole as u64;
    let mut fraction = 1.0;
    let mut exponent = 0i64;
    if rest != 0.0 {
        // As in Go's `math.Pow`, the fraction stays at most one half.
        if rest > 0.5 {
            rest -= 1.0;
            times += 1;
        }
        fraction = (rest * x.ln()).exp();
    }
    let (mut square, mut square_exponent) = split(x);
    while times != 0 {
        // Beyond the range of `f64`: the result is infinite or zero in any case.
        if square_exponent.abs() > 1 << 12 {
            exponent += square_exponent;
            break;
        }
        if times & 1 == 1 {
            fraction *= square;
            exponent += square_exponent;
        }
        square *= square;
        square_exponent *= 2;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        times >>= 1;
    }
    if y < 0.0 {
        fraction = 1.0 / fraction;
        exponent = -exponent;
    }
    scale(fraction, exponent)
}

/// Splits a finite nonzero number into a fraction in [0.5, 1) and an exponent.
fn split(x: f64) -> (f64, i64) {
    // Subnormal numbers are scaled to normal ones, which have an explicit exponent.
    let (x, shift) = if x.abs() < f64::MIN_POSITIVE {
        (x * 2f64.powi(52), -52)
    } else {
        (x, 0)
    };
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i64 - 1022;
    (
        f64::from_bits(bits & !(0x7FF << 52) | 1022 << 52),
        exponent + shift,
    )
}

/// Computes `fraction · 2^exponent` in steps, to avoid an early overflow.
fn scale(mut fraction: f64, exponent: i64) -> f64 {
    let mut left = exponent.clamp(-4096, 4096);
    while left != 0 && fraction.is_finite() && fraction != 0.0 {
        // `powi` itself would overflow for larger steps.
        let step = left.clamp(-1000, 1000);
        fraction *= 2f64.powi(step as i32);
        left -= step;
    }
    fraction
}

pub(super) fn parseint() -> Function {
    let params = vec![
        Param::new("number", Type::Dynamic),
        Param::new("base", Type::Number),
    ];
    Function::typed(
        params,
        |args, _| match args[0].ty() {
            Type::String => Ok(Type::Number),
            other => Err(CallError::arg(
                0,
                Message::plain(format!(
                    "first argument must be a string, not {}",
                    other.friendly_name()
                )),
            )),
        },
        |args, _, _| {
            let digits = text(args, 0)?;
            let base = int_argument(args, 1).map_err(|e| CallError::arg(1, e.to_string()))?;
            if !(2..=62).contains(&base) {
                return Err(CallError::arg(
                    1,
                    "base must be a whole number between 2 and 62 inclusive",
                ));
            }
            parse_whole(digits, base as u32).ok_or_else(|| {
                CallError::arg(
                    0,
                    Message::either(
                        format!("cannot parse {digits:?} as a base {base} integer"),
                        "cannot parse (sensitive value) as an integer of the given base",
                    ),
                )
            })
        },
    )
    .not_null()
}

fn parse_whole(text: &str, base: u32) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = dashu_int::UBig::ZERO;
    for c in digits.bytes() {
        let digit = match c {
            b'0'..=b'9' => u32::from(c - b'0'),
            b'a'..=b'z' => u32::from(c - b'a') + 10,
            // As in Go, letter case matters only for bases above 36.
            b'A'..=b'Z' if base <= 36 => u32::from(c - b'A') + 10,
            b'A'..=b'Z' => u32::from(c - b'A') + 36,
            _ => return None,
        };
        if digit >= base {
            return None;
        }
        value = value * base + digit;
    }
    Number::from_big(negative, value).ok().map(Value::from)
}

pub(super) fn sum() -> Function {
    const WRONG_TYPE: &str = "argument must be list, set, or tuple of number values";
    Function::new(
        vec![Param::new("list", Type::Dynamic)],
        Type::Number,
        |args, _, _| {
            let list = &args[0];
            let bad = |reason: &'static str| Err(CallError::arg(0, reason));
            if list.ty().is_primitive() {
                return bad("cannot sum noniterable");
            }
            if list.is_empty() {
                return bad("cannot sum an empty list");
            }
            if list.ty().is_map() || list.ty().is_object() {
                let reason = format!(
                    "argument must be list, set, or tuple. Received {}",
                    list.ty().friendly_name()
                );
                return Err(CallError::arg(0, Message::plain(reason)));
            }
            if !list.is_wholly_known() {
                return Ok(Value::unknown(Type::Number));
            }
            let mut total: Option<Value> = None;
            for item in list.children() {
                if item.is_null() {
                    return bad(WRONG_TYPE);
                }
                let Ok(item) = cty::convert(item, &Type::Number) else {
                    return bad(WRONG_TYPE);
                };
                total = Some(match total {
                    None => item,
                    Some(total) => total
                        .add(&item)
                        .map_err(|e| CallError::call(e.to_string()))?,
                });
            }
            Ok(total.unwrap_or_else(Value::zero))
        },
    )
    .not_null()
}

/// Maximum length of a `range` result.
const RANGE_LIMIT: usize = 1024;

pub(super) fn range() -> Function {
    Function::new(vec![], Type::list(Type::Number), |args, _, _| {
        let zero = Number::zero();
        let (start, end, step) = match args.len() {
            1 => (&zero, number(args, 0)?, None),
            2 => (number(args, 0)?, number(args, 1)?, None),
            3 => (number(args, 0)?, number(args, 1)?, Some(number(args, 2)?.clone())),
            _ => return Err(CallError::call("must have one, two, or three arguments")),
        };
        let step = step.unwrap_or_else(|| Number::from(if end.compare(start).is_lt() { -1i64 } else { 1 }));
        // A step of zero gives an empty list if start equals end, and otherwise fails at the length
        // limit.
        let down = step.is_negative();
        if down && end.compare(start).is_gt() {
            return Err(CallError::arg(1, "end must be less than start when step is negative"));
        }
        if !down && end.compare(start).is_lt() {
            return Err(CallError::arg(1, "end must be greater than start when step is positive"));
        }
        let mut values = Vec::new();
        let mut at = start.clone();
        while if down { at.compare(end).is_gt() } else { at.compare(end).is_lt() } {
            if values.len() >= RANGE_LIMIT {
                return Err(CallError::call(
                    "more than 1024 values were generated; either decrease the difference between start and end or use a smaller step",
                ));
            }
            values.push(Value::number(at.clone()));
            at = at.add(&step).map_err(|e| CallError::call(e.to_string()))?;
        }
        Ok(Value::list(Type::Number, values))
    })
    .more(Param::new("params", Type::Number))
    .not_null()
}
