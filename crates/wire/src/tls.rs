//! TLS of both ends. Each end knows the certificate of the other beforehand (from the handshake
//! line or the environment) and accepts no other. Both require ALPN `h2`: without it a Go server
//! completes the handshake and then closes the connection.

use crate::identity::{CertificateError, Identity};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, danger};
use rustls::{
    AlertDescription, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};
use std::io;
use std::sync::Arc;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

const ALPN: &[u8] = b"h2";

/// Failure to establish a TLS connection.
#[derive(Debug, Error)]
pub enum TlsError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
    #[error("the peer presented a certificate other than the one that it announced")]
    WrongCertificate,
    #[error("the peer does not support HTTP/2 over TLS (no `h2` in its ALPN)")]
    NoAlpn,
    #[error("the TLS handshake failed: {0}")]
    Handshake(#[source] io::Error),
}

fn crypto() -> Arc<CryptoProvider> {
    // Not `ring`: it lacks P-521, which every Go plugin uses.
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// Certificate verifier that accepts one certificate, byte for byte. Names, dates and chains are
/// not checked, because the certificate came through the pipe of the process itself.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    crypto: Arc<CryptoProvider>,
}

impl Pinned {
    fn new(certificate: CertificateDer<'static>) -> Result<Arc<Self>, TlsError> {
        // Parsed now, so that garbage in a handshake line is reported as such and not as a wrong
        // certificate later.
        ParsedCertificate::try_from(&certificate).map_err(CertificateError::Der)?;
        Ok(Arc::new(Self {
            certificate,
            crypto: crypto(),
        }))
    }

    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if shown.as_ref() == self.certificate.as_ref() {
            return Ok(());
        }
        Err(Error::InvalidCertificate(
            rustls::CertificateError::ApplicationVerificationFailure,
        ))
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity)
            .map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.crypto.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.crypto.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto
            .signature_verification_algorithms
            .supported_schemes()
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity)
            .map(|()| danger::ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.crypto.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.crypto.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Returns the TLS configuration of the host, which presents `identity` and accepts only the plugin
/// with `certificate` (DER, from the handshake line).
///
/// # Errors
/// `certificate` is invalid, or the cryptography library refuses the identity.
pub fn client_config(
    identity: &Identity,
    certificate: &[u8],
) -> Result<Arc<ClientConfig>, TlsError> {
    let pinned = Pinned::new(CertificateDer::from(certificate.to_vec()))?;
    let mut config = ClientConfig::builder_with_provider(crypto())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_client_auth_cert(identity.chain(), identity.key())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    // A process has one connection, so there is no session to resume.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

/// Returns the TLS configuration of the plugin, which presents `identity` and accepts only the host
/// with the certificate `host_pem` (from `PLUGIN_CLIENT_CERT`).
///
/// # Errors
/// `host_pem` is invalid, or the cryptography library refuses the identity.
pub fn server_config(identity: &Identity, host_pem: &str) -> Result<Arc<ServerConfig>, TlsError> {
    let pinned = Pinned::new(crate::identity::certificate_of_pem(host_pem)?)?;
    let mut config = ServerConfig::builder_with_provider(crypto())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(pinned)
        .with_single_cert(identity.chain(), identity.key())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// Establishes the host's end of a TLS connection over `stream`. Has no time limit; the caller sets
/// the deadline.
///
/// # Errors
/// The handshake failed, the certificate is another one, or the other side does not offer `h2`.
pub async fn connect<S>(
    config: Arc<ClientConfig>,
    stream: S,
) -> Result<client::TlsStream<S>, TlsError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // The verifier ignores the name, but rustls requires one.
    let name = ServerName::DnsName("localhost".try_into().expect("a valid name"));
    let stream = TlsConnector::from(config)
        .connect(name, stream)
        .await
        .map_err(classify)?;
    // rustls also completes a handshake without ALPN.
    demand_h2(stream.get_ref().1.alpn_protocol())?;
    Ok(stream)
}

/// Establishes the plugin's end of a TLS connection over `stream`. Has no time limit; the caller
/// sets the deadline.
///
/// # Errors
/// As [`connect`].
pub async fn accept<S>(
    config: Arc<ServerConfig>,
    stream: S,
) -> Result<server::TlsStream<S>, TlsError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream = TlsAcceptor::from(config)
        .accept(stream)
        .await
        .map_err(classify)?;
    demand_h2(stream.get_ref().1.alpn_protocol())?;
    Ok(stream)
}

fn demand_h2(negotiated: Option<&[u8]>) -> Result<(), TlsError> {
    if negotiated == Some(ALPN) {
        Ok(())
    } else {
        Err(TlsError::NoAlpn)
    }
}

fn classify(error: io::Error) -> TlsError {
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>())
    {
        Some(Error::InvalidCertificate(_)) => TlsError::WrongCertificate,
        // The first is our own refusal, the second the alert of the other side.
        Some(
            Error::NoApplicationProtocol
            | Error::AlertReceived(AlertDescription::NoApplicationProtocol),
        ) => TlsError::NoAlpn,
        _ => TlsError::Handshake(error),
    }
}
