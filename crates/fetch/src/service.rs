//! Service discovery of hosts; each document is read once.

use crate::credentials::Credentials;
use crate::error::FetchError;
use crate::http::{Http, url};
use reqwest::{StatusCode, Url};
use std::collections::BTreeMap;
use tokio::sync::Mutex;

/// Maximum size of a service document, in bytes.
const MAX: usize = 1 << 20;

type Document = BTreeMap<String, serde_json::Value>;

/// Services of hosts.
#[derive(Debug)]
pub struct Services {
    pub(crate) http: Http,
    pub(crate) credentials: Credentials,
    /// Configured services that replace a host's document.
    configured: BTreeMap<String, BTreeMap<String, String>>,
    cache: Mutex<BTreeMap<String, (Url, Document)>>,
}

impl Services {
    /// Sets the credentials and the hosts with forced services, whose documents are not requested.
    #[must_use]
    pub fn new(
        http: Http,
        credentials: Credentials,
        forced: BTreeMap<String, BTreeMap<String, String>>,
    ) -> Self {
        Self {
            http,
            credentials,
            configured: forced,
            cache: Mutex::default(),
        }
    }

    /// Client for the requests.
    #[must_use]
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Base address of a host's service (`modules.v1`), with a trailing slash.
    pub(crate) async fn find(
        &self,
        host: &str,
        service: &str,
        what: &'static str,
    ) -> Result<Url, FetchError> {
        let base = url(&format!("https://{host}/.well-known/terraform.json"))?;
        let none = || FetchError::NoService {
            host: host.to_owned(),
            what,
        };
        let (base, path) = match self.configured.get(host) {
            Some(services) => (base, services.get(service).cloned()),
            None => {
                // Held during the request, so that each document is fetched only once.
                let mut known = self.cache.lock().await;
                if !known.contains_key(host) {
                    let document = self.document(&base, host).await?;
                    known.insert(host.to_owned(), document);
                }
                let (base, document) = known.get(host).ok_or_else(none)?;
                let path = document.get(service).and_then(|v| v.as_str());
                (base.clone(), path.map(str::to_owned))
            }
        };
        let mut path = path.ok_or_else(none)?;
        if !path.ends_with('/') {
            path.push('/');
        }
        let wrong = |why: String| FetchError::Answer {
            url: base.to_string(),
            why: format!("\"{path}\" is not a valid service address: {why}"),
        };
        let found = base.join(&path).map_err(|e| wrong(e.to_string()))?;
        match found.scheme() {
            "https" | "http" => Ok(found),
            other => Err(wrong(format!(
                "its scheme is {other}, but must be http or https"
            ))),
        }
    }

    async fn document(&self, at: &Url, host: &str) -> Result<(Url, Document), FetchError> {
        let token = self.credentials.token(host).await?;
        let answer = self.http.get(at, token.as_deref()).await?;
        // A host without a document has no services, which is a valid answer.
        if answer.status == StatusCode::NOT_FOUND {
            return Ok((answer.url, Document::new()));
        }
        if let Some(error) = crate::http::refusal(at, answer.status) {
            return Err(error);
        }
        let wrong = |why: &str| FetchError::Answer {
            url: at.to_string(),
            why: why.to_owned(),
        };
        if !answer.is_json() {
            return Err(wrong("its content type is not application/json"));
        }
        if answer.body.len() > MAX {
            return Err(wrong("it is longer than 1 MiB"));
        }
        let document = answer.json()?;
        // Relative services resolve against the address after redirects.
        Ok((answer.url, document))
    }
}
