//! HTTP client: answers in memory, and resumable downloads to files. All waits are limited.

use crate::error::{FetchError, root_cause};
use crate::netrc::{Netrc, NetrcError};
use net::HttpOptions;
use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, IF_RANGE, RANGE};
use reqwest::{Response, StatusCode, Url};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

/// Maximum size of an answer in memory, in bytes; the version list of a large provider has one
/// megabyte.
const MAX_ANSWER: u64 = 64 << 20;
/// Connection timeout.
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum size of a download, in bytes; provider packages have several hundred megabytes.
const MAX_DOWNLOAD: u64 = 16 << 30;
/// Time limit of a download including retries.
const DOWNLOAD: Duration = Duration::from_secs(4 * 3600);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Progress callback: received bytes, and the total if known.
pub type OnBytes<'a> = &'a (dyn Fn(u64, Option<u64>) + Send + Sync);

/// Timeouts and numbers of retries.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Timeout of an answer in memory.
    pub answer: Duration,
    /// Maximum time without a byte of a download.
    pub stall: Duration,
    /// Retries of an answer.
    pub retries: u32,
    /// Retries of a download.
    pub download_retries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(10),
            stall: Duration::from_secs(60),
            retries: 1,
            download_retries: 2,
        }
    }
}

/// HTTP client.
#[derive(Debug, Clone)]
pub struct Http {
    pub(crate) client: reqwest::Client,
    pub(crate) limits: Limits,
    /// Language version sent to registries.
    pub(crate) language: String,
    /// Credentials of the netrc file, or the error of reading it.
    pub(crate) logins: Arc<Result<Netrc, NetrcError>>,
    /// True if requests send netrc credentials.
    pub(crate) logs_in: bool,
}

/// Complete answer in memory.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Parses the body as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, FetchError> {
        serde_json::from_slice(&self.body).map_err(|e| FetchError::Answer {
            url: self.url.to_string(),
            why: format!("not the expected JSON: {e}"),
        })
    }

    pub(crate) fn is_json(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
        kind.and_then(|kind| kind.split(';').next())
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    }
}

/// Parses an HTTP address.
pub(crate) fn url(text: &str) -> Result<Url, FetchError> {
    let wrong = |why: String| FetchError::Address {
        url: text.to_owned(),
        why,
    };
    let url = Url::parse(text).map_err(|e| wrong(e.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(wrong(format!(
            "its scheme is {other}, but must be http or https"
        ))),
    }
}

/// Host, with its port if it is not the default one.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

impl Http {
    /// Creates a client with the certificates of the system and the proxies of the environment.
    /// `language` is the language version.
    ///
    /// # Errors
    /// The certificates of the system cannot be loaded.
    pub fn new(language: &str, limits: Limits) -> Result<Self, FetchError> {
        let client = net::http_client(&HttpOptions {
            connect_timeout: CONNECT.min(limits.answer),
            // Limits the silence of a connection, because a whole download may take long.
            read_timeout: limits.stall,
            ..HttpOptions::default()
        });
        let client = client.map_err(|e| FetchError::Unreachable {
            host: "the network".to_owned(),
            why: root_cause(&e),
        })?;
        Ok(Self {
            client,
            limits,
            language: language.to_owned(),
            logins: Arc::new(Ok(Netrc::default())),
            logs_in: false,
        })
    }

    /// Requests an answer, whatever its status. Retries if the host is unreachable or returns a
    /// server error.
    pub(crate) async fn get(&self, url: &Url, token: Option<&str>) -> Result<Answer, FetchError> {
        let mut attempt = 0;
        loop {
            let answer = tokio::time::timeout(self.limits.answer, self.get_once(url, token)).await;
            let answer = answer.unwrap_or_else(|_| {
                Err(FetchError::Slow {
                    host: host(url),
                    limit: self.limits.answer,
                })
            });
            let again = match &answer {
                Ok(answer) => is_server_error(answer.status),
                // An invalid answer or netrc file is the same at the next attempt.
                Err(FetchError::Answer { .. } | FetchError::Logins { .. }) => false,
                Err(_) => true,
            };
            if !again || attempt == self.limits.retries {
                return answer;
            }
            attempt += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Like `get`, but a status other than success is an error.
    pub(crate) async fn get_success(
        &self,
        url: &Url,
        token: Option<&str>,
    ) -> Result<Answer, FetchError> {
        let answer = self.get(url, token).await?;
        match refusal(url, answer.status) {
            None => Ok(answer),
            Some(error) => Err(error),
        }
    }

    async fn get_once(&self, url: &Url, token: Option<&str>) -> Result<Answer, FetchError> {
        let request = self
            .authenticated_request(url, token)?
            .header(ACCEPT, "application/json, text/html;q=0.9, */*;q=0.8")
            .header("X-Terraform-Version", &self.language);
        let mut response = request.send().await.map_err(|e| unreachable(url, &e))?;
        let (status, headers, url) = (
            response.status(),
            response.headers().clone(),
            // After redirects: relative addresses in the answer resolve against it.
            response.url().clone(),
        );
        let mut body = Vec::new();
        loop {
            let chunk = response.chunk().await.map_err(|e| FetchError::Broken {
                url: url.to_string(),
                got: body.len() as u64,
                why: root_cause(&e),
            })?;
            let Some(chunk) = chunk else { break };
            body.extend_from_slice(&chunk);
            // Checked while reading, because the announced length cannot be trusted.
            if body.len() as u64 > MAX_ANSWER {
                return Err(FetchError::Answer {
                    url: url.to_string(),
                    why: format!("it is longer than {MAX_ANSWER} bytes"),
                });
            }
        }
        Ok(Answer {
            url,
            status,
            headers,
            body,
        })
    }

    /// Downloads to a file. An interrupted download resumes if the server supports ranges.
    ///
    /// # Errors
    /// The file does not exist, or is still incomplete after all attempts.
    pub async fn download(
        &self,
        address: &str,
        token: Option<&str>,
        to: &Path,
        on_bytes: OnBytes<'_>,
    ) -> Result<(), FetchError> {
        let url = url(address)?;
        let mut file = File::create(to).await.map_err(FetchError::file(to))?;
        let whole = self.download_whole(&url, token, &mut file, to, on_bytes);
        // The stall limit alone would let a slow server send single bytes forever.
        match tokio::time::timeout(DOWNLOAD, whole).await {
            Ok(done) => done?,
            Err(_) => {
                let (host, limit) = (host(&url), DOWNLOAD);
                return Err(FetchError::Slow { host, limit });
            }
        }
        file.sync_all().await.map_err(FetchError::file(to))
    }

    async fn download_whole(
        &self,
        url: &Url,
        token: Option<&str>,
        file: &mut File,
        to: &Path,
        on_bytes: OnBytes<'_>,
    ) -> Result<(), FetchError> {
        let mut part = Part::default();
        let mut attempt = 0;
        loop {
            match self
                .download_rest(url, token, file, to, &mut part, on_bytes)
                .await
            {
                Err(error) if attempt < self.limits.download_retries && is_transient(&error) => {
                    attempt += 1;
                    // Waits longer after each failure.
                    tokio::time::sleep(PAUSE * attempt).await;
                }
                done => return done,
            }
        }
    }

    async fn download_rest(
        &self,
        url: &Url,
        token: Option<&str>,
        file: &mut File,
        to: &Path,
        part: &mut Part,
        on_bytes: OnBytes<'_>,
    ) -> Result<(), FetchError> {
        let mut request = self.authenticated_request(url, token)?;
        if let (Some(tag), true) = (&part.tag, part.received > 0) {
            request = request
                .header(RANGE, format!("bytes={}-", part.received))
                // If the file has changed, the server sends all of it instead of a part.
                .header(IF_RANGE, tag);
        }
        let sent = tokio::time::timeout(self.limits.stall, request.send()).await;
        let mut response = match sent {
            Ok(response) => response.map_err(|e| unreachable(url, &e))?,
            Err(_) => {
                return Err(FetchError::Slow {
                    host: host(url),
                    limit: self.limits.stall,
                });
            }
        };
        if let Some(error) = refusal(url, response.status()) {
            return Err(error);
        }
        // The server sends the file from the start, so received bytes are dropped.
        if response.status() != StatusCode::PARTIAL_CONTENT && part.received > 0 {
            part.received = 0;
            file.set_len(0).await.map_err(FetchError::file(to))?;
            use tokio::io::AsyncSeekExt as _;
            file.rewind().await.map_err(FetchError::file(to))?;
        }
        part.expect(&response);
        loop {
            let chunk = response.chunk().await.map_err(|e| FetchError::Broken {
                url: url.to_string(),
                got: part.received,
                why: if e.is_timeout() {
                    format!("no data for {} seconds", self.limits.stall.as_secs_f32())
                } else {
                    root_cause(&e)
                },
            })?;
            let Some(chunk) = chunk else { break };
            file.write_all(&chunk).await.map_err(FetchError::file(to))?;
            part.received += chunk.len() as u64;
            // Checked per chunk, because the announced length may be absent or wrong.
            if part.received > MAX_DOWNLOAD {
                return Err(FetchError::Answer {
                    url: url.to_string(),
                    why: format!("it is longer than {MAX_DOWNLOAD} bytes"),
                });
            }
            on_bytes(part.received, part.total);
        }
        file.flush().await.map_err(FetchError::file(to))?;
        // A connection may end early without an error.
        match part.total.filter(|total| *total != part.received) {
            None => Ok(()),
            Some(total) => Err(FetchError::Broken {
                url: url.to_string(),
                got: part.received,
                why: format!("{total} bytes were expected"),
            }),
        }
    }
}

/// Progress of a download.
#[derive(Default)]
struct Part {
    received: u64,
    total: Option<u64>,
    /// Strong ETag of the file; only the same file can be resumed.
    tag: Option<String>,
}

impl Part {
    fn expect(&mut self, response: &Response) {
        self.total = response.content_length().map(|rest| rest + self.received);
        let tag = response.headers().get(ETAG).and_then(|v| v.to_str().ok());
        // Weak tags do not guarantee equal bytes.
        self.tag = tag.filter(|tag| !tag.starts_with("W/")).map(str::to_owned);
    }
}

fn is_server_error(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

/// Returns true if another attempt may succeed.
fn is_transient(error: &FetchError) -> bool {
    match error {
        FetchError::Unreachable { .. } | FetchError::Slow { .. } | FetchError::Broken { .. } => {
            true
        }
        FetchError::Status { status, .. } => {
            StatusCode::from_u16(*status).is_ok_and(is_server_error)
        }
        _ => false,
    }
}

fn unreachable(url: &Url, error: &reqwest::Error) -> FetchError {
    let host = host(url);
    if error.is_timeout() {
        return FetchError::Unreachable {
            host,
            why: "no answer in time".to_owned(),
        };
    }
    FetchError::Unreachable {
        host,
        why: root_cause(error),
    }
}

/// Returns the error for a status other than success.
pub(crate) fn refusal(url: &Url, status: StatusCode) -> Option<FetchError> {
    match status {
        status if status.is_success() => None,
        StatusCode::NOT_FOUND => Some(FetchError::NotFound(url.to_string())),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let host = host(url);
            Some(FetchError::Unauthorized {
                remedy: format!(
                    "set a token for {host} in the CLI configuration (credentials \"{host}\") or in the environment (TF_TOKEN_…)"
                ),
                host,
                url: url.to_string(),
                status: status.as_u16(),
            })
        }
        status => Some(FetchError::Status {
            url: url.to_string(),
            status: status.as_u16(),
        }),
    }
}
