//! Verifier of server certificates. Like Go's clients, it accepts a certificate that is itself
//! trusted, without an issuer. Internal servers often use a self-signed CA certificate, which
//! rustls rejects as a server certificate.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use std::sync::Arc;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::ExtendedKeyUsage;

/// Extended key usages that allow server authentication: server authentication itself, or any.
const SERVER_PURPOSES: [ObjectIdentifier; 2] = [
    ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1"),
    ObjectIdentifier::new_unwrap("2.5.29.37.0"),
];

/// Trusted certificates.
#[derive(Debug, Clone)]
pub enum Roots {
    /// Certificates of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    System,
    /// Only these.
    Only(Vec<CertificateDer<'static>>),
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Creates a verifier for trusted certificates, which checks name, time and purpose.
///
/// # Errors
/// None of the certificates is usable.
pub fn verifier(roots: Roots) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    let chain: Arc<dyn ServerCertVerifier> = match &roots {
        Roots::System => Arc::new(rustls_platform_verifier::Verifier::new(provider())?),
        Roots::Only(certificates) => {
            let mut store = RootCertStore::empty();
            // One invalid certificate must not disable the others.
            store.add_parsable_certificates(certificates.iter().cloned());
            WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider())
                .build()
                .map_err(|e| Error::Other(OtherError(Arc::new(e))))?
        }
    };
    Ok(Arc::new(Verifier { chain, roots }))
}

/// Accepts every server. Only for configurations that disable verification.
pub fn any_server() -> Arc<dyn ServerCertVerifier> {
    Arc::new(AnyServer(provider()))
}

#[derive(Debug)]
struct Verifier {
    chain: Arc<dyn ServerCertVerifier>,
    roots: Roots,
}

impl Verifier {
    /// Reads the system's certificates again, because a client may outlive them. Rare: only for
    /// certificates without a path to a root.
    fn trusts(&self, end: &CertificateDer<'_>) -> bool {
        match &self.roots {
            Roots::System => rustls_native_certs::load_native_certs()
                .certs
                .iter()
                .any(|root| root == end),
            Roots::Only(certificates) => certificates.iter().any(|root| root == end),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let refused = match self.chain.verify_server_cert(end, between, name, ocsp, now) {
            // Only a missing issuer is forgiven, and only if exactly this certificate is trusted.
            Err(error) if lacks_issuer(&error) && self.trusts(end) => error,
            verified => return verified,
        };
        // The chain check failed early, so the other checks must run here.
        if !is_current(end, now)? {
            return Err(CertificateError::Expired.into());
        }
        if !serves(end)? {
            // The error of the chain check names the problem more exactly.
            return Err(refused);
        }
        verify_server_name(&ParsedCertificate::try_from(end)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

/// Returns true if the issuer is the problem: none is trusted, or the certificate is a CA's own.
fn lacks_issuer(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_))
    )
}

fn parsed(end: &CertificateDer<'_>) -> Result<Certificate, Error> {
    Certificate::from_der(end).map_err(|_| CertificateError::BadEncoding.into())
}

fn is_current(end: &CertificateDer<'_>, now: UnixTime) -> Result<bool, Error> {
    let validity = parsed(end)?.tbs_certificate.validity;
    let from = validity.not_before.to_unix_duration().as_secs();
    let until = validity.not_after.to_unix_duration().as_secs();
    Ok((from..=until).contains(&now.as_secs()))
}

/// Returns true if the certificate allows server authentication: no extended key usage, or one for
/// servers.
fn serves(end: &CertificateDer<'_>) -> Result<bool, Error> {
    let found = parsed(end)?.tbs_certificate.get::<ExtendedKeyUsage>();
    let found = found.map_err(|_| Error::from(CertificateError::BadEncoding))?;
    Ok(found.is_none_or(|(_, purposes)| {
        purposes
            .0
            .iter()
            .any(|purpose| SERVER_PURPOSES.contains(purpose))
    }))
}

#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
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
            &self.0.signature_verification_algorithms,
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
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
