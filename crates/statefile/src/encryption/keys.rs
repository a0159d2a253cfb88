//! Keys: derived from a passphrase or from another key, by what is written beside a file or to be
//! written there.

use super::EncryptionError;
use aws_lc_rs::{pbkdf2, rand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// Most bytes of a derived key; AES has 32 at most, and a key may be derived from a longer one.
const MAX_KEY: usize = 1 << 16;
/// Most rounds of one derivation over all blocks of a key, which take some minutes. The metadata of
/// a file set its derivation, and everybody who can write the file can set the metadata.
const MAX_ROUNDS: u64 = 200_000_000;

/// Keys that are remembered: one to write with, and those of what is read.
const REMEMBERED: usize = 8;

/// Where a key comes from: a passphrase, or the key of another one.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySource {
    /// What its metadata is filed under: `key_provider.pbkdf2.NAME`, or an alias.
    pub name: String,
    pub secret: Secret,
    /// In bytes; 16, 24 or 32 for AES.
    pub length: usize,
    /// Rounds of the derivation.
    pub iterations: u32,
    pub hash: Hash,
    /// In bytes.
    pub salt_length: usize,
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeySource")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What a key is derived from.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    Passphrase(String),
    Key(Box<KeySource>),
}

/// The hash of a derivation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    Sha256,
    Sha512,
}

/// What is kept beside a file so that its key can be made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Derivation {
    #[serde(with = "base64_text")]
    salt: Vec<u8>,
    iterations: u32,
    hash_function: Hash,
    key_length: usize,
}

impl Derivation {
    /// Refuses what would take hours, or gigabytes.
    fn check(&self) -> Result<(), EncryptionError> {
        let block = match self.hash_function {
            Hash::Sha256 => 32,
            Hash::Sha512 => 64,
        };
        let blocks = self.key_length.div_ceil(block) as u64;
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

/// Deriving a key takes the better part of a second, on purpose: each is made once.
#[derive(Clone, Default)]
pub(super) struct Remembered(Arc<Mutex<Vec<Derived>>>);

#[derive(Clone)]
struct Derived {
    secret: Vec<u8>,
    how: Derivation,
    key: Vec<u8>,
    /// Whether its salt was made here, and so it is one to write with.
    ours: bool,
}

impl std::fmt::Debug for Remembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remembered")
    }
}

impl PartialEq for Remembered {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Remembered {}

impl Remembered {
    /// A key to write with; how it was made goes into `meta`.
    pub(super) fn new_key(
        &self,
        source: &KeySource,
        meta: &mut BTreeMap<String, String>,
    ) -> Result<Vec<u8>, EncryptionError> {
        let secret = match &source.secret {
            Secret::Passphrase(text) => text.clone().into_bytes(),
            Secret::Key(inner) => self.new_key(inner, meta)?,
        };
        let fits = |one: &Derived| {
            let how = &one.how;
            one.ours
                && one.secret == secret
                && (how.iterations, how.hash_function) == (source.iterations, source.hash)
                && (how.key_length, how.salt.len()) == (source.length, source.salt_length)
        };
        let (how, key) = match self.find(fits) {
            Some(known) => (known.how, known.key),
            None => {
                let mut salt = vec![0; source.salt_length.min(MAX_KEY)];
                rand::fill(&mut salt).map_err(|_| EncryptionError::NoRandom)?;
                let how = Derivation {
                    salt,
                    iterations: source.iterations,
                    hash_function: source.hash,
                    key_length: source.length,
                };
                let key = self.make(secret, &how, true)?;
                (how, key)
            }
        };
        let text = serde_json::to_string(&how).unwrap_or_default();
        meta.insert(source.name.clone(), STANDARD.encode(text));
        Ok(key)
    }

    /// The key that a file was written with, by what it says of it.
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
        match self.find(|one| one.secret == secret && one.how == how) {
            Some(known) => Ok(known.key),
            None => self.make(secret, &how, false),
        }
    }

    fn find(&self, fits: impl Fn(&Derived) -> bool) -> Option<Derived> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|one| fits(one)).cloned()
    }

    fn make(
        &self,
        secret: Vec<u8>,
        how: &Derivation,
        ours: bool,
    ) -> Result<Vec<u8>, EncryptionError> {
        how.check()?;
        let key = derive(&secret, how).ok_or_else(|| {
            EncryptionError::Envelope("a key cannot be derived in no rounds".to_owned())
        })?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(REMEMBERED - 1);
        let made = Derived {
            secret,
            how: how.clone(),
            key: key.clone(),
            ours,
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

/// Bytes as base64, which is how Go writes them.
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
