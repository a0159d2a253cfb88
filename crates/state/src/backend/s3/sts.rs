//! AWS STS: requests to assume a role.

use super::super::http_client::{Attempts, HttpClient, HttpRequest};
use super::error::S3Error;
use super::service::{headers, refusal};
use reqsign_aws_v4::{Credential, RequestSigner};
use reqsign_core::{Context, SignRequest as _};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use sha2::{Digest as _, Sha256};

/// Client of AWS STS.
#[derive(Clone)]
pub(super) struct Sts {
    pub(super) endpoint: Url,
    pub(super) region: String,
}

impl Sts {
    /// Sends a request, signed if credentials are given.
    pub(super) async fn request(
        &self,
        web: &HttpClient,
        attempts: Attempts,
        form: &[(String, String)],
        with: Option<&Credential>,
    ) -> Result<Vec<u8>, S3Error> {
        // Only the query of this address is used: it encodes the form.
        let mut body = Url::parse("http://x").map_err(S3Error::Url)?;
        body.query_pairs_mut().extend_pairs(form);
        let body = body.query().unwrap_or_default().as_bytes().to_vec();
        let mut ask = HttpRequest::new(Method::POST, self.endpoint.clone());
        let sum = hex::encode(Sha256::digest(&body));
        ask.headers = headers(&[
            (
                "content-type",
                "application/x-www-form-urlencoded; charset=utf-8",
            ),
            ("x-amz-content-sha256", &sum),
        ]);
        ask.body = body;
        if let Some(with) = with {
            ask.headers = self.signed(&ask, with).await?;
        }
        let answer = web.send(ask, attempts).await?;
        if answer.is_success() {
            Ok(answer.body)
        } else {
            Err(refusal(&answer).into())
        }
    }

    async fn signed(&self, ask: &HttpRequest, with: &Credential) -> Result<HeaderMap, S3Error> {
        let request = http::Request::builder()
            .method(ask.method.clone())
            .uri(ask.url.as_str())
            .body(());
        let (mut parts, ()) = request?.into_parts();
        parts.headers = ask.headers.clone();
        let signer = RequestSigner::new("sts", &self.region);
        let context = Context::new();
        let signed = signer.sign_request(&context, &mut parts, Some(with), None);
        signed.await?;
        Ok(parts.headers)
    }
}
