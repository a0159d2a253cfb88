//! Errors of the gcs backend.

use super::super::error::{ArgumentError, BadUrl};
use super::super::http_client::WebError;
use super::super::token::TokenError;
use crate::error::UnlockError;
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
    Http(#[from] WebError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Unlock(#[from] UnlockError),
    /// An address built by this module.
    #[error("{0}")]
    Url(#[source] BadUrl),
    #[error("\"encryption_key\" must be 32 bytes in base64, or the path of a file with them")]
    Key,
    #[error("the credentials in {} cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the credentials are not valid JSON")]
    NoObject(#[source] serde_json::Error),
    #[error(
        "credentials of the type {0:?} are not supported, only service_account and authorized_user; GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth print-access-token) works with every type"
    )]
    Type(String),
    #[error("no credentials")]
    Nobody,
    #[error(
        "no Google credentials found in the backend block, in GOOGLE_CREDENTIALS, in gcloud's files or from the machine's metadata service; run `gcloud auth application-default login`, or set GOOGLE_CREDENTIALS"
    )]
    NoCredentials,
    #[error("the private_key of the credentials cannot be parsed")]
    NoPrivateKey(#[source] pem::Error),
    #[error("the private_key of the credentials is not an RSA key")]
    NoRsaKey(#[source] KeyRejected),
    #[error("signing the token request with the private_key of the credentials failed")]
    DoesNotSign(#[source] Unspecified),
    #[error(
        "the access token contains a character that HTTP headers do not allow, such as a line break"
    )]
    TokenFitsNoHeader(#[source] InvalidHeaderValue),
    #[error("cannot impersonate {name}: {why} (code {status})")]
    ActingAs {
        name: String,
        why: String,
        status: u16,
    },
    #[error("the server does not accept the credentials: {0} (code 401)")]
    NotAccepted(String),
    #[error("access denied: {0} (code 403)")]
    Forbidden(String),
    #[error("the bucket {0} does not exist (code 404); create the bucket, or correct \"bucket\"")]
    NoBucket(String),
    #[error("the server answered with the HTTP status code {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("the lock id {0:?} is invalid: lock ids of the gcs backend are numbers")]
    NoLockId(String),
    #[error("other programs acquired and released the lock during every attempt; try again later")]
    Contended,
}
