//! Errors of all fetches, worded for operators.

use crate::netrc::NetrcError;
use crate::signature::SignatureError;
use net::redacted;
use std::path::PathBuf;
use std::time::Duration;

/// Errors of a fetch.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No connection, or an answer that is not HTTP.
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    /// The answer exceeded its time limit.
    #[error("{host} did not answer within {} seconds", .limit.as_secs_f32())]
    Slow { host: String, limit: Duration },
    /// The connection broke during the answer.
    #[error("the download from {} was interrupted after {got} bytes: {why}; try again", redacted(.url))]
    Broken { url: String, got: u64, why: String },
    /// The server rejects the credentials.
    #[error("{host} denies access to {} (status {status}); {remedy}", redacted(.url))]
    Unauthorized {
        host: String,
        url: String,
        status: u16,
        remedy: String,
    },
    /// The server answers with an unexpected status.
    #[error("{} returned the HTTP status {status}", redacted(.url))]
    Status { url: String, status: u16 },
    /// The object does not exist.
    #[error("{} was not found", redacted(.0))]
    NotFound(String),
    /// The answer does not follow its protocol.
    #[error("unexpected answer from {}: {}", redacted(.url), redacted(.why))]
    Answer { url: String, why: String },
    /// The host has no registry of this kind.
    #[error("the host {host} has no registry of {what}; check the host name in the source address")]
    NoService { host: String, what: &'static str },
    /// The address is not valid.
    #[error("cannot fetch from \"{}\": {}", redacted(.url), redacted(.why))]
    Address { url: String, why: String },
    /// The method of fetching is not supported.
    #[error("cannot fetch packages by {way}: {remedy}")]
    Unsupported { way: String, remedy: String },
    /// The content does not match its checksum.
    #[error("{} failed verification: {why}", redacted(.what))]
    Checksum { what: String, why: String },
    /// The signature is invalid.
    #[error("the signature of {} is not valid: {source}", redacted(.what))]
    Signature {
        what: String,
        source: SignatureError,
    },
    /// The archive cannot be unpacked, or must not be.
    #[error("the archive {name} cannot be unpacked: {why}")]
    Archive { name: String, why: String },
    /// The package must not be used.
    #[error("cannot install the package {name}: {why}")]
    Package { name: String, why: String },
    /// git failed.
    #[error("git cannot fetch {}: {}", redacted(.url), redacted(.why))]
    Git { url: String, why: String },
    /// Error of a local file.
    #[error("{}: {source}", .path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A credentials helper failed.
    #[error("the credentials helper {name} failed: {why}")]
    Helper { name: String, why: String },
    /// The netrc file cannot be used.
    #[error(
        "cannot read credentials for {host} from the netrc file {source}; correct it, or set NETRC to another file"
    )]
    Logins { host: String, source: NetrcError },
    /// The fetch was cancelled.
    #[error("the fetch was cancelled")]
    Cancelled,
}

impl FetchError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

/// Message of the innermost cause.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    // Library messages about closed connections do not help operators.
    let words = cause.to_string();
    let ends = ["close_notify", "unexpected EOF", "connection closed"];
    match ends.iter().any(|end| words.contains(end)) {
        true => "the connection was closed".to_owned(),
        false => words,
    }
}
