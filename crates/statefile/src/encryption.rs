//! Encryption of state files, compatible with OpenTofu's `internal/encryption`: an envelope around
//! the text, encrypted with AES-GCM under a key derived from a passphrase.

mod keys;

use crate::compact;
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keys::KeyCache;
pub use keys::{Hash, KeySource, Secret};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Version of the envelope.
const VERSION: &str = "v0";

/// Failure to encrypt or decrypt.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EncryptionError {
    #[error(
        "it is not encrypted, but the configuration requires encryption; to read it, add the method unencrypted as a fallback"
    )]
    Plain,
    #[error("it is encrypted with the key {0}, which is not in the configuration")]
    NoKey(String),
    #[error("it was encrypted with a passphrase or key other than the configured one")]
    WrongKey,
    #[error("its encrypted form is damaged: {0}")]
    Envelope(String),
    #[error(
        "its unencrypted serial or lineage differs from the encrypted one, so it was tampered with; restore it from a backup"
    )]
    Tampered,
    #[error(
        "its key would take too long to derive ({iterations} iterations for {key_length} bytes); its metadata may have been tampered with"
    )]
    TooMuchWork { iterations: u32, key_length: usize },
    #[error("the system cannot generate random numbers")]
    NoRandom,
}

/// Encryption methods for one kind of file. The first one writes; the others are fallbacks for
/// reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encryption {
    methods: Vec<Method>,
    keys: KeyCache,
}

/// Encryption method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Plain text.
    Unencrypted,
    /// AES-GCM.
    AesGcm {
        key: KeySource,
        /// Additional authenticated data.
        aad: Vec<u8>,
    },
}

/// Serialized form of an encrypted file.
#[derive(Serialize, Deserialize)]
struct Envelope {
    #[serde(default)]
    serial: u64,
    #[serde(default)]
    lineage: String,
    meta: BTreeMap<String, String>,
    encrypted_data: String,
    encryption_version: String,
}

impl Encryption {
    /// Creates a configuration from the method that writes, followed by the fallbacks.
    #[must_use]
    pub fn new(methods: Vec<Method>) -> Self {
        Self {
            methods,
            keys: KeyCache::default(),
        }
    }

    /// Returns true if any method is configured.
    #[must_use]
    pub fn has_methods(&self) -> bool {
        !self.methods.is_empty()
    }

    /// Returns true if written files are encrypted.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        matches!(self.methods.first(), Some(Method::AesGcm { .. }))
    }

    /// Encrypts a text into an envelope on one line with a newline. Returns the text unchanged if
    /// the first method is [`Method::Unencrypted`], or none is configured.
    ///
    /// # Errors
    /// The system cannot supply random numbers, or the key cannot be derived.
    pub fn encrypt(
        &self,
        text: String,
        serial: u64,
        lineage: &str,
    ) -> Result<String, EncryptionError> {
        let Some(Method::AesGcm { key, aad }) = self.methods.first() else {
            return Ok(text);
        };
        let mut meta = BTreeMap::new();
        let bytes = self.keys.new_key(key, &mut meta)?;
        // The key is reused for many files, so each file needs a fresh random nonce.
        let mut nonce = [0; aead::NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| EncryptionError::NoRandom)?;
        let mut data = text.into_bytes();
        cipher(&bytes)?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(aad.as_slice()),
                &mut data,
            )
            .map_err(|_| EncryptionError::Envelope("it is too long".to_owned()))?;
        // OpenTofu stores the nonce before the ciphertext and its tag.
        let whole = [nonce.as_slice(), &data].concat();
        let envelope = Envelope {
            serial,
            lineage: lineage.to_owned(),
            meta,
            encrypted_data: STANDARD.encode(whole),
            encryption_version: VERSION.to_owned(),
        };
        // A struct of texts and numbers, so writing cannot fail.
        Ok(compact(&serde_json::to_string(&envelope).unwrap_or_default()) + "\n")
    }

    /// Decrypts a file with the first method that fits; returns a plain file unchanged.
    ///
    /// # Errors
    /// No method fits; the error is that of the first method.
    pub fn open<'f>(&self, file: &'f [u8]) -> Result<Cow<'f, [u8]>, EncryptionError> {
        if !is_encrypted(file) {
            // An attacker could replace the file by a plain one, so plain text needs an explicit
            // fallback.
            let plain = self.methods.contains(&Method::Unencrypted);
            return if plain || self.methods.is_empty() {
                Ok(Cow::Borrowed(file))
            } else {
                Err(EncryptionError::Plain)
            };
        }
        let envelope: Envelope =
            serde_json::from_slice(file).map_err(|e| EncryptionError::Envelope(e.to_string()))?;
        if envelope.encryption_version != VERSION {
            let version = envelope.encryption_version;
            return Err(EncryptionError::Envelope(format!(
                "its encryption format has version {version:?}, but only {VERSION} is supported"
            )));
        }
        let mut why = None;
        for method in &self.methods {
            let Method::AesGcm { key, aad } = method else {
                continue;
            };
            match self.open_with(key, aad, &envelope) {
                Ok(text) => return Ok(Cow::Owned(text)),
                // The first method is the current one, so its error is the most useful.
                Err(error) => drop(why.get_or_insert(error)),
            }
        }
        let named = envelope.meta.keys().cloned().collect::<Vec<_>>().join(", ");
        Err(why.unwrap_or(EncryptionError::NoKey(named)))
    }

    fn open_with(
        &self,
        key: &KeySource,
        aad: &[u8],
        envelope: &Envelope,
    ) -> Result<Vec<u8>, EncryptionError> {
        let bytes = self.keys.known_key(key, &envelope.meta)?;
        let damaged = |why: &str| EncryptionError::Envelope(why.to_owned());
        let mut data = STANDARD
            .decode(&envelope.encrypted_data)
            .map_err(|_| damaged("the encrypted data is not valid base64"))?;
        if data.len() < aead::NONCE_LEN {
            return Err(damaged("the encrypted data is too short"));
        }
        let mut sealed = data.split_off(aead::NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&data)
            .map_err(|_| damaged("the encrypted data is too short"))?;
        let text = cipher(&bytes)?
            .open_in_place(nonce, Aad::from(aad), &mut sealed)
            .map_err(|_| EncryptionError::WrongKey)?
            .to_vec();
        // Serial and lineage outside of the ciphertext are not authenticated, so they are compared
        // with those inside.
        #[derive(Deserialize)]
        struct Within {
            #[serde(default)]
            serial: u64,
            #[serde(default)]
            lineage: String,
        }
        match serde_json::from_slice::<Within>(&text) {
            Ok(within)
                if (within.serial, &within.lineage) != (envelope.serial, &envelope.lineage) =>
            {
                Err(EncryptionError::Tampered)
            }
            _ => Ok(text),
        }
    }
}

/// Returns true if the file is an envelope.
#[must_use]
pub fn is_encrypted(file: &[u8]) -> bool {
    // A cheap search first, because most files are large and not encrypted.
    if memchr::memmem::find(file, b"\"encrypted_data\"").is_none() {
        return false;
    }
    #[derive(Deserialize)]
    struct Look {
        encrypted_data: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Look>(file).is_ok_and(|look| look.encrypted_data.is_some())
}

fn cipher(key: &[u8]) -> Result<LessSafeKey, EncryptionError> {
    let algorithm = match key.len() {
        16 => &aead::AES_128_GCM,
        24 => &aead::AES_192_GCM,
        _ => &aead::AES_256_GCM,
    };
    let key = UnboundKey::new(algorithm, key).map_err(|_| {
        EncryptionError::Envelope("its key length is not supported by AES".to_owned())
    })?;
    Ok(LessSafeKey::new(key))
}
