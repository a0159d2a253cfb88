//! Encryption of sensitive values in the record of a stage that uses secrets. The key is derived
//! from the secrets themselves, so the values are readable only where the same secrets are found
//! again. This also shows a secret that has changed since.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{pbkdf2, rand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cty::{Marks, Path, Type, Value};
use model::SecretOrigin;
use model::secrets::Secrets;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Iterations of the key derivation. A short secret must not be found by trying all of them.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(210_000).unwrap();
/// Length of the salt, in bytes.
const SALT: usize = 16;
/// Length of keys, in bytes.
const KEY: usize = 32;
/// Prefix of sealed bytes in fields that have base64 otherwise.
const PREFIX: &str = "sealed:";

/// Failure to seal or open values.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SealError {
    #[error("the system cannot supply random numbers")]
    NoRandom,
    #[error("a sensitive value cannot be encrypted")]
    Encrypt,
    #[error("an encrypted value is damaged")]
    Damaged,
}

/// A resolved secret.
#[derive(Clone)]
pub struct ResolvedSecret {
    /// The reference as written.
    pub from: Arc<str>,
    pub text: Arc<str>,
}

/// Secrets of a stage as recorded: references and checks, without the values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSecrets {
    /// Salt of all key derivations, in base64.
    salt: String,
    secrets: BTreeMap<Arc<str>, RecordedSecret>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedSecret {
    from: Arc<str>,
    /// Hash of the derived key, which shows whether the secret is the same.
    check: String,
}

/// Secrets of a stage. Those of a stage that is only displayed cannot open its sealed values.
#[derive(Debug, Clone, Default)]
pub struct StageSecrets {
    pub recorded: RecordedSecrets,
    pub sealer: Option<Arc<Sealer>>,
}

impl RecordedSecrets {
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Returns true if the value of this variable is given by reference.
    pub fn contains(&self, variable: &str) -> bool {
        self.secrets.contains_key(variable)
    }

    /// Returns the references by variable, for display.
    pub fn origins(&self) -> Vec<SecretOrigin> {
        let all = self.secrets.iter();
        all.map(|(variable, secret)| SecretOrigin {
            variable: variable.to_string(),
            from: secret.from.to_string(),
        })
        .collect()
    }

    /// Derives the key from the present secrets. Slow: a tenth of a second for each.
    ///
    /// # Errors
    /// The text about the first secret that differs from the recorded one.
    pub fn unlock(
        &self,
        present: &BTreeMap<Arc<str>, ResolvedSecret>,
    ) -> Result<StageSecrets, String> {
        let salt = STANDARD.decode(&self.salt).unwrap_or_default();
        let (sealer, checks) = Sealer::derive(present, &salt);
        for (variable, recorded) in &self.secrets {
            if checks.get(variable) != Some(&recorded.check) {
                return Err(format!(
                    "the secret {variable} (from {}) has changed since the stage was planned",
                    recorded.from
                ));
            }
        }
        Ok(StageSecrets {
            recorded: self.clone(),
            sealer: Some(Arc::new(sealer)),
        })
    }
}

impl StageSecrets {
    /// Creates the secrets of a new stage. Slow, like [`RecordedSecrets::unlock`].
    ///
    /// # Errors
    /// The system cannot supply random numbers.
    pub fn new(present: &BTreeMap<Arc<str>, ResolvedSecret>) -> Result<Self, SealError> {
        if present.is_empty() {
            return Ok(Self::default());
        }
        let mut salt = [0; SALT];
        rand::fill(&mut salt).map_err(|_| SealError::NoRandom)?;
        let (sealer, checks) = Sealer::derive(present, &salt);
        let secrets = checks.into_iter().filter_map(|(variable, check)| {
            let from = present.get(&variable)?.from.clone();
            Some((variable, RecordedSecret { from, check }))
        });
        Ok(Self {
            recorded: RecordedSecrets {
                salt: STANDARD.encode(salt),
                secrets: secrets.collect(),
            },
            sealer: Some(Arc::new(sealer)),
        })
    }
}

/// Encrypts and decrypts the sensitive values of one stage.
pub struct Sealer {
    key: Option<LessSafeKey>,
    /// Finds the secrets in texts, in any encoding.
    known: Secrets,
    /// The secrets with their origins, because short ones are not found inside of texts.
    texts: Vec<(SecretOrigin, Arc<str>)>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    fn derive(
        present: &BTreeMap<Arc<str>, ResolvedSecret>,
        salt: &[u8],
    ) -> (Self, BTreeMap<Arc<str>, String>) {
        let (mut whole, mut checks) = (Sha256::new(), BTreeMap::new());
        let known = Secrets::default();
        for (variable, secret) in present {
            let mut key = [0; KEY];
            let algorithm = pbkdf2::PBKDF2_HMAC_SHA512;
            pbkdf2::derive(
                algorithm,
                ITERATIONS,
                salt,
                secret.text.as_bytes(),
                &mut key,
            );
            whole.update(key);
            let check = Sha256::new().chain_update(b"check").chain_update(key);
            checks.insert(variable.clone(), hex::encode(check.finalize()));
            known.register_text(&secret.text);
        }
        let texts = present.iter().map(|(variable, secret)| {
            let origin = SecretOrigin {
                variable: variable.to_string(),
                from: secret.from.to_string(),
            };
            (origin, secret.text.clone())
        });
        let key = UnboundKey::new(&aead::AES_256_GCM, &whole.finalize());
        let sealer = Self {
            key: key.ok().map(LessSafeKey::new),
            known,
            texts: texts.collect(),
        };
        (sealer, checks)
    }

    /// Returns the origin of a text that is a secret as a whole.
    pub fn origin_of(&self, text: &str) -> Option<&SecretOrigin> {
        let mut all = self.texts.iter();
        let found = all.find(|(_, secret)| **secret == *text);
        found.map(|(origin, _)| origin)
    }

    /// Returns true if a text has a secret in it, in any encoding.
    pub fn is_in(&self, text: &str) -> bool {
        self.origin_of(text).is_some()
            || matches!(self.known.redact(text), std::borrow::Cow::Owned(_))
    }

    /// Replaces every text of a JSON value that has a secret in it.
    pub fn redact_json(&self, json: &mut serde_json::Value) {
        match json {
            serde_json::Value::String(text) if self.is_in(text) => {
                self.known.redact_in_place(text);
                if self.is_in(text) {
                    model::secrets::MASK.clone_into(text);
                }
            }
            serde_json::Value::Array(all) => all.iter_mut().for_each(|v| self.redact_json(v)),
            serde_json::Value::Object(all) => {
                all.values_mut().for_each(|v| self.redact_json(v));
            }
            _ => {}
        }
    }

    /// Replaces all sensitive parts of an unmarked value by unknown ones, and returns them
    /// encrypted with their paths. A part is sensitive if it is marked so, or has a secret in it.
    ///
    /// # Errors
    /// A part cannot be encrypted.
    pub fn seal(
        &self,
        plain: Value,
        marks: &[(Path, Marks)],
    ) -> Result<(Value, Vec<(Path, String)>), SealError> {
        let mut paths: Vec<Path> = Vec::new();
        let mut add = |path: &Path| {
            if !paths.iter().any(|known| path.starts_with(known)) {
                paths.retain(|known| !known.starts_with(path));
                paths.push(path.clone());
            }
        };
        let sensitive = marks.iter().filter(|(_, marks)| marks.is_sensitive());
        sensitive.for_each(|(path, _)| add(path));
        plain.walk(&mut |path, part| {
            if self.is_value(part) {
                add(path);
            }
            // An element of a set has no path, so the set is sealed as a whole.
            if part.ty().is_set() && self.is_inside(part) {
                add(path);
            }
            !part.ty().is_set()
        });
        let (mut value, mut sealed) = (plain, Vec::new());
        for mut path in paths {
            loop {
                let part = path.apply(&value).map_err(|_| SealError::Encrypt)?;
                if part.is_null() || !part.is_known() {
                    break;
                }
                let unknown = Value::unknown(part.ty().clone());
                if let Some(without) = value.with_at(&path, unknown) {
                    let bytes = cty::msgpack::encode(&part, part.ty());
                    let bytes = bytes.map_err(|_| SealError::Encrypt)?;
                    sealed.push((path, self.encrypt(bytes)?));
                    value = without;
                    break;
                }
                // The path leads into a set.
                path.pop().ok_or(SealError::Encrypt)?;
            }
        }
        Ok((value, sealed))
    }

    fn is_value(&self, part: &Value) -> bool {
        let number = || part.as_number().map(|number| number.to_string());
        part.as_str().is_some_and(|text| self.is_in(text))
            || number().is_some_and(|text| self.origin_of(&text).is_some())
    }

    fn is_inside(&self, part: &Value) -> bool {
        let mut found = false;
        part.walk(&mut |_, inner| {
            found |= self.is_value(inner);
            !found
        });
        found
    }

    /// Decrypts a part.
    ///
    /// # Errors
    /// The text is damaged.
    pub fn open(&self, sealed: &str, ty: &Type) -> Result<Value, SealError> {
        let bytes = self.decrypt(sealed)?;
        cty::msgpack::decode(&bytes, ty).map_err(|_| SealError::Damaged)
    }

    /// Encrypts a text if a secret is in it.
    ///
    /// # Errors
    /// It cannot be encrypted.
    pub fn seal_text(&self, text: &str) -> Result<Option<String>, SealError> {
        let is_in = self.is_in(text);
        is_in
            .then(|| self.encrypt(text.as_bytes().to_vec()))
            .transpose()
    }

    /// Decrypts a text.
    ///
    /// # Errors
    /// It is damaged.
    pub fn open_text(&self, sealed: &str) -> Result<String, SealError> {
        String::from_utf8(self.decrypt(sealed)?).map_err(|_| SealError::Damaged)
    }

    fn encrypt(&self, mut bytes: Vec<u8>) -> Result<String, SealError> {
        let key = self.key.as_ref().ok_or(SealError::Encrypt)?;
        let mut nonce = [0; aead::NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| SealError::NoRandom)?;
        let unique = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(unique, Aad::empty(), &mut bytes)
            .map_err(|_| SealError::Encrypt)?;
        Ok(STANDARD.encode([&nonce[..], &bytes].concat()))
    }

    fn decrypt(&self, sealed: &str) -> Result<Vec<u8>, SealError> {
        let key = self.key.as_ref().ok_or(SealError::Damaged)?;
        let mut nonce = STANDARD.decode(sealed).map_err(|_| SealError::Damaged)?;
        if nonce.len() < aead::NONCE_LEN {
            return Err(SealError::Damaged);
        }
        let mut bytes = nonce.split_off(aead::NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&nonce).map_err(|_| SealError::Damaged)?;
        let opened = key.open_in_place(nonce, Aad::empty(), &mut bytes);
        Ok(opened.map_err(|_| SealError::Damaged)?.to_vec())
    }
}

/// Encodes bytes as base64, or encrypted if a secret is in them.
///
/// # Errors
/// They cannot be encrypted.
pub fn bytes_text(bytes: &[u8], sealer: Option<&Sealer>) -> Result<String, SealError> {
    match sealer.filter(|sealer| sealer.is_in(&String::from_utf8_lossy(bytes))) {
        Some(sealer) => Ok(format!("{PREFIX}{}", sealer.encrypt(bytes.to_vec())?)),
        None => Ok(STANDARD.encode(bytes)),
    }
}

/// Decodes [`bytes_text`]. Without a sealer, encrypted bytes are empty.
///
/// # Errors
/// The text is damaged.
pub fn text_bytes(text: &str, sealer: Option<&Sealer>) -> Result<Vec<u8>, SealError> {
    match (text.strip_prefix(PREFIX), sealer) {
        (Some(_), None) => Ok(Vec::new()),
        (Some(sealed), Some(sealer)) => sealer.decrypt(sealed),
        (None, _) => STANDARD.decode(text).map_err(|_| SealError::Damaged),
    }
}

#[cfg(test)]
mod tests;
