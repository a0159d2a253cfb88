//! Azure access tokens of a service principal, federated identity, managed identity or `az login`.
//!
//! `reqsign-azure-storage` 3.3 does not replace this: its tokens are for storage alone, and account
//! keys need one for the management API; it takes no `oidc_token` or `oidc_request_url`; and it
//! brings a second RSA implementation.

use super::super::http_client::{Attempts, HttpClient, HttpRequest};
use super::super::token::{self, Token};
use super::super::values::Values;
use super::assertion::Assertion;
use super::cloud::Cloud;
use super::error::AzureError;
use reqwest::header::HeaderName;
use reqwest::{Method, Url};
use serde_json::Value as Json;
use std::time::Duration;
use tokio::sync::Mutex;

/// Time limit of `az`.
const PROGRAM: Duration = Duration::from_secs(60);

/// Access tokens for one resource, fetched from one identity and cached.
pub(super) struct Tokens {
    identity: Identity,
    resource: String,
    cached: Mutex<Option<Token>>,
}

enum Identity {
    Secret {
        authority: String,
        client: String,
        secret: String,
    },
    Federated {
        authority: String,
        client: String,
        assertion: Assertion,
    },
    Machine {
        client: Option<String>,
    },
    CommandLine,
}

impl Tokens {
    pub(super) fn new(values: &Values<'_>, resource: &str) -> Result<Self, AzureError> {
        Ok(Self {
            identity: Identity::of(values)?,
            resource: resource.to_owned(),
            cached: Mutex::default(),
        })
    }

    pub(super) async fn token(
        &self,
        web: &HttpClient,
        attempts: Attempts,
    ) -> Result<String, AzureError> {
        let mut known = self.cached.lock().await;
        if let Some(token) = known.as_ref().filter(|token| token.is_fresh()) {
            return Ok(token.text.clone());
        }
        let fresh = self.identity.token(&self.resource, web, attempts).await?;
        *known = Some(fresh.clone());
        Ok(fresh.text)
    }
}

impl Identity {
    fn of(values: &Values<'_>) -> Result<Self, AzureError> {
        let text = |name: &str, variables: &[&str]| {
            let file = values.text(&format!("{name}_file_path"), &[]);
            let read = file.and_then(|file| fsroot::read_named(file).ok());
            let read = read.map(|text| text.trim().to_owned());
            values.text(name, variables).or(read)
        };
        let client = text("client_id", &["ARM_CLIENT_ID", "AZURE_CLIENT_ID"]);
        let tenant = values.text("tenant_id", &["ARM_TENANT_ID", "AZURE_TENANT_ID"]);
        let login = Cloud::of(values)?.login();
        let certificate = ["client_certificate", "client_certificate_path"];
        let variables = ["ARM_CLIENT_CERTIFICATE", "ARM_CLIENT_CERTIFICATE_PATH"];
        if certificate
            .iter()
            .any(|name| values.text(name, &[]).is_some())
            || values.variable(&variables).is_some()
        {
            return Err(AzureError::ClientCertificate);
        }
        let authority = |tenant: &str| format!("{login}/{tenant}/oauth2/v2.0/token");
        let secret = text("client_secret", &["ARM_CLIENT_SECRET"]);
        if let (Some(client), Some(tenant), Some(secret)) = (&client, &tenant, secret) {
            return Ok(Self::Secret {
                authority: authority(tenant),
                client: client.clone(),
                secret,
            });
        }
        let kubernetes = values.is("use_aks_workload_identity");
        let federated = kubernetes || values.flag("use_oidc", &["ARM_USE_OIDC"])? == Some(true);
        if let (Some(client), Some(tenant), true) = (&client, &tenant, federated) {
            return Ok(Self::Federated {
                authority: authority(tenant),
                client: client.clone(),
                assertion: Assertion::of(values)?,
            });
        }
        if values.flag("use_msi", &["ARM_USE_MSI"])? == Some(true) {
            return Ok(Self::Machine { client });
        }
        // `az login` is the last resort, unless it is disabled.
        if values.flag("use_cli", &["ARM_USE_CLI"])? == Some(false) {
            return Err(AzureError::Nobody);
        }
        Ok(Self::CommandLine)
    }

    async fn token(
        &self,
        resource: &str,
        web: &HttpClient,
        attempts: Attempts,
    ) -> Result<Token, AzureError> {
        let scope = format!("{resource}.default");
        match self {
            Self::Secret {
                authority,
                client,
                secret,
            } => {
                let form = [
                    ("grant_type", "client_credentials".to_owned()),
                    ("client_id", client.clone()),
                    ("client_secret", secret.clone()),
                    ("scope", scope),
                ];
                Ok(token::request_token(web, attempts, authority, &form).await?)
            }
            Self::Federated {
                authority,
                client,
                assertion,
            } => {
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                let form = [
                    ("grant_type", "client_credentials".to_owned()),
                    ("client_id", client.clone()),
                    ("client_assertion_type", kind.to_owned()),
                    ("client_assertion", assertion.text(web, attempts).await?),
                    ("scope", scope),
                ];
                Ok(token::request_token(web, attempts, authority, &form).await?)
            }
            Self::Machine { client } => machine(resource, client.as_deref(), web).await,
            Self::CommandLine => command_line(resource).await,
        }
    }
}

/// Fetches a token of the managed identity from the instance metadata service.
async fn machine(
    resource: &str,
    client: Option<&str>,
    web: &HttpClient,
) -> Result<Token, AzureError> {
    let base = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01";
    let mut url = Url::parse(base).map_err(AzureError::Url)?;
    url.query_pairs_mut().append_pair("resource", resource);
    if let Some(client) = client {
        url.query_pairs_mut().append_pair("client_id", client);
    }
    let mut ask = HttpRequest::new(Method::GET, url);
    ask.header(HeaderName::from_static("metadata"), "true")?;
    // Without a limit, a machine outside Azure would wait for an address that nothing answers.
    match tokio::time::timeout(Duration::from_secs(10), web.send_once(ask)).await {
        Ok(answer) => Ok(Token::parse(&answer?)?),
        Err(late) => Err(AzureError::SilentMachine(late)),
    }
}

/// Fetches a token of the user who signed in with `az login`.
async fn command_line(resource: &str) -> Result<Token, AzureError> {
    let mut az = fetch::program("az");
    az.args(["account", "get-access-token", "--output", "json"])
        .args(["--resource", resource]);
    let ran = fetch::output(az, PROGRAM).await;
    let output = ran.map_err(AzureError::Program)?;
    let said: Json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let Some(token) = said["accessToken"].as_str() else {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().next().unwrap_or_default();
        return Err(AzureError::ProgramRefuses(why.to_owned()));
    };
    // A fixed lifetime; the expiry that `az` prints is not used.
    Ok(Token::with_lifetime(token, Duration::from_secs(600)))
}
