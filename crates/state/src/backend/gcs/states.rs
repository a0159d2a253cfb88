//! Backend with the states of all workspaces in a bucket.

use super::super::error::ArgumentError;
use super::super::http_client::{Attempts, HttpClient, MAX_PAGES, WebError};
use super::super::values::Values;
use super::super::{Backend, StateError, StateManager};
use super::bucket::Bucket;
use super::credentials::Credentials;
use super::error::GcsError;
use super::object::Object;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::DEFAULT_WORKSPACE;
use net::HttpOptions;
use reqwest::{Method, Url};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// States in a bucket.
pub(in super::super) struct Gcs(Arc<Bucket>);

impl Gcs {
    pub(in super::super) fn new(values: &Values<'_>) -> Result<Self, GcsError> {
        let prefix = values.text("prefix", &[]).unwrap_or_default();
        let prefix = prefix.trim_start_matches('/');
        // Objects are named `PREFIX/WORKSPACE.tfstate`.
        let prefix = match prefix {
            "" => String::new(),
            prefix if prefix.ends_with('/') => prefix.to_owned(),
            prefix => format!("{prefix}/"),
        };
        let managed_key = values.text("kms_encryption_key", &["GOOGLE_KMS_ENCRYPTION_KEY"]);
        let key = values.text("encryption_key", &["GOOGLE_ENCRYPTION_KEY"]);
        if key.is_some() && managed_key.is_some() {
            let both = ArgumentError::Exclusive("encryption_key", "kms_encryption_key");
            return Err(both.into());
        }
        Ok(Self(Arc::new(Bucket {
            http: HttpClient::new(HttpOptions::default()),
            attempts: Attempts {
                max_attempts: 5,
                first_pause: Duration::from_secs(1),
                longest_pause: Duration::from_secs(20),
            },
            credentials: Credentials::new(values)?,
            endpoint: endpoint(values)?,
            name: values.required_text("bucket", &[])?,
            prefix,
            key: key
                .map(|key| customer_key(&key))
                .transpose()?
                .unwrap_or_default(),
            managed_key,
        })))
    }
}

fn endpoint(values: &Values<'_>) -> Result<Url, ArgumentError> {
    let custom = values.text(
        "storage_custom_endpoint",
        &[
            "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT",
            "GOOGLE_STORAGE_CUSTOM_ENDPOINT",
        ],
    );
    let universe = values.text("universe_domain", &["GOOGLE_BACKEND_UNIVERSE_DOMAIN"]);
    let universe = universe.unwrap_or_else(|| "googleapis.com".to_owned());
    let text = match (custom, values.variable(&["STORAGE_EMULATOR_HOST"])) {
        (Some(custom), _) => custom,
        (None, Some(host)) if host.contains("://") => format!("{host}/storage/v1/"),
        (None, Some(host)) => format!("http://{host}/storage/v1/"),
        (None, None) => format!("https://storage.{universe}/storage/v1/"),
    };
    let text = format!("{}/", text.trim_end_matches('/'));
    Url::parse(&text).map_err(|source| ArgumentError::Endpoint { text, source })
}

/// Reads a customer-supplied key, from text or a file: 32 bytes in base64.
fn customer_key(said: &str) -> Result<Vec<(&'static str, String)>, GcsError> {
    // A text that names no readable file is the key itself.
    let text = fsroot::read_named(said).unwrap_or_else(|_| said.to_owned());
    let key = STANDARD.decode(text.trim()).ok().filter(|k| k.len() == 32);
    let key = key.ok_or(GcsError::Key)?;
    Ok(vec![
        ("x-goog-encryption-algorithm", "AES256".to_owned()),
        ("x-goog-encryption-key", STANDARD.encode(&key)),
        (
            "x-goog-encryption-key-sha256",
            STANDARD.encode(Sha256::digest(&key)),
        ),
    ])
}

#[async_trait]
impl Backend for Gcs {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        let workspace = if named.is_empty() {
            DEFAULT_WORKSPACE
        } else {
            named
        };
        Ok(Arc::new(Object::new(&self.0, workspace)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        let bucket = &self.0;
        let mut names = Vec::new();
        let mut from: Option<String> = None;
        // Bounded, in case a server repeats its token.
        for _ in 0..MAX_PAGES {
            let mut url = bucket.url(false, None);
            {
                let mut query = url.query_pairs_mut();
                query.append_pair("prefix", &bucket.prefix);
                query.append_pair("delimiter", "/");
                if let Some(from) = &from {
                    query.append_pair("pageToken", from);
                }
            }
            let answer = bucket
                .request("list", "", Method::GET, url, Vec::new())
                .await?;
            if !answer.is_success() {
                return Err(bucket.refused("list", "", &answer));
            }
            let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
            let items = said["items"].as_array().into_iter().flatten();
            names.extend(items.filter_map(|item| {
                let name = item["name"].as_str()?.strip_prefix(&bucket.prefix)?;
                let name = name.strip_suffix(".tfstate")?;
                (name != DEFAULT_WORKSPACE && !name.contains('/')).then(|| name.to_owned())
            }));
            from = said["nextPageToken"].as_str().map(str::to_owned);
            if from.as_deref().unwrap_or_default().is_empty() {
                names.sort();
                return Ok(names);
            }
        }
        Err(bucket.error("list", "", WebError::TooManyPages))
    }
}
