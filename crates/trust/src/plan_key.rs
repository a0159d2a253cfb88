//! Signatures of plan files: HMAC with SHA-256 (RFC 2104), with a key of the user or with one that
//! jobs share.

use crate::user_key;
use aws_lc_rs::hmac;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Environment variable with a key that jobs share.
pub const VARIABLE: &str = "FLIGHTDECK_PLAN_KEY";
/// Minimum length of a shared key, in bytes, so that nobody finds it by trying.
const MIN_LENGTH: usize = 16;
/// Text in place of a signature.
const UNSIGNED: &str = "unsigned";

/// Refusal of a plan file or of a key.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PlanKeyError {
    #[error(
        "{VARIABLE} is empty or too short: give it at least {MIN_LENGTH} characters of a random \
         text, or unset it"
    )]
    Short,
    #[error("cannot read or write the key in {}: {why}; check its permissions", path.display())]
    File { path: PathBuf, why: String },
    #[error("the plan file was changed after it was written: its signature is wrong; plan again")]
    Changed,
    #[error(
        "the plan file is not signed with the key in {VARIABLE}; give the job that plans the same \
         key, and plan again"
    )]
    OtherKey,
}

/// Keys that sign and check plan files.
#[derive(Clone, Debug)]
pub struct PlanKeys {
    /// Key of [`VARIABLE`].
    shared: Option<Key>,
    /// Key of the user; `None` if it does not exist yet.
    own: Option<Key>,
    /// File of the user's key; `None` without a state directory.
    file: Option<PathBuf>,
}

/// Key with the name that signatures give it.
#[derive(Clone, Debug)]
struct Key {
    id: String,
    key: hmac::Key,
}

impl Key {
    fn new(text: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
        let id = hmac::sign(&key, b"id of a key for flightdeck plans");
        let id = hex::encode(&id.as_ref()[..8]);
        Self { id, key }
    }

    fn sign(&self, content: &[u8]) -> String {
        let tag = hmac::sign(&self.key, content);
        format!("{} {}", self.id, hex::encode(tag))
    }
}

impl PlanKeys {
    /// Reads the key of the environment and that of the user.
    ///
    /// # Errors
    /// The shared key is too short, or the user's key cannot be read.
    pub fn load(
        workspace: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PlanKeyError> {
        let shared = variable(VARIABLE).map(|key| key.trim().to_owned());
        if shared.as_ref().is_some_and(|key| key.len() < MIN_LENGTH) {
            return Err(PlanKeyError::Short);
        }
        let file = user_key::file(workspace, &variable);
        let own = match file.as_deref().map(user_key::read) {
            Some(Ok(key)) => Some(Key::new(&key)),
            Some(Err(e)) if e.kind() != ErrorKind::NotFound && shared.is_none() => {
                return Err(PlanKeyError::File {
                    path: file.unwrap_or_default(),
                    why: e.to_string(),
                });
            }
            _ => None,
        };
        let shared = shared.as_deref().map(Key::new);
        Ok(Self { shared, own, file })
    }

    /// Signs the content of a plan file. Creates a missing key of the user. Without a key,
    /// the text says that the file is unsigned.
    ///
    /// # Errors
    /// The key cannot be created.
    pub fn sign(&self, content: &[u8]) -> Result<String, PlanKeyError> {
        if let Some(key) = self.shared.as_ref().or(self.own.as_ref()) {
            return Ok(key.sign(content));
        }
        let Some(file) = &self.file else {
            return Ok(UNSIGNED.to_owned());
        };
        let made = user_key::create(file).map_err(|e| PlanKeyError::File {
            path: file.clone(),
            why: e.to_string(),
        })?;
        Ok(Key::new(&made).sign(content))
    }

    /// Checks the signature of a plan file. A signature with an unknown key is accepted unless
    /// there is a shared key: a plan of another machine or user.
    ///
    /// # Errors
    /// The content was changed, or is not signed with the shared key.
    pub fn check(&self, content: &[u8], signature: &str) -> Result<bool, PlanKeyError> {
        let (id, tag) = signature.split_once(' ').unwrap_or((signature, ""));
        let mut keys = self.shared.iter().chain(&self.own);
        let Some(key) = keys.find(|key| key.id == id) else {
            return match self.shared {
                Some(_) => Err(PlanKeyError::OtherKey),
                None => Ok(false),
            };
        };
        let tag = hex::decode(tag).unwrap_or_default();
        let verified = hmac::verify(&key.key, content, &tag);
        verified.map(|()| true).map_err(|_| PlanKeyError::Changed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    fn keys(root: &Path, shared: Option<&str>) -> Result<PlanKeys, PlanKeyError> {
        let [workspace, home] = ["w", "home"].map(|name| root.join(name));
        std::fs::create_dir_all(&workspace).unwrap();
        PlanKeys::load(&workspace, |name| match name {
            "HOME" => Some(home.display().to_string()),
            VARIABLE => shared.map(str::to_owned),
            _ => None,
        })
    }

    #[test]
    fn plan_is_accepted_unless_it_was_changed_or_a_shared_key_did_not_sign_it() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [mine, other] = [dirs[0].path(), dirs[1].path()];
        let shared = Some("a text of enough length");
        let signed = [
            ("own", keys(mine, None).unwrap().sign(b"plan").unwrap()),
            ("foreign", keys(other, None).unwrap().sign(b"plan").unwrap()),
            (
                "shared",
                keys(other, shared).unwrap().sign(b"plan").unwrap(),
            ),
            ("unsigned", UNSIGNED.to_owned()),
        ];
        // Content and key of the reader; the signatures that it accepts.
        let table: [(&[u8], Option<&str>, &[&str]); 4] = [
            (b"plan", None, &["own", "foreign", "shared", "unsigned"]),
            (b"edit", None, &["foreign", "shared", "unsigned"]),
            (b"plan", shared, &["own", "shared"]),
            (b"edit", shared, &[]),
        ];
        for (content, given, accepted) in table {
            let reader = keys(mine, given).unwrap();
            for (name, signature) in &signed {
                let checked = reader.check(content, signature);
                let expected = accepted.contains(name);
                assert_eq!(checked.is_ok(), expected, "{name} {given:?}: {checked:?}");
            }
        }
        assert!(matches!(
            keys(mine, Some("short")),
            Err(PlanKeyError::Short)
        ));
        let nowhere = PlanKeys::load(Path::new("/w"), |_| None).unwrap();
        assert_eq!(nowhere.sign(b"plan").unwrap(), UNSIGNED);
    }
}
