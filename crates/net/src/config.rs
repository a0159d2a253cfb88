//! Client configurations with their certificates and keys.

use crate::verifier::provider;
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// Errors of configuring a client.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the PEM text of a certificate or key is not valid: {0}")]
    Pem(#[from] pem::Error),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// Client certificate and key.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Parses certificates and the key from one PEM text, in any order.
    ///
    /// # Errors
    /// The text is not PEM, or has no key.
    pub fn from_pem(text: &str) -> Result<Self, TlsError> {
        Ok(Self {
            chain: certificates(text)?,
            key: PrivateKeyDer::from_pem_slice(text.as_bytes())?,
        })
    }
}

/// Parses all certificates of a PEM text.
///
/// # Errors
/// The text is not PEM.
pub fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<_, _>>();
    Ok(all?)
}

/// Creates a configuration that checks servers with `verifier`.
///
/// # Errors
/// The certificate and key of `identity` do not match.
pub fn client(
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Identity>,
) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        // rustls calls any custom verifier dangerous; ours checks servers itself.
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(match identity {
        Some(Identity { chain, key }) => builder.with_client_auth_cert(chain, key)?,
        None => builder.with_no_client_auth(),
    })
}

/// Same for HTTP 1.1.
pub(crate) fn web_client(
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Identity>,
) -> Result<ClientConfig, TlsError> {
    let mut config = client(verifier, identity)?;
    // These clients speak only HTTP 1.1, so they must not negotiate HTTP/2.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
