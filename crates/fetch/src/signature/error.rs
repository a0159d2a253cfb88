//! Errors of signature verification.

/// Reasons why a signature is invalid, worded to follow a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("it was made with none of the keys that the registry lists")]
    Unknown,
    #[error("the key {0} was revoked")]
    Revoked(String),
    #[error("the key {0} has expired")]
    Expired(String),
    #[error("its armor is not valid UTF-8")]
    ArmorNotText,
    #[error("its armor is damaged: {0}")]
    Armor(#[from] base64::DecodeError),
    /// The data is shorter than its length field.
    #[error("{0} is truncated")]
    CutOff(&'static str),
    #[error("it is not OpenPGP data")]
    NotOpenPgp,
    #[error("one of its packets has no length")]
    NoLength,
    #[error("one of its packets has a partial body length, which is not supported")]
    InParts,
    #[error("its OpenPGP version is {0}, but only version 4 is supported")]
    SignatureVersion(u8),
    #[error(
        "one of the registry's keys has the OpenPGP version {0}, but only version 4 is supported"
    )]
    KeyVersion(u8),
    /// Algorithm of the key, by OpenPGP number.
    #[error("the key {key} has the algorithm {kind}; only RSA and Ed25519 are supported")]
    Kind { key: String, kind: u8 },
    /// Hash algorithm, by OpenPGP number.
    #[error("it uses the hash algorithm {0}; only SHA-2 is accepted")]
    Digest(u8),
    #[error("the curve of the key {0} is not Ed25519")]
    Curve(String),
    #[error("the key {0} is damaged: it is not a point on the curve Ed25519")]
    Point(String),
    #[error("one of the registry's key blocks has no key")]
    NoKey,
}
