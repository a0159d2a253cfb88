//! Errors of the pg backend.

use super::super::error::{ArgumentError, BadUrl};
use crate::error::UnlockError;
use net::TlsError;
use rustls::pki_types::pem;
use std::num::ParseIntError;

/// Reasons why a table cannot be used: its configuration, a failed request, or a refusal.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum PgError {
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Unlock(#[from] UnlockError),
    #[error("\"conn_str\" is neither a URL nor a list of name=value pairs")]
    ConnectionString,
    #[error("a quote in \"conn_str\" is not closed")]
    OpenQuote,
    /// The text is not shown, because it may have the password.
    #[error("\"conn_str\" is not a valid database URL")]
    Address(#[source] BadUrl),
    #[error("the port {text:?} (of \"conn_str\" or PGPORT) is not a number from 0 to 65535")]
    Port { text: String, source: ParseIntError },
    #[error("connect_timeout (of \"conn_str\" or PGCONNECT_TIMEOUT) is not a number")]
    Timeout(#[source] ParseIntError),
    #[error(
        "sslmode (of \"conn_str\" or PGSSLMODE) is {0:?}, but must be disable, require, verify-ca or verify-full"
    )]
    Mode(String),
    #[error("the certificate or key file {file} cannot be read: {source}")]
    Unreadable { file: String, source: pem::Error },
    #[error("no trusted CA certificates are available: {0}")]
    NoTrust(#[source] rustls::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{}", words(.0))]
    Database(#[from] tokio_postgres::Error),
    #[error("the database did not answer within {0} s")]
    NoAnswer(u64),
    #[error(
        "the connection to the database was lost, and the lock with it; another client may have the lock now"
    )]
    Lost,
    #[error("the lock has the id {id} (the process id of a database session), not {asked:?}")]
    OtherSession { id: String, asked: String },
    #[error("the database session {0}, which has the lock, could not be ended")]
    NotEnded(i32),
}

impl PgError {
    pub(super) fn unreadable(file: &str) -> impl FnOnce(pem::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::Unreadable { file, source }
    }
}

fn words(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => {
            let cause = std::error::Error::source(error);
            cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
        }
    }
}
