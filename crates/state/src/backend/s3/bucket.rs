//! Bucket: requests for its objects, and the conversion of error responses.

use super::super::http_client::HttpResponse;
use super::config::Config;
use super::error::S3Error;
use super::service::{element, elements, refusal};
use super::table::Table;
use crate::StateError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, Url};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

pub(super) struct Bucket {
    pub(super) config: Config,
    pub(super) checked: OnceCell<()>,
}

/// Percent-encodes by the rules of signed addresses.
fn encoded(text: &str, keep: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || keep.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

impl Bucket {
    pub(super) fn location(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.config.bucket)
    }

    pub(super) fn error(
        &self,
        what: &'static str,
        key: &str,
        why: impl Into<S3Error>,
    ) -> StateError {
        StateError::remote(what, self.location(key), why.into())
    }

    /// Address of an object, or of the bucket itself.
    pub(super) fn url(&self, key: &str) -> Result<Url, S3Error> {
        let config = &self.config;
        let mut url = config.s3.endpoint.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let key = encoded(key, b"/");
        if config.path_style {
            url.set_path(&format!("{base}/{}/{key}", config.bucket));
        } else {
            let host = format!("{}.{}", config.bucket, url.host_str().unwrap_or_default());
            let set = url.set_host(Some(&host));
            set.map_err(|source| S3Error::Host { host, source })?;
            url.set_path(&format!("{base}/{key}"));
        }
        Ok(url)
    }

    /// Checks once, before the first request, that this account is allowed.
    pub(super) async fn check(&self) -> Result<(), S3Error> {
        let accounts = &self.config.accounts;
        if accounts.allowed.is_empty() && accounts.forbidden.is_empty() {
            return Ok(());
        }
        // Cached on success only, so a failed check is repeated.
        let checked = self.checked.get_or_try_init(|| async {
            let body = b"Action=GetCallerIdentity&Version=2011-06-15".to_vec();
            let form = "application/x-www-form-urlencoded; charset=utf-8".to_owned();
            let sts = &self.config.sts;
            let answer = sts
                .send(
                    Method::POST,
                    sts.endpoint.clone(),
                    &[("content-type", form)],
                    body,
                )
                .await?;
            let account = element(&answer.body, "Account");
            let account = account.ok_or_else(|| refusal(&answer))?;
            let allowed = accounts.allowed.is_empty() || accounts.allowed.contains(&account);
            if !allowed || accounts.forbidden.contains(&account) {
                return Err(S3Error::Account(account));
            }
            Ok(())
        });
        checked.await.copied()
    }

    pub(super) async fn request(
        &self,
        what: &'static str,
        method: Method,
        key: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<HttpResponse, StateError> {
        let asked = async {
            self.check().await?;
            let url = self.url(key)?;
            self.config.s3.send(method, url, headers, body).await
        };
        let answer = asked.await;
        answer.map_err(|why| self.error(what, key, why))
    }

    /// Translates a refusal into an error.
    pub(super) fn refused(
        &self,
        what: &'static str,
        key: &str,
        answer: &HttpResponse,
    ) -> StateError {
        let refusal = refusal(answer);
        let why = match (refusal.code.as_str(), answer.status) {
            ("NoSuchBucket", _) => S3Error::NoBucket(self.config.bucket.clone()),
            ("PermanentRedirect" | "AuthorizationHeaderMalformed", _) => {
                S3Error::OtherRegion(refusal)
            }
            (_, 403) => S3Error::Forbidden(refusal),
            _ => S3Error::Refused(refusal),
        };
        self.error(what, key, why)
    }

    /// Reads an object; `None` if it does not exist.
    pub(super) async fn get(
        &self,
        what: &'static str,
        key: &str,
    ) -> Result<Option<Vec<u8>>, StateError> {
        let mut headers = self.config.encryption_key.clone();
        headers.push(("x-amz-checksum-mode", "ENABLED".to_owned()));
        let answer = self
            .request(what, Method::GET, key, &headers, Vec::new())
            .await?;
        // A missing bucket also answers 404, and must not pass for a missing state.
        let missing = || refusal(&answer).code != "NoSuchBucket";
        match answer.status {
            200 => Ok(Some(answer.body)),
            404 if missing() => Ok(None),
            _ => Err(self.refused(what, key, &answer)),
        }
    }

    pub(super) async fn upload(
        &self,
        what: &'static str,
        key: &str,
        body: Vec<u8>,
        more: &[(&'static str, Option<String>)],
    ) -> Result<HttpResponse, StateError> {
        let config = &self.config;
        let mut headers = vec![("content-type", "application/json".to_owned())];
        headers.extend(config.encryption_key.iter().cloned());
        headers.extend(config.write_headers.iter().cloned());
        let said = |(name, value): &(&'static str, Option<String>)| Some((*name, value.clone()?));
        headers.extend(more.iter().filter_map(said));
        // Optional, because some S3-compatible services reject these headers.
        if config.with_checksum {
            let sum = STANDARD.encode(Sha256::digest(&body));
            headers.push(("x-amz-checksum-sha256", sum));
            headers.push(("x-amz-sdk-checksum-algorithm", "SHA256".to_owned()));
        }
        self.request(what, Method::PUT, key, &headers, body).await
    }

    pub(super) async fn remove(&self, what: &'static str, key: &str) -> Result<(), StateError> {
        let answer = self
            .request(what, Method::DELETE, key, &[], Vec::new())
            .await?;
        if answer.is_success() || answer.status == 404 {
            return Ok(());
        }
        Err(self.refused(what, key, &answer))
    }

    pub(super) fn table(&self) -> Option<Table<'_>> {
        let name = self.config.table.as_deref()?;
        Some(Table {
            name,
            service: &self.config.dynamodb,
        })
    }
}

impl Bucket {
    pub(super) fn key(&self, named: &str) -> String {
        let config = &self.config;
        match (named, config.prefix.as_str()) {
            ("", _) => config.key.clone(),
            (named, "") => format!("{named}/{}", config.key),
            (named, prefix) => format!("{prefix}/{named}/{}", config.key),
        }
    }

    /// Returns the workspaces on a page of keys, and the token of the next page.
    pub(super) async fn page(
        &self,
        from: Option<String>,
    ) -> Result<(Vec<String>, Option<String>), StateError> {
        let config = &self.config;
        let before = if config.prefix.is_empty() {
            String::new()
        } else {
            format!("{}/", config.prefix)
        };
        let mut query = String::new();
        if let Some(from) = from {
            query.push_str(&format!("continuation-token={}&", encoded(&from, b"")));
        }
        query.push_str("list-type=2&max-keys=1000&prefix=");
        query.push_str(&encoded(&before, b""));
        let asked = async {
            self.check().await?;
            let mut url = self.url("")?;
            url.set_query(Some(&query));
            config.s3.send(Method::GET, url, &[], Vec::new()).await
        };
        let answer = asked.await.map_err(|why| self.error("list", "", why))?;
        if !answer.is_success() {
            return Err(self.refused("list", "", &answer));
        }
        let keys = elements(&answer.body, "Key");
        let end = format!("/{}", config.key);
        // Other objects below the prefix are not states of this key.
        let names = keys.iter().filter_map(|key| {
            let name = key.strip_prefix(&before)?.strip_suffix(&end)?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        });
        let more = element(&answer.body, "IsTruncated").as_deref() == Some("true");
        // The token counts only for a truncated list.
        let next = element(&answer.body, "NextContinuationToken").filter(|_| more);
        Ok((names.collect(), next))
    }
}
