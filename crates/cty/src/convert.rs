//! Conversion of values between types, and the one type for values of several types, as the
//! language does both. Safe conversions never fail; unsafe ones may, depending on the value (text
//! that is no number).

mod apply;
mod mismatch;
mod rules;
mod unify;

use crate::{Path, Type, Value};

pub use mismatch::mismatch_message;
pub use unify::{Conversion, Unified, unify, unify_unsafe};

/// Why a value cannot be converted. It tells nothing of what is sensitive or ephemeral, keys on the
/// way to it included: the marks of the value decide.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertError {
    /// Where inside the value.
    pub path: Path,
    /// What is wrong there: "a number is required".
    pub message: String,
}

impl std::fmt::Display for ConvertError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for ConvertError {}

/// The value converted to `want`, which may have optional attributes and dynamic parts. Marks are
/// kept; unknown values stay unknown, with what is known about them; attributes that `want` does
/// not have are dropped.
pub fn convert(value: &Value, want: &Type) -> Result<Value, ConvertError> {
    if !want.has_optional() && value.ty() == want {
        return Ok(value.clone());
    }
    if want.has_optional() && *value.ty() == want.without_optional() {
        return Ok(value.clone());
    }
    if !rules::convertible(value.ty(), want, true) {
        return Err(ConvertError {
            path: Path::root(),
            message: mismatch::words(value.ty(), want, !value.hides()),
        });
    }
    apply::apply(value, want, true, &mut apply::At::default())
}

/// Whether values of one type can be converted to another; the conversion may still fail for some
/// values.
pub fn can_convert(from: &Type, to: &Type) -> bool {
    from == to || rules::convertible(from, to, true)
}

/// Whether every value of one type can be converted to another.
pub fn can_convert_safely(from: &Type, to: &Type) -> bool {
    from == to || rules::convertible(from, to, false)
}

impl Value {
    /// See [`convert`].
    pub fn convert(&self, want: &Type) -> Result<Value, ConvertError> {
        convert(self, want)
    }
}
