//! Errors of connections to remote machines, and of operations there.

use super::keys::KeyError;
use model::FailureClass;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum SshError {
    #[error("the configured private key for the SSH host {0} is invalid: {1}")]
    PrivateKey(String, #[source] KeyError),
    #[error("the configured client certificate for the SSH host {0} is invalid: {1}")]
    Certificate(String, #[source] KeyError),
    #[error("the configured host key of the SSH host {0} is invalid: {1}")]
    HostKeyUnreadable(String, #[source] KeyError),
    #[error("cannot use the ssh agent at {0}: {1}")]
    Agent(String, String),
    #[error("cannot connect to {0}: {1}")]
    Unreachable(String, std::io::Error),
    #[error("the proxy {0} refused the connection to {1}: {2}")]
    Proxy(String, String, String),
    #[error("the bastion {0} refused the connection to {1}: {2}")]
    Bastion(String, String, String),
    #[error("{0} is not an ssh server: {1}")]
    NotSsh(String, String),
    #[error(
        "the host key of {0} is {1}, which differs from the configured host key; if the key of the server was changed on purpose, update the configuration"
    )]
    HostKey(String, String),
    #[error("{0} rejected the login as {1}; {2}")]
    Denied(String, String, String),
    #[error("no connection was established within {time}; last attempt: {last}", time = shown(*.0), last = last(.1.as_deref()))]
    Timeout(Duration, Option<Box<SshError>>),
    #[error("the deploy ended before the connection was established; last attempt: {last}", last = last(.0.as_deref()))]
    Interrupted(Option<Box<SshError>>),
    #[error("the connection to {0} was lost: {1}")]
    Lost(String, String),
    #[error("lost the connection to {0}, and the outcome of the operation there is unknown: {1}")]
    Broken(String, String),
    #[error(
        "closed the connection to {0} because the deploy ended; the outcome of the operation there is unknown"
    )]
    Left(String),
    #[error("{0} refused {1}")]
    Refused(String, String),
    #[error("{path}: {1}", path = .0.display())]
    Local(PathBuf, std::io::Error),
    #[error("{path} was truncated while it was copied", path = .0.display())]
    Shrunk(PathBuf),
    #[error("scp is not installed on {0}, but copying files requires it; install scp there")]
    NoScp(String),
    #[error("scp on {0} failed: {1}")]
    Scp(String, String),
}

impl SshError {
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Unreachable(..)
            | Self::Proxy(..)
            | Self::Bastion(..)
            | Self::NotSsh(..)
            | Self::Lost(..)
            | Self::Broken(..) => FailureClass::Transient,
            Self::Denied(..) => FailureClass::Denied,
            Self::Timeout(_, Some(last)) => last.class(),
            Self::Timeout(_, None) => FailureClass::Transient,
            Self::Interrupted(_) | Self::Left(_) => FailureClass::Cancelled,
            Self::PrivateKey(..)
            | Self::Certificate(..)
            | Self::HostKeyUnreadable(..)
            | Self::HostKey(..)
            | Self::Agent(..) => FailureClass::BadInput,
            Self::Refused(..)
            | Self::Local(..)
            | Self::Shrunk(_)
            | Self::NoScp(_)
            | Self::Scp(..) => FailureClass::BadInput,
        }
    }

    /// Returns true if a retry cannot help.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::PrivateKey(..)
                | Self::Certificate(..)
                | Self::HostKeyUnreadable(..)
                | Self::Agent(..)
        )
    }

    /// Returns true if the started operation may still run or may have ended.
    pub fn may_still_run(&self) -> bool {
        matches!(self, Self::Broken(..) | Self::Left(_))
    }
}

fn last(error: Option<&SshError>) -> String {
    error.map_or_else(|| "no answer".to_owned(), ToString::to_string)
}

/// Formats a duration in the notation of the configuration.
pub(super) fn shown(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{duration:?}"),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s if s < 60 => format!("{s}s"),
        s => format!("{}m{}s", s / 60, s % 60),
    }
}
