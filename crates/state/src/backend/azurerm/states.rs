//! Backend with the states of all workspaces in a container.

use super::super::error::ArgumentError;
use super::super::http_client::{Attempts, HttpClient, MAX_PAGES, WebError};
use super::super::values::Values;
use super::super::{Backend, StateError, StateManager};
use super::access::Access;
use super::blob::Blob;
use super::cloud::Cloud;
use super::container::{Container, Headers};
use super::error::AzureError;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use net::HttpOptions;
use reqwest::{Method, Url};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// Separates the key and the name of a workspace in a blob's name.
const WORKSPACE_SEPARATOR: &str = "env:";

/// States in a container.
pub(in super::super) struct Azure(Arc<Container>);

impl Azure {
    pub(in super::super) fn new(values: &Values<'_>) -> Result<Self, AzureError> {
        let account = values.required_text("storage_account_name", &[])?;
        let end = Cloud::of(values)?.storage_suffix();
        Self::at(values, &format!("https://{account}.blob.{end}/"))
    }

    /// Opens the backend at another address of the service.
    pub(in super::super) fn at(values: &Values<'_>, endpoint: &str) -> Result<Self, AzureError> {
        let account = values.required_text("storage_account_name", &[])?;
        let snapshot = values.flag("snapshot", &["ARM_SNAPSHOT"])?;
        Ok(Self(Arc::new(Container {
            http: HttpClient::new(HttpOptions::default()),
            attempts: Attempts {
                max_attempts: 5,
                first_pause: Duration::from_secs(1),
                longest_pause: Duration::from_secs(20),
            },
            access: Access::new(values, &account)?,
            endpoint: address(endpoint)?,
            account,
            name: values.required_text("container_name", &[])?,
            key: values.required_text("key", &[])?,
            snapshot: snapshot == Some(true),
            encryption: encryption(values)?,
        })))
    }
}

fn address(text: &str) -> Result<Url, AzureError> {
    Url::parse(text).map_err(|source| AzureError::Endpoint {
        text: text.to_owned(),
        source,
    })
}

fn encryption(values: &Values<'_>) -> Result<Headers, AzureError> {
    let scope = values.text("encryption_scope", &["ARM_ENCYRPTION_SCOPE"]);
    let key = values.text("customer_provided_key", &["ARM_CUSTOMER_PROVIDED_KEY"]);
    match (scope, key) {
        (Some(_), Some(_)) => {
            let both = ArgumentError::Exclusive("encryption_scope", "customer_provided_key");
            Err(both.into())
        }
        (Some(scope), None) => Ok(vec![("x-ms-encryption-scope", scope)]),
        (None, Some(key)) => {
            let bytes = STANDARD.decode(&key).map_err(AzureError::CustomerKey)?;
            let sum = STANDARD.encode(Sha256::digest(bytes));
            Ok(vec![
                ("x-ms-encryption-key", key),
                ("x-ms-encryption-key-sha256", sum),
                ("x-ms-encryption-algorithm", "AES256".to_owned()),
            ])
        }
        (None, None) => Ok(Vec::new()),
    }
}

#[async_trait]
impl Backend for Azure {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        let key = &self.0.key;
        let name = if named.is_empty() {
            key.clone()
        } else {
            format!("{key}{WORKSPACE_SEPARATOR}{named}")
        };
        Ok(Arc::new(Blob::new(&self.0, name)))
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        let container = &self.0;
        let before = format!("{}{WORKSPACE_SEPARATOR}", container.key);
        let mut names = Vec::new();
        let mut from = String::new();
        // Bounded, in case a server repeats its marker.
        for _ in 0..MAX_PAGES {
            let mut url = container.url(None, "restype=container&comp=list");
            url.query_pairs_mut().append_pair("prefix", &before);
            if !from.is_empty() {
                url.query_pairs_mut().append_pair("marker", &from);
            }
            let answer = container
                .request("list", "", (Method::GET, url), Vec::new(), Vec::new())
                .await?;
            if !answer.is_success() {
                return Err(container.refused("list", "", &answer));
            }
            let found = super::super::s3::elements(&answer.body, "Name");
            names.extend(found.iter().filter_map(|name| {
                let name = name.strip_prefix(&before)?;
                // A name with a slash is another blob below the prefix.
                (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
            }));
            from = super::super::s3::element(&answer.body, "NextMarker").unwrap_or_default();
            if from.is_empty() {
                names.sort();
                return Ok(names);
            }
        }
        Err(container.error("list", "", WebError::TooManyPages))
    }
}

#[cfg(test)]
impl Azure {
    /// Creates the container, for tests. Operators create theirs outside flightdeck.
    pub(in super::super) async fn make_container(&self) -> Result<(), StateError> {
        let container = &self.0;
        let url = container.url(None, "restype=container");
        let made = container.request("make", "", (Method::PUT, url), Vec::new(), Vec::new());
        made.await.map(drop)
    }
}
