//! Error of a value that does not match its schema, in an answer or in the state.

use cty::{CodecError, ConvertError};

/// Mismatch of a value and its schema.
#[derive(Debug, thiserror::Error)]
pub(super) enum DecodeError {
    #[error("{at} must be {wanted} according to its schema")]
    Kind { at: String, wanted: &'static str },
    #[error("{at} is not of type {kind}: {source}")]
    Scalar {
        at: String,
        /// Type name in the schema.
        kind: String,
        source: ConvertError,
    },
    #[error(transparent)]
    Bytes(#[from] prost::DecodeError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Value(#[from] CodecError),
    #[error(transparent)]
    Convert(#[from] ConvertError),
}
