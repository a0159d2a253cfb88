//! Errors of the azurerm backend.

use super::super::error::{ArgumentError, BadUrl};
use super::super::http_client::WebError;
use super::super::token::TokenError;
use crate::error::UnlockError;
use std::path::PathBuf;

/// Reasons why a container cannot be used: its configuration, a failed request, or a refusal.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum AzureError {
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
    #[error("the endpoint {text:?} is not a valid address: {source}")]
    Endpoint { text: String, source: BadUrl },
    #[error("\"customer_provided_key\" is not valid base64")]
    CustomerKey(#[source] base64::DecodeError),
    #[error("the access key of the storage account is not valid base64")]
    AccessKey(#[source] base64::DecodeError),
    #[error(
        "no authentication method: set access_key (ARM_ACCESS_KEY), sas_token (ARM_SAS_TOKEN), use_azuread_auth (ARM_USE_AZUREAD), or resource_group_name and subscription_id to request the key of the account"
    )]
    NoAccess,
    #[error("\"metadata_host\" is not supported yet; set \"environment\"")]
    MetadataHost,
    #[error("\"environment\" is {0:?}, but must be public, usgovernment or china")]
    Environment(String),
    #[error(
        "client certificates are not supported yet; use a client secret, OIDC, a managed identity or `az login`"
    )]
    ClientCertificate,
    #[error(
        "no credentials: set client_id with client_secret and tenant_id, use_oidc, use_msi, or use_cli"
    )]
    Nobody,
    #[error(
        "use_oidc requires oidc_token, oidc_token_file_path, or oidc_request_url with oidc_request_token"
    )]
    NoAssertion,
    #[error("the token in {} cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the server of oidc_request_url issued no OIDC token (code {0})")]
    NoOidcToken(u16),
    #[error("the metadata service of this machine does not answer: it may not be an Azure machine")]
    SilentMachine(#[source] tokio::time::error::Elapsed),
    #[error(
        "no Azure credentials, and `az` cannot be run: {0}; set ARM_ACCESS_KEY, or sign in with `az login`"
    )]
    Program(#[source] std::io::Error),
    #[error("`az` did not return a token: {0}; sign in with `az login`")]
    ProgramRefuses(String),
    #[error("the key of the storage account cannot be requested: {why} (code {status})")]
    KeyNotGiven { why: String, status: u16 },
    #[error("the container {0} does not exist; create the container, or correct container_name")]
    NoContainer(String),
    #[error("access denied: {0}")]
    Forbidden(Refusal),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Refusal by the service.
#[derive(Debug, thiserror::Error)]
#[error("{}", format!("{code} {message} (code {status})").trim_start())]
pub(in super::super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
}
