//! Errors of the http backend.

use super::error::{ArgumentError, BadUrl};
use super::web::WebError;
use reqwest::header::InvalidHeaderValue;

/// Reasons why an address cannot be used: its configuration, a failed request, or a refusal.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Web(#[from] WebError),
    #[error("{name:?} is no address: {source}")]
    Address { name: String, source: BadUrl },
    #[error("{0:?} must begin with http:// or https://")]
    Scheme(String),
    #[error("{name:?} is no method")]
    Method {
        name: String,
        source: http::method::InvalidMethod,
    },
    #[error("client_certificate_pem needs client_private_key_pem")]
    NoKey,
    #[error("client_private_key_pem needs client_certificate_pem")]
    NoCertificate,
    #[error("the user's name and password fit no header")]
    Login(#[source] InvalidHeaderValue),
    #[error("{0:?} in \"headers\" is no name of a header")]
    HeaderName(String),
    #[error("the header {0:?} must have a value in ASCII")]
    HeaderValue(String),
    #[error("the header {0:?} is not for a configuration to set")]
    ReservedHeader(String),
    #[error("there is a header \"Authorization\" and a user's name")]
    TwoLogins,
    #[error("the header {0:?} cannot be sent")]
    Unsendable(String),
    #[error(
        "the server wants to know who asks (code 401); set username and password, or TF_HTTP_USERNAME and TF_HTTP_PASSWORD"
    )]
    WhoAsks,
    #[error("the server forbids it (code 403): these credentials are not allowed to")]
    Forbidden,
    #[error("the server knows no such address (code 404)")]
    NoSuchAddress,
    #[error("the server answers with code {0}, which is not expected")]
    Code(u16),
    #[error("the configuration has no unlock_address")]
    NoUnlockAddress,
}
