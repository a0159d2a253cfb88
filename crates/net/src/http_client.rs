//! HTTP client with one policy for certificates, proxies, redirects, timeouts and the user agent.

use crate::config::{Identity, TlsError, certificates, web_client};
use crate::verifier::{Roots, any_server, verifier};
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Url};
use rustls::ClientConfig;
use std::time::Duration;

const USER_AGENT: &str = concat!("flightdeck/", env!("CARGO_PKG_VERSION"));
/// Maximum number of redirects of one request.
const MAX_REDIRECTS: usize = 10;

/// Options of a client. The default trusts the certificates of the system (`SSL_CERT_FILE`) and
/// uses the proxies of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// Certificates in PEM that replace the system's.
    pub authorities: Option<String>,
    /// Client certificate and key in PEM.
    pub identity: Option<String>,
    /// Accept every server certificate.
    pub any_certificate: bool,
    /// Replaces the proxies of the environment.
    pub http_proxy: Option<String>,
    /// Replaces the proxies of the environment.
    pub https_proxy: Option<String>,
    /// Hosts that are reached without `http_proxy` and `https_proxy`.
    pub no_proxy: Option<String>,
    /// Time limit of a connection attempt.
    pub connect_timeout: Duration,
    /// Time limit between two chunks of an answer.
    pub read_timeout: Duration,
    pub redirects: Redirects,
}

/// Treatment of redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Follow them as browsers do, except from https to http, where anyone on the network path
    /// could replace the answer.
    Follow,
    /// Return them to the caller.
    Return,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            authorities: None,
            identity: None,
            any_certificate: false,
            http_proxy: None,
            https_proxy: None,
            no_proxy: None,
            connect_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(60),
            redirects: Redirects::Follow,
        }
    }
}

/// Errors of creating a client.
#[derive(Debug, thiserror::Error)]
pub enum HttpClientError {
    #[error("the configured CA certificates contain no certificate in PEM format")]
    NoCertificate,
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// Creates a client. Blocking, because it may read the certificates of the system.
///
/// # Errors
/// The certificates or a proxy's address are invalid.
pub fn http_client(options: &HttpOptions) -> Result<Client, HttpClientError> {
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(options.connect_timeout)
        .read_timeout(options.read_timeout)
        .redirect(match options.redirects {
            Redirects::Follow => follow(),
            Redirects::Return => Policy::none(),
        })
        .tls_backend_preconfigured(tls_config(options)?);
    let without = options.no_proxy.as_deref().and_then(NoProxy::from_string);
    if let Some(url) = &options.http_proxy {
        let proxy = Proxy::http(url)?;
        builder = builder.proxy(proxy.no_proxy(without.clone()));
    }
    if let Some(url) = &options.https_proxy {
        let proxy = Proxy::https(url)?;
        builder = builder.proxy(proxy.no_proxy(without));
    }
    Ok(builder.build()?)
}

fn tls_config(options: &HttpOptions) -> Result<ClientConfig, HttpClientError> {
    let roots = match &options.authorities {
        Some(pem) => Roots::Only(certificates(pem)?),
        None => Roots::System,
    };
    // An empty list would trust no server at all.
    if matches!(&roots, Roots::Only(all) if all.is_empty()) {
        return Err(HttpClientError::NoCertificate);
    }
    let verifier = match options.any_certificate {
        true => any_server(),
        false => verifier(roots).map_err(TlsError::from)?,
    };
    let identity = options.identity.as_deref().map(Identity::from_pem);
    Ok(web_client(verifier, identity.transpose()?)?)
}

fn follow() -> Policy {
    Policy::custom(|attempt| {
        let was_secure = attempt.previous().iter().any(|url| url.scheme() == "https");
        if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error(format!(
                "the server redirected more than {MAX_REDIRECTS} times"
            ))
        } else if was_secure && attempt.url().scheme() != "https" {
            let why = format!(
                "the server redirected from https to {}, which is not encrypted",
                without_secrets(attempt.url())
            );
            attempt.error(why)
        } else {
            attempt.follow()
        }
    })
}

/// Address without its login and query, which may have secrets.
fn without_secrets(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}
