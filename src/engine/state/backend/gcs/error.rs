//! Errors of the gcs backend.

use super::super::error::{ArgumentError, BadUrl};
use super::super::token::TokenError;
use super::super::web::WebError;
use crate::engine::state::error::UnlockError;
use aws_lc_rs::error::{KeyRejected, Unspecified};
use reqwest::header::InvalidHeaderValue;
use rustls::pki_types::pem;
use std::path::PathBuf;

/// Reasons why a bucket cannot be used: its configuration, a failed request, or a refusal.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum GcsError {
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Web(#[from] WebError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Unlock(#[from] UnlockError),
    /// An address built by this module.
    #[error("{0}")]
    Url(#[source] BadUrl),
    #[error("\"encryption_key\" must be 32 bytes in base64, or a file with them")]
    Key,
    #[error("the credentials in {} cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the credentials are no JSON object")]
    NoObject(#[source] serde_json::Error),
    #[error(
        "the credentials are of the type {0:?}, and service_account and authorized_user are known; GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth print-access-token) works with every type"
    )]
    Type(String),
    #[error("nobody is known")]
    Nobody,
    #[error(
        "no credentials of Google are found: neither in the backend block, in GOOGLE_CREDENTIALS, of gcloud, nor of the machine"
    )]
    NoCredentials,
    #[error("the private_key of the credentials is none")]
    NoPrivateKey(#[source] pem::Error),
    #[error("the private_key of the credentials is no RSA key")]
    NoRsaKey(#[source] KeyRejected),
    #[error("the private_key of the credentials does not sign")]
    DoesNotSign(#[source] Unspecified),
    #[error("the token fits no header")]
    TokenFitsNoHeader(#[source] InvalidHeaderValue),
    #[error("{name} cannot be acted as: {why} (code {status})")]
    ActingAs {
        name: String,
        why: String,
        status: u16,
    },
    #[error("the credentials are not accepted: {0} (code 401)")]
    NotAccepted(String),
    #[error("it is forbidden: {0} (code 403)")]
    Forbidden(String),
    #[error("the bucket {0} does not exist (code 404)")]
    NoBucket(String),
    #[error("it answers with code {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("{0:?} is no id of a lock there: that is a number")]
    NoLockId(String),
    #[error("others take the lock and give it back all the time")]
    Contended,
}
