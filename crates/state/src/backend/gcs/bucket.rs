//! Bucket: requests for its objects, and the conversion of error responses.

use super::super::http_client::{Attempts, HttpClient, HttpRequest, HttpResponse, MAX_STATE};
use super::credentials::Credentials;
use super::error::GcsError;
use crate::StateError;
use reqwest::header::HeaderName;
use reqwest::{Method, Url};
use serde_json::Value as Json;

pub(super) struct Bucket {
    pub(super) http: HttpClient,
    pub(super) attempts: Attempts,
    pub(super) credentials: Credentials,
    /// Address up to `/storage/v1/`.
    pub(super) endpoint: Url,
    pub(super) name: String,
    pub(super) prefix: String,
    /// Headers of a customer-supplied encryption key.
    pub(super) key: Vec<(&'static str, String)>,
    pub(super) managed_key: Option<String>,
}

impl Bucket {
    pub(super) fn location(&self, object: &str) -> String {
        format!("gs://{}/{}{object}", self.name, self.prefix)
    }

    pub(super) fn error(
        &self,
        what: &'static str,
        object: &str,
        why: impl Into<GcsError>,
    ) -> StateError {
        StateError::remote(what, self.location(object), why.into())
    }

    /// Translates a refusal into an error.
    pub(super) fn refused(
        &self,
        what: &'static str,
        object: &str,
        answer: &HttpResponse,
    ) -> StateError {
        let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        let message = said["error"]["message"].as_str().unwrap_or_default();
        let message = message.to_owned();
        let why = match answer.status {
            401 => GcsError::NotAccepted(message),
            403 => GcsError::Forbidden(message),
            404 => GcsError::NoBucket(self.name.clone()),
            status => GcsError::Refused { status, message },
        };
        self.error(what, object, why)
    }

    /// Address of the bucket's object collection, or of one object.
    pub(super) fn url(&self, upload: bool, object: Option<&str>) -> Url {
        let mut url = self.endpoint.clone();
        // Uploads have their own path in the JSON API.
        if upload {
            let path = url.path().to_owned();
            let path = path.strip_suffix("storage/v1/").map_or_else(
                || format!("{path}upload/"),
                |before| format!("{before}upload/storage/v1/"),
            );
            url.set_path(&path);
        }
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["b", &self.name, "o"]);
            if let Some(object) = object {
                path.push(&format!("{}{object}", self.prefix));
            }
        }
        url
    }

    pub(super) async fn request(
        &self,
        what: &'static str,
        object: &str,
        method: Method,
        url: Url,
        body: Vec<u8>,
    ) -> Result<HttpResponse, StateError> {
        let asked = async {
            let mut ask = HttpRequest::new(method, url);
            if ask.method == Method::GET {
                ask.max_answer = MAX_STATE;
            }
            let token = self.credentials.token(&self.http, self.attempts).await?;
            // Not the lock, which has no secrets, and must be readable without the key.
            let is_state = object.ends_with(".tfstate") || object.ends_with(".flightdeck");
            let sealed = is_state && ask.method != Method::DELETE;
            let mut headers = if sealed { self.key.clone() } else { Vec::new() };
            headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
            headers.push(("content-type", "application/json".to_owned()));
            for (name, value) in headers {
                ask.secret(HeaderName::from_static(name), &value)?;
            }
            ask.body = body;
            Ok::<_, GcsError>(self.http.send(ask, self.attempts).await?)
        };
        let answer = asked.await;
        answer.map_err(|why| self.error(what, object, why))
    }

    /// Reads an object with its generation; `None` if it does not exist.
    pub(super) async fn get(
        &self,
        what: &'static str,
        object: &str,
    ) -> Result<Option<(Vec<u8>, String)>, StateError> {
        let mut url = self.url(false, Some(object));
        url.set_query(Some("alt=media"));
        let answer = self
            .request(what, object, Method::GET, url, Vec::new())
            .await?;
        let generation = answer.header("x-goog-generation").unwrap_or_default();
        match answer.status {
            200 => {
                let generation = generation.to_owned();
                Ok(Some((answer.body, generation)))
            }
            404 => Ok(None),
            _ => Err(self.refused(what, object, &answer)),
        }
    }

    pub(super) async fn upload(
        &self,
        what: &'static str,
        object: &str,
        body: Vec<u8>,
        new: bool,
    ) -> Result<HttpResponse, StateError> {
        let mut url = self.url(true, None);
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("uploadType", "media");
            query.append_pair("name", &format!("{}{object}", self.prefix));
            if new {
                // Generation 0 means that the object must not exist.
                query.append_pair("ifGenerationMatch", "0");
            }
            // Lock objects are never encrypted with the customer's key.
            if let Some(key) = self.managed_key.as_ref().filter(|_| !new) {
                query.append_pair("kmsKeyName", key);
            }
        }
        self.request(what, object, Method::POST, url, body).await
    }

    pub(super) async fn remove(
        &self,
        what: &'static str,
        object: &str,
        generation: Option<&str>,
    ) -> Result<HttpResponse, StateError> {
        let mut url = self.url(false, Some(object));
        // A lock that another owner created meanwhile stays.
        if let Some(generation) = generation {
            url.query_pairs_mut()
                .append_pair("ifGenerationMatch", generation);
        }
        self.request(what, object, Method::DELETE, url, Vec::new())
            .await
    }
}
