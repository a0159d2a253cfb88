//! OAuth 2 access tokens: requested with a form, used until shortly before they expire.

use super::error::BadUrl;
use super::http_client::{Attempts, HttpClient, HttpRequest, HttpResponse, WebError};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value as Json;
use std::time::{Duration, SystemTime};

/// A token is replaced this long before it expires.
const EARLY: Duration = Duration::from_secs(120);
/// Longest lifetime of a token that is accepted, in seconds.
const MAX_LIFETIME: u64 = 86_400;

/// Reasons why there is no token.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    #[error("{to:?} is not a valid address: {source}")]
    Address { to: String, source: BadUrl },
    #[error("the token server issued no token: {why} (code {status})")]
    NotGiven { why: String, status: u16 },
    #[error(transparent)]
    Http(#[from] WebError),
}

/// A token and the time of its expiry.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) expires_at: SystemTime,
}

impl Token {
    pub(super) fn with_lifetime(text: &str, life: Duration) -> Self {
        Self {
            text: text.to_owned(),
            expires_at: SystemTime::now() + life,
        }
    }

    /// Is the token still usable?
    pub(super) fn is_fresh(&self) -> bool {
        SystemTime::now() + EARLY < self.expires_at
    }

    /// Parses the token in an answer.
    pub(super) fn parse(answer: &HttpResponse) -> Result<Self, TokenError> {
        let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        let Some(token) = said["access_token"].as_str() else {
            let why = said["error_description"]
                .as_str()
                .or(said["error"].as_str());
            let why = why.unwrap_or("the answer has no token");
            return Err(TokenError::NotGiven {
                why: why.lines().next().unwrap_or_default().to_owned(),
                status: answer.status,
            });
        };
        // Some services send the lifetime as a string.
        let seconds = said["expires_in"]
            .as_u64()
            .or_else(|| said["expires_in"].as_str()?.parse().ok());
        let life = seconds.unwrap_or(600).min(MAX_LIFETIME);
        Ok(Self::with_lifetime(token, Duration::from_secs(life)))
    }
}

/// Requests a token with a form.
pub(super) async fn request_token(
    web: &HttpClient,
    attempts: Attempts,
    to: &str,
    form: &[(&str, String)],
) -> Result<Token, TokenError> {
    let url = Url::parse(to).map_err(|source| TokenError::Address {
        to: to.to_owned(),
        source,
    })?;
    // Only the query of this address is used: it encodes the form.
    let mut body = url.clone();
    body.set_query(None);
    body.query_pairs_mut().extend_pairs(form);
    let mut ask = HttpRequest::new(Method::POST, url);
    ask.body = body.query().unwrap_or_default().as_bytes().to_vec();
    ask.headers.insert(
        HeaderName::from_static("content-type"),
        HeaderValue::from_static("application/x-www-form-urlencoded"),
    );
    Token::parse(&web.send(ask, attempts).await?)
}
