//! Signed requests to AWS services, with retries and error parsing.

use super::super::http_client::{
    Attempts, HttpClient, HttpRequest, HttpResponse, MAX_STATE, WebError, may_change_later,
};
use super::credentials::Chain;
use super::error::S3Error;
use reqsign_aws_v4::{Credential, RequestSigner};
use reqsign_core::{Context, Signer};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use tokio::time::Instant;

/// One service in one region.
pub(super) struct Service {
    pub(super) http: Arc<HttpClient>,
    pub(super) signer: Signer<Credential>,
    pub(super) endpoint: Url,
    pub(super) attempts: Attempts,
}

/// Refusal by the service.
#[derive(Debug, Default)]
pub(in super::super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
}

impl std::error::Error for Refusal {}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code.as_str(), self.message.as_str()) {
            ("", _) => write!(
                f,
                "the server answered with the HTTP status code {}",
                self.status
            ),
            (code, "") => write!(f, "{code} (code {})", self.status),
            (code, message) => write!(f, "{code}: {message} (code {})", self.status),
        }
    }
}

impl Service {
    pub(super) fn new(
        web: &Arc<HttpClient>,
        chain: &Signer<Credential>,
        (name, region): (&str, &str),
        endpoint: Url,
        attempts: Attempts,
    ) -> Self {
        Self {
            http: web.clone(),
            signer: chain
                .clone()
                .with_request_signer(RequestSigner::new(name, region)),
            endpoint,
            attempts,
        }
    }

    /// Sends a request, with retries.
    pub(super) async fn send(
        &self,
        method: Method,
        url: Url,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<HttpResponse, S3Error> {
        let until = self.attempts.deadline();
        for made in 1.. {
            // Signed for each attempt, because a signature expires after minutes.
            let ask = self.signed(&method, &url, headers, &body).await?;
            let answer = self.http.send_once_until(ask, until).await;
            let pause = self.attempts.pause(made, answer.as_ref().ok());
            // Gives up if the pause would pass the deadline.
            let late = made >= self.attempts.max_attempts || Instant::now() + pause >= until;
            if late || !may_change_later(&answer) {
                return answer.map_err(|why| why.after_attempts(made).into());
            }
            tokio::time::sleep(pause).await;
        }
        Err(WebError::NoAttempt.into())
    }

    async fn signed(
        &self,
        method: &Method,
        url: &Url,
        headers: &[(&'static str, String)],
        body: &[u8],
    ) -> Result<HttpRequest, S3Error> {
        let mut request = http::Request::builder()
            .method(method.clone())
            .uri(url.as_str());
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        // The signature covers the body by this digest.
        let sum = hex::encode(Sha256::digest(body));
        let request = request.header("x-amz-content-sha256", sum).body(());
        let (mut parts, ()) = request?.into_parts();
        self.signer.sign(&mut parts, None).await?;
        let mut ask = HttpRequest::new(method.clone(), url.clone());
        ask.headers = parts.headers;
        ask.body = body.to_vec();
        if *method == Method::GET {
            ask.max_answer = MAX_STATE;
        }
        Ok(ask)
    }
}

/// Signer with the credentials of a chain; the service is set later.
pub(super) fn signer(chain: Chain) -> Signer<Credential> {
    Signer::new(Context::new(), chain, RequestSigner::new("s3", "us-east-1"))
}

/// Text of the first element with this name.
pub(in super::super) fn element(xml: &[u8], name: &str) -> Option<String> {
    elements(xml, name).into_iter().next()
}

/// Texts of all elements with this name, at any depth.
pub(in super::super) fn elements(xml: &[u8], name: &str) -> Vec<String> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_reader(xml);
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) if tag.local_name().as_ref() == name => {
                open = Some(String::new());
            }
            Ok(Event::Text(text)) => {
                if let Some(open) = &mut open {
                    open.push_str(&text);
                }
            }
            // The reader reports entities as separate events.
            Ok(Event::GeneralRef(entity)) => {
                if let Some(open) = &mut open {
                    let text = format!("&{};", &*entity);
                    let text = quick_xml::escape::unescape(&text);
                    open.push_str(&text.unwrap_or_default());
                }
            }
            Ok(Event::End(tag)) if tag.local_name().as_ref() == name => {
                found.extend(open.take());
            }
            Ok(Event::Eof) | Err(_) => return found,
            Ok(_) => {}
        }
    }
}

/// Parses the refusal of a service that answers in XML.
pub(super) fn refusal(answer: &HttpResponse) -> Refusal {
    Refusal {
        status: answer.status,
        code: element(&answer.body, "Code").unwrap_or_default(),
        message: element(&answer.body, "Message").unwrap_or_default(),
    }
}

/// Builds headers of an unsigned request.
pub(super) fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in all {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_element_texts_are_found_at_any_depth() {
        let xml = b"<?xml version=\"1.0\"?><R xmlns=\"x\"><C><Key>a&amp;b/&#x63;</Key></C><C><Key>d</Key></C></R>";
        assert_eq!(elements(xml, "Key"), ["a&b/c", "d"]);
        assert_eq!(element(xml, "Code"), None);
        assert!(elements(b"<<<", "Key").is_empty());
    }
}
