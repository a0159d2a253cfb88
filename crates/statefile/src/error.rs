//! Errors of reading a state file.

/// Reason why a state file cannot be read; each message follows "the state file cannot be read: ".
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("it is not a JSON object: {0}")]
    Json(#[source] serde_json::Error),
    /// The field `version` is missing or not a number.
    #[error("it has no format version, so it is not a state file")]
    Unversioned,
    /// A version before 4; for version 3, only if the state has resources.
    #[error(
        "it has format version {0}, written by versions before 0.12; run \"terraform apply\" of version 0.12 or 0.13 to upgrade it to format version 4"
    )]
    Old(u64),
    /// A version after 4.
    #[error(
        "it has format version {version}, which is newer than the supported version 4{}",
        .writer.as_ref().map(|w| format!("; it was written by version {w}")).unwrap_or_default()
    )]
    New {
        version: u64,
        writer: Option<String>,
    },
    /// The file is encrypted.
    #[error(
        "it is encrypted, but the configuration has no encryption block for it; add the encryption block with which it was written"
    )]
    Encrypted,
    /// A field has the wrong type.
    #[error("{at}: {source}")]
    Field {
        /// Path of the field.
        at: String,
        #[source]
        source: serde_json::Error,
    },
    /// A required field is missing.
    #[error("{at} is missing")]
    Missing { at: String },
    /// A field has an invalid value.
    #[error("{at} is {found:?}; {expected}")]
    Value {
        at: String,
        found: String,
        expected: &'static str,
    },
    /// Two objects have the same address and key.
    #[error("it contains {0} twice")]
    Twice(String),
    /// The instances of one resource have keys of different kinds.
    #[error(
        "the instances of {0} have number keys and string keys, but all keys must be of one kind"
    )]
    Keys(String),
}
