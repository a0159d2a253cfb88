//! Key derivation (PBKDF2) from a passphrase or from another key. Its parameters are stored in the
//! envelope of the encrypted file, so that the key can be derived again.

use super::EncryptionError;
use aws_lc_rs::{pbkdf2, rand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum length of a derived key in bytes. AES needs at most 32, but a key can be derived from a
/// longer one.
const MAX_KEY: usize = 1 << 16;
/// Maximum number of hash iterations over all blocks of one key, which takes a few minutes.
/// Everyone who can write a file controls its derivation parameters.
const MAX_ROUNDS: u64 = 200_000_000;

/// Number of cached keys: one for writing, the others for reading.
const MAX_CACHED: usize = 8;

/// Source of a key: a passphrase, or another key.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySource {
    /// Name of its metadata: `key_provider.pbkdf2.NAME`, or an alias.
    pub name: String,
    pub secret: Secret,
    /// Key length in bytes; 16, 24 or 32 for AES.
    pub length: usize,
    /// Iterations of the derivation.
    pub iterations: u32,
    pub hash: Hash,
    /// Salt length in bytes.
    pub salt_length: usize,
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeySource")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Secret that a key is derived from.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    Passphrase(String),
    Key(Box<KeySource>),
}

/// Hash function of a derivation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    Sha256,
    Sha512,
}

/// Derivation parameters, stored in a file's envelope so that its key can be derived again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Derivation {
    #[serde(with = "base64_text")]
    salt: Vec<u8>,
    iterations: u32,
    hash_function: Hash,
    key_length: usize,
}

impl Derivation {
    /// Refuses parameters that would take hours or gigabytes.
    fn check(&self) -> Result<(), EncryptionError> {
        let block = match self.hash_function {
            Hash::Sha256 => 32,
            Hash::Sha512 => 64,
        };
        let blocks = self.key_length.div_ceil(block) as u64;
        // PBKDF2 runs all iterations once for each block of the key.
        let rounds = u64::from(self.iterations).saturating_mul(blocks);
        if self.key_length > MAX_KEY || rounds > MAX_ROUNDS {
            return Err(EncryptionError::TooMuchWork {
                iterations: self.iterations,
                key_length: self.key_length,
            });
        }
        Ok(())
    }
}

/// Cache of derived keys, because each derivation deliberately takes most of a second.
#[derive(Clone, Default)]
pub(super) struct KeyCache(Arc<Mutex<Vec<Derived>>>);

#[derive(Clone)]
struct Derived {
    secret: Vec<u8>,
    derivation: Derivation,
    key: Vec<u8>,
    /// True if the salt was generated here, so the key can be used for writing.
    generated_here: bool,
}

impl std::fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remembered")
    }
}

impl PartialEq for KeyCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KeyCache {}

impl KeyCache {
    /// Returns a key for writing, and adds its parameters to `meta`.
    pub(super) fn new_key(
        &self,
        source: &KeySource,
        meta: &mut BTreeMap<String, String>,
    ) -> Result<Vec<u8>, EncryptionError> {
        let secret = match &source.secret {
            Secret::Passphrase(text) => text.clone().into_bytes(),
            Secret::Key(inner) => self.new_key(inner, meta)?,
        };
        // A key with a salt from a file is not used for writing: whoever wrote the file chose the
        // salt.
        let fits = |one: &Derived| {
            let how = &one.derivation;
            one.generated_here
                && one.secret == secret
                && (how.iterations, how.hash_function) == (source.iterations, source.hash)
                && (how.key_length, how.salt.len()) == (source.length, source.salt_length)
        };
        let (how, key) = match self.find(fits) {
            Some(known) => (known.derivation, known.key),
            None => {
                let mut salt = vec![0; source.salt_length.min(MAX_KEY)];
                rand::fill(&mut salt).map_err(|_| EncryptionError::NoRandom)?;
                let how = Derivation {
                    salt,
                    iterations: source.iterations,
                    hash_function: source.hash,
                    key_length: source.length,
                };
                let key = self.derive_cached(secret, &how, true)?;
                (how, key)
            }
        };
        let text = serde_json::to_string(&how).unwrap_or_default();
        meta.insert(source.name.clone(), STANDARD.encode(text));
        Ok(key)
    }

    /// Returns the key that a file was written with, from the parameters in its metadata.
    pub(super) fn known_key(
        &self,
        source: &KeySource,
        meta: &BTreeMap<String, String>,
    ) -> Result<Vec<u8>, EncryptionError> {
        let secret = match &source.secret {
            Secret::Passphrase(text) => text.clone().into_bytes(),
            Secret::Key(inner) => self.known_key(inner, meta)?,
        };
        let Some(text) = meta.get(&source.name) else {
            let named = meta.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(EncryptionError::NoKey(named));
        };
        let damaged =
            || EncryptionError::Envelope(format!("the metadata of {} is damaged", source.name));
        let text = STANDARD.decode(text).map_err(|_| damaged())?;
        let how: Derivation = serde_json::from_slice(&text).map_err(|_| damaged())?;
        match self.find(|one| one.secret == secret && one.derivation == how) {
            Some(known) => Ok(known.key),
            None => self.derive_cached(secret, &how, false),
        }
    }

    fn find(&self, fits: impl Fn(&Derived) -> bool) -> Option<Derived> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|one| fits(one)).cloned()
    }

    fn derive_cached(
        &self,
        secret: Vec<u8>,
        how: &Derivation,
        ours: bool,
    ) -> Result<Vec<u8>, EncryptionError> {
        // Checked before the derivation, which would run for hours.
        how.check()?;
        let key = derive(&secret, how).ok_or_else(|| {
            EncryptionError::Envelope("a key cannot be derived with zero iterations".to_owned())
        })?;
        // The lock is not held during the derivation; two threads may derive the same key once
        // each.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(MAX_CACHED - 1);
        let made = Derived {
            secret,
            derivation: how.clone(),
            key: key.clone(),
            generated_here: ours,
        };
        all.insert(0, made);
        Ok(key)
    }
}

fn derive(secret: &[u8], how: &Derivation) -> Option<Vec<u8>> {
    let algorithm = match how.hash_function {
        Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
    };
    let mut key = vec![0; how.key_length];
    let rounds = NonZeroU32::new(how.iterations)?;
    pbkdf2::derive(algorithm, rounds, &how.salt, secret, &mut key);
    Some(key)
}

/// Serializes bytes as base64, as Go does.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}
