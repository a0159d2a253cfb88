//! Container: requests for its blobs, and the conversion of error responses.

use super::super::http_client::{Attempts, HttpClient, HttpRequest, HttpResponse, MAX_STATE};
use super::super::s3::element;
use super::access::Access;
use super::error::{AzureError, Refusal};
use crate::StateError;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};

/// Version of the storage REST API.
const VERSION: &str = "2021-12-02";

pub(super) type Headers = Vec<(&'static str, String)>;

pub(super) struct Container {
    pub(super) http: HttpClient,
    pub(super) attempts: Attempts,
    pub(super) access: Access,
    pub(super) account: String,
    /// Address without the container's name.
    pub(super) endpoint: Url,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) snapshot: bool,
    /// Encryption headers, for each request that reads or writes a blob.
    pub(super) encryption: Headers,
}

impl Container {
    pub(super) fn url(&self, blob: Option<&str>, query: &str) -> Url {
        let mut url = self.endpoint.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(&self.name);
            // Slashes in a blob's name separate segments and must not be encoded.
            path.extend(blob.into_iter().flat_map(|name| name.split('/')));
        }
        url.set_query((!query.is_empty()).then_some(query));
        url
    }

    pub(super) fn error(
        &self,
        what: &'static str,
        blob: &str,
        why: impl Into<AzureError>,
    ) -> StateError {
        let place = self.url(Some(blob), "").to_string();
        StateError::remote(what, place, why.into())
    }

    pub(super) fn refused(
        &self,
        what: &'static str,
        blob: &str,
        answer: &HttpResponse,
    ) -> StateError {
        let refusal = refusal(answer);
        let why = match (refusal.code.as_str(), answer.status) {
            ("ContainerNotFound", _) => AzureError::NoContainer(self.name.clone()),
            (_, 401 | 403) => AzureError::Forbidden(refusal),
            _ => AzureError::Refused(refusal),
        };
        self.error(what, blob, why)
    }

    pub(super) async fn request(
        &self,
        what: &'static str,
        blob: &str,
        (method, url): (Method, Url),
        headers: Headers,
        body: Vec<u8>,
    ) -> Result<HttpResponse, StateError> {
        let asked = async {
            let mut ask = HttpRequest::new(method, url);
            let now = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
            let always = [
                ("x-ms-version", VERSION.to_owned()),
                ("x-ms-date", now.to_string()),
            ];
            for (name, value) in always.into_iter().chain(headers) {
                ask.header(HeaderName::from_static(name), &value)?;
            }
            // Azure requires a Content-Length even for an empty body.
            if body.is_empty() && ask.method == Method::PUT {
                let none = HeaderValue::from_static("0");
                ask.headers
                    .insert(HeaderName::from_static("content-length"), none);
            }
            ask.body = body;
            // Only a read can return a state; other answers have the smaller default limit.
            if ask.method == Method::GET {
                ask.max_answer = MAX_STATE;
            }
            self.access
                .sign(&mut ask, &self.account, &self.http, self.attempts)
                .await?;
            Ok::<_, AzureError>(self.http.send(ask, self.attempts).await?)
        };
        let answer = asked.await;
        answer.map_err(|why| self.error(what, blob, why))
    }
}

/// Reads the error code and the first line of the message.
pub(super) fn refusal(answer: &HttpResponse) -> Refusal {
    let code = answer.header("x-ms-error-code").unwrap_or_default();
    let text = element(&answer.body, "Message").unwrap_or_default();
    Refusal {
        status: answer.status,
        code: code.to_owned(),
        message: text.lines().next().unwrap_or_default().to_owned(),
    }
}
