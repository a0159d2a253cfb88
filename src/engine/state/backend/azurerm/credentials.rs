//! Who one is to Azure: a key of the account, a signature made for one, or a token of a service
//! principal, a federated identity, the machine, or the user of the command line.

use super::super::gcs::credentials::{post, token_in};
use super::super::values::Values;
use super::super::web::{Answer, Ask, Attempts, Web};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;

/// A token is not used in the last part of its life.
const EARLY: Duration = Duration::from_secs(120);
/// For the program that knows the user.
const PROGRAM: Duration = Duration::from_secs(60);
const STORAGE: &str = "https://storage.azure.com/";

/// How requests are let in.
pub(super) enum Access {
    Key(String),
    /// What goes with every address.
    Signature(String),
    Token(Tokens),
    /// The key of the account, asked for with a token.
    KeyOf {
        tokens: Tokens,
        address: String,
    },
}

/// Tokens, and who they are asked for.
pub(super) struct Tokens {
    who: Who,
    resource: String,
    known: Mutex<Option<(String, SystemTime)>>,
    key: Mutex<Option<String>>,
}

enum Who {
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

enum Assertion {
    Text(String),
    File(PathBuf),
    Asked { url: String, token: String },
}

impl Access {
    pub(super) fn new(values: &Values<'_>, account: &str) -> Result<Self, String> {
        if let Some(key) = values.text("access_key", &["ARM_ACCESS_KEY"]) {
            return Ok(Self::Key(key));
        }
        if let Some(signature) = values.text("sas_token", &["ARM_SAS_TOKEN"]) {
            return Ok(Self::Signature(
                signature.trim_start_matches('?').to_owned(),
            ));
        }
        if values.flag("use_azuread_auth", &["ARM_USE_AZUREAD"])? == Some(true) {
            return Ok(Self::Token(Tokens::new(values, STORAGE)?));
        }
        let group = values.text("resource_group_name", &[]);
        let subscription = values.text("subscription_id", &["ARM_SUBSCRIPTION_ID"]);
        let (Some(group), Some(subscription)) = (group, subscription) else {
            return Err("it is not said how requests are let in: access_key (ARM_ACCESS_KEY), sas_token (ARM_SAS_TOKEN), use_azuread_auth (ARM_USE_AZUREAD), or resource_group_name and subscription_id, by which the key of the account is asked for".to_owned());
        };
        let management = match cloud(values)? {
            Cloud::Public => "https://management.azure.com",
            Cloud::Government => "https://management.usgovcloudapi.net",
            Cloud::China => "https://management.chinacloudapi.cn",
        };
        let address = format!(
            "{management}/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Storage/storageAccounts/{account}/listKeys?api-version=2023-01-01"
        );
        let tokens = Tokens::new(values, &format!("{management}/"))?;
        Ok(Self::KeyOf { tokens, address })
    }

    /// Lets a request in; why not, in words.
    pub(super) async fn sign(
        &self,
        ask: &mut Ask,
        account: &str,
        web: &Web,
        attempts: Attempts,
    ) -> Result<(), String> {
        match self {
            Self::Key(key) => by_key(ask, account, key),
            Self::Signature(signature) => {
                let query = match ask.url.query() {
                    Some(query) => format!("{query}&{signature}"),
                    None => signature.clone(),
                };
                ask.url.set_query(Some(&query));
                Ok(())
            }
            Self::Token(tokens) => by_token(ask, &tokens.token(web, attempts).await?),
            Self::KeyOf { tokens, address } => {
                let mut known = tokens.key.lock().await;
                let key = match &*known {
                    Some(key) => key.clone(),
                    None => key_of(tokens, address, web, attempts).await?,
                };
                *known = Some(key.clone());
                by_key(ask, account, &key)
            }
        }
    }
}

/// One of the worlds that Azure has.
pub(super) enum Cloud {
    Public,
    Government,
    China,
}

pub(super) fn cloud(values: &Values<'_>) -> Result<Cloud, String> {
    if values
        .text("metadata_host", &["ARM_METADATA_HOST"])
        .is_some()
    {
        return Err("\"metadata_host\" cannot be used here yet; say \"environment\"".to_owned());
    }
    match values.text("environment", &["ARM_ENVIRONMENT"]).as_deref() {
        None | Some("public") => Ok(Cloud::Public),
        Some("usgovernment") => Ok(Cloud::Government),
        Some("china") => Ok(Cloud::China),
        Some(other) => Err(format!(
            "\"environment\" is {other:?}, and there are public, usgovernment and china"
        )),
    }
}

fn header(ask: &mut Ask, name: HeaderName, value: &str) -> Result<(), String> {
    let value = HeaderValue::from_str(value).map_err(|_| format!("{name} fits no header"))?;
    ask.headers.insert(name, value);
    Ok(())
}

fn by_token(ask: &mut Ask, token: &str) -> Result<(), String> {
    header(ask, AUTHORIZATION, &format!("Bearer {token}"))
}

/// Signs a request with the account's key.
fn by_key(ask: &mut Ask, account: &str, key: &str) -> Result<(), String> {
    let key = STANDARD
        .decode(key)
        .map_err(|_| "the access key of the account is no base64".to_owned())?;
    let text = to_sign(ask, account);
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signature = STANDARD.encode(hmac::sign(&key, text.as_bytes()));
    let value = format!("SharedKey {account}:{signature}");
    header(ask, AUTHORIZATION, &value)
}

fn to_sign(ask: &Ask, account: &str) -> String {
    let get = |name: &str| {
        let value = ask.headers.get(name);
        value.and_then(|v| v.to_str().ok()).unwrap_or_default()
    };
    let length = match ask.body.len() {
        0 => String::new(),
        length => length.to_string(),
    };
    let mut text = format!("{}\n\n\n{length}\n\n", ask.method);
    text.push_str(get("content-type"));
    text.push_str("\n\n\n");
    text.push_str(get("if-match"));
    text.push('\n');
    text.push_str(get("if-none-match"));
    text.push_str("\n\n\n");
    let ours: BTreeMap<&str, &str> = ask
        .headers
        .keys()
        .map(HeaderName::as_str)
        .filter(|name| name.starts_with("x-ms-"))
        .map(|name| (name, get(name)))
        .collect();
    for (name, value) in ours {
        text.push_str(&format!("{name}:{value}\n"));
    }
    text.push_str(&format!("/{account}{}", ask.url.path()));
    let query: BTreeMap<String, String> = ask.url.query_pairs().into_owned().collect();
    for (name, value) in query {
        text.push_str(&format!("\n{}:{value}", name.to_lowercase()));
    }
    text
}

/// The key of the account, by a token.
async fn key_of(
    tokens: &Tokens,
    address: &str,
    web: &Web,
    attempts: Attempts,
) -> Result<String, String> {
    let url = Url::parse(address).map_err(|e| e.to_string())?;
    let mut ask = Ask::new(Method::POST, url);
    by_token(&mut ask, &tokens.token(web, attempts).await?)?;
    header(&mut ask, HeaderName::from_static("content-length"), "0")?;
    let answer = web.send(ask, attempts).await?;
    let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
    let key = said["keys"][0]["value"].as_str();
    key.map(str::to_owned).ok_or_else(|| {
        let why = said["error"]["message"]
            .as_str()
            .unwrap_or("no reason is given");
        format!(
            "the key of the storage account is not given: {why} (code {})",
            answer.status
        )
    })
}

impl Tokens {
    fn new(values: &Values<'_>, resource: &str) -> Result<Self, String> {
        Ok(Self {
            who: Who::of(values)?,
            resource: resource.to_owned(),
            known: Mutex::default(),
            key: Mutex::default(),
        })
    }

    async fn token(&self, web: &Web, attempts: Attempts) -> Result<String, String> {
        let mut known = self.known.lock().await;
        if let Some((token, until)) = &*known
            && SystemTime::now() + EARLY < *until
        {
            return Ok(token.clone());
        }
        let fresh = self.who.token(&self.resource, web, attempts).await?;
        *known = Some(fresh.clone());
        Ok(fresh.0)
    }
}

impl Who {
    fn of(values: &Values<'_>) -> Result<Self, String> {
        let text = |name: &str, variables: &[&str]| {
            let file = values.text(&format!("{name}_file_path"), &[]);
            let read = file.and_then(|file| std::fs::read_to_string(file).ok());
            let read = read.map(|text| text.trim().to_owned());
            values.text(name, variables).or(read)
        };
        let client = text("client_id", &["ARM_CLIENT_ID", "AZURE_CLIENT_ID"]);
        let tenant = values.text("tenant_id", &["ARM_TENANT_ID", "AZURE_TENANT_ID"]);
        let login = match cloud(values)? {
            Cloud::Public => "https://login.microsoftonline.com",
            Cloud::Government => "https://login.microsoftonline.us",
            Cloud::China => "https://login.chinacloudapi.cn",
        };
        let certificate = ["client_certificate", "client_certificate_path"];
        let variables = ["ARM_CLIENT_CERTIFICATE", "ARM_CLIENT_CERTIFICATE_PATH"];
        if certificate
            .iter()
            .any(|name| values.text(name, &[]).is_some())
            || values.variable(&variables).is_some()
        {
            return Err("certificates of a client cannot be used here yet; a secret, OIDC, the machine's identity or `az login` can".to_owned());
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
        if values.flag("use_cli", &["ARM_USE_CLI"])? == Some(false) {
            return Err("nobody is said to be asked for a token: neither client_id with client_secret and tenant_id, use_oidc, use_msi, nor use_cli".to_owned());
        }
        Ok(Self::CommandLine)
    }

    async fn token(
        &self,
        resource: &str,
        web: &Web,
        attempts: Attempts,
    ) -> Result<(String, SystemTime), String> {
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
                token_in(&post(web, attempts, authority, &form).await?)
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
                token_in(&post(web, attempts, authority, &form).await?)
            }
            Self::Machine { client } => machine(resource, client.as_deref(), web).await,
            Self::CommandLine => command_line(resource).await,
        }
    }
}

impl Assertion {
    fn of(values: &Values<'_>) -> Result<Self, String> {
        if let Some(text) = values.text("oidc_token", &["ARM_OIDC_TOKEN"]) {
            return Ok(Self::Text(text));
        }
        let file = values.text(
            "oidc_token_file_path",
            &["ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE"],
        );
        if let Some(file) = file {
            return Ok(Self::File(file.into()));
        }
        let url = values.text(
            "oidc_request_url",
            &["ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL"],
        );
        let token = values.text(
            "oidc_request_token",
            &["ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"],
        );
        match (url, token) {
            (Some(url), Some(token)) => Ok(Self::Asked { url, token }),
            _ => Err("use_oidc needs oidc_token, oidc_token_file_path, or oidc_request_url with oidc_request_token".to_owned()),
        }
    }

    async fn text(&self, web: &Web, attempts: Attempts) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(file) => {
                let read = tokio::fs::read_to_string(file).await;
                let read = read.map(|text| text.trim().to_owned());
                read.map_err(|e| format!("the token in {} cannot be read: {e}", file.display()))
            }
            Self::Asked { url, token } => {
                let mut url = Url::parse(url).map_err(|e| e.to_string())?;
                url.query_pairs_mut()
                    .append_pair("audience", "api://AzureADTokenExchange");
                let mut ask = Ask::new(Method::GET, url);
                by_token(&mut ask, token)?;
                let answer = web.send(ask, attempts).await?;
                let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
                let value = said["value"].as_str().map(str::to_owned);
                value.ok_or_else(|| format!("no OIDC token is given (code {})", answer.status))
            }
        }
    }
}

/// A token of the machine that this runs on.
async fn machine(
    resource: &str,
    client: Option<&str>,
    web: &Web,
) -> Result<(String, SystemTime), String> {
    let base = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01";
    let mut url = Url::parse(base).map_err(|e| e.to_string())?;
    url.query_pairs_mut().append_pair("resource", resource);
    if let Some(client) = client {
        url.query_pairs_mut().append_pair("client_id", client);
    }
    let mut ask = Ask::new(Method::GET, url);
    header(&mut ask, HeaderName::from_static("metadata"), "true")?;
    match tokio::time::timeout(Duration::from_secs(10), web.once(ask)).await {
        Ok(answer) => token_in(&answer?),
        Err(_) => Err("this machine does not say who it is: it may be none of Azure's".to_owned()),
    }
}

/// A token of whoever has signed in with `az login`.
async fn command_line(resource: &str) -> Result<(String, SystemTime), String> {
    let ran = tokio::process::Command::new("az")
        .args([
            "account",
            "get-access-token",
            "--output",
            "json",
            "--resource",
        ])
        .arg(resource)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(PROGRAM, ran).await {
        Ok(Ok(output)) => output,
        Ok(Err(e)) => {
            return Err(format!(
                "nobody is known to Azure here, and `az` cannot be asked: {e}; set ARM_ACCESS_KEY, or sign in with `az login`"
            ));
        }
        Err(_) => return Err("`az` does not answer".to_owned()),
    };
    let said: Json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let Some(token) = said["accessToken"].as_str() else {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().next().unwrap_or_default();
        return Err(format!(
            "`az` gives no token: {why}; sign in with `az login`"
        ));
    };
    Ok((
        token.to_owned(),
        SystemTime::now() + Duration::from_secs(600),
    ))
}

/// What Azure says of why.
pub(super) fn why(answer: &Answer) -> (String, String) {
    let code = answer.header("x-ms-error-code").unwrap_or_default();
    let text = super::super::s3::element(&answer.body, "Message").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    (code.to_owned(), first.to_owned())
}
