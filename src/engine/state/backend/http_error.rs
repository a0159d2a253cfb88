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
    #[error("{name:?} is not a valid address: {source}")]
    Address { name: String, source: BadUrl },
    #[error("{0:?} must begin with http:// or https://")]
    Scheme(String),
    #[error("{name:?} is not an HTTP method")]
    Method {
        name: String,
        source: http::method::InvalidMethod,
    },
    #[error("client_certificate_pem requires client_private_key_pem")]
    NoKey,
    #[error("client_private_key_pem requires client_certificate_pem")]
    NoCertificate,
    #[error(
        "the username or password contains a character that HTTP headers do not allow, such as a line break"
    )]
    Login(#[source] InvalidHeaderValue),
    #[error("{0:?} in \"headers\" is not a valid header name")]
    HeaderName(String),
    #[error("the value of the header {0:?} must be ASCII")]
    HeaderValue(String),
    #[error("the header {0:?} cannot be set in the configuration")]
    ReservedHeader(String),
    #[error("the header \"Authorization\" and a username cannot be used together")]
    TwoLogins,
    #[error("the header {0:?} cannot be sent")]
    Unsendable(String),
    #[error(
        "the server requires credentials (code 401); set username and password, or TF_HTTP_USERNAME and TF_HTTP_PASSWORD"
    )]
    WhoAsks,
    #[error("the server denies access to these credentials (code 403)")]
    Forbidden,
    #[error("the server does not have this address (code 404)")]
    NoSuchAddress,
    #[error("the server answered with the unexpected code {0}")]
    Code(u16),
    #[error("the configuration has no unlock_address")]
    NoUnlockAddress,
}
