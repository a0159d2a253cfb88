//! Client assertion of a federated identity, which replaces a client secret.

use super::super::http_client::{Attempts, HttpClient, HttpRequest};
use super::super::values::Values;
use super::access::by_token;
use super::error::AzureError;
use reqwest::{Method, Url};
use serde_json::Value as Json;
use std::path::PathBuf;

/// Source of a client assertion.
pub(super) enum Assertion {
    Text(String),
    File(PathBuf),
    Requested { url: String, token: String },
}

impl Assertion {
    pub(super) fn of(values: &Values<'_>) -> Result<Self, AzureError> {
        // A token given directly wins over a file, and a file over a request.
        if let Some(text) = values.text("oidc_token", &["ARM_OIDC_TOKEN"]) {
            return Ok(Self::Text(text));
        }
        let file = values.text(
            "oidc_token_file_path",
            &["ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE"],
        );
        if let Some(file) = file {
            return Ok(Self::File(file.into()));
        }
        let url = values.text(
            "oidc_request_url",
            &["ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL"],
        );
        let token = values.text(
            "oidc_request_token",
            &["ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"],
        );
        match (url, token) {
            (Some(url), Some(token)) => Ok(Self::Requested { url, token }),
            _ => Err(AzureError::NoAssertion),
        }
    }

    pub(super) async fn text(
        &self,
        web: &HttpClient,
        attempts: Attempts,
    ) -> Result<String, AzureError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(file) => {
                let read = fsroot::read_named_async(file).await;
                let read = read.map(|text| text.trim().to_owned());
                read.map_err(|source| AzureError::Unreadable {
                    path: file.clone(),
                    source,
                })
            }
            Self::Requested { url, token } => {
                let mut url = Url::parse(url).map_err(AzureError::Url)?;
                url.query_pairs_mut()
                    .append_pair("audience", "api://AzureADTokenExchange");
                let mut ask = HttpRequest::new(Method::GET, url);
                by_token(&mut ask, token)?;
                let answer = web.send(ask, attempts).await?;
                let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
                let value = said["value"].as_str().map(str::to_owned);
                value.ok_or(AzureError::NoOidcToken(answer.status))
            }
        }
    }
}
