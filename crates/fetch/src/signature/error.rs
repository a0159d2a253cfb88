//! Errors of signature verification.

/// Reasons why a signature is invalid, worded to follow a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("it is by none of the keys that are given")]
    Unknown,
    #[error("the key {0} is revoked")]
    Revoked(String),
    #[error("the key {0} is expired")]
    Expired(String),
    #[error("its armor is not text")]
    ArmorNotText,
    #[error("its armor is damaged: {0}")]
    Armor(#[from] base64::DecodeError),
    /// The data is shorter than its length field.
    #[error("{0} is cut off")]
    CutOff(&'static str),
    #[error("it is no OpenPGP data")]
    NotOpenPgp,
    #[error("a packet of it has no length")]
    NoLength,
    #[error("it comes in parts, which is not supported")]
    InParts,
    #[error("it is a signature of version {0}; version 4 is supported")]
    SignatureVersion(u8),
    #[error("a key is of version {0}; version 4 is supported")]
    KeyVersion(u8),
    /// Algorithm of the key, by OpenPGP number.
    #[error("the key {key} is of the kind {kind}; RSA and Ed25519 are supported")]
    Kind { key: String, kind: u8 },
    /// Hash algorithm, by OpenPGP number.
    #[error("it is over a digest of the kind {0}; those of SHA-2 are accepted")]
    Digest(u8),
    #[error("the curve of the key {0} is not Ed25519")]
    Curve(String),
    #[error("the key {0} is no point of Ed25519")]
    Point(String),
    #[error("a key block has no key")]
    NoKey,
}
