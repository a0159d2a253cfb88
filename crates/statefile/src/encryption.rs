//! Encrypted state files: an envelope around the text, sealed with AES-GCM under a key that is made
//! from a passphrase. As OpenTofu's `internal/encryption` has it, metadata and all.

mod keys;

use crate::compact;
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keys::Remembered;
pub use keys::{Hash, KeySource, Secret};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The version of the envelope.
const VERSION: &str = "v0";

/// Why something cannot be encrypted or decrypted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EncryptionError {
    #[error(
        "it is not encrypted, and the configuration does not say that it may be so (method unencrypted, as a fallback)"
    )]
    Plain,
    #[error("it is encrypted with the key {0}, which the configuration does not have")]
    NoKey(String),
    #[error("the passphrase or the key is another than the one that it was encrypted with")]
    WrongKey,
    #[error("its envelope is damaged: {0}")]
    Envelope(String),
    #[error(
        "serial and lineage beside the encrypted text are not those within: it was tampered with"
    )]
    Tampered,
    #[error(
        "its key would take too much work to derive ({iterations} iterations for {key_length} bytes); the metadata beside it may have been tampered with"
    )]
    TooMuchWork { iterations: u32, key_length: usize },
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// How files of a kind are encrypted: the method that writes, and after it those that may have
/// written what is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encryption {
    methods: Vec<Method>,
    keys: Remembered,
}

/// One way to write a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// As it is.
    Unencrypted,
    /// AES in Galois counter mode.
    AesGcm {
        key: KeySource,
        /// What is authenticated beside the text.
        aad: Vec<u8>,
    },
}

/// The file around an encrypted text.
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
    /// With the method that writes first, and those that may be read after it.
    #[must_use]
    pub fn new(methods: Vec<Method>) -> Self {
        Self {
            methods,
            keys: Remembered::default(),
        }
    }

    /// Whether anything is said of how.
    #[must_use]
    pub fn has_methods(&self) -> bool {
        !self.methods.is_empty()
    }

    /// Whether what is written is encrypted.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        matches!(self.methods.first(), Some(Method::AesGcm { .. }))
    }

    /// Puts a text into its envelope, on one line with a newline; as it is where the method that
    /// writes leaves it so.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn seal(
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
        let whole = [nonce.as_slice(), &data].concat();
        let envelope = Envelope {
            serial,
            lineage: lineage.to_owned(),
            meta,
            encrypted_data: STANDARD.encode(whole),
            encryption_version: VERSION.to_owned(),
        };
        // A struct of texts and numbers: writing it cannot fail.
        Ok(compact(&serde_json::to_string(&envelope).unwrap_or_default()) + "\n")
    }

    /// The text in a file, by the first method that fits; the file's own where it is plain.
    ///
    /// # Errors
    /// None does; why the first one does not.
    pub fn open<'f>(&self, file: &'f [u8]) -> Result<Cow<'f, [u8]>, EncryptionError> {
        if !is_sealed(file) {
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
                "it has version {version:?}, and {VERSION} is known here"
            )));
        }
        let mut why = None;
        for method in &self.methods {
            let Method::AesGcm { key, aad } = method else {
                continue;
            };
            match self.open_with(key, aad, &envelope) {
                Ok(text) => return Ok(Cow::Owned(text)),
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
            .map_err(|_| damaged("what is encrypted is no base64"))?;
        if data.len() < aead::NONCE_LEN {
            return Err(damaged("what is encrypted is too short"));
        }
        let mut sealed = data.split_off(aead::NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&data)
            .map_err(|_| damaged("what is encrypted is too short"))?;
        let text = cipher(&bytes)?
            .open_in_place(nonce, Aad::from(aad), &mut sealed)
            .map_err(|_| EncryptionError::WrongKey)?
            .to_vec();
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

/// Whether a file is an envelope.
#[must_use]
pub fn is_sealed(file: &[u8]) -> bool {
    // Without a look at the whole of what may be large: most have no such word.
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
        EncryptionError::Envelope("its key is of no length that AES has".to_owned())
    })?;
    Ok(LessSafeKey::new(key))
}
