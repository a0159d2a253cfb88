//! Authorization of storage requests: account key, SAS token or access token.

use super::super::http_client::{Attempts, HttpClient, HttpRequest, WebError};
use super::super::values::Values;
use super::cloud::Cloud;
use super::error::AzureError;
use super::tokens::Tokens;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName};
use reqwest::{Method, Url};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use tokio::sync::Mutex;

const STORAGE: &str = "https://storage.azure.com/";

/// Authorization of storage requests.
pub(super) enum Access {
    Key(String),
    /// SAS token, added to each query.
    Signature(String),
    Token(Tokens),
    /// Account key, fetched from the management API with a token.
    KeyOf {
        tokens: Tokens,
        address: String,
        key: Mutex<Option<String>>,
    },
}

impl Access {
    pub(super) fn new(values: &Values<'_>, account: &str) -> Result<Self, AzureError> {
        if let Some(key) = values.text("access_key", &["ARM_ACCESS_KEY"]) {
            return Ok(Self::Key(key));
        }
        if let Some(signature) = values.text("sas_token", &["ARM_SAS_TOKEN"]) {
            return Ok(Self::Signature(
                signature.trim_start_matches('?').to_owned(),
            ));
        }
        if values.flag("use_azuread_auth", &["ARM_USE_AZUREAD"])? == Some(true) {
            return Ok(Self::Token(Tokens::new(values, STORAGE)?));
        }
        // Last resort: the management API lists the keys of the account.
        let group = values.text("resource_group_name", &[]);
        let subscription = values.text("subscription_id", &["ARM_SUBSCRIPTION_ID"]);
        let (Some(group), Some(subscription)) = (group, subscription) else {
            return Err(AzureError::NoAccess);
        };
        let management = Cloud::of(values)?.management();
        let address = format!(
            "{management}/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Storage/storageAccounts/{account}/listKeys?api-version=2023-01-01"
        );
        let tokens = Tokens::new(values, &format!("{management}/"))?;
        Ok(Self::KeyOf {
            tokens,
            address,
            key: Mutex::default(),
        })
    }

    /// Authorizes a request.
    pub(super) async fn sign(
        &self,
        ask: &mut HttpRequest,
        account: &str,
        web: &HttpClient,
        attempts: Attempts,
    ) -> Result<(), AzureError> {
        match self {
            Self::Key(key) => by_key(ask, account, key),
            Self::Signature(signature) => {
                // A SAS token is part of the address, not a header.
                let query = match ask.url.query() {
                    Some(query) => format!("{query}&{signature}"),
                    None => signature.clone(),
                };
                ask.url.set_query(Some(&query));
                Ok(())
            }
            Self::Token(tokens) => Ok(by_token(ask, &tokens.token(web, attempts).await?)?),
            Self::KeyOf {
                tokens,
                address,
                key,
            } => {
                // The lock is held across the request, so concurrent requests fetch the key once.
                let mut known = key.lock().await;
                let key = match &*known {
                    Some(key) => key.clone(),
                    None => key_of(tokens, address, web, attempts).await?,
                };
                *known = Some(key.clone());
                by_key(ask, account, &key)
            }
        }
    }
}

/// Adds a bearer token to a request.
pub(super) fn by_token(ask: &mut HttpRequest, token: &str) -> Result<(), WebError> {
    ask.header(AUTHORIZATION, &format!("Bearer {token}"))
}

/// Signs a request with the account's key.
fn by_key(ask: &mut HttpRequest, account: &str, key: &str) -> Result<(), AzureError> {
    let key = STANDARD.decode(key).map_err(AzureError::AccessKey)?;
    let text = to_sign(ask, account);
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signature = STANDARD.encode(hmac::sign(&key, text.as_bytes()));
    let value = format!("SharedKey {account}:{signature}");
    Ok(ask.header(AUTHORIZATION, &value)?)
}

fn to_sign(ask: &HttpRequest, account: &str) -> String {
    let get = |name: &str| {
        let value = ask.headers.get(name);
        value.and_then(|v| v.to_str().ok()).unwrap_or_default()
    };
    // The order of the lines, empty ones included, is fixed by the Shared Key scheme of Azure
    // Storage.
    let length = match ask.body.len() {
        0 => String::new(),
        length => length.to_string(),
    };
    let mut text = format!("{}\n\n\n{length}\n\n", ask.method);
    text.push_str(get("content-type"));
    text.push_str("\n\n\n");
    text.push_str(get("if-match"));
    text.push('\n');
    text.push_str(get("if-none-match"));
    text.push_str("\n\n\n");
    // The scheme wants headers and query parameters sorted by name.
    let ours: BTreeMap<&str, &str> = ask
        .headers
        .keys()
        .map(HeaderName::as_str)
        .filter(|name| name.starts_with("x-ms-"))
        .map(|name| (name, get(name)))
        .collect();
    for (name, value) in ours {
        text.push_str(&format!("{name}:{value}\n"));
    }
    // The canonical resource starts with the account; query names are lower case.
    text.push_str(&format!("/{account}{}", ask.url.path()));
    let query: BTreeMap<String, String> = ask.url.query_pairs().into_owned().collect();
    for (name, value) in query {
        text.push_str(&format!("\n{}:{value}", name.to_lowercase()));
    }
    text
}

/// Fetches the account key from the management API.
async fn key_of(
    tokens: &Tokens,
    address: &str,
    web: &HttpClient,
    attempts: Attempts,
) -> Result<String, AzureError> {
    let url = Url::parse(address).map_err(AzureError::Url)?;
    let mut ask = HttpRequest::new(Method::POST, url);
    by_token(&mut ask, &tokens.token(web, attempts).await?)?;
    // Azure refuses a POST without a length.
    ask.header(HeaderName::from_static("content-length"), "0")?;
    let answer = web.send(ask, attempts).await?;
    let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
    let key = said["keys"][0]["value"].as_str();
    key.map(str::to_owned)
        .ok_or_else(|| AzureError::KeyNotGiven {
            why: said["error"]["message"]
                .as_str()
                .unwrap_or("no reason given")
                .to_owned(),
            status: answer.status,
        })
}
