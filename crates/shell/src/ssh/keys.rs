//! Parses private keys, certificates and host keys from the configuration.

use super::Endpoint;
use super::error::SshError;
use russh::keys::ssh_key::HashAlg;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Certificate, PrivateKey, PublicKey, PublicKeyOrCertificate};
use std::sync::Arc;

/// Parsed keys of an endpoint.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) private: Option<Arc<PrivateKey>>,
    pub(super) certificate: Option<Certificate>,
    pub(super) host: Option<PublicKey>,
}

impl Keys {
    pub(super) fn of(endpoint: &Endpoint) -> Result<Self, SshError> {
        let private = endpoint
            .private_key
            .as_deref()
            .map(|text| private(text).map_err(|why| SshError::PrivateKey(endpoint.address(), why)));
        let private = private.transpose()?.map(Arc::new);
        let certificate = endpoint
            .certificate
            .as_deref()
            // A certificate is useless without its private key.
            .filter(|_| private.is_some());
        let certificate = certificate.map(|text| {
            certificate_of(text).map_err(|why| SshError::Certificate(endpoint.address(), why))
        });
        let host = endpoint.host_key.as_deref().map(|text| {
            PublicKey::from_openssh(text.trim())
                .map_err(|e| SshError::HostKeyUnreadable(endpoint.address(), e.into()))
        });
        Ok(Self {
            private,
            certificate: certificate.transpose()?,
            host: host.transpose()?,
        })
    }
}

/// Error of a text that is not a usable key or certificate.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the key is protected by a password, which is not supported; decrypt it first")]
    Locked,
    #[error("the text contains no key")]
    None,
    #[error(transparent)]
    Unreadable(#[from] russh::keys::Error),
    #[error(transparent)]
    Malformed(#[from] russh::keys::ssh_key::Error),
    #[error("{0} is a plain key, not a certificate; remove `certificate` to use the key alone")]
    PlainKey(String),
}

fn private(text: &str) -> Result<PrivateKey, KeyError> {
    match russh::keys::decode_secret_key(text, None) {
        Ok(key) if key.is_encrypted() => Err(KeyError::Locked),
        Ok(key) => Ok(key),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(KeyError::Locked),
        // Formats that the library does not know report other errors.
        Err(_) if text.contains("ENCRYPTED") => Err(KeyError::Locked),
        Err(russh::keys::Error::CouldNotReadKey) => Err(KeyError::None),
        Err(other) => Err(other.into()),
    }
}

fn certificate_of(text: &str) -> Result<Certificate, KeyError> {
    Certificate::from_openssh(text.trim()).map_err(|error| match text.split_whitespace().next() {
        Some(kind) if !kind.contains("-cert-") && PublicKey::from_openssh(text.trim()).is_ok() => {
            KeyError::PlainKey(kind.to_owned())
        }
        _ => error.into(),
    })
}

/// Returns true if the server at `host` has the expected key, or a certificate signed by it.
pub(super) fn is_expected(
    expected: &PublicKey,
    host: &str,
    shown: &PublicKeyOrCertificate,
) -> bool {
    let wanted = expected.key_data();
    match shown {
        PublicKeyOrCertificate::PublicKey { key, .. } => key.key_data() == wanted,
        PublicKeyOrCertificate::Certificate(certificate) => {
            let signed = || {
                certificate
                    .validate([&expected.fingerprint(HashAlg::Sha256)])
                    .is_ok()
            };
            let names = certificate.valid_principals();
            // A host certificate without names is valid for every host.
            let named = || names.is_empty() || names.iter().any(|name| name == host);
            certificate.public_key() == wanted
                || certificate.cert_type() == CertType::Host && named() && signed()
        }
    }
}

/// Formats a server's key as algorithm and fingerprint.
pub(super) fn fingerprint(shown: &PublicKeyOrCertificate) -> String {
    let (kind, print) = match shown {
        PublicKeyOrCertificate::PublicKey { key, .. } => {
            (key.algorithm(), key.fingerprint(HashAlg::Sha256))
        }
        PublicKeyOrCertificate::Certificate(c) => {
            (c.algorithm(), c.public_key().fingerprint(HashAlg::Sha256))
        }
    };
    format!("{kind} {print}")
}
