//! Why what a plugin answers, or what is on record of it, is no value of its schema.

use cty::{CodecError, ConvertError};

/// Why something is no value of its schema.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    #[error("{at} is not {wanted}, as its schema requires")]
    Kind { at: String, wanted: &'static str },
    #[error("{at} is not of type {kind}: {source}")]
    Scalar {
        at: String,
        /// As the schema calls it.
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
