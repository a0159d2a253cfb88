//! Google credential sources: access token, service account key, signed-in user, metadata server.
//!
//! `reqsign-google` 3.2 does not replace this: it ignores the `token_uri` of a credentials file,
//! and it signs with a second RSA implementation (`rsa`) beside aws-lc.

use super::super::http_client::{Attempts, HttpClient, HttpRequest};
use super::super::token::{self, Token};
use super::super::values::Values;
use super::error::GcsError;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;

/// Scope of a token for storage.
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";
/// Scope of a token that requests an impersonated one.
const CLOUD: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Address of the metadata server.
const MACHINE: &str = "http://metadata.google.internal";

/// Credential source, impersonation, and the cached token.
pub(super) struct Credentials {
    source: Source,
    /// Service account to impersonate, and the delegates in between.
    acting_as: Option<(String, Vec<String>)>,
    token: Mutex<Option<Token>>,
}

enum Source {
    Nobody,
    Token(String),
    /// Content of a credentials file.
    FileContent(Json),
    Machine(String),
}

impl Credentials {
    pub(super) fn new(values: &Values<'_>) -> Result<Self, GcsError> {
        let acting_as = values.text(
            "impersonate_service_account",
            &[
                "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT",
                "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
            ],
        );
        let between = values.list("impersonate_service_account_delegates");
        Ok(Self {
            source: Source::of(values)?,
            acting_as: acting_as.map(|name| (name, between)),
            token: Mutex::default(),
        })
    }

    /// Returns a token; `None` if the service needs none.
    pub(super) async fn token(
        &self,
        web: &HttpClient,
        attempts: Attempts,
    ) -> Result<Option<String>, GcsError> {
        if matches!(self.source, Source::Nobody) {
            return Ok(None);
        }
        // The lock is held across the request, so concurrent requests fetch one token.
        let mut known = self.token.lock().await;
        if let Some(token) = known.as_ref().filter(|token| token.is_fresh()) {
            return Ok(Some(token.text.clone()));
        }
        // A request for an impersonated token needs the wider scope.
        let scope = if self.acting_as.is_some() {
            CLOUD
        } else {
            SCOPE
        };
        let mut fresh = self.source.token(web, attempts, scope).await?;
        if let Some((name, between)) = &self.acting_as {
            fresh = impersonated_token(web, attempts, &fresh.text, name, between).await?;
        }
        *known = Some(fresh.clone());
        Ok(Some(fresh.text))
    }
}

impl Source {
    fn of(values: &Values<'_>) -> Result<Self, GcsError> {
        // An emulator has no authentication.
        if values.variable(&["STORAGE_EMULATOR_HOST"]).is_some() {
            return Ok(Self::Nobody);
        }
        if let Some(token) = values.text("access_token", &["GOOGLE_OAUTH_ACCESS_TOKEN"]) {
            return Ok(Self::Token(token));
        }
        let variables = ["GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"];
        let home = values.variable(&["HOME"]).map(PathBuf::from);
        let home = home.unwrap_or_default();
        if let Some(said) = values.text("credentials", &variables) {
            return Self::parse(&said, &home);
        }
        if let Some(file) = values.variable(&["GOOGLE_APPLICATION_CREDENTIALS"]) {
            return Self::parse(&file, &home);
        }
        let usual = home.join(".config/gcloud/application_default_credentials.json");
        if usual.is_file() {
            return Self::parse(&usual.display().to_string(), &home);
        }
        let machine = values.variable(&["GCE_METADATA_HOST"]);
        let machine = machine.map_or_else(|| MACHINE.to_owned(), |host| format!("http://{host}"));
        Ok(Self::Machine(machine))
    }

    /// Parses credentials, given as a file's path or as its content.
    fn parse(text: &str, home: &std::path::Path) -> Result<Self, GcsError> {
        // The argument may be the JSON itself instead of a path.
        let content = if text.trim_start().starts_with('{') {
            text.to_owned()
        } else {
            let path = match text.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None => PathBuf::from(text),
            };
            fsroot::read_named(&path).map_err(|source| GcsError::Unreadable { path, source })?
        };
        let said: Json = serde_json::from_str(&content).map_err(GcsError::NoObject)?;
        match said["type"].as_str() {
            Some("service_account" | "authorized_user") => Ok(Self::FileContent(said)),
            other => Err(GcsError::Type(other.unwrap_or_default().to_owned())),
        }
    }

    async fn token(
        &self,
        web: &HttpClient,
        attempts: Attempts,
        scope: &str,
    ) -> Result<Token, GcsError> {
        match self {
            Self::Nobody => Err(GcsError::Nobody),
            // The lifetime is unknown, and the token cannot be renewed.
            Self::Token(token) => Ok(Token::with_lifetime(token, Duration::from_secs(86_400))),
            Self::FileContent(said) => {
                let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
                let to = Some(text("token_uri")).filter(|uri| !uri.is_empty());
                let to = to.unwrap_or_else(|| "https://oauth2.googleapis.com/token".to_owned());
                let form = if said["type"] == "service_account" {
                    vec![
                        (
                            "grant_type",
                            "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned(),
                        ),
                        ("assertion", assertion(said, &to, scope)?),
                    ]
                } else {
                    vec![
                        ("grant_type", "refresh_token".to_owned()),
                        ("client_id", text("client_id")),
                        ("client_secret", text("client_secret")),
                        ("refresh_token", text("refresh_token")),
                    ]
                };
                Ok(token::request_token(web, attempts, &to, &form).await?)
            }
            Self::Machine(host) => {
                let url =
                    format!("{host}/computeMetadata/v1/instance/service-accounts/default/token");
                let url = Url::parse(&url).map_err(GcsError::Url)?;
                let mut ask = HttpRequest::new(Method::GET, url);
                ask.headers.insert(
                    HeaderName::from_static("metadata-flavor"),
                    HeaderValue::from_static("Google"),
                );
                let asked = tokio::time::timeout(Duration::from_secs(5), web.send_once(ask)).await;
                match asked {
                    // Any other result means that the machine is not in Google's cloud.
                    Ok(Ok(answer)) if answer.status == 200 => Ok(Token::parse(&answer)?),
                    _ => Err(GcsError::NoCredentials),
                }
            }
        }
    }
}

/// Signs the JWT with which a service account requests a token.
fn assertion(said: &Json, to: &str, scope: &str) -> Result<String, GcsError> {
    let pem = said["private_key"].as_str().unwrap_or_default();
    let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(GcsError::NoPrivateKey)?;
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).map_err(GcsError::NoRsaKey)?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let head = json!({"alg": "RS256", "typ": "JWT", "kid": said["private_key_id"]});
    // Google limits the lifetime of an assertion to one hour.
    let claims = json!({
        "iss": said["client_email"],
        "scope": scope,
        "aud": to,
        "iat": now,
        "exp": now + 3600,
    });
    let mut text = URL_SAFE_NO_PAD.encode(head.to_string());
    text.push('.');
    text.push_str(&URL_SAFE_NO_PAD.encode(claims.to_string()));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        text.as_bytes(),
        &mut signature,
    )
    .map_err(GcsError::DoesNotSign)?;
    text.push('.');
    text.push_str(&URL_SAFE_NO_PAD.encode(signature));
    Ok(text)
}

/// Fetches a token of the impersonated service account.
async fn impersonated_token(
    web: &HttpClient,
    attempts: Attempts,
    token: &str,
    name: &str,
    between: &[String],
) -> Result<Token, GcsError> {
    let url = format!(
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{name}:generateAccessToken"
    );
    let mut ask = HttpRequest::new(Method::POST, Url::parse(&url).map_err(GcsError::Url)?);
    let between = between
        .iter()
        .map(|one| format!("projects/-/serviceAccounts/{one}"));
    let body = json!({
        "delegates": between.collect::<Vec<_>>(),
        "scope": [SCOPE],
        "lifetime": "3600s",
    });
    ask.body = body.to_string().into_bytes();
    let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
    let bearer = bearer.map_err(GcsError::TokenFitsNoHeader)?;
    ask.headers
        .insert(HeaderName::from_static("authorization"), bearer);
    ask.headers.insert(
        HeaderName::from_static("content-type"),
        HeaderValue::from_static("application/json"),
    );
    let answer = web.send(ask, attempts).await?;
    let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
    let Some(token) = said["accessToken"].as_str() else {
        let why = said["error"]["message"].as_str();
        return Err(GcsError::ActingAs {
            name: name.to_owned(),
            why: why.unwrap_or("no reason given").to_owned(),
            status: answer.status,
        });
    };
    Ok(Token::with_lifetime(token, Duration::from_secs(3600)))
}
