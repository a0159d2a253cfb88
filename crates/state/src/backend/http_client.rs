//! Requests of the state managers: deadlines, retries, and redirects to the same server.

use super::redirect::{self, RedirectError};
use net::{HttpClientError, HttpOptions, Redirects};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Response, Url};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// Time limit of a request with all its attempts; long, because a state may be large and the
/// network slow.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum size of an answer that may be a state, in bytes.
pub(super) const MAX_STATE: usize = 1 << 30;
/// Maximum number of pages of a list of workspaces.
pub(super) const MAX_PAGES: usize = 10_000;
/// Maximum size of any other answer, in bytes. A page of names has a few megabytes.
const MAX_ANSWER: usize = 16 << 20;

/// Reasons why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebError {
    /// Failure to build the client, to send, or to read the answer. The address is removed, because
    /// it may have secrets.
    #[error("{}", words(.0))]
    Http(#[source] reqwest::Error),
    #[error("the answer of the server is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the list of workspaces has more than {MAX_PAGES} pages")]
    TooManyPages,
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    /// Failure to set up the client's certificates.
    #[error(transparent)]
    Client(HttpClientError),
    #[error("the value of the header {what} contains a character that HTTP headers do not allow")]
    Header {
        what: String,
        source: InvalidHeaderValue,
    },
    #[error("the server answered with the HTTP status code {status}, after {}", attempts(*.made))]
    Code { status: u16, made: u64 },
    #[error("{source}, after {}", attempts(*.made))]
    AfterAttempts { source: Box<WebError>, made: u64 },
    /// Unreachable: the loop over attempts has no end.
    #[error("no request was sent")]
    NoAttempt,
    /// The thread that builds the client failed.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

impl From<reqwest::Error> for WebError {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error.without_url())
    }
}

impl From<HttpClientError> for WebError {
    fn from(error: HttpClientError) -> Self {
        match error {
            HttpClientError::Http(error) => error.into(),
            error => Self::Client(error),
        }
    }
}

impl WebError {
    /// Can another attempt succeed?
    fn may_succeed_later(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// May the server have carried out the request, with only its answer lost?
    pub(super) fn may_have_succeeded(&self) -> bool {
        // Without a connection, the server cannot have seen the request.
        match self {
            Self::Http(error) => !error.is_connect() && !error.is_builder(),
            Self::Code { status, .. } => matches!(status, 502 | 504),
            Self::AfterAttempts { source, .. } => source.may_have_succeeded(),
            _ => false,
        }
    }

    /// The same error, as that of the last attempt.
    pub(super) fn after_attempts(self, made: u64) -> Self {
        Self::AfterAttempts {
            source: Box::new(self),
            made,
        }
    }
}

fn attempts(made: u64) -> String {
    let tries = if made == 1 { "attempt" } else { "attempts" };
    format!("{made} {tries}")
}

/// Number of attempts, and the pauses between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempts {
    pub(super) max_attempts: u64,
    pub(super) first_pause: Duration,
    pub(super) longest_pause: Duration,
}

impl Attempts {
    /// Time at which the last attempt must have ended.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + ANSWER_TIMEOUT
    }

    /// Pause after this many attempts. Follows the server's Retry-After, if there is one.
    pub(super) fn pause(&self, made: u64, answer: Option<&HttpResponse>) -> Duration {
        let asked = answer
            .filter(|a| matches!(a.status, 429 | 503))
            .and_then(|a| a.header(RETRY_AFTER.as_str())?.parse().ok())
            .map(Duration::from_secs);
        // Doubles with each attempt, up to the maximum.
        let times = 2u32.pow(u32::try_from(made.clamp(1, 16)).unwrap_or(16) - 1);
        let doubled = self.first_pause.saturating_mul(times);
        asked
            .unwrap_or(doubled)
            .min(self.longest_pause)
            .min(ANSWER_TIMEOUT)
    }
}

/// One repeatable request.
#[derive(Clone)]
pub(super) struct HttpRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Maximum size of the answer, in bytes.
    pub(super) max_answer: usize,
}

impl HttpRequest {
    pub(super) fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Vec::new(),
            max_answer: MAX_ANSWER,
        }
    }

    /// Sets a header.
    ///
    /// # Errors
    /// The value is not valid in a header.
    pub(super) fn header(&mut self, name: HeaderName, value: &str) -> Result<(), WebError> {
        let value = header_value(&name, value)?;
        self.headers.insert(name, value);
        Ok(())
    }

    /// Sets a header whose value is never logged.
    ///
    /// # Errors
    /// The value is not valid in a header.
    pub(super) fn secret(&mut self, name: HeaderName, value: &str) -> Result<(), WebError> {
        let mut value = header_value(&name, value)?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }
}

fn header_value(name: &HeaderName, value: &str) -> Result<HeaderValue, WebError> {
    HeaderValue::from_str(value).map_err(|source| WebError::Header {
        what: name.to_string(),
        source,
    })
}

/// Answer of a server.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl HttpResponse {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Can the same request get another answer later?
    pub(super) fn may_change_later(&self) -> bool {
        self.status == 429 || (self.status >= 500 && self.status != 501)
    }
}

/// The client, built at its first use.
pub(super) struct HttpClient {
    options: HttpOptions,
    client: OnceCell<Client>,
}

impl HttpClient {
    pub(super) fn new(options: HttpOptions) -> Self {
        Self {
            // Redirects are followed by this module, to the same server only.
            options: HttpOptions {
                redirects: Redirects::Return,
                ..options
            },
            client: OnceCell::new(),
        }
    }

    async fn client(&self) -> Result<&Client, WebError> {
        let made = self.client.get_or_try_init(|| async {
            let options = self.options.clone();
            // Reading the system's certificates blocks.
            Ok(tokio::task::spawn_blocking(move || net::http_client(&options)).await??)
        });
        made.await
    }

    /// Sends a request once.
    pub(super) async fn send_once(&self, ask: HttpRequest) -> Result<HttpResponse, WebError> {
        self.send_once_until(ask, Instant::now() + ANSWER_TIMEOUT)
            .await
    }

    /// Sends a request once, and follows redirects to the same server.
    pub(super) async fn send_once_until(
        &self,
        mut ask: HttpRequest,
        until: Instant,
    ) -> Result<HttpResponse, WebError> {
        let client = self.client().await?;
        // All redirects of a request share its deadline.
        for _ in 0..redirect::MOST {
            let request = client
                .request(ask.method.clone(), ask.url.clone())
                .headers(ask.headers.clone())
                .timeout(until.saturating_duration_since(Instant::now()))
                .body(ask.body.clone());
            let response = request.send().await?;
            let status = response.status().as_u16();
            match redirect::next(&ask.method, &ask.url, status, response.headers())? {
                Some(next) => ask.url = next,
                None => return read(response, ask.max_answer).await,
            }
        }
        Err(RedirectError::TooMany.into())
    }

    /// Sends a request, with retries if they can help.
    pub(super) async fn send(
        &self,
        ask: HttpRequest,
        attempts: Attempts,
    ) -> Result<HttpResponse, WebError> {
        let until = attempts.deadline();
        for made in 1.. {
            let answer = self.send_once_until(ask.clone(), until).await;
            if !may_change_later(&answer) {
                return answer;
            }
            let pause = attempts.pause(made, answer.as_ref().ok());
            if made >= attempts.max_attempts || Instant::now() + pause >= until {
                return Err(match answer {
                    Ok(HttpResponse { status, .. }) => WebError::Code { status, made },
                    Err(why) => why.after_attempts(made),
                });
            }
            tokio::time::sleep(pause).await;
        }
        Err(WebError::NoAttempt)
    }
}

/// Can another attempt get another answer?
pub(super) fn may_change_later(answer: &Result<HttpResponse, WebError>) -> bool {
    match answer {
        Ok(answer) => answer.may_change_later(),
        Err(error) => error.may_succeed_later(),
    }
}

async fn read(mut response: Response, most: usize) -> Result<HttpResponse, WebError> {
    let status = response.status().as_u16();
    let headers = std::mem::take(response.headers_mut());
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await? {
        // Checked while reading, because a server may send more than it announced.
        body.extend_from_slice(&part);
        if body.len() > most {
            return Err(WebError::TooLarge(most));
        }
    }
    Ok(HttpResponse {
        status,
        headers,
        body,
    })
}

/// The error with all its causes.
fn words(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let said = error.to_string();
        // Some causes repeat the text of their effect.
        if !words.ends_with(&said) {
            words = format!("{words}: {said}");
        }
        cause = error.source();
    }
    words
}
