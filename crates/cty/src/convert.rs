//! Conversion of values between types, and unification of several types into one. Safe conversions
//! never fail; unsafe ones can fail for some values, such as text that is not a number.

mod apply;
mod mismatch;
mod rules;
mod unify;

use crate::{Path, Type, Value};

pub use mismatch::mismatch_message;
pub use unify::{Conversion, Unified, unify, unify_unsafe};

/// Failure to convert a value. Neither path nor message shows parts marked as sensitive or
/// ephemeral, including the keys that lead to them.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertError {
    /// Path to the failing part inside the value.
    pub path: Path,
    /// Problem at that path, such as "a number is required".
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

/// Converts the value to `want`, which may have optional attributes and dynamic parts. Marks are
/// kept. Unknown values stay unknown and keep their refinements where they still apply. Attributes
/// that `want` does not have are dropped.
pub fn convert(value: &Value, want: &Type) -> Result<Value, ConvertError> {
    if !want.has_optional() && value.ty() == want {
        return Ok(value.clone());
    }
    // Optional attributes exist in constraints only: the type of a value never has them.
    if want.has_optional() && *value.ty() == want.without_optional() {
        return Ok(value.clone());
    }
    if !rules::convertible(value.ty(), want, true) {
        return Err(ConvertError {
            path: Path::root(),
            message: mismatch::message(value.ty(), want, !value.needs_redaction()),
        });
    }
    apply::apply(value, want, true, &mut apply::Position::default())
}

/// Returns true if values of `from` can be converted to `to`; the conversion can still fail for
/// some values.
pub fn can_convert(from: &Type, to: &Type) -> bool {
    from == to || rules::convertible(from, to, true)
}

/// Returns true if every value of `from` can be converted to `to`.
pub fn can_convert_safely(from: &Type, to: &Type) -> bool {
    from == to || rules::convertible(from, to, false)
}

impl Value {
    /// See [`convert`].
    pub fn convert(&self, want: &Type) -> Result<Value, ConvertError> {
        convert(self, want)
    }
}
