//! Errors of the s3 backend.

use super::super::error::{ArgumentError, BadUrl};
use super::super::http_client::WebError;
use super::service::Refusal;
use crate::error::UnlockError;
use model::causes;

/// Reasons why a bucket cannot be used: its configuration, a failed request, or a refusal.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum S3Error {
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Http(#[from] WebError),
    #[error(transparent)]
    Unlock(#[from] UnlockError),
    /// An address built by this module.
    #[error("{0}")]
    Url(#[source] BadUrl),
    #[error("{0:?} must not begin or end with a slash")]
    Slash(&'static str),
    #[error("the endpoint {0:?} is not a valid address")]
    Endpoint(String),
    #[error("{host:?} is not a valid host name: {source}")]
    Host { host: String, source: BadUrl },
    #[error("{file} cannot be read: {source}")]
    Unreadable {
        file: String,
        source: std::io::Error,
    },
    #[error("{0} has no \"role_arn\"")]
    NoRole(&'static str),
    #[error("the duration {0:?} is invalid; use a value such as 1h or 15m")]
    Duration(String),
    #[error("\"sse_customer_key\" must be 32 bytes in base64")]
    CustomerKey,
    /// The request cannot be built.
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error("{}", causes::told(.0))]
    Signing(#[from] reqsign_core::Error),
    #[error(
        "these credentials belong to the account {0}, which is excluded by allowed_account_ids or forbidden_account_ids in the backend block"
    )]
    Account(String),
    #[error("the DynamoDB table {name} cannot be used: {source}")]
    Table { name: String, source: Box<S3Error> },
    #[error("the S3 bucket {0} does not exist")]
    NoBucket(String),
    #[error("{0}. The bucket may not be in the region of the backend block")]
    OtherRegion(#[source] Refusal),
    #[error("access denied: {0}")]
    Forbidden(#[source] Refusal),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(
        "states are not locked, because the backend block has neither use_lockfile nor dynamodb_table"
    )]
    NoLocks,
    #[error(
        "state data in S3 does not have the expected content: its MD5 is {actual}, but the item {item} in the DynamoDB table has {expected}. If the state is correct, set the digest in that item to {actual}"
    )]
    Digest {
        actual: String,
        item: String,
        expected: String,
    },
    #[error("the state was written, but its digest was not written to the DynamoDB table: {0}")]
    DigestNotStored(#[source] Box<S3Error>),
}
