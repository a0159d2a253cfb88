//! Errors of the http backend.

use super::error::{ArgumentError, BadUrl};
use super::http_client::WebError;
use reqwest::header::InvalidHeaderValue;

/// Reasons why an address cannot be used: its configuration, a failed request, or a refusal.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Client(#[from] WebError),
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
    #[error(
        "the header {0:?} cannot be set in the configuration, because flightdeck sets it for each request"
    )]
    ReservedHeader(String),
    #[error("\"headers\" sets \"Authorization\", which cannot be used together with a username")]
    TwoLogins,
    #[error(
        "the name or value of the header {0:?} contains a character that HTTP headers do not allow"
    )]
    Unsendable(String),
    #[error(
        "the server requires credentials (code 401); set username and password, or TF_HTTP_USERNAME and TF_HTTP_PASSWORD"
    )]
    WhoAsks,
    #[error("the server denies access with these credentials (code 403)")]
    Forbidden,
    #[error(
        "the server does not serve this address (code 404); check the addresses in the backend block"
    )]
    NoSuchAddress,
    #[error("the server answered with the unexpected HTTP status code {0}")]
    Code(u16),
    #[error("the backend block has no unlock_address")]
    NoUnlockAddress,
}
