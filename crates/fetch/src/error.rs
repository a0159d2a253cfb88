//! What can go wrong while something is fetched, in an operator's words.

use crate::netrc::NetrcError;
use crate::redact::redacted;
use crate::signature::SignatureError;
use std::path::PathBuf;
use std::time::Duration;

/// Why something could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nobody answered, or in a way that is not HTTP.
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    /// The answer did not come in time.
    #[error("{host} did not answer within {} seconds", .limit.as_secs_f32())]
    Slow { host: String, limit: Duration },
    /// The answer stopped coming.
    #[error("{} broke off after {got} bytes: {why}", redacted(.url))]
    Broken { url: String, got: u64, why: String },
    /// The server refuses.
    #[error("{host} wants other credentials for {} (status {status}); {remedy}", redacted(.url))]
    Unauthorized {
        host: String,
        url: String,
        status: u16,
        remedy: String,
    },
    /// The server answers otherwise than is wanted.
    #[error("{} was answered with status {status}", redacted(.url))]
    Status { url: String, status: u16 },
    /// There is no such thing there.
    #[error("{} has nothing of that name", redacted(.0))]
    NotFound(String),
    /// An answer that is not what its protocol says.
    #[error("{} was answered with something else than is expected: {}", redacted(.url), redacted(.why))]
    Answer { url: String, why: String },
    /// A host that is no registry of the kind.
    #[error("the host {host} offers no registry of {what}")]
    NoService { host: String, what: &'static str },
    /// An address that is none.
    #[error("\"{}\" is no address that can be fetched: {}", redacted(.url), redacted(.why))]
    Address { url: String, why: String },
    /// A way of fetching that is not there.
    #[error("packages cannot be fetched by {way}: {remedy}")]
    Unsupported { way: String, remedy: String },
    /// What came is not what was promised.
    #[error("{} is not what it should be: {why}", redacted(.what))]
    Checksum { what: String, why: String },
    /// The signature says something else.
    #[error("the signature of {} does not hold: {source}", redacted(.what))]
    Signature {
        what: String,
        source: SignatureError,
    },
    /// An archive that cannot be, or must not be, unpacked.
    #[error("the archive {name} cannot be unpacked: {why}")]
    Archive { name: String, why: String },
    /// A package that must not be used.
    #[error("the package {name} is not installed: {why}")]
    Package { name: String, why: String },
    /// git says no.
    #[error("git could not fetch {}: {}", redacted(.url), redacted(.why))]
    Git { url: String, why: String },
    /// A file here.
    #[error("{}: {source}", .path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A helper program that has credentials.
    #[error("the credentials helper {name} failed: {why}")]
    Helper { name: String, why: String },
    /// The file that says who one is at which host.
    #[error(
        "who one is at {host} cannot be told by the netrc file {source}; mend it, or name another one in NETRC"
    )]
    Logins { host: String, source: NetrcError },
    /// It was given up from here.
    #[error("it was given up")]
    Cancelled,
}

impl FetchError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

/// The causes of an error, the last one first worth telling.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    // What libraries say of a connection that ends is written for programmers.
    let words = cause.to_string();
    let ends = ["close_notify", "unexpected EOF", "connection closed"];
    match ends.iter().any(|end| words.contains(end)) {
        true => "the connection was closed".to_owned(),
        false => words,
    }
}
