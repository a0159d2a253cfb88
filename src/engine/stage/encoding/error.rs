//! Errors of encoding and decoding a stage.

use crate::stage::sealing::SealError;
use cty::{CodecError, ConvertError, PathJsonError, TypeJsonError};
use lang::addr::AddrError;
use std::sync::Arc;
use trust::plan_key::PlanKeyError;

/// Failure to encode or decode a stage.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StageCodecError {
    #[error("failed to encode or decode the {what} of the stage: {source}")]
    Text {
        what: &'static str,
        source: Arc<serde_json::Error>,
    },
    /// A value of the resource, output or variable `of` cannot be encoded.
    #[error("failed to encode {of}: {source}")]
    Value { of: String, source: CodecError },
    #[error("failed to encode the stage: {0}")]
    Seal(#[from] SealError),
    #[error(
        "stage #{stage} cannot be decoded: {source}; run `flightdeck stage` to create a new stage"
    )]
    Decode { stage: i64, source: DecodeError },
    #[error("the file is not a plan file: it was not written by `flightdeck plan --out`")]
    NoStageFile,
    #[error("the plan file is damaged; plan again")]
    DamagedFile,
    #[error(transparent)]
    PlanKey(#[from] PlanKeyError),
    /// A part of a plan file does not belong to its operations.
    #[error(
        "the plan file contradicts itself: its {0} does not belong to its operations, so the file \
         was changed after it was written; plan again"
    )]
    Contradiction(&'static str),
    #[error(
        "the plan file has the configuration of an earlier deploy, and no key that is known here \
         signed it; give both jobs the same FLIGHTDECK_PLAN_KEY, or plan again here"
    )]
    UnsignedConfiguration,
    #[error(
        "the plan file is stage #{0} of this workspace with other operations, so it was changed \
         after it was written; plan again"
    )]
    Differs(i64),
    #[error(
        "the file was written by {} version of flightdeck (the layout of the file is {found}; this version reads {known}); \
         plan again with this version, or use the version that wrote the file",
        age(*found, *known)
    )]
    FileLayout { found: u32, known: u32 },
}

impl StageCodecError {
    pub(in crate::stage) fn text(what: &'static str, source: serde_json::Error) -> Self {
        Self::Text {
            what,
            source: Arc::new(source),
        }
    }
}

/// Returns the age of a flightdeck with another layout, relative to this one.
fn age(found: u32, known: u32) -> &'static str {
    match found < known {
        true => "an older",
        false => "a newer",
    }
}

/// Invalid part of a stage record.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DecodeError {
    #[error(transparent)]
    Json(Arc<serde_json::Error>),
    #[error(
        "{} version of flightdeck made the stage (the layout of the stage is {found}; this version reads {known})",
        age(*found, *known)
    )]
    Layout { found: u32, known: u32 },
    #[error(transparent)]
    Type(#[from] TypeJsonError),
    #[error("unknown type number {0}")]
    NoType(usize),
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
    #[error(transparent)]
    Value(#[from] CodecError),
    #[error(transparent)]
    Path(#[from] PathJsonError),
    #[error("the address {text:?} is invalid: {source}")]
    Address { text: String, source: AddrError },
    #[error("{0:?} is not a provider configuration")]
    Provider(String),
    #[error("{address} no longer conforms to the schema of its provider: {source}")]
    Misfit {
        address: String,
        source: ConvertError,
    },
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The external inputs have no such function.
    #[error("{0}")]
    ExternalInput(String),
}

impl From<serde_json::Error> for DecodeError {
    fn from(source: serde_json::Error) -> Self {
        Self::Json(Arc::new(source))
    }
}
