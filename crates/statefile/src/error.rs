//! Errors of reading a state file.

/// Reason why a state file cannot be read; each message follows "the state file cannot be read: ".
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("it is no JSON object: {0}")]
    Json(#[source] serde_json::Error),
    /// The field `version` is missing or not a number.
    #[error("it does not say which version of the format it has, so it is no state file")]
    Unversioned,
    /// A version before 4; for version 3, only if the state has resources.
    #[error(
        "it has version {0} of the format, which programs before 0.12 wrote; a run of \"terraform apply\" of 0.12 or 0.13 brings it to version 4, which is what is read here"
    )]
    Old(u64),
    /// A version after 4.
    #[error(
        "it has version {version} of the format, which is newer than the 4 that is known here{}",
        .writer.as_ref().map(|w| format!("; version {w} wrote it")).unwrap_or_default()
    )]
    New {
        version: u64,
        writer: Option<String>,
    },
    /// The file is encrypted.
    #[error("it is encrypted, and the configuration does not say how (encryption block)")]
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
    #[error("{0} is in it twice")]
    Twice(String),
    /// The instances of one resource have keys of different kinds.
    #[error("the instances of {0} have numbers and names as keys, and a resource has either")]
    Keys(String),
}
