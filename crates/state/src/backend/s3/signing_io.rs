//! Adapters that let the AWS signing library use this program's HTTP client and read files.

use super::super::http_client::{HttpClient, HttpRequest};
use reqsign_core::{Error, Result};
use reqwest::Url;
use std::sync::Arc;

/// Sends the signing library's requests with this program's client.
pub(super) struct Sender(pub(super) Arc<HttpClient>);

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sender")
    }
}

impl reqsign_core::HttpSend for Sender {
    async fn http_send(
        &self,
        request: http::Request<bytes::Bytes>,
    ) -> Result<http::Response<bytes::Bytes>> {
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string())
            .map_err(|e| Error::request_invalid(e.to_string()))?;
        let mut ask = HttpRequest::new(parts.method, url);
        ask.headers = parts.headers;
        ask.body = body.to_vec();
        let answer = self.0.send_once(ask).await;
        let answer = answer.map_err(|why| Error::unexpected(why.to_string()).with_source(why))?;
        let mut response = http::Response::builder()
            .status(answer.status)
            .body(bytes::Bytes::from(answer.body))
            .map_err(|e| Error::unexpected(e.to_string()))?;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }
}

/// Reads files for the signing library.
#[derive(Debug)]
pub(super) struct Files;

impl reqsign_core::FileRead for Files {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>> {
        let file = path.to_owned();
        let read = tokio::task::spawn_blocking(move || fsroot::read_regular(file)).await;
        let read = read.map_err(|e| Error::unexpected(e.to_string()))?;
        read.map_err(|e| Error::config_invalid(format!("{path} cannot be read: {e}")))
    }
}
