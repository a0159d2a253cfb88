//! Rounding to a precision, and to the nearest float.

use dashu_base::BitTest;
use dashu_int::UBig;

use super::number::{Form, MAX_EXPONENT, MAX_PRECISION, NumberError};

/// Normalizes to an odd mantissa and checks the range. Numbers below the range become zero.
pub(crate) fn finite(negative: bool, mantissa: UBig, exponent: i64) -> Result<Form, NumberError> {
    let Some(zeros) = mantissa.trailing_zeros() else {
        return Ok(Form::Zero { negative });
    };
    let top = exponent.saturating_add(mantissa.bit_len() as i64);
    if top > MAX_EXPONENT {
        return Err(NumberError::OutOfRange);
    }
    if exponent < -MAX_EXPONENT - i64::from(MAX_PRECISION) {
        return Ok(Form::Zero { negative });
    }
    Ok(Form::Finite {
        negative,
        mantissa: mantissa >> zeros,
        exponent: exponent + zeros as i64,
    })
}

/// Rounds half to even. `sticky` means that a nonzero rest below the last bit of `mantissa` exists;
/// the mantissa then has at least two bits more than `precision`.
pub(crate) fn rounded(
    negative: bool,
    mantissa: UBig,
    exponent: i64,
    precision: u32,
    sticky: bool,
) -> Result<Form, NumberError> {
    let bits = mantissa.bit_len();
    let precision = precision as usize;
    if bits <= precision {
        return finite(negative, mantissa, exponent);
    }
    let drop = bits - precision;
    let half = mantissa.bit(drop - 1);
    // Any set bit below the half bit means "more than half".
    let below = sticky || mantissa.trailing_zeros().is_some_and(|z| z < drop - 1);
    let kept = &mantissa >> drop;
    let up = half && (below || kept.bit(0));
    finite(
        negative,
        if up { kept + UBig::ONE } else { kept },
        exponent + drop as i64,
    )
}

pub(super) fn nearest_float(mantissa: &UBig, exponent: i64) -> f64 {
    let top = exponent + mantissa.bit_len() as i64;
    if top > 1024 {
        return f64::INFINITY;
    }
    if top < -1074 {
        return 0.0;
    }
    // Subnormal floats have fewer bits, the fewer the smaller they are.
    let precision = if top >= -1021 {
        53
    } else {
        (53 - (-1021 - top)).max(0) as u32
    };
    if precision == 0 {
        // Between zero and the smallest float: numbers above the middle round up.
        return if mantissa.bit_len() > 1 {
            f64::from_bits(1)
        } else {
            0.0
        };
    }
    let Ok(Form::Finite {
        mantissa, exponent, ..
    }) = rounded(false, mantissa.clone(), exponent, precision, false)
    else {
        return 0.0;
    };
    let Ok(small) = u64::try_from(&mantissa) else {
        return 0.0;
    };
    // Two exact steps: the mantissa has at most 53 bits, and scaling by a power of two only rounds
    // when it overflows.
    let scale = |e: i64| {
        f64::from_bits(if e >= -1022 {
            ((e + 1023) as u64) << 52
        } else {
            1 << (e + 1074)
        })
    };
    let value = small as f64;
    // `scale` covers one float exponent range; larger exponents need two factors.
    if exponent > 1023 {
        value * scale(1023) * scale((exponent - 1023).min(1023))
    } else if exponent < -1074 {
        0.0
    } else {
        value * scale(exponent)
    }
}
