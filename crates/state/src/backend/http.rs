//! The http backend: a state behind an address that answers GET and POST and locks with WebDAV
//! methods, as GitLab offers it.

use super::http_client::{Attempts, HttpClient, HttpRequest, HttpResponse, MAX_STATE};
use super::http_error::HttpError;
use super::values::Values;
use super::{Backend, StateError, StateManager};
use crate::Spelling;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use model::mutex::lock;
use net::HttpOptions;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use sha2::Sha256;
use statefile::LockInfo;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Creation time in the lock info of a force-unlock: Go's zero time.
const GO_ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// The one state behind an address.
#[derive(Clone)]
pub(super) struct Http(Arc<Inner>);

struct Inner {
    client: HttpClient,
    attempts: Attempts,
    headers: HeaderMap,
    place: String,
    address: Url,
    update: Method,
    lock: Option<(Method, Url)>,
    unlock: Option<(Method, Url)>,
    held_lock: Mutex<Option<Held>>,
}

/// A lock that this process has.
struct Held {
    id: String,
    /// Lock info as sent; the server may compare it.
    sent_info: String,
}

fn address(name: &str, text: &str) -> Result<Url, HttpError> {
    let name = || name.to_owned();
    let url = Url::parse(text).map_err(|source| HttpError::Address {
        name: name(),
        source,
    })?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err(HttpError::Scheme(name()))
    }
}

/// Address that is safe to show: without login, and with a digest in place of the query.
fn display_address(address: &Url) -> String {
    let mut plain = address.clone();
    // These fail only for an address without a host.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    plain.set_fragment(None);
    // The digest keeps two addresses that differ in their query apart.
    let Some(query) = address.query() else {
        return plain.to_string();
    };
    let digest = Sha256::digest(query.as_bytes());
    plain.set_query(None);
    format!("{plain}?{}", hex::encode(&digest[..4]))
}

impl Http {
    pub(super) fn new(values: &Values<'_>) -> Result<Self, HttpError> {
        Self::with_client_options(values, HttpOptions::default())
    }

    pub(super) fn with_client_options(
        values: &Values<'_>,
        reach: HttpOptions,
    ) -> Result<Self, HttpError> {
        let method = |name: &str, variable: &str, default: &str| {
            let text = values.text(name, &[variable]);
            let text = text.unwrap_or_else(|| default.to_owned());
            Method::from_bytes(text.as_bytes()).map_err(|source| HttpError::Method {
                name: name.to_owned(),
                source,
            })
        };
        let optional = |name: &str, variable: &str| {
            let text = values.text(name, &[variable]);
            text.map(|text| address(name, &text)).transpose()
        };
        let state = address(
            "address",
            &values.required_text("address", &["TF_HTTP_ADDRESS"])?,
        )?;
        let lock_method = method("lock_method", "TF_HTTP_LOCK_METHOD", "LOCK")?;
        let unlock_method = method("unlock_method", "TF_HTTP_UNLOCK_METHOD", "UNLOCK")?;
        let seconds = |name: &str, variable: &str, default: u64| {
            let number = values.number(name, &[variable])?;
            Ok::<_, HttpError>(Duration::from_secs(number.unwrap_or(default)))
        };
        let retries = values.number("retry_max", &["TF_HTTP_RETRY_MAX"])?;
        Ok(Self(Arc::new(Inner {
            client: HttpClient::new(with_certificates(values, reach)?),
            attempts: Attempts {
                // The argument counts repetitions, not attempts.
                max_attempts: retries.unwrap_or(2) + 1,
                first_pause: seconds("retry_wait_min", "TF_HTTP_RETRY_WAIT_MIN", 1)?,
                longest_pause: seconds("retry_wait_max", "TF_HTTP_RETRY_WAIT_MAX", 30)?,
            },
            headers: headers(values, &state)?,
            place: display_address(&state),
            address: state,
            update: method("update_method", "TF_HTTP_UPDATE_METHOD", "POST")?,
            lock: optional("lock_address", "TF_HTTP_LOCK_ADDRESS")?.map(|url| (lock_method, url)),
            unlock: optional("unlock_address", "TF_HTTP_UNLOCK_ADDRESS")?
                .map(|url| (unlock_method, url)),
            held_lock: Mutex::default(),
        })))
    }
}

/// Adds the certificates of the configuration.
fn with_certificates(values: &Values<'_>, reach: HttpOptions) -> Result<HttpOptions, HttpError> {
    let pem = |name: &str| {
        let variable = format!("TF_HTTP_{}", name.to_uppercase());
        values.text(name, &[variable.as_str()])
    };
    let identity = match (pem("client_certificate_pem"), pem("client_private_key_pem")) {
        (Some(certificate), Some(key)) => Some(format!("{certificate}\n{key}\n")),
        (None, None) => None,
        (Some(_), None) => return Err(HttpError::NoKey),
        (None, Some(_)) => return Err(HttpError::NoCertificate),
    };
    Ok(HttpOptions {
        authorities: pem("client_ca_certificate_pem"),
        identity,
        any_certificate: values.is("skip_cert_verification"),
        ..reach
    })
}

/// Headers of every request.
fn headers(values: &Values<'_>, address: &Url) -> Result<HeaderMap, HttpError> {
    let mut headers = HeaderMap::new();
    let mut user = values.text("username", &["TF_HTTP_USERNAME"]);
    let mut password = values.text("password", &["TF_HTTP_PASSWORD"]);
    // A login in the address is used only without `username`.
    if user.is_none() && !address.username().is_empty() {
        user = Some(address.username().to_owned());
        password = address.password().map(str::to_owned);
    }
    if let Some(user) = &user {
        let pair = STANDARD.encode(format!("{user}:{}", password.unwrap_or_default()));
        let mut value =
            HeaderValue::from_str(&format!("Basic {pair}")).map_err(HttpError::Login)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in values.map("headers") {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let lower = name.to_lowercase();
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(HttpError::HeaderName(name));
        }
        if value.trim().is_empty() || !value.is_ascii() {
            return Err(HttpError::HeaderValue(name));
        }
        // These are set for each request with a body.
        if matches!(lower.as_str(), "content-type" | "content-md5") {
            return Err(HttpError::ReservedHeader(name));
        }
        if lower == "authorization" && user.is_some() {
            return Err(HttpError::TwoLogins);
        }
        let (Ok(known), Ok(mut value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(&value),
        ) else {
            return Err(HttpError::Unsendable(name));
        };
        value.set_sensitive(true);
        headers.insert(known, value);
    }
    Ok(headers)
}

/// Requests to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Read,
    Write,
    Delete,
    Lock,
    Unlock,
}

impl Request {
    /// Verb in errors.
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Lock => "lock",
            Self::Unlock => "unlock",
        }
    }
}

impl Inner {
    async fn send(
        &self,
        what: Request,
        method: Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<HttpResponse, StateError> {
        let mut ask = HttpRequest::new(method, url);
        ask.headers = self.headers.clone();
        if let Some(body) = body {
            // OpenTofu sends this digest as well, and a server may check it.
            let sum = STANDARD.encode(Md5::digest(&body));
            ask.headers
                .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            if let Ok(sum) = HeaderValue::from_str(&sum) {
                ask.headers.insert("content-md5", sum);
            }
            ask.body = body;
        }
        if what == Request::Read {
            ask.max_answer = MAX_STATE;
        }
        let answer = self.client.send(ask, self.attempts).await;
        answer.map_err(|why| self.error(what, why))
    }

    fn error(&self, what: Request, why: impl Into<HttpError>) -> StateError {
        StateError::remote(what.name(), self.place.clone(), why.into())
    }

    /// Translates an unexpected status code into an error.
    fn status_error(&self, what: Request, answer: &HttpResponse) -> StateError {
        let why = match answer.status {
            401 => HttpError::WhoAsks,
            403 => HttpError::Forbidden,
            // A read takes 404 for an empty state and does not get here.
            404 if what != Request::Read => HttpError::NoSuchAddress,
            status => HttpError::Code(status),
        };
        self.error(what, why)
    }
}

#[async_trait]
impl StateManager for Http {
    fn place(&self) -> String {
        self.0.place.clone()
    }

    fn layout(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, info: LockInfo) -> Result<(), StateError> {
        let inner = &self.0;
        // Locking is optional for this backend.
        let Some((method, url)) = &inner.lock else {
            return Ok(());
        };
        if lock(&inner.held_lock).is_some() {
            return Ok(());
        }
        let info = LockInfo {
            path: String::new(),
            ..info
        };
        let held = Held {
            id: info.id.clone(),
            sent_info: info.to_line(),
        };
        let body = Some(held.sent_info.clone().into_bytes());
        let answer = inner
            .send(Request::Lock, method.clone(), url.clone(), body)
            .await?;
        match answer.status {
            200 => {}
            409 | 423 => {
                let holder = LockInfo::read(&answer.body);
                // The answer to an earlier attempt was lost after the lock was taken.
                if holder.as_ref().is_none_or(|holder| holder.id != info.id) {
                    return Err(StateError::Locked {
                        place: inner.place.clone(),
                        info: holder.map(Box::new),
                    });
                }
            }
            _ => return Err(inner.status_error(Request::Lock, &answer)),
        }
        *lock(&inner.held_lock) = Some(held);
        Ok(())
    }

    async fn unlock(&self) -> Result<(), StateError> {
        let inner = &self.0;
        // Forgotten before the request: after a failure only `force-unlock` helps, and the error
        // names the lock.
        let Some(held) = lock(&inner.held_lock).take() else {
            return Ok(());
        };
        let Some((method, url)) = &inner.unlock else {
            return Ok(());
        };
        let body = Some(held.sent_info.into_bytes());
        let answer = inner
            .send(Request::Unlock, method.clone(), url.clone(), body)
            .await
            .and_then(|answer| match answer.status {
                200 => Ok(()),
                _ => Err(inner.status_error(Request::Unlock, &answer)),
            });
        answer.map_err(|e| e.with_lock_id(&held.id))
    }

    async fn force_unlock(&self, id: &str) -> Result<(), StateError> {
        let inner = &self.0;
        let Some((method, url)) = &inner.unlock else {
            return Err(inner.error(Request::Unlock, HttpError::NoUnlockAddress));
        };
        let info = LockInfo {
            id: id.to_owned(),
            created: GO_ZERO_TIME.to_owned(),
            ..LockInfo::default()
        };
        let body = Some(info.to_line().into_bytes());
        let answer = inner
            .send(Request::Unlock, method.clone(), url.clone(), body)
            .await?;
        match answer.status {
            200 => Ok(()),
            _ => Err(inner.status_error(Request::Unlock, &answer)),
        }
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        let inner = &self.0;
        let answer = inner
            .send(Request::Read, Method::GET, inner.address.clone(), None)
            .await?;
        match answer.status {
            200 => Ok(answer.body),
            204 | 404 => Ok(Vec::new()),
            _ => Err(inner.status_error(Request::Read, &answer)),
        }
    }

    async fn write(&self, text: String) -> Result<(), StateError> {
        let inner = &self.0;
        let mut url = inner.address.clone();
        // The server can refuse a write without the id of its lock.
        if let Some(held) = &*lock(&inner.held_lock) {
            url.query_pairs_mut().append_pair("ID", &held.id);
        }
        let body = Some(text.into_bytes());
        let answer = inner
            .send(Request::Write, inner.update.clone(), url, body)
            .await?;
        match answer.status {
            200 | 201 | 204 => Ok(()),
            _ => Err(inner.status_error(Request::Write, &answer)),
        }
    }

    async fn delete(&self) -> Result<(), StateError> {
        let inner = &self.0;
        let answer = inner
            .send(Request::Delete, Method::DELETE, inner.address.clone(), None)
            .await?;
        match answer.status {
            200 => Ok(()),
            _ => Err(inner.status_error(Request::Delete, &answer)),
        }
    }
}

#[async_trait]
impl Backend for Http {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        if named.is_empty() {
            return Ok(Arc::new(self.clone()));
        }
        Err(StateError::NoWorkspaces {
            kind: "http",
            named: named.to_owned(),
        })
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        Ok(Vec::new())
    }
}
