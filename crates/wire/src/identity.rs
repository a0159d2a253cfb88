//! The certificate by which one end proves itself to the other: self-signed, made when first
//! needed, never written to disk. The session's own is kept here for the life of the process.

use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// Allowance for clocks of the two ends that differ.
const BACKDATE: Duration = Duration::from_secs(30);
/// A certificate lives as long as its process; this is only an upper end.
const LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Why a certificate could not be made or read.
#[derive(Debug, Error)]
pub enum CertificateError {
    #[error("a certificate for the connection to the plugin could not be made: {0}")]
    Generate(#[from] rcgen::Error),
    #[error("the other side's certificate is not a PEM certificate: {0}")]
    Pem(#[from] rustls::pki_types::pem::Error),
    #[error("the other side's certificate cannot be read: {0}")]
    Der(#[source] rustls::Error),
}

/// A certificate and its key.
pub struct Identity {
    certificate: CertificateDer<'static>,
    pem: String,
    key: Vec<u8>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field(
                "certificate",
                &format_args!("{} bytes", self.certificate.len()),
            )
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// Makes a fresh one: ECDSA P-256, for `localhost`, client and server. Takes some 25–70 ms the
    /// first time in a process (entropy), so it is made where somebody waits for a process anyway.
    ///
    /// # Errors
    /// The cryptography library failed.
    pub fn generate() -> Result<Self, CertificateError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
        params
            .distinguished_name
            .push(DnType::CommonName, "localhost");
        params
            .distinguished_name
            .push(DnType::OrganizationName, "flightdeck");
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        let now = SystemTime::now();
        params.not_before = (now - BACKDATE).into();
        params.not_after = (now + LIFETIME).into();
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            pem: certificate.pem(),
            key: key.serialize_der(),
        })
    }

    /// The one of this session, made at the first call. All plugins of a session see the same.
    ///
    /// # Errors
    /// As [`Identity::generate`]; the next call tries again.
    pub fn session() -> Result<Arc<Self>, CertificateError> {
        static SESSION: Mutex<Option<Arc<Identity>>> = Mutex::new(None);
        let mut slot = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(identity) = &*slot {
            return Ok(Arc::clone(identity));
        }
        let identity = Arc::new(Self::generate()?);
        *slot = Some(Arc::clone(&identity));
        Ok(identity)
    }

    /// The certificate as DER, as it stands (base64) in a handshake line.
    #[must_use]
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The certificate as PEM text, as it stands in `PLUGIN_CLIENT_CERT`.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.certificate.clone()]
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.clone()).into()
    }
}

/// The first certificate of a PEM text.
///
/// # Errors
/// There is none, or it is damaged.
pub fn certificate_of_pem(text: &str) -> Result<CertificateDer<'static>, CertificateError> {
    Ok(CertificateDer::from_pem_slice(text.as_bytes())?)
}
